//! Token bytes to text. Held back is only an unfinished UTF-8 character, and what a stop string may still take back.
//!
//! In: the bytes of tokens. Out: text. Bytes that can never be a character become U+FFFD, as in any engine; an
//! unfinished character at the very end is dropped, which is a named loss.

/// How many released bytes may stand at the front of the buffer before it is moved up.
const SLACK: usize = 4096;

/// Bytes on their way to text.
#[derive(Debug, Default)]
pub struct Detokenizer {
    bytes: Vec<u8>,
    released: usize,
}

// === impl Detokenizer ===

impl Detokenizer {
    /// Takes the bytes of a token.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Forgets the last bytes: they belong to a stop string.
    pub fn take_back(&mut self, length: usize) {
        let keep = self.bytes.len().saturating_sub(length).max(self.released);
        self.bytes.truncate(keep);
    }

    /// Adds to `out` all text but the last `hold` bytes and an unfinished character.
    pub fn release(&mut self, hold: usize, out: &mut String) {
        let until = self.bytes.len().saturating_sub(hold);
        let ready = self.bytes.get(self.released..until).unwrap_or_default();
        self.released += decode(ready, out);
        self.move_up();
    }

    /// Keeps the buffer short without moving it for each byte.
    fn move_up(&mut self) {
        let rest = self.bytes.len() - self.released;
        if self.released > SLACK.max(rest) || rest == 0 {
            self.bytes.drain(..self.released);
            self.released = 0;
        }
    }
}

/// Adds the characters to `out`, and says how many bytes they were.
fn decode(bytes: &[u8], out: &mut String) -> usize {
    let mut used = 0;
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        used += chunk.valid().len();
        let invalid = chunk.invalid();
        if invalid.is_empty() || is_unfinished(invalid, used, bytes.len()) {
            break;
        }
        out.push(char::REPLACEMENT_CHARACTER);
        used += invalid.len();
    }
    used
}

/// Whether an invalid stretch is only the start of a character that may still come.
fn is_unfinished(invalid: &[u8], at: usize, length: usize) -> bool {
    at + invalid.len() == length
        && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], hold: usize, expect: &[&str]) {
        let mut text = Detokenizer::default();
        let got: Vec<String> = pieces
            .iter()
            .map(|piece| {
                let mut out = String::new();
                text.push(piece);
                text.release(hold, &mut out);
                out
            })
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn an_unfinished_character_waits_for_its_end() {
        check(&[b"a\xf0", b"\x9f", b"\x98", b"\x80b"], 0, &["a", "", "", "\u{1f600}b"]);
        check(&[b"\xc3"], 0, &[""]);
    }

    #[test]
    fn bytes_that_are_no_character_are_replaced() {
        check(&[b"a\xffb", b"\x80", b"\xc3", b"x"], 0, &["a\u{fffd}b", "\u{fffd}", "", "\u{fffd}x"]);
    }

    #[test]
    fn held_bytes_come_later() {
        check(&[b"ab", b"c", b"de"], 2, &["", "a", "bc"]);
    }

    #[test]
    fn what_is_taken_back_never_comes() {
        let mut text = Detokenizer::default();
        let mut out = String::new();
        text.push(b"one STOP");
        text.release(4, &mut out);
        text.take_back(4);
        text.release(0, &mut out);
        assert_eq!(out, "one ");
        text.take_back(99);
        text.push(b"!");
        text.release(0, &mut out);
        assert_eq!(out, "one !");
    }

    #[test]
    fn a_long_hold_moves_no_byte_twice_too_often() {
        let mut text = Detokenizer::default();
        let mut out = String::new();
        for _ in 0..100_000 {
            text.push(b"a");
            text.release(1000, &mut out);
        }
        text.release(0, &mut out);
        assert_eq!(out.len(), 100_000);
        assert!(text.bytes.capacity() < 4 * SLACK);
    }
}
