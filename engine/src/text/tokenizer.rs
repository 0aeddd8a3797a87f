//! The tokenizer of the puppets: a byte is its own token, a special marker of the format is one token.
//!
//! In: text. Out: token ids, in time linear in the text. Byte `b` has the id `b`; the specials follow from 256 on in
//! the order in which the format lists them, the end token last.

use memchr::memchr;

use crate::read::Format;

/// The number of a token.
pub type TokenId = u32;

/// The id of the first special token: below it stand the bytes.
const FIRST_SPECIAL: TokenId = 256;

/// Each byte as text of its token.
static BYTES: [u8; 256] = all_bytes();

/// Text to token ids and back, for one format.
#[derive(Debug, Clone, Copy)]
pub struct Tokenizer {
    specials: &'static [&'static str],
    end: &'static str,
}

/// A stretch of text between two borders of special tokens.
enum Piece<'a> {
    Bytes(&'a [u8]),
    Special(TokenId),
}

struct Pieces<'a> {
    tokenizer: Tokenizer,
    rest: &'a [u8],
}

// === impl Tokenizer ===

impl Tokenizer {
    /// The tokenizer of a format.
    pub fn of(format: Format) -> Self {
        Self { specials: format.markers(), end: format.end_token() }
    }

    /// The token that ends a turn.
    pub fn end(self) -> TokenId {
        FIRST_SPECIAL + TokenId::try_from(self.specials.len()).unwrap_or(TokenId::MAX - FIRST_SPECIAL)
    }

    /// The tokens of a text.
    pub fn encode(self, text: &str) -> Vec<TokenId> {
        let mut ids = Vec::with_capacity(text.len() + 1);
        for piece in self.pieces(text) {
            match piece {
                Piece::Bytes(bytes) => ids.extend(bytes.iter().map(|byte| TokenId::from(*byte))),
                Piece::Special(id) => ids.push(id),
            }
        }
        ids
    }

    /// How many tokens a text has.
    pub fn count(self, text: &str) -> u64 {
        self.pieces(text)
            .map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.len() as u64,
                Piece::Special(_) => 1,
            })
            .sum()
    }

    /// The text of a token, as bytes. The end token has none: it is never part of what was said.
    pub fn bytes(self, id: TokenId) -> &'static [u8] {
        let at = id as usize;
        match id.checked_sub(FIRST_SPECIAL) {
            None => BYTES.get(at..=at).unwrap_or_default(),
            Some(special) => self.specials.get(special as usize).map_or(&[], |marker| marker.as_bytes()),
        }
    }

    /// Whether a token is a special one.
    pub fn is_special(id: TokenId) -> bool {
        id >= FIRST_SPECIAL
    }

    fn pieces(self, text: &str) -> Pieces<'_> {
        Pieces { tokenizer: self, rest: text.as_bytes() }
    }

    /// The special token that a text starts with, and its length.
    fn special_at(self, text: &[u8]) -> Option<(TokenId, usize)> {
        let markers = self.specials.iter().copied().chain([self.end]);
        (FIRST_SPECIAL..)
            .zip(markers)
            .find_map(|(id, marker)| text.starts_with(marker.as_bytes()).then_some((id, marker.len())))
    }
}

// === impl Pieces ===

impl<'a> Pieces<'a> {
    /// How many bytes stand before the next special token.
    fn plain(&self) -> usize {
        let mut from = 0;
        while let Some(found) = self.rest.get(from..).and_then(|rest| memchr(b'<', rest)) {
            let at = from + found;
            if self.rest.get(at..).is_some_and(|rest| self.tokenizer.special_at(rest).is_some()) {
                return at;
            }
            from = at + 1;
        }
        self.rest.len()
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        match self.tokenizer.special_at(self.rest) {
            Some((id, length)) => {
                self.take(length);
                Some(Piece::Special(id))
            }
            None => Some(Piece::Bytes(self.take(self.plain()))),
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "an index that is a byte is always below 256")]
const fn all_bytes() -> [u8; 256] {
    let mut bytes = [0; 256];
    let mut at = 0_u8;
    while at < u8::MAX {
        at += 1;
        bytes[at as usize] = at;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, text: &str, expect: &[TokenId]) {
        let tokenizer = Tokenizer::of(format);
        let ids = tokenizer.encode(text);
        assert_eq!(ids, expect, "{text:?}");
        assert_eq!(tokenizer.count(text), expect.len() as u64, "{text:?}");
    }

    #[test]
    fn bytes_are_their_own_tokens() {
        check(Format::Hermes, "", &[]);
        check(Format::Hermes, "a\u{e9}\0", &[97, 0xc3, 0xa9, 0]);
        check(Format::Hermes, "<<tool_cal<", b"<<tool_cal<".map(TokenId::from).as_slice());
    }

    #[test]
    fn markers_are_single_tokens_in_the_order_of_the_format() {
        check(Format::Hermes, "<think></think><tool_call></tool_call><|im_end|>", &[256, 257, 258, 259, 260]);
        check(Format::Qwen3Xml, "<<think>x<|im_end|>", &[60, 256, 120, 260]);
        check(Format::Glm, "<arg_key></arg_key><arg_value></arg_value><|user|>", &[260, 261, 262, 263, 264]);
    }

    #[test]
    fn a_marker_of_another_format_is_bytes() {
        check(Format::Hermes, "<|user|>", b"<|user|>".map(TokenId::from).as_slice());
    }

    #[test]
    fn tokens_give_their_text_back() {
        let tokenizer = Tokenizer::of(Format::Glm);
        let text = "a<tool_call>n<arg_key>\u{1f600}</arg_key></tool_call>";
        let back: Vec<u8> =
            tokenizer.encode(text).into_iter().flat_map(|id| tokenizer.bytes(id)).copied().collect();
        assert_eq!(back, text.as_bytes());
        assert_eq!(tokenizer.bytes(tokenizer.end()), b"");
        assert_eq!(tokenizer.bytes(TokenId::MAX), b"");
    }
}
