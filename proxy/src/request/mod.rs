//! What is asked: a request as the user wrote it, the dialect it speaks, and the cases that ask it.
//!
//! In: JSON. Out: [`Request`], [`case::Case`]. Knows nothing of ours to the right of it.

use bytes::Bytes;
use serde_json::Value;

pub mod case;
pub mod dialect;
pub mod handed;
pub mod select;
pub mod twin;

pub use dialect::Dialect;

/// Whole (one JSON body) or streamed (many small events).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `stream` is false or absent: one JSON document answers.
    Whole,
    /// `stream` is true: an event stream answers.
    Stream,
}

/// One HTTP request, ready to be sent, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The wire protocol it speaks.
    pub dialect: Dialect,
    /// Path and query below the upstream's root, `/v1/chat/completions`.
    pub path: String,
    /// Headers beyond those HTTP itself needs; names in lower case. Credentials are added at sending, never here.
    pub headers: Vec<(String, String)>,
    /// The body as it goes over the wire.
    pub body: Bytes,
}

/// The most values of a body that is read as JSON: each takes some hundred bytes of memory, whatever its text is.
pub const MAX_VALUES: usize = 1 << 19;

/// What a request's body asks for, read once for all the rules: every field is what a server would understand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the request body, named as it is there"
)]
pub struct Asked {
    /// `stream: true`.
    pub stream: bool,
    /// `stream_options.include_usage: true`.
    pub include_usage: bool,
    /// `stream_options.continuous_usage_stats: true` (vLLM, SGLang).
    pub continuous_usage: bool,
    /// `n`, 1 where absent.
    pub choices: u64,
    /// Names of the offered tools, in order; empty with `tool_choice: "none"`.
    pub tools: Vec<String>,
    /// The tool that `tool_choice` names, if it names one.
    pub forced_tool: Option<String>,
    /// `parallel_tool_calls: false`.
    pub one_call: bool,
    /// `logprobs: true`.
    pub logprobs: bool,
    /// `stop`, as a list.
    pub stop: Vec<String>,
    /// `model`, empty where absent.
    pub model: String,
}

// === impl Mode ===

impl Mode {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stream => "stream",
        }
    }
}

/// A body as JSON, if it is JSON, and of no more than [`MAX_VALUES`].
pub fn json(body: &[u8]) -> Option<Value> {
    if values(body) > MAX_VALUES { None } else { serde_json::from_slice(body).ok() }
}

/// How many values a JSON text holds, or a little more: each but the first stands behind one of `[{:,`.
pub fn values(text: &[u8]) -> usize {
    let (mut count, mut rest) = (1, text);
    while let Some(quote) = memchr::memchr(b'"', rest) {
        let (before, string) = rest.split_at(quote);
        count += openers(before);
        rest = after_string(string);
    }
    count + openers(rest)
}

fn openers(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b'[' | b'{' | b':' | b',')).count()
}

/// What follows a string that begins with its quote.
fn after_string(text: &[u8]) -> &[u8] {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return text.get(at + 1..).unwrap_or_default();
        }
        at += 2;
    }
    &[]
}

// === impl Request ===

impl Request {
    /// The body as JSON, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        json(&self.body)
    }

    /// Whether it hands over the tokens of the reply.
    pub fn hands_tokens(&self) -> bool {
        self.path.ends_with(handed::PATH)
    }

    /// What the body asks for. A body that is no JSON object asks for nothing.
    pub fn asked(&self) -> Asked {
        let body = self.json().unwrap_or(Value::Null);
        Asked::of(if self.hands_tokens() { handed::asked(&body) } else { &body })
    }
}

// === impl Asked ===

impl Asked {
    /// Reads the fields of an openai-chat body; fields of a wrong kind count as absent.
    pub fn of(body: &Value) -> Self {
        let flag = |pointer: &str| body.pointer(pointer).and_then(Value::as_bool);
        let choice = body.get("tool_choice");
        let tools =
            if choice.and_then(Value::as_str) == Some("none") { Vec::new() } else { tool_names(body) };
        Self {
            stream: flag("/stream") == Some(true),
            include_usage: flag("/stream_options/include_usage") == Some(true),
            continuous_usage: flag("/stream_options/continuous_usage_stats") == Some(true),
            choices: body.get("n").and_then(Value::as_u64).unwrap_or(1),
            tools,
            forced_tool: choice
                .and_then(|c| c.pointer("/function/name"))
                .and_then(Value::as_str)
                .map(Into::into),
            one_call: flag("/parallel_tool_calls") == Some(false),
            logprobs: flag("/logprobs") == Some(true),
            stop: strings(body.get("stop")),
            model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    }
}

fn tool_names(body: &Value) -> Vec<String> {
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|t| t.pointer("/function/name")?.as_str().map(Into::into)).collect()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(|s| s.as_str().map(Into::into)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_strings() {
        for (text, expect) in [
            ("", 1),
            ("1", 1),
            ("[1,2]", 3),
            (r#"{"a":[{},"b,c"],"d\"e[":0}"#, 8),
            (r#"{"a":"[,[,[,"#, 3),
            (r#"["\\",1]"#, 3),
        ] {
            assert_eq!(values(text.as_bytes()), expect, "{text}");
        }
    }

    #[test]
    fn a_body_of_too_many_values_is_not_read() {
        let of = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(json(of(1_000).as_bytes()).is_some());
        assert!(json(of(MAX_VALUES).as_bytes()).is_none());
        assert!(json(format!("[\"{}\"]", ",".repeat(MAX_VALUES)).as_bytes()).is_some());
    }
}
