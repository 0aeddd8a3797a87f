//! The neutral request: what a dialect's body asks for, checked, with nothing of the wire left in it, and how its reply ended.

mod ended;

pub use ended::{Ended, Usage};

use crate::{
    model::Puppet,
    read::{Offer, Thinking},
};

/// One request for a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which model answers.
    pub model: Puppet,
    /// What the puppet is told to say: the text of the last user message.
    pub says: String,
    /// Tokens of all message texts, and of the tools as compact JSON.
    pub prompt_tokens: u64,
    /// The tools that may be called.
    pub offer: Offer,
    /// Whether a thinking block is open when generation starts.
    pub thinking: Thinking,
    /// How many tokens may be generated.
    pub max_tokens: Option<u64>,
    /// Non-empty strings that end the reply.
    pub stop: Vec<String>,
}

/// How the client wants the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As one body.
    Whole,
    /// As it is generated.
    Stream(UsageChunk),
}

/// Whether a stream tells the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageChunk {
    /// In one more chunk before the end.
    Included,
    /// Not at all.
    LeftOut,
}
