//! Which cases are run: patterns over ids, suites, and shards.
//!
//! In: what the user named. Out: yes or no for an id. `*` stands for anything within a segment of an id, `**` across
//! segments. A plain id also takes the variants derived from it, and everything below it.

use std::str::FromStr;

/// A pattern over ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern(String);

/// One share of the cases, chosen by a hash of the id, so that adding a case moves no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which share, from 1.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

/// A shard that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("shard {0:?}: write I/N, with I from 1 to N")]
pub struct BadShard(pub String);

/// All that narrows a run down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only ids that one of these matches; all where there is none.
    pub run: Vec<Pattern>,
    /// No id that one of these matches.
    pub skip: Vec<Pattern>,
    /// Only these suites; all where there is none.
    pub suites: Vec<String>,
    /// Only this share.
    pub shard: Option<Shard>,
}

// === impl Pattern ===

impl Pattern {
    /// Any text is a pattern. Three stars in a row say no more than two, and would be tried each by itself.
    pub fn new(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len());
        for character in text.chars() {
            if character != '*' || !plain.ends_with("**") {
                plain.push(character);
            }
        }
        Self(plain)
    }

    /// The text it was made of.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether it names the entry, the case the entry derives from, or a folder above it.
    pub fn matches(&self, id: &str) -> bool {
        let pattern = self.0.trim_end_matches('/').as_bytes();
        let names = id.match_indices(['/', '~']).map(|(at, _)| at).chain([id.len()]);
        let mut names = names.filter_map(|end| id.get(..end));
        names.any(|name| is_match(pattern, name.as_bytes()))
    }
}

// === impl Shard ===

impl Shard {
    /// Whether a case belongs to it.
    pub fn holds(self, case: &str) -> bool {
        stable_hash(case.as_bytes()) % self.of == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let bad = || BadShard(text.to_owned());
        let (index, of) = text.split_once('/').ok_or_else(bad)?;
        let (index, of) = (index.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
        if index >= 1 && index <= of { Ok(Self { index, of }) } else { Err(bad()) }
    }
}

// === impl Selection ===

impl Selection {
    /// Whether any entry of a case can be wanted. Patterns that name a variant keep its case.
    pub fn keeps_case(&self, case: &str) -> bool {
        let suite = case.split('/').next().unwrap_or_default();
        let is_run = self.run.is_empty()
            || self.run.iter().any(|p| p.matches(case) || Pattern::new(before_variant(&p.0)).matches(case));
        is_run
            && (self.suites.is_empty() || self.suites.iter().any(|s| s == suite))
            && !self.skip.iter().any(|p| p.matches(case))
            && self.shard.is_none_or(|shard| shard.holds(case))
    }

    /// Whether an entry is wanted, given that its case is.
    pub fn keeps_entry(&self, entry: &str) -> bool {
        (self.run.is_empty() || self.run.iter().any(|p| p.matches(entry)))
            && !self.skip.iter().any(|p| p.matches(entry))
    }
}

fn before_variant(pattern: &str) -> &str {
    pattern.split('~').next().unwrap_or_default()
}

/// FNV-1a, 64 bits: the same on every machine and in every version, which the standard hasher does not promise.
#[derive(Debug, Clone, Copy)]
pub struct StableHash(u64);

impl Default for StableHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl StableHash {
    /// The hash once these bytes follow.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }

    /// As a number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The hash of some bytes.
pub fn stable_hash(bytes: &[u8]) -> u64 {
    StableHash::default().with(bytes).value()
}

/// Follows all positions in the pattern that the text so far can have reached: pattern times text steps at most.
fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    let mut states = vec![false; pattern.len() + 1];
    mark(&mut states, pattern, 0);
    for byte in text {
        let mut next = vec![false; pattern.len() + 1];
        for at in states.iter().enumerate().filter(|(_, on)| **on).map(|(at, _)| at) {
            step(&mut next, pattern, at, *byte);
        }
        states = next;
    }
    states.last().copied().unwrap_or_default()
}

/// Marks a position and those that stars after it reach on nothing.
fn mark(states: &mut [bool], pattern: &[u8], at: usize) {
    let mut at = at;
    loop {
        if let Some(state) = states.get_mut(at) {
            *state = true;
        }
        if pattern.get(at) != Some(&b'*') {
            return;
        }
        at += 1;
    }
}

/// What a byte makes of a position.
fn step(next: &mut [bool], pattern: &[u8], at: usize, byte: u8) {
    match pattern.get(at) {
        Some(b'*') => {
            let crosses = at > 0 && pattern.get(at - 1) == Some(&b'*') || pattern.get(at + 1) == Some(&b'*');
            if byte != b'/' || crosses {
                mark(next, pattern, at);
            }
        }
        Some(wanted) if *wanted == byte => mark(next, pattern, at + 1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_by_segment_variant_and_folder() {
        for (pattern, id, expect) in [
            ("glm/a", "glm/a", true),
            ("glm/a", "glm/ab", false),
            ("glm/a", "glm/a~one-call", true),
            ("glm/a", "glm/a/deeper", true),
            ("glm/a~cut-3", "glm/a", false),
            ("glm/a~cut-3", "glm/a~cut-3", true),
            ("glm/a~cut-3", "glm/a~cut-31", false),
            ("glm", "glm/a", true),
            ("glm/", "glm/a~cut-1", true),
            ("gl", "glm/a", false),
            ("*/a", "glm/a", true),
            ("*/a", "glm/x/a", false),
            ("**/a", "glm/x/a", true),
            ("**", "glm/x/a", true),
            ("glm/*call*", "glm/two-calls", true),
            ("glm/*~cut-*", "glm/x~cut-4", true),
            ("glm/*~cut-*", "glm/x", false),
            ("*****", "glm/x", true),
            ("glm/****x", "glm/y/x", true),
            ("", "glm/x", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(id), expect, "{pattern} on {id}");
        }
    }

    #[test]
    fn a_selection_is_any_run_and_no_skip() {
        let patterns = |all: &[&str]| all.iter().map(|p| Pattern::new(p)).collect::<Vec<_>>();
        let selection = Selection {
            run: patterns(&["glm/*", "hermes/b~cut-2"]),
            skip: patterns(&["glm/c", "**~one-call"]),
            ..Selection::default()
        };
        assert!(selection.keeps_case("glm/a") && selection.keeps_case("hermes/b"));
        assert!(!selection.keeps_case("glm/c") && !selection.keeps_case("hermes/a"));
        assert!(selection.keeps_entry("glm/a~cut-1") && !selection.keeps_entry("glm/a~one-call"));
        assert!(!selection.keeps_entry("hermes/b") && selection.keeps_entry("hermes/b~cut-2"));
    }

    #[test]
    fn every_case_is_in_exactly_one_shard() {
        let shards = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Shard>().unwrap());
        for case in ["glm/a", "glm/b", "hermes/a", "x/y", "x/z"] {
            assert_eq!(shards.iter().filter(|s| s.holds(case)).count(), 1, "{case}");
        }
    }

    #[test]
    fn bad_shards_are_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/3/5", "-1/3"] {
            assert_eq!(text.parse::<Shard>(), Err(BadShard(text.to_owned())));
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(stable_hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
