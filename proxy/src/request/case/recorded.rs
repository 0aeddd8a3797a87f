//! Reads recorded model outputs, JSON Lines, as puppet cases: one line, one completion exactly as a model wrote it.
//!
//! In: the file's text. Out: cases whose right answer is a fact, ids unchanged. Keys that say nothing to us are passed
//! over; a format that no puppet speaks yet is kept, and the run says so.

use super::{
    Basis, Case, Ends, Expect, ExpectCall, Mistake, Need,
    lines::Lines,
    object::{File, Object},
    read::syntax,
};
use crate::request::Dialect;
use serde_json::{Map, Value, json};
use std::cell::RefCell;

/// Openers of a thinking block, as prompts end with them, and their closers.
const THINKING: [(&str, &str); 3] =
    [("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel>thought", "<channel|>")];

/// Reads a JSON Lines file.
pub fn read(file_name: &str, text: &str) -> (Vec<Case>, Vec<Mistake>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut cases, mut mistakes) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match read_line(file_name, index + 1, line) {
            Ok(case) => cases.push(case),
            Err(found) => mistakes.extend(found),
        }
    }
    (cases, mistakes)
}

fn read_line(file_name: &str, number: usize, line: &str) -> Result<Case, Vec<Mistake>> {
    let here = |mistake: Mistake| Mistake { line: number, ..mistake };
    let value: Value = serde_json::from_str(line).map_err(|e| vec![here(syntax(file_name, &e))])?;
    let lines = Lines::default();
    let file = File { name: file_name, lines: &lines, mistakes: RefCell::default() };
    let case = Object::of(&file, String::new(), &value).and_then(|object| output(&object, number));
    let mistakes = file.mistakes.into_inner();
    match case {
        Some(case) if mistakes.is_empty() => Ok(case),
        _ => Err(mistakes.into_iter().map(here).collect()),
    }
}

fn output(object: &Object<'_>, line: usize) -> Option<Case> {
    let (id, family) = (object.required_text("id"), object.required_text("family"));
    let says = object.required_text("raw_output");
    let tags = object.texts("tags");
    let is_cut = tags.iter().any(|t| t == "truncated");
    let expect = if is_cut { None } else { expect(object, says.as_deref().unwrap_or_default()) };
    let has_calls = expect.as_ref().and_then(|e| e.tool_calls.as_ref()).is_some_and(|c| !c.is_empty());
    Some(Case {
        id: id?,
        about: format!("recorded: {}", tags.join(", ")),
        source: source(object),
        format: Some(format(&family?, &tags).to_owned()),
        says: Some(says?),
        ends: if is_cut { Ends::Length } else { Ends::Model },
        request: request(object, &tags),
        body: None,
        needs: if has_calls { vec![Need::Call] } else { Vec::new() },
        basis: Basis::Fact,
        expect,
        dialects: Dialect::ALL.to_vec(),
        tags,
        file: object.file().name.to_owned(),
        line,
    })
}

fn source(object: &Object<'_>) -> String {
    let url = object.value("provenance").and_then(|p| p.get("source_url")).and_then(Value::as_str);
    url.unwrap_or("recorded").to_owned()
}

/// The format of a family; where one family wrote several, its tags tell them apart.
fn format<'a>(family: &'a str, tags: &[String]) -> &'a str {
    let tagged = |tag: &str| tags.iter().any(|t| t == tag);
    match family {
        "qwen3-hermes" => "hermes",
        "gpt-oss" => "harmony",
        "deepseek" if tagged("x-deepseek-v3") => "deepseek-v3",
        "deepseek" if tagged("x-deepseek-v31") => "deepseek-v31",
        "deepseek" => "dsml",
        "kimi" if tagged("x-kimi-k3") => "kimi-k3",
        "kimi" => "kimi-k2",
        "llama" if tagged("x-llama-pythonic") => "llama-pythonic",
        "llama" => "llama3-json",
        other => other,
    }
}

fn request(object: &Object<'_>, tags: &[String]) -> Map<String, Value> {
    let mut request = Map::new();
    if let Some(tools) = object.read("tools", "a list", |v| v.as_array().cloned()).filter(|t| !t.is_empty()) {
        request.insert("tools".to_owned(), tools.into());
    }
    if let Some(on) = thinking(object, tags) {
        request.insert("chat_template_kwargs".to_owned(), json!({ "enable_thinking": on }));
    }
    request
}

/// Whether a thinking block is open where the output starts: yes, closed, or the model may open one.
fn thinking(object: &Object<'_>, tags: &[String]) -> Option<bool> {
    let prompt = object.text("generation_prompt");
    let flag = object.read("thinking", "a boolean", Value::as_bool);
    let end = prompt.as_deref().unwrap_or_default().trim_end();
    if THINKING.iter().any(|(open, _)| end.ends_with(open))
        || (prompt.is_none() && flag == Some(true))
        || tags.iter().any(|t| t == "x-think-no-open-tag")
    {
        return Some(true);
    }
    let is_closed = flag == Some(false) || THINKING.iter().any(|(_, close)| end.contains(close));
    is_closed.then_some(false)
}

fn expect(object: &Object<'_>, says: &str) -> Option<Expect> {
    if let Some(expected) = object.object("expected") {
        return Some(Expect {
            content: expected.text_or_null("content"),
            reasoning: expected.text_or_null("reasoning_content"),
            tool_calls: calls(&expected),
            ..Expect::default()
        });
    }
    let accept = object.object("expected_error")?.texts("accept");
    let accept = accept.iter().filter_map(|word| accepted(word, says)).collect();
    Some(Expect { accept, ..Expect::default() })
}

/// What an accepted answer to a malformed output looks like. `exception` is no answer of a server that reads on.
fn accepted(word: &str, says: &str) -> Option<Expect> {
    let no_calls = Expect { tool_calls: Some(Vec::new()), ..Expect::default() };
    match word {
        "no_tool_calls" => Some(no_calls),
        "content_passthrough" => Some(Expect { content: Some(Some(says.to_owned())), ..no_calls }),
        _ => None,
    }
}

fn calls(expected: &Object<'_>) -> Option<Vec<ExpectCall>> {
    expected.read("tool_calls", "a list of calls or null", |v| match v {
        Value::Null => Some(Vec::new()),
        list => list.as_array()?.iter().map(call).collect(),
    })
}

fn call(value: &Value) -> Option<ExpectCall> {
    let name = value.get("name")?.as_str()?.to_owned();
    Some(ExpectCall { name, arguments: value.get("arguments")?.clone() })
}
