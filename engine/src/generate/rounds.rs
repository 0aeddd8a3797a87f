//! Rounds: how many tokens each engine step commits. A schedule changes how a text arrives, never what it says.
//!
//! In: the spelling of a request (`whole`, `special`, `3`, `rand:1:8`). Out: the length of each round.

use std::str::FromStr;

use crate::text::{TokenId, Tokenizer};

/// How many tokens each round commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Everything in one round.
    Whole,
    /// A border before and after each special token.
    Special,
    /// That many tokens a round.
    Every(usize),
    /// Uniform 1..=max tokens a round.
    Random {
        /// Seed of the generator.
        seed: u64,
        /// Largest round.
        max: u32,
    },
}

/// The most characters of a wrong spelling that are said back.
const MAX_SHOWN: usize = 120;

/// A spelling that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rounds {0:?}: expected whole, special, a number from 1, or rand:SEED:MAX")]
pub struct BadRounds(String);

/// A schedule under way.
#[derive(Debug)]
pub struct Schedule {
    rounds: Rounds,
    state: u64,
}

// === impl Rounds ===

impl Default for Rounds {
    /// One token a round, as an engine without speculation does.
    fn default() -> Self {
        Self::Every(1)
    }
}

impl FromStr for Rounds {
    type Err = BadRounds;

    fn from_str(text: &str) -> Result<Self, BadRounds> {
        let read = match text {
            "whole" => Some(Self::Whole),
            "special" => Some(Self::Special),
            _ => random(text).or_else(|| from_one(text).map(Self::Every)),
        };
        read.ok_or_else(|| BadRounds(text.chars().take(MAX_SHOWN).collect()))
    }
}

/// `rand:SEED:MAX`, or `rand-SEED-MAX` where a gateway minds the colons.
fn random(text: &str) -> Option<Rounds> {
    let numbers = text.strip_prefix("rand")?;
    let separator = numbers.chars().next().filter(|c| matches!(c, ':' | '-'))?;
    let (seed, max) = numbers.strip_prefix(separator)?.split_once(separator)?;
    Some(Rounds::Random { seed: digits(seed)?, max: digits(max).filter(|max| *max > 0)? })
}

fn from_one(text: &str) -> Option<usize> {
    digits(text).filter(|number| *number > 0)
}

/// A number written in digits only: `+3` is not one.
fn digits<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

// === impl Schedule ===

impl Schedule {
    /// A schedule at its start.
    pub fn new(rounds: Rounds) -> Self {
        let state = if let Rounds::Random { seed, .. } = rounds { seed } else { 0 };
        Self { rounds, state }
    }

    /// How many of the tokens to come the next round commits: at least one where there are any.
    pub fn next(&mut self, to_come: &[TokenId]) -> usize {
        let wanted = match self.rounds {
            Rounds::Whole => to_come.len(),
            Rounds::Special => to_border(to_come),
            Rounds::Every(number) => number,
            Rounds::Random { max, .. } => self.random(max),
        };
        wanted.min(to_come.len())
    }

    fn random(&mut self, max: u32) -> usize {
        let drawn = (u128::from(self.draw()) * u128::from(max)) >> 64;
        usize::try_from(drawn).unwrap_or_default() + 1
    }

    /// SplitMix64: small, seeded, and the same on every machine.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// A special token stands alone; plain tokens go up to the next special one.
fn to_border(to_come: &[TokenId]) -> usize {
    to_come.iter().position(|id| Tokenizer::is_special(*id)).unwrap_or(to_come.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(rounds: &str, ids: &[TokenId]) -> Vec<usize> {
        let mut schedule = Schedule::new(rounds.parse().unwrap());
        let mut rest = ids;
        let mut lengths = Vec::new();
        while !rest.is_empty() {
            let length = schedule.next(rest);
            lengths.push(length);
            rest = &rest[length..];
        }
        lengths
    }

    #[test]
    fn each_schedule_cuts_as_it_says() {
        let ids = [1, 2, 256, 257, 3, 4, 5, 260];
        assert_eq!(lengths("whole", &ids), [8]);
        assert_eq!(lengths("special", &ids), [2, 1, 1, 3, 1]);
        assert_eq!(lengths("1", &ids), [1; 8]);
        assert_eq!(lengths("3", &ids), [3, 3, 2]);
        assert_eq!(lengths("rand:1:1", &ids), [1; 8]);
    }

    #[test]
    fn random_rounds_are_uniform_and_seeded() {
        let ids = vec![7; 10_000];
        let some = lengths("rand:1:8", &ids);
        assert_eq!(some, lengths("rand-1-8", &ids));
        assert_ne!(some, lengths("rand:2:8", &ids));
        for wanted in 1..=8 {
            let seen = some.iter().filter(|length| **length == wanted).count();
            assert!((200..400).contains(&seen), "{wanted}: {seen} of {}", some.len());
        }
    }

    #[test]
    fn bad_spellings_are_refused() {
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "1.5",
            " 1",
            "rand",
            "rand:",
            "rand:1",
            "rand:1:0",
            "rand:x:8",
            "rand::8",
            "rand:1:8:9",
            "rand:1-8",
            "Whole",
            "99999999999999999999999",
        ] {
            assert_eq!(text.parse::<Rounds>(), Err(BadRounds(text.to_owned())));
        }
    }
}
