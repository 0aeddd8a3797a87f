//! What counts: from which severity on a finding makes something fail, and whether what was judged does.
//!
//! In: a [`Judged`] and a [`FailOn`]. Out: yes or no. The exit status of a check, the report, the live proxy, replay and rejudge
//! ask here.

use super::{Judged, Verdict, verdict::blames};
use crate::{finding::Finding, rules::Severity};

/// From where on a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailOn {
    /// Errors, and what has no usable answer.
    #[default]
    Error,
    /// Warnings too.
    Warn,
    /// Warnings, and what is suspect or unstable: differences without proof.
    Suspect,
}

/// Whether what was judged counts as failing and nobody has declared that known. A difference without proof of equal tokens
/// counts only where asked; that there is no usable answer counts always.
pub fn fails(judged: &Judged, fail_on: FailOn) -> bool {
    let is_doubtful = matches!(judged.verdict, Verdict::Suspect | Verdict::Unstable);
    is_doubtful && fail_on == FailOn::Suspect
        || is_unanswered(judged)
        || counted(judged).any(|finding| finding.severity >= fail_on.least())
}

/// Whether no usable answer came and nobody has declared that known, be it by one of the findings.
pub fn is_unanswered(judged: &Judged) -> bool {
    judged.verdict == Verdict::Error && judged.findings.iter().all(Finding::counts)
}

/// Findings that blame the server and that nobody has declared known.
pub fn counted(judged: &Judged) -> impl Iterator<Item = &Finding> {
    judged.findings.iter().filter(|finding| finding.counts() && blames(judged.verdict, finding))
}

// === impl FailOn ===

impl FailOn {
    /// All of them, the strictest last.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warn, Self::Suspect];

    /// As it is written on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Suspect => "suspect",
        }
    }

    /// The mildest severity that counts.
    pub const fn least(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warn | Self::Suspect => Severity::Warn,
        }
    }
}
