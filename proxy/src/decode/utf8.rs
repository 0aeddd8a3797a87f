//! UTF-8, validated as it arrives: where the bad bytes are, and whether a slice ended inside a character.
//!
//! In: slices. Out: spans of bytes that are no part of a character, each a maximal bad stretch as browsers count
//! them (one replacement character each).

use super::Span;
use std::{str::from_utf8, sync::Arc};

/// An incremental validator. Every slicing of the same bytes gives the same spans.
#[derive(Debug, Default)]
pub struct Validator {
    offset: usize,
    /// The start of a character whose rest has not come yet; at most three bytes are used.
    open: [u8; 4],
    held: usize,
}

// === impl Validator ===

impl Validator {
    /// Whether the bytes so far end inside a character.
    pub const fn is_inside_character(&self) -> bool {
        self.held > 0
    }

    /// Reads a slice and tells each bad stretch.
    pub fn feed(&mut self, slice: &[u8], mut bad: impl FnMut(Span)) {
        let rest = self.close(slice, &mut bad);
        self.read(rest, &mut bad);
    }

    /// The end: an unfinished character is bad.
    pub fn finish(&mut self, mut bad: impl FnMut(Span)) {
        if self.held > 0 {
            bad(Span { start: self.offset - self.held, end: self.offset });
            self.held = 0;
        }
    }

    /// Completes or refutes the character that the last slice left open; gives back what is left of the slice.
    fn close<'a>(&mut self, slice: &'a [u8], bad: &mut impl FnMut(Span)) -> &'a [u8] {
        let mut rest = slice;
        while self.held > 0 {
            let Some((&byte, tail)) = rest.split_first() else { return rest };
            if let Some(place) = self.open.get_mut(self.held) {
                *place = byte;
            }
            let tried = self.open.get(..=self.held).unwrap_or_default();
            match from_utf8(tried).map_err(|e| e.error_len()) {
                Err(None) => self.held += 1,
                Ok(_) => self.held = 0,
                Err(Some(_)) => {
                    // The byte belongs to what follows: only what stood before it is bad.
                    bad(Span { start: self.offset - self.held, end: self.offset });
                    self.held = 0;
                    return rest;
                }
            }
            self.offset += 1;
            rest = tail;
        }
        rest
    }

    fn read(&mut self, slice: &[u8], bad: &mut impl FnMut(Span)) {
        let mut rest = slice;
        while let Err(error) = from_utf8(rest) {
            let (good, tail) = rest.split_at(error.valid_up_to());
            self.offset += good.len();
            let Some(len) = error.error_len() else { return self.hold(tail) };
            bad(Span { start: self.offset, end: self.offset + len });
            self.offset += len;
            rest = tail.get(len..).unwrap_or_default();
        }
        self.offset += rest.len();
    }

    fn hold(&mut self, tail: &[u8]) {
        self.held = tail.len();
        self.offset += tail.len();
        for (place, byte) in self.open.iter_mut().zip(tail) {
            *place = *byte;
        }
    }
}

/// The text of some bytes, each bad stretch one U+FFFD.
pub fn lossy(bytes: &[u8]) -> String {
    // Text that is good, nearly all of it, is told faster in one go than bad stretch by bad stretch.
    from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes).into_owned(), ToOwned::to_owned)
}

/// The same, to be shared.
pub fn shared(bytes: &[u8]) -> Arc<str> {
    from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes).into(), Into::into)
}

/// [`whole_characters`] of bytes that a cap cut off, all of the bytes otherwise.
pub fn whole_characters_if(cut: bool, bytes: &[u8]) -> &[u8] {
    if cut { whole_characters(bytes) } else { bytes }
}

/// As much of `bytes` as does not end inside a character; bad bytes stay.
pub fn whole_characters(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(3);
    let tail = bytes.get(from..).unwrap_or_default();
    // A lead byte near the end whose character is not complete is where the last character starts.
    let lead = tail.iter().rposition(|b| *b >= 0xC0).map(|at| from + at);
    match lead.and_then(|at| Some((at, from_utf8(bytes.get(at..)?).err()?))) {
        Some((at, error)) if error.error_len().is_none() => bytes.get(..at).unwrap_or_default(),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(bytes: &[u8], size: usize) -> Vec<(usize, usize)> {
        let (mut validator, mut out) = (Validator::default(), Vec::new());
        for slice in bytes.chunks(size) {
            validator.feed(slice, |s| out.push((s.start, s.end)));
        }
        validator.finish(|s| out.push((s.start, s.end)));
        out
    }

    fn check(bytes: &[u8], expect: &[(usize, usize)]) {
        for size in 1..=bytes.len() {
            assert_eq!(spans(bytes, size), expect, "{bytes:x?} in slices of {size}");
        }
        assert_eq!(lossy(bytes).matches('\u{FFFD}').count(), expect.len(), "{bytes:x?}");
    }

    #[test]
    fn bad_stretches_have_offsets_however_they_arrive() {
        check("aé漢😀z".as_bytes(), &[]);
        check(b"a\xffb", &[(1, 2)]);
        check(b"\xf0\x9f\x98", &[(0, 3)]);
        check(b"\xf0\x9fA", &[(0, 2)]);
        check(b"\xe2\x82\xe2\x82\xac", &[(0, 2)]);
        check(b"\xc0\x80", &[(0, 1), (1, 2)]);
        check(b"\xed\xa0\x80", &[(0, 1), (1, 2), (2, 3)]);
        check(b"\xf4\x90\x80\x80!", &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        check(b"\x80\xf0\x9f\xf0\x9f\x98\x80", &[(0, 1), (1, 3)]);
    }

    #[test]
    fn a_cut_character_is_left_off() {
        for (bytes, expect) in [
            ("aé".as_bytes(), 3),
            (b"a\xc3", 1),
            (b"a\xf0\x9f\x98", 1),
            ("😀".as_bytes(), 4),
            (b"a\xff", 2),
            (b"\x80\x80\x80\x80", 4),
            (b"", 0),
        ] {
            assert_eq!(whole_characters(bytes).len(), expect, "{bytes:x?}");
        }
    }
}
