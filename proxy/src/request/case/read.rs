//! Reads a JSON file of cases: one case, or a list.
//!
//! In: the file's text. Out: the cases that could be read, and every mistake. Reading never stops at the first: who
//! writes ten cases wants to hear of ten mistakes at once.

use super::{
    Basis, Case, Ends, Expect, ExpectCall, ExpectError, Need,
    lines::Lines,
    object::{File, Object},
};
use crate::request::Dialect;
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::HashMap, fmt};

/// One thing that is wrong with a file of cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The file's name as it was given.
    pub file: String,
    /// 1-based; 0 where the file as a whole is meant.
    pub line: usize,
    /// The key, with dots between levels; empty where none is to blame.
    pub key: String,
    /// What is wrong, a fragment.
    pub what: String,
}

/// The most values in one file: each takes some hundred bytes of memory, whatever its text is.
const MAX_VALUES: usize = 1 << 21;

const NEEDS: [(&str, Need); 6] = [
    ("call", Need::Call),
    ("calls", Need::Calls),
    ("reasoning", Need::Reasoning),
    ("length", Need::Length),
    ("text", Need::Text),
    ("error", Need::Error),
];

const BASES: [(&str, Basis); 2] = [("fact", Basis::Fact), ("policy", Basis::Policy)];

const DIALECTS: [(&str, Dialect); 1] = [("openai-chat", Dialect::OpenaiChat)];

// === impl Mistake ===

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Reads a JSON file.
pub fn read(file_name: &str, text: &str) -> (Vec<Case>, Vec<Mistake>) {
    // Editors on some systems put a byte order mark in front; it means nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if crate::request::values(text.as_bytes()) > MAX_VALUES {
        let what = format!("more than {MAX_VALUES} values are too many for a file of cases");
        return (Vec::new(), vec![Mistake { file: file_name.to_owned(), line: 0, key: String::new(), what }]);
    }
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => return (Vec::new(), vec![syntax(file_name, &error)]),
    };
    let lines = Lines::of(text);
    let file = File { name: file_name, lines: &lines, mistakes: RefCell::default() };
    for (pointer, _) in &lines.repeated {
        file.mistake(pointer, "repeated key");
    }
    let cases = match &value {
        Value::Array(list) => {
            list.iter().enumerate().filter_map(|(i, v)| case(&file, format!("/{i}"), v)).collect()
        }
        one => case(&file, String::new(), one).into_iter().collect(),
    };
    let mut mistakes = file.mistakes.into_inner();
    mistakes.sort_by_key(|m| m.line);
    (cases, mistakes)
}

/// Ids that more than one case has, told at the later one.
pub fn repeated_ids(cases: &[Case]) -> Vec<Mistake> {
    let mut first = HashMap::new();
    let mut mistakes = Vec::new();
    for case in cases {
        if let Some(earlier) = first.insert(&case.id, case) {
            mistakes.push(Mistake {
                file: case.file.clone(),
                line: case.line,
                key: "id".to_owned(),
                what: format!("{:?} is taken by {}:{}", case.id, earlier.file, earlier.line),
            });
        }
    }
    mistakes
}

/// What serde says of a text that is no JSON.
pub fn syntax(file: &str, error: &serde_json::Error) -> Mistake {
    Mistake {
        file: file.to_owned(),
        line: error.line(),
        key: String::new(),
        what: format!("not JSON: {error}"),
    }
}

fn case(file: &File<'_>, pointer: String, value: &Value) -> Option<Case> {
    let object = Object::of(file, pointer, value)?;
    let (body, dialect) = native_body(&object);
    let dialects = object.words("dialects", &DIALECTS);
    let read = Case {
        id: id(&object).unwrap_or_default(),
        about: object.text("about").unwrap_or_default(),
        source: object.text("source").unwrap_or_else(|| "own".to_owned()),
        format: object.text("format"),
        says: object.text("says"),
        ends: ends(&object).unwrap_or_default(),
        request: request(&object),
        needs: object.words("needs", &NEEDS),
        basis: basis(&object),
        expect: object.object("expect").map(expect),
        dialects: dialect.map_or_else(|| or_all(dialects), |dialect| vec![dialect]),
        tags: object.texts("tags"),
        file: file.name.to_owned(),
        line: file.lines.line(&object.pointer),
        body,
    };
    consistent(&object, &read);
    object.end();
    (!read.id.is_empty()).then_some(read)
}

fn or_all(dialects: Vec<Dialect>) -> Vec<Dialect> {
    if dialects.is_empty() { Dialect::ALL.to_vec() } else { dialects }
}

fn id(object: &Object<'_>) -> Option<String> {
    let id = object.required_text("id")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    // What begins with a hyphen reads as an option, with a dot as a hidden file or the folder above.
    let is_name = |segment: &str| !segment.is_empty() && !segment.starts_with(['-', '.']);
    if id.split('/').count() < 2 || !id.split('/').all(is_name) || !id.chars().all(is_plain) {
        object.mistake(
            "id",
            format!(
                "{id:?} should be suite/name, of letters, digits, dots, hyphens and underscores, no dot or hyphen first"
            ),
        );
        return None;
    }
    Some(id)
}

