//! What a run exercised: a check that never saw a tool call has said nothing about tool calls.
//!
//! In: what the request asked for, and replies in openai-chat terms. Out: the conditions met, and so those never met.

use crate::request::Asked;
use serde_json::Value;
use std::collections::BTreeSet;

/// Something that a reply can exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// At least one call.
    Call,
    /// At least two calls.
    Calls,
    /// Reasoning.
    Reasoning,
    /// Content.
    Content,
    /// Finish reason `length`.
    Length,
    /// Finish reason `length` after a call whose arguments are no complete JSON.
    LengthInCall,
    /// A stop string was given and the reply stopped.
    StopString,
    /// Several choices. Nothing meets it: the first alone is compared.
    Choices,
    /// Text beyond ASCII.
    Unicode,
    /// An error as the answer.
    Error,
}

/// The conditions that were met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    met: BTreeSet<Condition>,
}

/// What the request and the finish reason together exercise; the rest is seen in the reply.
pub fn of_request(asked: &Asked, finish: Option<&str>) -> Vec<Condition> {
    let mut met = Vec::new();
    if finish == Some("stop") && !asked.stop.is_empty() {
        met.push(Condition::StopString);
    }
    met
}

// === impl Condition ===

impl Condition {
    /// Every condition, in the order reports list them.
    pub const ALL: [Self; 10] = [
        Self::Call,
        Self::Calls,
        Self::Reasoning,
        Self::Content,
        Self::Length,
        Self::LengthInCall,
        Self::StopString,
        Self::Choices,
        Self::Unicode,
        Self::Error,
    ];

    /// In words, as a report says that it was not exercised.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Call => "a call",
            Self::Calls => "several calls",
            Self::Reasoning => "reasoning",
            Self::Content => "content",
            Self::Length => "length",
            Self::LengthInCall => "length inside a call",
            Self::StopString => "stop strings",
            Self::Choices => "n > 1",
            Self::Unicode => "text beyond ASCII",
            Self::Error => "errors",
        }
    }
}

// === impl Coverage ===

impl Coverage {
    /// Notes one condition.
    pub fn note(&mut self, condition: Condition) {
        self.met.insert(condition);
    }

    /// Notes what a reply in openai-chat terms shows: `content`, `reasoning`, `tool_calls`, `finish`.
    pub fn note_reply(&mut self, reply: &Value) {
        let text = |key: &str| reply.get(key).and_then(Value::as_str).unwrap_or_default();
        let calls = reply.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let arguments: Vec<&str> = calls.iter().filter_map(|c| c.get("arguments")?.as_str()).collect();
        let unfinished = arguments.last().is_some_and(|a| serde_json::from_str::<Value>(a).is_err());
        let length = text("finish") == "length";
        let beyond_ascii = |text: &str| !text.is_ascii();
        let seen = [
            (Condition::Call, !calls.is_empty()),
            (Condition::Calls, calls.len() > 1),
            (Condition::Reasoning, !text("reasoning").is_empty()),
            (Condition::Content, !text("content").is_empty()),
            (Condition::Length, length),
            (Condition::LengthInCall, length && unfinished),
            (
                Condition::Unicode,
                beyond_ascii(text("content"))
                    || beyond_ascii(text("reasoning"))
                    || arguments.iter().any(|a| beyond_ascii(a)),
            ),
        ];
        self.met.extend(seen.into_iter().filter(|(_, seen)| *seen).map(|(condition, _)| condition));
    }

    /// What was never met, in the order of [`Condition::ALL`].
    pub fn missing(&self) -> Vec<Condition> {
        Condition::ALL.into_iter().filter(|c| !self.met.contains(c)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition::*, *};
    use serde_json::json;

    #[test]
    fn replies_show_what_they_exercise() {
        let check = |reply: Value, expect: &[Condition]| {
            let mut coverage = Coverage::default();
            coverage.note_reply(&reply);
            assert_eq!(coverage.met.into_iter().collect::<Vec<_>>(), expect, "{reply}");
        };
        check(Value::Null, &[]);
        check(json!({"content": "", "reasoning": null, "tool_calls": [], "finish": "stop"}), &[]);
        check(json!({"content": "é", "reasoning": "r"}), &[Reasoning, Content, Unicode]);
        let call = |arguments: &str| json!({"name": "f", "arguments": arguments});
        check(json!({"tool_calls": [call("{}"), call("{}")], "finish": "length"}), &[Call, Calls, Length]);
        check(json!({"tool_calls": [call("{\"a\":")], "finish": "length"}), &[Call, Length, LengthInCall]);
    }

    #[test]
    fn requests_show_the_rest() {
        let asked = Asked { stop: vec!["END".to_owned()], choices: 2, ..Asked::default() };
        assert_eq!(of_request(&asked, Some("stop")), [Condition::StopString], "and not what is not compared");
        assert_eq!(of_request(&asked, Some("length")), []);
        let mut coverage = Coverage::default();
        for condition in Condition::ALL {
            coverage.note(condition);
        }
        assert_eq!(coverage.missing(), []);
    }
}
