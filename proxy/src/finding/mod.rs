//! What is said: findings, their fingerprints, faults, known failures. Sees differences and breaches only.
//!
//! In: the differences and breaches of one entry. Out: its [`Finding`]s ([`gather()`]), primaries before the consequences that
//! follow from them ([`cause`]). Over many entries: [`fault`]s for people, [`known`] failures, [`coverage`].

use crate::{compare::Kind, decode::Span, rules::catalogue};

pub mod aspect;
pub mod cause;
pub mod client;
pub mod coverage;
pub mod fault;
pub mod gather;
pub mod known;
pub mod plain;
pub mod shape;

pub use crate::rules::Severity;
pub use aspect::{Aspect, compares, needs_proof};
pub use fault::Fault;
pub use gather::{Evidence, Of, gather};
pub use known::Known;

/// One broken rule or one difference, with the place and the two values.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// `parity/tool-arguments`.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// Which replies show it.
    pub side: Side,
    /// Schedules that show it, as reports name them, in the order they were sent. Empty for the whole reply.
    pub rounds: Vec<String>,
    /// The place, `tool_calls[0].arguments`.
    pub path: String,
    /// The whole reply's value (for `expect/*` and `truth/*` the right one); `None` where there is none.
    pub whole: Option<String>,
    /// The stream's value (for `expect/*` and `truth/*` the one that came; for a breach what was found).
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
    /// Clients that it breaks, and what they do.
    pub clients: Vec<(String, String)>,
    /// Why it is known and does not fail; `None` where it is not known.
    pub known: Option<String>,
}

/// Which replies show a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The whole reply alone.
    Whole,
    /// Streams alone.
    Stream,
    /// The whole reply and streams; every difference between the two modes.
    Both,
}

// === impl Finding ===

impl Finding {
    /// What stays the same from run to run: rule, case, dialect and the path without its indices.
    pub fn fingerprint(&self, case: &str, dialect: &str) -> String {
        format!("{} {case} {dialect} {}", self.rule, place(&self.path))
    }

    /// What must hold, where a rule of one exchange is broken; a difference speaks for itself.
    pub fn sentence(&self) -> Option<&'static str> {
        catalogue::find(&self.rule).map(|rule| rule.sentence)
    }

    /// Whether a reply is not the right answer: `whole` is then what is right, and `stream` what came in `side`.
    pub fn is_of_answer(&self) -> bool {
        aspect::is_of_answer(&self.rule)
    }

    /// Whether it is a cause of its own.
    pub const fn is_primary(&self) -> bool {
        self.because_of.is_none()
    }

    /// Whether it counts against a run: nobody has declared it known.
    pub const fn counts(&self) -> bool {
        self.known.is_none()
    }
}

/// A path with its indices as `[]`: `tool_calls[3].name` is `tool_calls[].name`.
pub fn place(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push('[');
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

// === impl Side ===

impl Side {
    /// Both of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Both }
    }
}

/// Blank findings for tests.
#[cfg(test)]
pub(crate) mod example {
    use super::*;

    /// An error at `path` in streams of `rounds`.
    pub(crate) fn finding(rule: &str, path: &str, rounds: &[&str]) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity: Severity::Error,
            side: Side::Both,
            rounds: rounds.iter().map(|&r| r.to_owned()).collect(),
            path: path.to_owned(),
            whole: None,
            stream: None,
            kind: Some(Kind::Changed),
            because_of: None,
            event: None,
            span: None,
            at: None,
            diff: None,
            repeat: String::new(),
            clients: Vec::new(),
            known: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_do_not_depend_on_indices_or_rounds() {
        let check = |path: &str, expect: &str| assert_eq!(place(path), expect);
        check("content", "content");
        check("tool_calls[12].name", "tool_calls[].name");
        check("choices[0].delta.tool_calls[1].index", "choices[].delta.tool_calls[].index");
        check("odd[", "odd[");
        check("", "");
        let one = example::finding("parity/tool-name", "tool_calls[0].name", &["1"]);
        let two = example::finding("parity/tool-name", "tool_calls[4].name", &["7"]);
        assert_eq!(
            one.fingerprint("glm/a", "openai-chat"),
            "parity/tool-name glm/a openai-chat tool_calls[].name"
        );
        assert_eq!(one.fingerprint("glm/a", "openai-chat"), two.fingerprint("glm/a", "openai-chat"));
    }
}
