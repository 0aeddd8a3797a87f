//! A case as its file would say it, so that a recording can hold what was expected.
//!
//! In: a [`Case`]. Out: JSON that [`read_cases`](super::read_cases) reads as the same case. What only recorded outputs have
//! (several accepted answers) is left out.

use super::{Basis, Case, Ends, Expect, ExpectCall, Need};
use serde_json::{Map, Value, json};

/// The case as JSON.
pub fn to_value(case: &Case) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
    put("id", case.id.as_str().into());
    put("about", case.about.as_str().into());
    put("source", case.source.as_str().into());
    if let (Some(format), Some(says)) = (&case.format, &case.says) {
        put("format", format.as_str().into());
        put("says", says.as_str().into());
        put("ends", ends(&case.ends));
    }
    match (&case.body, case.dialects.first()) {
        (Some(body), Some(dialect)) => {
            put("body", body.clone());
            put("dialect", dialect.name().into());
        }
        _ => put("request", case.request.clone().into()),
    }
    put("needs", case.needs.iter().map(|need| need_name(*need)).collect());
    put("basis", if case.basis == Basis::Fact { "fact" } else { "policy" }.into());
    if let Some(expect) = case.expect.as_ref().filter(|e| e.accept.is_empty()) {
        put("expect", expected(expect));
    }
    put("dialects", case.dialects.iter().map(|d| d.name()).collect());
    put("tags", case.tags.clone().into());
    map.into()
}

fn ends(ends: &Ends) -> Value {
    match ends {
        Ends::Model => "model".into(),
        Ends::Length => "length".into(),
        Ends::Stop(stops) => json!({ "stop": stops }),
    }
}

fn need_name(need: Need) -> &'static str {
    match need {
        Need::Call => "call",
        Need::Calls => "calls",
        Need::Reasoning => "reasoning",
        Need::Length => "length",
        Need::Text => "text",
        Need::Error => "error",
    }
}

fn expected(expect: &Expect) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Option<Value>| map.extend(value.map(|v| (key.to_owned(), v)));
    put("content", expect.content.clone().map(Value::from));
    put("content_json", expect.content_json.clone());
    put("reasoning", expect.reasoning.clone().map(Value::from));
    put("tool_calls", expect.tool_calls.as_ref().map(|calls| calls.iter().map(call).collect()));
    put("finish", expect.finish.clone().map(Value::from));
    put("argument_deltas_at_least", expect.argument_deltas_at_least.as_ref().map(|(r, n)| json!([r, n])));
    let error = expect.error.as_ref().map(|e| match &e.code {
        Some(code) => json!({ "status": e.status, "code": code }),
        None => json!({ "status": e.status }),
    });
    put("error", error);
    map.into()
}

fn call(call: &ExpectCall) -> Value {
    json!({ "name": call.name, "arguments": call.arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::case::read_cases;

    #[test]
    fn what_is_written_reads_back_as_the_same_case() {
        let text = r#"[
            {"id": "a/b", "about": "x", "format": "glm", "says": "s", "ends": {"stop": ["e"]}, "needs": ["call", "length"], "basis": "fact",
             "expect": {"content": null, "reasoning": "r", "tool_calls": [{"name": "f", "arguments": {"n": 1.50}}], "finish": "stop", "argument_deltas_at_least": ["3", 4]}},
            {"id": "a/e", "request": {}, "expect": {"content_json": [null]}},
            {"id": "a/c", "request": {"messages": []}, "expect": {"error": {"status": 400, "code": "c"}}, "tags": ["t"]},
            {"id": "a/d", "body": {"model": "m"}, "dialect": "openai-chat", "expect": {}}]"#;
        let (cases, _) = read_cases("c.json", text);
        for case in &cases {
            let (again, mistakes) = read_cases("c.json", &to_value(case).to_string());
            assert_eq!(mistakes, []);
            assert_eq!(again, [Case { line: 1, ..case.clone() }]);
        }
        assert_eq!(cases.len(), 4);
    }
}
