//! One exchange to breaches. A rule is an id, a severity, a sentence, a source, a check, and examples of both kinds.

use crate::{
    decode::{Decoded, Span},
    exchange::Exchange,
    fold::Reply,
    request::{Asked, case::Expect},
};

/// How bad a breach is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal or harmless, worth recording.
    Info,
    /// A documented shape is not met, third-party clients are known to break, or clients read it differently.
    Warn,
    /// A normative MUST is broken, or an official client crashes on it, loses or corrupts data.
    Error,
}

/// One rule of the catalogue.
pub struct Rule {
    /// `family/name`, stable for ever.
    pub id: &'static str,
    /// How bad a breach is.
    pub severity: Severity,
    /// What must hold, in one sentence.
    pub sentence: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// Finds the breaches of one exchange.
    pub check: fn(&Facts<'_>, &mut Vec<Breach>),
    /// Streams (or whole bodies) that keep it.
    pub good: &'static [&'static str],
    /// Streams (or whole bodies) that break it.
    pub bad: &'static [&'static str],
}

/// All that a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The bytes and how they came.
    pub exchange: &'a Exchange,
    /// What the request asked for.
    pub asked: &'a Asked,
    /// The events and anomalies.
    pub decoded: &'a Decoded,
    /// The strict reading.
    pub reply: &'a Reply,
    /// What is known of the right answer: a rule is silent where it holds what the rule would flag.
    pub expect: Option<&'a Expect>,
}

/// One broken rule in one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule's id.
    pub rule: &'static str,
    /// Its severity, after the profile had its say.
    pub severity: Severity,
    /// Where in the event or reply: `choices[0].delta.tool_calls[0].index`; empty for the exchange as a whole.
    pub path: String,
    /// What was found, in one fragment that fits after "found".
    pub found: String,
    /// The event, where there is one.
    pub event: Option<usize>,
    /// The bytes, where they are known.
    pub span: Option<Span>,
}
