//! What counts: from which severity on a finding makes something fail, and whether what was judged does.
//!
//! In: a [`Judged`] and a [`FailOn`]. Out: yes or no. The exit status of a check, the live proxy, replay and rejudge ask here.

use super::{Judged, Verdict, verdict::blames};
use crate::rules::Severity;

/// From where on a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailOn {
    /// Errors.
    #[default]
    Error,
    /// Warnings too.
    Warn,
    /// Warnings, and what is suspect or unstable: differences without proof.
    Suspect,
}

/// Whether what was judged counts as failing. A difference without proof of equal tokens counts only where asked.
pub fn fails(judged: &Judged, fail_on: FailOn) -> bool {
    match judged.verdict {
        Verdict::Suspect | Verdict::Unstable if fail_on == FailOn::Suspect => true,
        verdict => judged.findings.iter().any(|f| f.severity >= fail_on.least() && blames(verdict, f)),
    }
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
