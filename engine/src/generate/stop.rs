//! Stop strings, matched on the generated text, markup and reasoning included.
//!
//! In: the bytes of each token. Out: whether a stop string is complete, and how many bytes may still become one. The
//! match that is complete first wins, and of those the one that began first. One Knuth-Morris-Pratt automaton a
//! string, so time is linear however the text arrives.

/// The stop strings of a request, and how far each has matched.
#[derive(Debug, Default)]
pub struct StopStrings(Vec<Automaton>);

/// A complete match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Which stop string, in the order of the request.
    pub which: usize,
    /// How many bytes of the text go: the stop string, and what its last token said after it.
    pub take_back: usize,
}

#[derive(Debug)]
struct Automaton {
    text: Vec<u8>,
    /// For each prefix, the length of its longest proper border.
    border: Vec<usize>,
    matched: usize,
}

// === impl StopStrings ===

impl StopStrings {
    /// Matchers of the strings, none of which may be empty.
    pub fn new(strings: &[String]) -> Self {
        Self(strings.iter().map(|text| Automaton::new(text)).collect())
    }

    /// Reads the bytes of one token.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Match> {
        if self.0.is_empty() {
            return None;
        }
        bytes.iter().enumerate().find_map(|(at, byte)| {
            let (which, length) = self.step(*byte)?;
            Some(Match { which, take_back: length + bytes.len() - at - 1 })
        })
    }

    /// How many of the last bytes may still turn out to be the start of a stop string.
    pub fn held(&self) -> usize {
        self.0.iter().map(|automaton| automaton.matched).max().unwrap_or(0)
    }

    /// The longest string that is complete with this byte.
    fn step(&mut self, byte: u8) -> Option<(usize, usize)> {
        let mut complete = None;
        for (which, automaton) in self.0.iter_mut().enumerate() {
            if automaton.step(byte) && complete.is_none_or(|(_, length)| automaton.text.len() > length) {
                complete = Some((which, automaton.text.len()));
            }
        }
        complete
    }
}

// === impl Automaton ===

impl Automaton {
    fn new(text: &str) -> Self {
        let text = text.as_bytes().to_vec();
        let border = borders(&text);
        Self { text, border, matched: 0 }
    }

    /// Reads a byte; whether the string is complete with it.
    fn step(&mut self, byte: u8) -> bool {
        self.matched = extend(&self.text, &self.border, self.matched, byte);
        self.matched == self.text.len()
    }
}

/// The longest prefix that ends with this byte, given the one that ended before it.
fn extend(text: &[u8], border: &[usize], mut matched: usize, byte: u8) -> usize {
    loop {
        if text.get(matched) == Some(&byte) {
            return matched + 1;
        }
        match matched.checked_sub(1).and_then(|at| border.get(at)) {
            Some(shorter) => matched = *shorter,
            None => return 0,
        }
    }
}

fn borders(text: &[u8]) -> Vec<usize> {
    let mut border = Vec::with_capacity(text.len());
    let mut matched = 0;
    for (at, byte) in text.iter().enumerate() {
        if at > 0 {
            matched = extend(text, &border, matched, *byte);
        }
        border.push(matched);
    }
    border
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds byte by byte; gives what was said before the match, and the string that matched.
    fn check(strings: &[&str], text: &str, expect: Option<(&str, usize)>) {
        let owned: Vec<String> = strings.iter().map(|text| (*text).to_owned()).collect();
        let mut stop = StopStrings::new(&owned);
        let found = text.bytes().enumerate().find_map(|(at, byte)| {
            let found = stop.push(&[byte])?;
            Some((text.get(..at + 1 - found.take_back)?, found.which))
        });
        assert_eq!(found, expect, "{strings:?} in {text:?}");
    }

    #[test]
    fn the_first_complete_match_wins() {
        check(&[], "abc", None);
        check(&["x"], "abc", None);
        check(&["bc"], "abcd", Some(("a", 0)));
        check(&["cd", "b"], "abcd", Some(("a", 1)));
        check(&["bc", "abc"], "xabc", Some(("x", 1)));
        check(&["abcd", "bc"], "abcd", Some(("a", 1)));
    }

    #[test]
    fn overlapping_starts_are_found() {
        check(&["aab"], "aaab", Some(("a", 0)));
        check(&["ababc"], "abababc", Some(("ab", 0)));
        check(&["\n\n"], "a\nb\n\nc", Some(("a\nb", 0)));
    }

    #[test]
    fn a_match_inside_a_token_takes_the_whole_token_back() {
        let mut stop = StopStrings::new(&["x<to".to_owned()]);
        assert_eq!(stop.push(b"x"), None);
        assert_eq!(stop.push(b"<tool_call>"), Some(Match { which: 0, take_back: 12 }));
    }

    #[test]
    fn held_is_the_longest_proper_prefix() {
        let mut stop = StopStrings::new(&["abab!".to_owned(), "ba?".to_owned()]);
        let held: Vec<usize> = b"xabababx"
            .iter()
            .map(|byte| {
                assert_eq!(stop.push(&[*byte]), None);
                stop.held()
            })
            .collect();
        assert_eq!(held, [0, 1, 2, 3, 4, 3, 4, 0]);
    }
}
