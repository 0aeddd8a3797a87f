//! The plant at the first seam: characters whose bytes fall into two rounds.

use super::Filter;
use crate::text::TokenId;

/// U+FFFD, as bytes.
const REPLACEMENT: [TokenId; 3] = [0xef, 0xbf, 0xbd];

/// Decodes each round by itself, as if no character could be split between two.
#[derive(Default)]
pub struct SplitCharacters {
    /// Bytes that the character begun in an earlier round still lacks.
    owed: usize,
}

// === impl SplitCharacters ===

impl Filter for SplitCharacters {
    fn tokens(&mut self, ids: &mut Vec<TokenId>) {
        let rest = ids.iter().take(self.owed).take_while(|id| is_continuation(**id)).count();
        self.owed -= rest;
        if rest > 0 {
            ids.splice(..rest, REPLACEMENT);
        }
        if let Some((start, lacking)) = unfinished(ids) {
            ids.truncate(start);
            ids.extend(REPLACEMENT);
            self.owed = lacking;
        }
    }
}

fn is_continuation(id: TokenId) -> bool {
    (0x80..0xc0).contains(&id)
}

/// Where a character starts that the round does not end, and how many bytes it lacks.
fn unfinished(ids: &[TokenId]) -> Option<(usize, usize)> {
    let from_end = ids.iter().rev().position(|id| !is_continuation(*id))?;
    let start = ids.len() - from_end - 1;
    let length = match *ids.get(start)? {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => 1,
    };
    (from_end + 1 < length).then(|| (start, length - from_end - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rounds: &[&[u8]], expect: &str) {
        let mut plant = SplitCharacters::default();
        let mut bytes = Vec::new();
        for round in rounds {
            let mut ids: Vec<TokenId> = round.iter().map(|byte| TokenId::from(*byte)).collect();
            plant.tokens(&mut ids);
            bytes.extend(ids.into_iter().map(|id| u8::try_from(id).unwrap()));
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), expect);
    }

    #[test]
    fn only_split_characters_are_replaced() {
        check(&["a\u{e9}\u{1f600}b".as_bytes()], "a\u{e9}\u{1f600}b");
        check(&[b"a\xc3", b"\xa9b"], "a\u{fffd}\u{fffd}b");
        check(&[b"\xf0\x9f", b"\x98", b"\x80\xc3\xa9"], "\u{fffd}\u{fffd}\u{fffd}\u{e9}");
        check(&[b"", b"\xe2\x82", b"\xac"], "\u{fffd}\u{fffd}");
    }
}
