//! One case through all stages, and many cases side by side. Speaks to the outside in run events only.

use crate::{
    finding::{Finding, coverage::Condition},
    request::Dialect,
};
use serde_json::Value;

pub mod answer;
pub mod ask;
mod clients;
mod counts;
pub mod dropped;
mod effect;
pub mod event;
pub mod judge;
pub mod judging;
pub mod noise;
pub mod pairs;
pub mod reread;
pub mod shown;
pub mod stages;
#[cfg(test)]
mod tests;
mod tokens;
pub mod upstream;
pub mod verdict;
pub mod workers;

pub use crate::compare::Expected;
pub use counts::{FailOn, counted, fails, is_unanswered};
pub use dropped::Dropped;
pub use tokens::Tokens;

/// What became of one entry (case x dialect, derived variants included).
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Entry id: the case's id, or `id~one-call`, `id~cut-17`.
    pub id: String,
    /// The case's id.
    pub case: String,
    /// What the case is about.
    pub about: String,
    /// The dialect it was asked in.
    pub dialect: Dialect,
    /// The format, for puppet cases.
    pub format: Option<String>,
    /// What the puppet was told to say.
    pub says: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is skipped, suspect, inconclusive or an error.
    pub reason: Option<String>,
    /// How the replies stand to what was expected.
    pub expected: Expected,
    /// Every exchange, in the order sent.
    pub exchanges: Vec<Sent>,
    /// The whole reply in openai-chat terms; null where there is none.
    pub reply: Value,
    /// What was found, primaries before their consequences.
    pub findings: Vec<Finding>,
    /// What the replies say of the tokens that they come from.
    pub tokens: Tokens,
    /// The reply follows another policy than ours, alike in both modes.
    pub other_policy: bool,
    /// The case's tags.
    pub tags: Vec<String>,
    /// What the entry exercised beyond what its reply shows: a stop string that was met, several choices.
    pub exercised: Vec<Condition>,
}

/// One exchange, as a report lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// `whole` or `stream`.
    pub mode: crate::request::Mode,
    /// The schedule, or `-`.
    pub rounds: String,
    /// HTTP status, 0 if none came.
    pub status: u16,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Number of events.
    pub events: usize,
    /// Finish reason, if one came.
    pub finish: Option<String>,
    /// Completion tokens, if they were said.
    pub tokens: Option<u64>,
}

/// What is said of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Two 2xx replies, the needs met, no difference; or equal errors where an error is expected.
    Pass,
    /// A difference or breach, with proof.
    Fail,
    /// The replies differ, equal tokens are not proven.
    Suspect,
    /// The same mode disagrees with itself.
    Unstable,
    /// 429, 503, 529 after retries.
    Inconclusive,
    /// Needs unmet, not expressible, or the server would not say it.
    Skipped,
    /// No usable answer.
    Error,
}

// === impl Verdict ===

impl Verdict {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Suspect => "suspect",
            Self::Unstable => "unstable",
            Self::Inconclusive => "inconclusive",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }
}