fn native_body(object: &Object<'_>) -> (Option<Value>, Option<Dialect>) {
    let body = object.read("body", "an object", |v| v.is_object().then(|| v.clone()));
    let dialect = object.text("dialect").and_then(|text| object.word("dialect", &text, &DIALECTS));
    if object.has("body") != object.has("dialect") {
        object.mistake(if object.has("body") { "body" } else { "dialect" }, "body and dialect go together");
    }
    (body, dialect)
}

fn ends(object: &Object<'_>) -> Option<Ends> {
    match object.value("ends")? {
        Value::String(word) => object.word("ends", word, &[("model", Ends::Model), ("length", Ends::Length)]),
        Value::Object(_) => {
            let inner = object.object("ends")?;
            let stops = inner.texts("stop");
            if stops.is_empty() {
                inner.mistake("stop", "should name at least one string");
            }
            if stops.iter().any(String::is_empty) {
                inner.mistake("stop", "an empty string stops nothing");
            }
            inner.end();
            Some(Ends::Stop(stops))
        }
        other => {
            object.mistake(
                "ends",
                format!(
                    "should be \"model\", \"length\" or {{\"stop\": [...]}}, not {}",
                    super::object::kind(other)
                ),
            );
            None
        }
    }
}

fn basis(object: &Object<'_>) -> Basis {
    object.text("basis").and_then(|text| object.word("basis", &text, &BASES)).unwrap_or_default()
}

fn request(object: &Object<'_>) -> Map<String, Value> {
    let Some(map) = object.read("request", "an object", Value::as_object) else { return Map::new() };
    if map.contains_key("stream") {
        object.mistake("request/stream", "is chosen by the plan: each case is asked both ways");
    }
    if map.get("messages").is_some_and(|m| !m.is_array()) && object.has("says") {
        object.mistake("request/messages", "should be a list");
    }
    if map.contains_key("model") && object.has("says") {
        object.mistake("request/model", "is chosen by the format of a case that says something");
    }
    map.clone()
}

/// What no single key can be blamed for.
fn consistent(object: &Object<'_>, case: &Case) {
    let sources = [object.has("says") || object.has("request"), object.has("body")];
    if sources == [false, false] {
        object.file().mistake(&object.pointer, "asks nothing: give says, request or body");
    }
    if sources == [true, true] {
        object.mistake("body", "stands instead of says and request, not beside them");
    }
    match (&case.says, &case.format) {
        (Some(_), None) => object.mistake("says", "needs the key \"format\""),
        (None, Some(_)) => object.mistake("format", "means nothing without says"),
        _ => {}
    }
    let expects_error = case.expect.as_ref().is_some_and(|expect| expect.error.is_some());
    if case.needs.contains(&Need::Error) && !expects_error {
        object.mistake("needs", "an error needs expect.error: which one is right");
    }
    if case.says.is_none() && object.has("ends") {
        object.mistake("ends", "means nothing without says");
    }
}

fn expect(object: Object<'_>) -> Expect {
    let read = Expect {
        content: object.text_or_null("content"),
        content_json: object.value("content_json").cloned(),
        reasoning: object.text_or_null("reasoning"),
        tool_calls: calls(&object),
        finish: object.text("finish"),
        argument_deltas_at_least: deltas(&object),
        error: object.object("error").and_then(error),
        accept: Vec::new(),
    };
    if read.content.is_some() && read.content_json.is_some() {
        object.mistake("content_json", "means nothing beside content");
    }
    object.end();
    read
}

fn calls(object: &Object<'_>) -> Option<Vec<ExpectCall>> {
    let list = object.read("tool_calls", "a list or null", |v| match v {
        Value::Null => Some([].as_slice()),
        other => other.as_array().map(Vec::as_slice),
    })?;
    let at = object.at("tool_calls");
    Some(
        list.iter()
            .enumerate()
            .filter_map(|(i, v)| call(Object::of(object.file(), format!("{at}/{i}"), v)?))
            .collect(),
    )
}

fn call(object: Object<'_>) -> Option<ExpectCall> {
    let name = object.required_text("name");
    if !object.has("arguments") {
        object.file().mistake(&object.pointer, "lacks the key \"arguments\"");
    }
    let is_said = |v: &Value| v.is_object() || v.is_string();
    let arguments = object.read("arguments", "an object or a string", |v| is_said(v).then(|| v.clone()));
    object.end();
    Some(ExpectCall { name: name?, arguments: arguments? })
}

fn deltas(object: &Object<'_>) -> Option<(String, usize)> {
    object.read("argument_deltas_at_least", "[rounds, number]", |v| {
        let [rounds, least] = v.as_array()?.as_slice() else { return None };
        let rounds = match rounds {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some((rounds, usize::try_from(least.as_u64()?).ok()?))
    })
}

fn error(object: Object<'_>) -> Option<ExpectError> {
    let status = object.read("status", "an HTTP status from 400 to 599", |v| {
        v.as_u64().and_then(|s| u16::try_from(s).ok()).filter(|s| (400..600).contains(s))
    });
    if !object.has("status") {
        object.file().mistake(&object.pointer, "lacks the key \"status\"");
    }
    let code = object.text("code");
    object.end();
    Some(ExpectError { status: status?, code })
}
