//! Finds secrets in what comes back, however it is written: plain, with JSON escapes (also JSON in JSON), percent-encoded.
//!
//! In: bytes and what to look for. Out: where it stands. Linear in the bytes: escapes are undone block by block, and every
//! found byte is known by where it stood.

use std::ops::Range;

/// Backslashes in a row that are taken as one escape: three levels of JSON in JSON.
const MAX_BACKSLASHES: usize = 8;

/// The longest way to write one byte: backslashes, `u` and four digits.
const LONGEST_UNIT: usize = MAX_BACKSLASHES + 5;

/// Bytes that are undone at once.
const BLOCK: usize = 64 * 1024;

/// What is looked for.
#[derive(Clone, Default)]
pub(super) struct Needles {
    /// Escapes undone.
    needles: Vec<Vec<u8>>,
    longest: usize,
}

/// Bytes with their escapes undone.
struct Undone {
    text: Vec<u8>,
    /// Where each byte of the text stood, and behind the last where it ended.
    starts: Vec<usize>,
    /// Where an escape begins that is cut off.
    unfinished: Option<usize>,
}

/// One character as it is written.
enum Unit {
    /// These many bytes stand for one.
    Byte(u8, usize),
    /// These many bytes stand for a character.
    Char(char, usize),
    /// The bytes end within it.
    Unfinished,
}

/// Some hex digits.
enum Digits {
    /// All of them.
    Code(u32),
    /// One of them is none.
    None,
    /// The bytes end within them.
    Unfinished,
}

// === impl Needles ===

impl Needles {
    pub fn new<'a>(secrets: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut needles: Vec<_> = secrets.map(whole).collect();
        needles.sort();
        needles.dedup();
        let longest = needles.iter().map(Vec::len).max().unwrap_or_default();
        Self { needles, longest }
    }

    /// The most bytes that the longest may take.
    pub const fn reach(&self) -> usize {
        self.longest * LONGEST_UNIT
    }

    /// Where any of it stands.
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        if self.needles.is_empty() {
            return Vec::new();
        }
        if memchr::memchr2(b'\\', b'%', bytes).is_none() {
            return self.plain(bytes);
        }
        let (mut found, mut from) = (Vec::new(), 0);
        let overlap = self.reach();
        loop {
            let to = bytes.len().min(from + BLOCK.max(overlap * 4));
            let block = bytes.get(from..to).unwrap_or_default();
            found.extend(self.undone(block).into_iter().map(|range| range.start + from..range.end + from));
            if to == bytes.len() {
                return found;
            }
            from = to - overlap;
        }
    }

    fn plain(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let each = |needle: &Vec<u8>| {
            let length = needle.len();
            memchr::memmem::find_iter(bytes, needle).map(move |at| at..at + length).collect::<Vec<_>>()
        };
        self.needles.iter().flat_map(each).collect()
    }

    fn undone(&self, block: &[u8]) -> Vec<Range<usize>> {
        let Undone { text, starts, .. } = undo(block);
        let place = |range: &Range<usize>| Some(*starts.get(range.start)?..*starts.get(range.end)?);
        self.plain(&text).iter().filter_map(place).collect()
    }

    /// How many bytes at the end may be the start of something: what follows has to be seen before they are shown.
    pub fn held_back(&self, bytes: &[u8]) -> usize {
        if self.needles.is_empty() {
            return 0;
        }
        let from = bytes.len().saturating_sub(self.reach());
        let tail = bytes.get(from..).unwrap_or_default();
        let Undone { text, starts, unfinished } = undo(tail);
        let begun = self.needles.iter().filter_map(|needle| {
            let longest = text.len().min(needle.len() - 1);
            let length =
                (1..=longest).rev().find(|length| text.ends_with(needle.get(..*length).unwrap_or(b"-")))?;
            starts.get(text.len() - length).copied()
        });
        begun.chain(unfinished).min().map_or(0, |start| tail.len() - start)
    }
}

fn undo(bytes: &[u8]) -> Undone {
    let mut undone = Undone {
        text: Vec::with_capacity(bytes.len()),
        starts: Vec::with_capacity(bytes.len() + 1),
        unfinished: None,
    };
    let (mut at, mut rest) = (0, bytes);
    while let Some(first) = rest.first() {
        let length = match unit(rest) {
            Unit::Byte(byte, length) => undone.push(&[byte], at, length),
            Unit::Char(char, length) => undone.push(char.encode_utf8(&mut [0; 4]).as_bytes(), at, length),
            Unit::Unfinished => {
                undone.unfinished.get_or_insert(at);
                undone.push(&[*first], at, 1)
            }
        };
        at += length;
        rest = rest.get(length..).unwrap_or_default();
    }
    undone.starts.push(at);
    if let Some(unfinished) = undone.unfinished {
        let length = undone.starts.partition_point(|start| *start < unfinished);
        undone.text.truncate(length);
        undone.starts.truncate(length + 1);
    }
    undone
}

