//! The text that is still to be read, and the questions a grammar asks about what lies ahead.
//!
//! In: the model's text in pieces, and word that no more will come. Out: answers that do not depend on how the
//! text was cut. A question that more text could answer differently is answered with [`NeedMore`] until that
//! text is there; then it is asked again. Answers to repeated questions do not cost more as the held text grows.

use std::ops::Range;

use super::marker::{Marker, Sight};

/// Read text is thrown away in portions of at least this many bytes, so that throwing away stays cheap.
const FORGET_AT: usize = 4096;

/// The normal answer to a question that cannot be decided yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NeedMore;

/// The text that is still to be read. Places in it are counted in bytes from the next unread one.
#[derive(Debug, Default)]
pub(super) struct Source {
    text: String,
    /// How much of `text` has been read.
    read: usize,
    /// How much was read and thrown away before `text`.
    forgotten: usize,
    ended: bool,
    /// The last stretch of blanks that was asked for, in offsets of the whole text.
    blanks: Range<usize>,
}

// === impl Source ===

impl Source {
    /// Adds a piece of text.
    pub(super) fn feed(&mut self, piece: &str) {
        self.forget();
        self.text.push_str(piece);
    }

    /// Says that no more text will come: every question now has an answer.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    fn forget(&mut self) {
        if self.read == self.text.len() {
            self.text.clear();
        } else if self.read >= FORGET_AT && self.read > self.text.len() / 2 {
            self.text.drain(..self.read);
        } else {
            return;
        }
        self.forgotten += self.read;
        self.read = 0;
    }

    /// The offset of the next unread byte in the whole text.
    pub(super) fn offset(&self) -> usize {
        self.forgotten + self.read
    }

    /// What is there and unread.
    pub(super) fn rest(&self) -> &str {
        self.rest_from(0)
    }

    /// What is there from a place on.
    pub(super) fn rest_from(&self, at: usize) -> &str {
        self.text.get(self.read + at..).unwrap_or_default()
    }

    /// The next character, or `None` at the end of the text.
    pub(super) fn peek(&self) -> Result<Option<char>, NeedMore> {
        self.peek_at(0)
    }

    /// The character at a place, or `None` at the end of the text.
    pub(super) fn peek_at(&self, at: usize) -> Result<Option<char>, NeedMore> {
        match self.rest_from(at).chars().next() {
            None if !self.ended => Err(NeedMore),
            found => Ok(found),
        }
    }

    /// Whether the whole text ends at a place. Asked only where nothing but the end could be in doubt.
    pub(super) fn ends_at(&self, at: usize) -> bool {
        self.ended && self.rest_from(at).is_empty()
    }

    /// The marker that stands at a place, if one of these does.
    pub(super) fn looking_at(
        &self,
        at: usize,
        markers: impl IntoIterator<Item = Marker>,
    ) -> Result<Option<Marker>, NeedMore> {
        let text = self.rest_from(at);
        let mut part = false;
        for marker in markers {
            match marker.sight(text) {
                Sight::Whole => return Ok(Some(marker)),
                Sight::Part => part = true,
                Sight::Other => {}
            }
        }
        if part && !self.ended { Err(NeedMore) } else { Ok(None) }
    }

    /// The place of the first character at or after `at` that is not blank, or the end of the text.
    pub(super) fn after_blanks(&mut self, at: usize) -> Result<usize, NeedMore> {
        let start = self.offset() + at;
        if self.blanks.start != start || self.blanks.end < start {
            self.blanks = start..start;
        }
        let known = self.blanks.end - self.offset();
        let text = self.rest_from(known);
        let blank = text.len() - text.trim_start().len();
        let only_blanks = blank == text.len();
        self.blanks.end += blank;
        if only_blanks && !self.ended { Err(NeedMore) } else { Ok(known + blank) }
    }

    /// Reads that many bytes.
    pub(super) fn take(&mut self, bytes: usize) -> &str {
        let start = self.read;
        self.read = (start + bytes).min(self.text.len());
        self.text.get(start..self.read).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Marker, NeedMore, Source};

    const KEY: Marker = Marker::exact("<key>");

    fn source(text: &str) -> Source {
        let mut source = Source::default();
        source.feed(text);
        source
    }

    #[test]
    fn a_part_of_a_marker_is_undecided_until_the_end() {
        let mut text = source("a<ke");
        assert_eq!(text.looking_at(0, [KEY]), Ok(None));
        assert_eq!(text.looking_at(1, [KEY]), Err(NeedMore));
        assert_eq!(text.looking_at(4, [KEY]), Err(NeedMore), "nothing there yet");
        text.end();
        assert_eq!(text.looking_at(1, [KEY]), Ok(None));
        assert!(text.ends_at(4) && !text.ends_at(3));
    }

    #[test]
    fn blanks_are_counted_once_however_they_arrive() {
        let mut text = source("> ");
        assert_eq!(text.after_blanks(1), Err(NeedMore));
        text.feed("\u{3000}\n");
        assert_eq!(text.after_blanks(1), Err(NeedMore));
        assert_eq!(text.blanks, 1..6);
        text.feed("x");
        assert_eq!(text.after_blanks(1), Ok(6));
        assert_eq!(text.after_blanks(6), Ok(6), "another place starts anew");
        assert_eq!(text.after_blanks(1), Ok(6));
    }

    #[test]
    fn offsets_survive_what_is_thrown_away() {
        let mut text = source(&"x".repeat(5000));
        text.take(4999);
        text.feed("yz");
        assert_eq!((text.offset(), text.rest()), (4999, "xyz"));
        assert_eq!(text.take(2), "xy");
        assert_eq!(text.take(9), "z", "never more than there is");
        text.feed("");
        assert_eq!((text.offset(), text.rest()), (5002, ""));
    }
}
