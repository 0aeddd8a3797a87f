//! The sink that keeps nothing: each block is held against the event that another reading of the same bytes found there.
//!
//! What the data *means* is a pure function of name and data, so it needs no second look where those are equal.

use super::{
    Scanner,
    block::{Block, Sink},
};
use crate::decode::{Decoded, Event, Span, tally::Tally};

/// How far a scan agrees with an earlier reading.
#[derive(Debug)]
pub struct Agreement<'a> {
    expected: &'a [Event],
    /// Whether the earlier reading may have dropped events at the end.
    may_go_on: bool,
    seen: usize,
    differs: Option<usize>,
}

// === impl Agreement ===

impl Sink for Agreement<'_> {
    const NOTES_BYTES: bool = false;

    fn close(&mut self, block: &mut Block, end: usize, _: u64, _: &mut Tally) {
        if let Some(start) = block.start
            && block.data_lines > 0
        {
            self.event(block, Span { start, end });
        }
        block.reset();
    }
}

impl Agreement<'_> {
    fn event(&mut self, block: &Block, span: Span) {
        let is_same =
            self.expected.get(self.seen).map_or(self.may_go_on, |event| block.reads_as(event, span));
        if !is_same {
            self.differs.get_or_insert(self.seen);
        }
        self.seen += 1;
    }
}

// === impl Scanner ===

impl<'a> Scanner<Agreement<'a>> {
    /// A scanner that only compares.
    pub fn comparing(with: &'a Decoded) -> Self {
        let out =
            Agreement { expected: &with.events, may_go_on: with.is_shortened(), seen: 0, differs: None };
        Self {
            out,
            state: super::State::default(),
            offset: 0,
            now: 0,
            line: super::Line::default(),
            ends: super::Ends::default(),
            block: Block::default(),
            utf8: super::utf8::Validator::default(),
            tally: Tally::default(),
        }
    }

    /// The first event that reads differently, at the end of the body.
    pub fn first_difference(mut self) -> Option<usize> {
        self.end();
        let Agreement { expected, seen, differs, .. } = self.out;
        differs.or_else(|| (seen < expected.len()).then_some(seen))
    }
}
