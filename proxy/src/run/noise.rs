//! How often one question asked twice is answered differently: by one mode, and across modes. Pure.
//!
//! In: for each answer, which of the different answers it is. Out: [`Noise`]: rates within each mode and across them, and how
//! often chance alone would give as many differences across. Were the mode without influence, every way to call as many of
//! the answers "whole" would be as likely as the one that was seen; the share of those ways that differ across modes at
//! least as often is counted exactly.

use std::{collections::BTreeMap, fmt};

/// The most answers of one mode that are looked at.
pub const MAX_ANSWERS: usize = 32;

/// What chance alone gives more rarely than this, chance does not explain: once in a hundred times. A check asks hundreds of
/// questions, so a larger share would blame the mode in several of them for nothing.
const RARE: f64 = 0.01;

/// What the answers to one question show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    whole: Rate,
    streamed: Rate,
    across: Rate,
    /// The share of ways to tell the answers apart by chance that differ across at least as often.
    chance: f64,
}

/// How many pairs of answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate {
    differ: usize,
    pairs: usize,
}

/// How often one answer came in each mode.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    whole: usize,
    streamed: usize,
}

// === impl Noise ===

impl Noise {
    /// What these answers show, each named by the number of the answer that it is; `None` where all are the same or a mode
    /// was asked only once, which says nothing of noise.
    pub fn of(whole: &[usize], streamed: &[usize]) -> Option<Self> {
        let mut counts: BTreeMap<usize, Count> = BTreeMap::new();
        for answer in whole {
            counts.entry(*answer).or_default().whole += 1;
        }
        for answer in streamed {
            counts.entry(*answer).or_default().streamed += 1;
        }
        if counts.len() < 2 || whole.len() < 2 || streamed.len() < 2 {
            return None;
        }
        let counts: Vec<Count> = counts.into_values().collect();
        let same = |of: fn(&Count) -> usize| counts.iter().map(of).sum::<usize>();
        let within = |count: usize, same: usize| Rate { differ: pairs(count) - same, pairs: pairs(count) };
        let alike = same(|count| count.whole * count.streamed);
        let all = whole.len() * streamed.len();
        Some(Self {
            whole: within(whole.len(), same(|count| pairs(count.whole))),
            streamed: within(streamed.len(), same(|count| pairs(count.streamed))),
            across: Rate { differ: all - alike, pairs: all },
            chance: chance(&counts, whole.len(), alike),
        })
    }

    /// Whether the modes differ more often than chance explains.
    pub fn is_by_mode(&self) -> bool {
        self.chance < RARE
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs across modes differ, {} whole and {} streamed; chance alone gives that {}",
            self.across,
            self.whole,
            self.streamed,
            Once(self.chance)
        )
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.differ, self.pairs)
    }
}

/// A share in words.
struct Once(f64);

impl fmt::Display for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(share) = self;
        if *share > 0.5 {
            write!(f, "more often than not")
        } else {
            write!(f, "once in {:.0} times", 1.0 / share)
        }
    }
}

const fn pairs(of: usize) -> usize {
    of * of.saturating_sub(1) / 2
}

/// The share of ways to call `whole` of all answers whole that leave at most `alike` equal pairs across modes. Answer by answer:
/// how many ways there are to have called so many whole so far, by the number of equal pairs that this makes.
fn chance(counts: &[Count], whole: usize, alike: usize) -> f64 {
    let mut ways: BTreeMap<(usize, usize), f64> = BTreeMap::from([((0, 0), 1.0)]);
    for count in counts {
        let of = count.whole + count.streamed;
        let mut next: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for ((called, equal), so_far) in ways {
            for more in 0..=of.min(whole - called) {
                let key = (called + more, equal + more * (of - more));
                *next.entry(key).or_default() += so_far * choose(of, more);
            }
        }
        ways = next;
    }
    let sum = |most: usize| {
        ways.iter()
            .filter(|((called, equal), _)| *called == whole && *equal <= most)
            .map(|(_, n)| n)
            .sum::<f64>()
    };
    sum(alike) / sum(usize::MAX)
}

