//! One exchange to breaches. A rule is an id, a severity, a sentence, a source, a check, and examples of both kinds.
//!
//! In: [`Facts`], everything known of one exchange, and a [`Profile`]. Out: [`Breach`]es, in the order of the
//! catalogue. Pure. Bias: a rule that cannot tell a fault from a legal oddity stays silent.

use crate::{
    decode::{Decoded, Span},
    exchange::Exchange,
    fold::Reply,
    request::{Asked, case::Expect},
};

#[macro_use]
pub mod example;

pub mod catalogue;
pub mod chat;
pub mod digest;
pub mod found;
pub mod http;
pub mod json;
pub mod named;
pub mod profile;
pub mod sse_blocks;
pub mod sse_bytes;
#[cfg(test)]
mod tests;

pub use digest::Digest;
pub use example::Example;
pub use found::Found;
pub use named::Named;
pub use profile::Profile;

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
    pub check: fn(&Digest<'_>, &mut Found<'_>),
    /// Exchanges that keep it.
    pub good: &'static [Example],
    /// Exchanges that break it.
    pub bad: &'static [Example],
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
    /// Where a part of a text was asked for, or one call of it: what is known of the right answer to all of it.
    pub whole: Option<&'a Expect>,
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

/// Holds one exchange against the whole catalogue, as `profile` sees it.
pub fn check(facts: &Facts<'_>, profile: &Profile) -> Vec<Breach> {
    let digest = Digest::of(*facts);
    let mut breaches = Vec::new();
    for rule in catalogue::all() {
        let mut found = Found::new(rule, facts.decoded);
        (rule.check)(&digest, &mut found);
        breaches.extend(found.judged(profile));
    }
    breaches
}

// === impl Severity ===

impl Severity {
    /// `info`, `warn` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

// === impl Facts ===

impl Facts<'_> {
    /// Whether the right answer, or one of the accepted ones, is known and `holds`.
    pub fn expects(&self, holds: impl Fn(&Expect) -> bool) -> bool {
        is_any(self.expect, holds)
    }

    /// Whether what is right of all of a text, of which this answers a part, is known and `holds`.
    pub fn expects_of_whole(&self, holds: impl Fn(&Expect) -> bool) -> bool {
        is_any(self.whole, holds)
    }
}

/// Whether the right answer, or one of the accepted ones, `holds`.
fn is_any(expect: Option<&Expect>, holds: impl Fn(&Expect) -> bool) -> bool {
    expect.is_some_and(|expect| holds(expect) || expect.accept.iter().any(holds))
}
