//! Case files: one thing to check, a request and what is known of the right answer.
//!
//! In: the text of a `.json` file (one case or a list) or of a `.jsonl` file of recorded model outputs.
//! Out: cases, and *all* mistakes of the file at once, each with line and key.

use crate::request::Dialect;
use serde_json::{Map, Value};

mod lines;
mod object;
mod read;
mod recorded;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Mistake, repeated_ids};
pub use write::to_value;

/// Reads one file of cases by the ending of its name: `.jsonl` holds recorded model outputs, all else is JSON. Gives the
/// cases that could be read and all that is wrong, by line.
pub fn read_cases(file_name: &str, text: &str) -> (Vec<Case>, Vec<Mistake>) {
    let is_recorded = std::path::Path::new(file_name).extension().is_some_and(|e| e == "jsonl");
    if is_recorded { recorded::read(file_name, text) } else { read::read(file_name, text) }
}

/// One thing to check.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `suite/name`, unique over a run.
    pub id: String,
    /// What it is about, in a few words.
    pub about: String,
    /// Where the shape was seen, or `own`.
    pub source: String,
    /// The format of a puppet case.
    pub format: Option<String>,
    /// What the puppet says; without it the request is an ordinary one that any server can answer.
    pub says: Option<String>,
    /// How generation ends.
    pub ends: Ends,
    /// The request in openai-chat shape, without `model`, `stream` and, for a puppet case, without the last message.
    pub request: Map<String, Value>,
    /// A native body sent as it is, instead of `request`; the dialect is then `dialects[0]`.
    pub body: Option<Value>,
    /// What a reply must show for the case to count.
    pub needs: Vec<Need>,
    /// Whether the format leaves no choice, or reading.md's policy decides.
    pub basis: Basis,
    /// The right answer, as far as it is known.
    pub expect: Option<Expect>,
    /// The dialects it is asked in.
    pub dialects: Vec<Dialect>,
    /// Free words to select by. `plant:NAME` says that the case was written for that plant.
    pub tags: Vec<String>,
    /// The file it came from and the line it starts on.
    pub file: String,
    /// 1-based.
    pub line: usize,
}

/// How generation ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ends {
    /// The model writes its end token.
    #[default]
    Model,
    /// `max_tokens` is the number of tokens of `says`.
    Length,
    /// One of these stop strings, sent as `stop`.
    Stop(Vec<String>),
}

/// What a reply must show for a case to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// At least one tool call.
    Call,
    /// At least two.
    Calls,
    /// Reasoning text.
    Reasoning,
    /// Finish reason `length`.
    Length,
    /// Content.
    Text,
    /// An error.
    Error,
}

/// What the expected answer rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Basis {
    /// The format leaves no choice.
    Fact,
    /// reading.md decides.
    #[default]
    Policy,
}

/// The right answer; `None` means "not said", never "absent".
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expect {
    /// Content; `Some(None)` is null, which equals empty.
    pub content: Option<Option<String>>,
    /// The value that the content is as JSON, however it is written.
    pub content_json: Option<Value>,
    /// Reasoning; `Some(None)` is null, which equals empty.
    pub reasoning: Option<Option<String>>,
    /// The calls, in order.
    pub tool_calls: Option<Vec<ExpectCall>>,
    /// The finish reason in openai-chat terms.
    pub finish: Option<String>,
    /// At these rounds a stream must have at least this many argument deltas.
    pub argument_deltas_at_least: Option<(String, usize)>,
    /// An error is the right answer: status and, if said, code.
    pub error: Option<ExpectError>,
    /// Of recorded outputs with `expected_error`: the whole answers that are accepted. Each is an `Expect` of its own.
    pub accept: Vec<Expect>,
}

/// One call of the right answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectCall {
    /// The offered spelling.
    pub name: String,
    /// An object to be equal as JSON, or a string for text that must be exactly so.
    pub arguments: Value,
}

/// An error that is the right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectError {
    /// HTTP status.
    pub status: u16,
    /// `error.code`, if said.
    pub code: Option<String>,
}
