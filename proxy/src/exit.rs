//! The exit status: one documented table, and the one place that chooses.
//!
//! | status | when |
//! | --- | --- |
//! | 0 | nothing found (known failures allowed) |
//! | 1 | findings at or above `--fail-on` |
//! | 2 | usage, settings or a case file is wrong |
//! | 3 | no exchange worked, or the run was aborted |
//! | 4 | nothing was exercised, or over a fifth was skipped |
//! | 5 | a known failure is stale |
//!
//! Where several hold the order is 2, 3, 4, 1, 5, 0: a result that rests on nothing is worse than a bad one.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Nothing found.
    Clean,
    /// Findings at or above `--fail-on`.
    Findings,
    /// Usage, settings or a case file is wrong.
    Usage,
    /// No exchange worked, or the run was aborted.
    NotRun,
    /// Nothing was exercised, or over a fifth was skipped.
    NotExercised,
    /// A known failure is stale.
    Stale,
}

/// What a run came to, as far as the exit status cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Entries that were judged.
    pub judged: usize,
    /// Entries that passed or failed; what is suspect or unstable was not judged to its end.
    pub exercised: usize,
    /// Entries that were skipped.
    pub skipped: usize,
    /// Entries without a usable answer.
    pub errors: usize,
    /// What counts against the upstream under `--fail-on`, known failures aside.
    pub counted: usize,
    /// Known failures that did not show.
    pub stale: usize,
    /// Whether the run was stopped before its end.
    pub aborted: bool,
}

/// The share of entries, one in so many, that may be skipped before a run says nothing.
const SKIPPED_SHARE: usize = 5;

// === impl Exit ===

impl Exit {
    /// The status of a run.
    pub fn of(tally: &Tally) -> Self {
        let nothing_answered = tally.judged > 0 && tally.errors == tally.judged;
        if tally.aborted || nothing_answered {
            Self::NotRun
        } else if tally.exercised == 0 || tally.skipped * SKIPPED_SHARE > tally.judged {
            Self::NotExercised
        } else if tally.counted > 0 {
            Self::Findings
        } else if tally.stale > 0 {
            Self::Stale
        } else {
            Self::Clean
        }
    }

    /// In words, where a report does not show it anyway.
    pub const fn why(self) -> Option<&'static str> {
        match self {
            Self::Clean | Self::Findings | Self::Usage => None,
            Self::NotRun => Some("no exchange worked, or the run was aborted"),
            Self::NotExercised => Some("nothing was exercised, or over a fifth was skipped"),
            Self::Stale => Some("a known failure is stale"),
        }
    }

    /// The number.
    pub const fn status(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::NotRun => 3,
            Self::NotExercised => 4,
            Self::Stale => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.status().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_that_holds_decides() {
        let fine = Tally { judged: 10, exercised: 10, ..Tally::default() };
        for (tally, status) in [
            (fine, 0),
            (Tally { stale: 1, ..fine }, 5),
            (Tally { counted: 1, stale: 1, ..fine }, 1),
            (Tally { exercised: 8, skipped: 2, ..fine }, 0),
            (Tally { exercised: 7, skipped: 3, counted: 1, ..fine }, 4),
            (Tally { exercised: 0, skipped: 0, ..fine }, 4),
            (Tally::default(), 4),
            (Tally { exercised: 9, errors: 1, counted: 1, ..fine }, 1),
            (Tally { exercised: 0, errors: 10, counted: 10, ..fine }, 3),
            (Tally { aborted: true, counted: 3, ..fine }, 3),
        ] {
            assert_eq!(Exit::of(&tally).status(), status, "{tally:?}");
        }
    }

    #[test]
    fn the_table_above_is_the_table() {
        use Exit::{Clean, Findings, NotExercised, NotRun, Stale, Usage};
        let all = [Clean, Findings, Usage, NotRun, NotExercised, Stale].map(Exit::status);
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
    }
}
