//! Rules about the arguments of a tool call: their kind, how the pieces join, whether the whole is JSON.

use crate::{
    request::case::Expect,
    rules::{
        Digest, Rule, Severity,
        digest::{Arguments, Call, given, text},
        found::Shown,
    },
};

/// The rules of this file.
pub static RULES: &[Rule] = &[TYPE, NULL, CUMULATIVE, JSON];

const TYPE: Rule = Rule {
    id: "openai-chat/tool-arguments-type",
    severity: Severity::Error,
    sentence: "Arguments are a string that holds JSON, not an object.",
    source: "OpenAI API reference, chat completions; openai-node reads [object Object]",
    check: |digest, found| {
        for fragment in &digest.fragments {
            if let Some(value) = given(fragment.arguments).filter(|value| !value.is_string()) {
                found.event(
                    fragment.event,
                    digest.fragment_path(fragment, "function.arguments"),
                    Shown(value),
                );
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#))],
    bad: &[
        stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":{}}}"#)),
        whole!(
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}"#,
            "tool_calls"
        ),
    ],
};

const NULL: Rule = Rule {
    id: "openai-chat/tool-arguments-null",
    severity: Severity::Warn,
    sentence: "Arguments are null only where other fragments of the call bring text.",
    source: "openai-python hands out None where a string is due",
    check: |digest, found| {
        for (call, first) in digest.openings() {
            let mut all = digest.fragments_of(call).filter_map(|fragment| fragment.arguments).peekable();
            if all.peek().is_some() && all.all(serde_json::Value::is_null) {
                found.event(
                    first.event,
                    digest.fragment_path(first, "function.arguments"),
                    "nothing but null",
                );
            }
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":null}}"#),
        call!(r#"{"index":0,"function":{"arguments":"{}"}}"#)
    )],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":null}}"#),
        finish!("tool_calls")
    )],
};

const CUMULATIVE: Rule = Rule {
    id: "openai-chat/tool-arguments-cumulative",
    severity: Severity::Error,
    sentence: "Fragments of arguments are increments, not ever longer prefixes.",
    source: "the official clients glue them together",
    check: |digest, found| {
        for (call, first) in digest.openings().filter(|(call, _)| is_cumulative(digest, call)) {
            let path = digest.fragment_path(first, "function.arguments");
            found.event(
                first.event,
                path,
                format_args!("{} fragments that each begin anew", call.fragments.len()),
            );
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}"#),
        call!(r#"{"index":0,"function":{"arguments":"1}"}}"#)
    )],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#),
        call!(r#"{"index":0,"function":{"arguments":"{\"a\""}}"#),
        call!(r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#)
    )],
};

const JSON: Rule = Rule {
    id: "openai-chat/tool-arguments-json",
    severity: Severity::Warn,
    sentence: "Joined arguments are one JSON object, unless the reply was cut.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for choice in
            digest.choices.iter().filter(|choice| digest.concluded() && !may_be_cut(digest, choice.finish()))
        {
            for (position, call) in digest.calls_of(choice).enumerate() {
                let wrong = match call.reading {
                    Arguments::Broken => "text that is no JSON",
                    Arguments::Other => "JSON that is no object",
                    Arguments::Empty | Arguments::Object => continue,
                };
                if !is_cumulative(digest, call)
                    && !expected(digest, position, call)
                    && let Some(last) = digest.fragments_of(call).last()
                {
                    found.event(last.event, digest.fragment_path(last, "function.arguments"), wrong);
                }
            }
        }
    },
    good: &[
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}"#),
            call!(r#"{"index":0,"function":{"arguments":"1}"}}"#),
            finish!("tool_calls"),
            done!()
        ),
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}"#),
            finish!("length"),
            done!()
        ),
    ],
    bad: &[
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}"#),
            finish!("tool_calls"),
            done!()
        ),
        whole!(
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}"#,
            "tool_calls"
        ),
    ],
};

/// Whether each piece begins with the one before it, and joined they are no JSON.
fn is_cumulative(digest: &Digest<'_>, call: &Call<'_>) -> bool {
    if call.reading != Arguments::Broken {
        return false;
    }
    let pieces =
        || digest.fragments_of(call).map(|fragment| text(fragment.arguments)).filter(|p| !p.is_empty());
    let (first, last) = (pieces().next().unwrap_or_default(), pieces().last().unwrap_or_default());
    first.starts_with('{')
        && last.len() > first.len()
        && pieces().zip(pieces().skip(1)).all(|(before, after)| after.starts_with(before))
}

fn may_be_cut(digest: &Digest<'_>, finish: Option<&str>) -> bool {
    match finish {
        Some("stop") => !digest.facts.asked.stop.is_empty(),
        Some("length" | "content_filter") => true,
        _ => false,
    }
}

/// Whether the right answer has these arguments at this place, broken as they are.
fn expected(digest: &Digest<'_>, position: usize, call: &Call<'_>) -> bool {
    let holds = |expect: &Expect| {
        let right = expect.tool_calls.as_ref().and_then(|calls| calls.get(position));
        right.is_some_and(|right| right.arguments.as_str() == Some(call.arguments.as_str()))
    };
    digest.facts.expects(holds)
}