/// In how many ways some of several can be chosen.
#[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
fn choose(of: usize, some: usize) -> f64 {
    let factor = |at: usize| (of - at) as f64 / (at + 1) as f64;
    (0..some).map(factor).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(whole: &[usize], streamed: &[usize]) -> String {
        Noise::of(whole, streamed).map(|noise| noise.to_string()).unwrap_or_default()
    }

    #[test]
    fn one_answer_and_one_question_say_nothing_of_noise() {
        assert_eq!(Noise::of(&[0, 0], &[0, 0]), None);
        assert_eq!(Noise::of(&[0], &[1, 1]), None);
        assert_eq!(Noise::of(&[0, 1], &[1]), None);
        assert_eq!(Noise::of(&[], &[]), None);
    }

    #[test]
    fn rates_are_of_pairs() {
        assert_eq!(
            shown(&[0, 0], &[1, 1]),
            "4 of 4 pairs across modes differ, 0 of 1 whole and 0 of 1 streamed; chance alone gives that once in 3 times"
        );
        assert_eq!(
            shown(&[0, 1, 0], &[0, 0, 0]),
            "3 of 9 pairs across modes differ, 2 of 3 whole and 0 of 3 streamed; chance alone gives that more often than not"
        );
    }

    /// The share counted one by one.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand ways")]
    fn by_hand(whole: &[usize], streamed: &[usize]) -> f64 {
        let all = [whole, streamed].concat();
        let alike = |called: u32| {
            let pairs = (0..all.len()).flat_map(|left| (0..left).map(move |right| (left, right)));
            let is_whole = |at: usize| called >> at & 1 == 1;
            pairs.filter(|(l, r)| is_whole(*l) != is_whole(*r) && all[*l] == all[*r]).count()
        };
        let seen = alike((1 << whole.len()) - 1);
        let ways = (0..1_u32 << all.len()).filter(|called| called.count_ones() as usize == whole.len());
        let ways: Vec<usize> = ways.map(alike).collect();
        ways.iter().filter(|other| **other <= seen).count() as f64 / ways.len() as f64
    }

    #[test]
    fn the_share_of_chance_is_exact() {
        for (whole, streamed) in [
            (vec![0, 0], vec![1, 1]),
            (vec![0, 1], vec![0, 1]),
            (vec![0, 0, 0], vec![1, 1, 0]),
            (vec![0, 1, 2, 3], vec![4, 5, 6]),
            (vec![0, 0, 0, 1, 0, 0], vec![1, 1, 1, 1, 0, 1]),
            (vec![0, 0, 2, 1, 0], vec![1, 3, 1, 1, 2, 1, 3]),
        ] {
            let noise = Noise::of(&whole, &streamed).unwrap();
            assert!((noise.chance - by_hand(&whole, &streamed)).abs() < 1e-12, "{whole:?} {streamed:?}");
        }
    }

    #[test]
    fn the_mode_is_blamed_only_for_what_chance_gives_rarely() {
        let is_by_mode =
            |whole: &[usize], streamed: &[usize]| Noise::of(whole, streamed).unwrap().is_by_mode();
        assert!(!is_by_mode(&[0; 2], &[1; 2]));
        assert!(is_by_mode(&[0; 6], &[1; 6]));
        assert!(is_by_mode(&[0, 0, 0, 0, 0, 2], &[1; 6]), "some noise within a mode");
        assert!(!is_by_mode(&[0, 1, 0, 1, 0, 1], &[1, 1, 0, 1, 1, 0]));
        let distinct: Vec<usize> = (0..12).collect();
        assert!(!is_by_mode(&distinct[..6], &distinct[6..]), "a server that never repeats itself");
        assert!(is_by_mode(&[0; MAX_ANSWERS], &[1; MAX_ANSWERS]));
    }
}