/// All of a secret, of which no end is cut off.
fn whole(secret: &[u8]) -> Vec<u8> {
    let undone = undo(secret);
    let rest = undone.unfinished.and_then(|at| secret.get(at..)).unwrap_or_default();
    [&undone.text, rest].concat()
}

fn unit(bytes: &[u8]) -> Unit {
    match bytes {
        [b'\\', ..] => escaped(bytes),
        [b'%', rest @ ..] => match digits(rest, 2) {
            Digits::Code(code) => Unit::Byte(u8::try_from(code).unwrap_or(b'?'), 3),
            Digits::None => Unit::Byte(b'%', 1),
            Digits::Unfinished => Unit::Unfinished,
        },
        _ => Unit::Byte(bytes.first().copied().unwrap_or_default(), 1),
    }
}

fn escaped(bytes: &[u8]) -> Unit {
    let run = bytes.iter().take(MAX_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    let rest = bytes.get(run..).unwrap_or_default();
    match rest {
        [] => Unit::Unfinished,
        [byte @ (b'/' | b'"' | b'\''), ..] => Unit::Byte(*byte, run + 1),
        [b'u', hex @ ..] => match digits(hex, 4) {
            Digits::Code(code) => Unit::Char(char::from_u32(code).unwrap_or('?'), run + 5),
            Digits::None => Unit::Byte(b'\\', run),
            Digits::Unfinished => Unit::Unfinished,
        },
        _ => Unit::Byte(b'\\', run),
    }
}

/// The number that so many hex digits stand for.
fn digits(bytes: &[u8], count: usize) -> Digits {
    let known = bytes.get(..count.min(bytes.len())).unwrap_or_default();
    if !known.iter().all(u8::is_ascii_hexdigit) {
        return Digits::None;
    }
    let text = std::str::from_utf8(known).ok().filter(|known| known.len() == count);
    text.and_then(|text| u32::from_str_radix(text, 16).ok()).map_or(Digits::Unfinished, Digits::Code)
}

// === impl Undone ===

impl Undone {
    fn push(&mut self, bytes: &[u8], at: usize, length: usize) -> usize {
        self.text.extend_from_slice(bytes);
        self.starts.extend(bytes.iter().map(|_| at));
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(secrets: &[&str], text: &str) -> String {
        let needles = Needles::new(secrets.iter().map(|secret| secret.as_bytes()));
        let mut bytes = text.as_bytes().to_vec();
        for range in needles.find(text.as_bytes()) {
            bytes[range].fill(b'*');
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        for (secret, text, expect) in [
            ("ab/c+d", r#"{"m":"ab/c+d"}"#, r#"{"m":"******"}"#),
            ("ab/c+d", r#"{"m":"ab\/c\u002Bd"}"#, r#"{"m":"************"}"#),
            ("ab/c+d", r#""{\"m\":\"ab\\/c\\u002bd\"}""#, r#""{\"m\":\"**************\"}""#),
            ("ab/c+d", "?key=ab%2Fc%2bd&x=1", "?key=**********&x=1"),
            ("ab/c+d", r"\u0061\u0062\u002f\u0063\u002b\u0064!", "************************************!"),
            ("a\"b\\c", r#""a\"b\\c""#, r#""*******""#),
            ("a%2Fb", "a/b a%2Fb a%252Fb", "*** ***** a%252Fb"),
            ("gehüeim", r"\ngeh\u00fceim\n", r"\n************\n"),
            ("ab/c+d", r"ab\/c\u002 ab/c+e %2", r"ab\/c\u002 ab/c+e %2"),
            ("ends\\", r"ends\ ends\\ ends", r"***** ****** ends"),
        ] {
            assert_eq!(hidden(&[secret], text), expect, "{secret} in {text}");
        }
        assert_eq!(hidden(&[], r"a\/b"), r"a\/b");
        assert_eq!(hidden(&["one11", "two22"], "one11 two22 %"), "***** ***** %");
    }

    #[test]
    fn a_secret_is_found_across_blocks() {
        for written in ["key-0123456789", r"key\u002d0123456789", "key%2D0123456789"] {
            for shift in 0..40 {
                let text = format!("%{}{written}!", "x".repeat(BLOCK - 20 + shift));
                let hidden = hidden(&["key-0123456789"], &text);
                assert!(hidden.ends_with(&format!("x{}!", "*".repeat(written.len()))), "{written} {shift}");
            }
        }
    }

    #[test]
    fn what_may_begin_a_secret_is_held_back() {
        let needles = Needles::new([&b"key-12"[..]].into_iter());
        for (text, held) in [
            ("", 0),
            ("data: 1\n\n", 0),
            ("a key", 3),
            ("a key-1", 5),
            ("a key-12", 0),
            ("a kke", 2),
            (r"a key\", 4),
            (r"a key\u00", 7),
            (r"a key\u002d", 9),
            (r"a key\u002e", 0),
            (r"a\", 1),
            ("a key%2", 5),
        ] {
            assert_eq!(needles.held_back(text.as_bytes()), held, "{text}");
        }
        assert_eq!(Needles::default().held_back(b"key"), 0);
    }
}
