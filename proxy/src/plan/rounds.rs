//! Rounds schedules: how many tokens each engine step commits. They change how a text arrives, never what it says.

use crate::request::select::stable_hash;
use std::{fmt, str::FromStr};

/// How many tokens each round commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rounds {
    /// Everything in one round.
    Whole,
    /// A border before and after each special token.
    Special,
    /// That many tokens a round, at least 1.
    Every(u32),
    /// `rand:SEED:MAX`: uniform 1..=MAX tokens a round.
    Rand {
        /// Seed of the generator.
        seed: u64,
        /// Largest round, at least 1.
        max: u32,
    },
}

/// More tokens than a reply has.
const WHOLE: u32 = 1_000_000;

/// A schedule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rounds {0:?}: write whole, special, a number from 1, or rand:SEED:MAX")]
pub struct BadRounds(pub String);

// === impl Rounds ===

impl Rounds {
    /// The schedules of a default check.
    pub const DEFAULT: [Self; 11] = [
        Self::Whole,
        Self::Special,
        Self::Every(1),
        Self::Every(2),
        Self::Every(3),
        Self::Every(7),
        Self::Rand { seed: 1, max: 8 },
        Self::Rand { seed: 2, max: 8 },
        Self::Rand { seed: 3, max: 8 },
        Self::Rand { seed: 4, max: 8 },
        Self::Rand { seed: 5, max: 8 },
    ];
}

impl Rounds {
    /// So many tokens a delta, if that says it all.
    pub const fn interval(self) -> Option<u32> {
        match self {
            Self::Whole => Some(WHOLE),
            Self::Every(tokens) => Some(tokens),
            Self::Special | Self::Rand { .. } => None,
        }
    }

    /// The sizes of the pieces into which it cuts some tokens, of which `special` are markers. What they leave over is a piece
    /// more.
    pub fn sizes<'a>(self, tokens: &'a [u32], special: &'a [u32]) -> Box<dyn Iterator<Item = usize> + 'a> {
        let size = |size: u32| usize::try_from(size).unwrap_or(usize::MAX);
        match self {
            Self::Whole => Box::new(std::iter::empty()),
            Self::Every(tokens) => Box::new(std::iter::repeat(size(tokens))),
            Self::Special => {
                let is_special = |token: &u32| special.contains(token);
                let runs = tokens.chunk_by(move |left, right| !is_special(left) && !is_special(right));
                Box::new(runs.map(<[u32]>::len))
            }
            Self::Rand { seed, max } => Box::new((0_u64..).map(move |at| {
                let drawn = stable_hash(&[seed.to_le_bytes(), at.to_le_bytes()].concat());
                size(u32::try_from(drawn % u64::from(max.max(1))).unwrap_or_default() + 1)
            })),
        }
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Special => f.write_str("special"),
            Self::Every(n) => write!(f, "{n}"),
            Self::Rand { seed, max } => write!(f, "rand:{seed}:{max}"),
        }
    }
}

impl FromStr for Rounds {
    type Err = BadRounds;

    fn from_str(text: &str) -> Result<Self, BadRounds> {
        let bad = || BadRounds(text.to_owned());
        match text {
            "whole" => Ok(Self::Whole),
            "special" => Ok(Self::Special),
            _ => match text.strip_prefix("rand:").map(|rest| rest.split_once(':')) {
                Some(Some((seed, max))) => {
                    let max = positive(max).ok_or_else(bad)?;
                    Ok(Self::Rand { seed: seed.parse().map_err(|_| bad())?, max })
                }
                Some(None) => Err(bad()),
                None => positive(text).map(Self::Every).ok_or_else(bad),
            },
        }
    }
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_reads_back_as_it_is_written() {
        for rounds in Rounds::DEFAULT {
            assert_eq!(rounds.to_string().parse(), Ok(rounds));
        }
    }

    #[test]
    fn a_schedule_cuts_tokens() {
        let tokens = [1, 2, 90, 3, 91, 92, 4];
        let sizes = |rounds: Rounds| rounds.sizes(&tokens, &[90, 91, 92]).take(20).collect::<Vec<_>>();
        assert_eq!(sizes(Rounds::Whole), [0_usize; 0]);
        assert_eq!(sizes(Rounds::Special), [2, 1, 1, 1, 1, 1]);
        assert_eq!(sizes(Rounds::Every(3)), [3; 20]);
        let drawn = [1, 2].map(|seed| sizes(Rounds::Rand { seed, max: 4 }));
        assert!(drawn[0] != drawn[1] && drawn[0] == sizes(Rounds::Rand { seed: 1, max: 4 }));
        for size in 1..=4 {
            assert!(drawn[0].contains(&size), "{drawn:?}");
        }
        assert!(drawn.iter().flatten().all(|size| (1..=4).contains(size)));
    }

    #[test]
    fn bad_schedules_are_refused() {
        for text in
            ["", "0", "-1", "1.5", "rand", "rand:", "rand:1", "rand:1:0", "rand:x:8", "Whole", "rand:1:8:9"]
        {
            assert_eq!(text.parse::<Rounds>(), Err(BadRounds(text.to_owned())));
        }
    }
}
