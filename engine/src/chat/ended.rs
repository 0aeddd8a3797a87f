//! How a reply ended and what it cost: what generation tells a dialect once no more events follow.

use crate::read::{End, Finish};

/// How a reply ended, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Why generation ended.
    pub end: End,
    /// The stop string that ended it.
    pub stop: Option<String>,
    /// What the client is told.
    pub finish: Finish,
    /// What it is billed.
    pub usage: Usage,
    /// Which tokens it got.
    pub token_sha: String,
}

/// Tokens read and generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of all message texts and of the tools as JSON.
    pub prompt: u64,
    /// Tokens generated, the end token and those of a stop string included.
    pub completion: u64,
}
