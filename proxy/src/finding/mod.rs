//! What is said: findings, their fingerprints, faults, known failures. Sees differences and breaches only.

use crate::{compare::Kind, decode::Span, rules::Severity};

pub mod coverage;

/// One broken rule or one difference, with the place and the two values.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// `parity/tool-arguments`.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// Schedules that show it, as reports name them, in the order they were sent. Empty for the whole reply.
    pub rounds: Vec<String>,
    /// The place, `tool_calls[0].arguments`.
    pub path: String,
    /// The whole reply's value (for `expect/*` the expected one); `None` where there is none.
    pub whole: Option<String>,
    /// The stream's value (for `expect/*` the one that came; for a breach what was found).
    pub stream: Option<String>,
    /// What kind of difference, for differences.
    pub kind: Option<Kind>,
    /// Fingerprint-like `rule path` of the primary finding this one follows from.
    pub because_of: Option<String>,
    /// First event that shows it.
    pub event: Option<usize>,
    /// Its bytes in the body.
    pub span: Option<Span>,
    /// Its arrival in microseconds since sending.
    pub at: Option<u64>,
    /// A readable diff.
    pub diff: Option<String>,
    /// The command that repeats it.
    pub repeat: String,
}
