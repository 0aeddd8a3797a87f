//! The scanner of server-sent events: the truth about a stream. One state for each position in the grammar.
//!
//! In: slices with arrival times. Out: events with offsets, and everything that departs from the grammar or from what
//! clients are known to read. However the bytes are sliced, the result is the same (but for arrival times and for
//! slice borders inside a character). Unlike a browser it keeps a last block that lacks its blank line, and says so.
//! Where events go is a `Sink`'s matter: they are kept and read, or only held against those of another reading.

use super::{AnomalyKind, Decoded, Framing, Span, tally::Tally, utf8};
use block::{Block, Events, Sink};
use line::{End, Ends, Field, Line, What};
use memchr::{memchr_iter, memchr2, memchr3};

mod block;
mod known;
mod line;
pub(super) mod same;

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// An incremental scanner.
#[derive(Debug, Default)]
pub struct Scanner<S = Events> {
    state: State,
    /// Offset of the next byte in the body.
    offset: usize,
    /// When the slice being read arrived.
    now: u64,
    line: Line,
    ends: Ends,
    block: Block,
    utf8: utf8::Validator,
    tally: Tally,
    out: S,
}

/// The position in the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the very start, after so many bytes of a byte order mark.
    Bom(usize),
    /// Before the first byte of a line.
    LineStart,
    /// In a field's name.
    Name,
    /// After the colon: one space may come.
    AfterColon,
    /// In a field's value.
    Value,
    /// In a comment.
    Comment,
    /// After a CR that arrived at this time: an LF may belong to it.
    Cr(u64),
}

// === impl Scanner ===

impl Scanner {
    /// A scanner at the start of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// One whose events may take at most so much memory, as estimated.
    pub fn holding(most: usize) -> Self {
        Self { out: Events::holding(most), ..Self::default() }
    }

    /// The end of the body.
    pub fn finish(mut self) -> Decoded {
        self.end();
        let events = self.out.list;
        let anomalies = self.tally.finish(&events);
        Decoded { framing: Framing::Sse, events, anomalies, text: String::new() }
    }
}

// === impl Scanner<S> ===

impl<S: Sink> Scanner<S> {
    /// Reads a slice that arrived at `at`.
    pub fn feed(&mut self, slice: &[u8], at: u64) {
        if slice.is_empty() {
            return;
        }
        self.now = at;
        if S::NOTES_BYTES {
            self.note_bytes(slice);
        }
        let mut rest = slice;
        while !rest.is_empty() {
            let taken = self.step(rest);
            self.offset += taken;
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Closes what the end of the body leaves open.
    fn end(&mut self) {
        let tally = &mut self.tally;
        self.utf8.finish(|span| tally.note(span, AnomalyKind::InvalidUtf8));
        self.finish_line();
        self.finish_block();
    }

    /// What concerns bytes whatever they stand in.
    fn note_bytes(&mut self, slice: &[u8]) {
        let (offset, tally) = (self.offset, &mut self.tally);
        if self.utf8.is_inside_character() {
            tally.note(Span { start: offset, end: offset }, AnomalyKind::SplitCharacter);
        }
        self.utf8.feed(slice, |span| tally.note(span, AnomalyKind::InvalidUtf8));
        for at in memchr_iter(0, slice) {
            tally.note(Span { start: offset + at, end: offset + at + 1 }, AnomalyKind::NulByte);
        }
    }

    /// One step from the current state; tells how many bytes of `rest`, which is not empty, it took.
    fn step(&mut self, rest: &[u8]) -> usize {
        let byte = rest.first().copied().unwrap_or_default();
        match self.state {
            State::Bom(seen) => self.bom(byte, seen),
            State::LineStart => self.line_start(byte),
            State::Name => self.name(rest),
            State::AfterColon => self.after_colon(byte),
            State::Value => self.value(rest),
            State::Comment => self.comment(rest),
            State::Cr(at) => self.after_cr(byte, at),
        }
    }

    fn bom(&mut self, byte: u8, seen: usize) -> usize {
        if BOM.get(seen) != Some(&byte) {
            self.broken_bom(seen);
            return 0;
        }
        self.state = State::Bom(seen + 1);
        if seen + 1 == BOM.len() {
            self.tally.note(Span { start: 0, end: BOM.len() }, AnomalyKind::LeadingBom);
            self.state = State::LineStart;
        }
        1
    }

    /// What looked like a byte order mark is the start of a field's name.
    fn broken_bom(&mut self, seen: usize) {
        self.state = State::LineStart;
        if seen > 0 {
            self.open_line(0, What::Field(Field::Other), State::Name);
            self.line.push_name(BOM.get(..seen).unwrap_or_default());
        }
    }

    fn line_start(&mut self, byte: u8) -> usize {
        match byte {
            b'\r' | b'\n' => {
                self.line.restart(self.offset, What::Blank);
                self.end_of_line(byte)
            }
            b':' => {
                self.open_line(self.offset, What::Comment, State::Comment);
                1
            }
            _ => {
                self.open_line(self.offset, What::Field(Field::Other), State::Name);
                0
            }
        }
    }

    fn open_line(&mut self, start: usize, what: What, state: State) {
        self.line.restart(start, what);
        self.block.open(start);
        self.state = state;
    }

    fn name(&mut self, rest: &[u8]) -> usize {
        let len = memchr3(b':', b'\r', b'\n', rest).unwrap_or(rest.len());
        self.line.push_name(rest.get(..len).unwrap_or_default());
        match rest.get(len) {
            None => len,
            Some(b':') => {
                self.line.name_field();
                self.state = State::AfterColon;
                len + 1
            }
            Some(&byte) => {
                self.line.name_field();
                self.offset += len;
                self.begin_value();
                let taken = self.end_of_line(byte);
                self.offset -= len;
                len + taken
            }
        }
    }

    fn after_colon(&mut self, byte: u8) -> usize {
        let space = usize::from(byte == b' ');
        self.line.space = space == 1;
        self.offset += space;
        self.begin_value();
        self.offset -= space;
        self.state = State::Value;
        space
    }

    fn begin_value(&mut self) {
        match self.line.what {
            What::Field(Field::Data) => self.block.begin_data(self.offset),
            What::Field(Field::Event) => self.block.begin_name(),
            _ => {}
        }
    }

    fn value(&mut self, rest: &[u8]) -> usize {
        let len = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let run = rest.get(..len).unwrap_or_default();
        self.line.push_value(run);
        match self.line.what {
            What::Field(Field::Data) => self.block.push_data(run, self.offset),
            What::Field(Field::Event) => self.block.push_name(run, self.offset),
            _ => {}
        }
        self.run_then_end(rest, len)
    }

    fn comment(&mut self, rest: &[u8]) -> usize {
        let len = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        self.run_then_end(rest, len)
    }

    fn run_then_end(&mut self, rest: &[u8], len: usize) -> usize {
        let Some(&byte) = rest.get(len) else { return len };
        self.offset += len;
        let taken = self.end_of_line(byte);
        self.offset -= len;
        len + taken
    }

    /// At a CR or LF that ends the line. After a CR the line stays open for one byte, which may be its LF.
    fn end_of_line(&mut self, byte: u8) -> usize {
        if byte == b'\r' {
            self.state = State::Cr(self.now);
        } else {
            self.close_line(End::Lf, self.offset + 1, self.now);
        }
        1
    }

    fn after_cr(&mut self, byte: u8, at: u64) -> usize {
        if byte == b'\n' {
            self.close_line(End::CrLf, self.offset + 1, self.now);
            return 1;
        }
        self.close_line(End::Cr, self.offset, at);
        0
    }

    fn close_line(&mut self, style: End, end: usize, at: u64) {
        self.state = State::LineStart;
        self.ends.note(style, end, &mut self.tally);
        self.line.note(Span { start: self.line.start, end }, &mut self.tally);
        match self.line.what {
            What::Blank => self.close_block(end, at),
            What::Comment | What::Field(Field::Other) => {}
            What::Field(_) => self.block.fields += 1,
        }
    }

    fn close_block(&mut self, end: usize, at: u64) {
        let (block, tally) = (&mut self.block, &mut self.tally);
        self.out.close(block, end, at, tally);
    }

    /// A line that the end of the body cut off. What it says is kept, its name is not judged: it may be cut too.
    fn finish_line(&mut self) {
        match self.state {
            State::Bom(seen) if seen > 0 => {
                self.broken_bom(seen);
                self.block.cut = true;
            }
            State::Cr(at) => self.close_line(End::Cr, self.offset, at),
            State::Comment => {
                self.line.note(Span { start: self.line.start, end: self.offset }, &mut self.tally);
            }
            State::Name | State::AfterColon => self.block.cut = true,
            State::Value => {
                self.line.note(Span { start: self.line.start, end: self.offset }, &mut self.tally);
                self.block.cut = true;
            }
            State::Bom(_) | State::LineStart => {}
        }
    }

    /// A block that the end of the body cut off.
    fn finish_block(&mut self) {
        if !self.block.holds_anything() {
            return;
        }
        let span = Span { start: self.block.start.unwrap_or(self.offset), end: self.offset };
        self.tally.note(span, AnomalyKind::UnterminatedEvent);
        if self.block.data_lines > 0 {
            self.close_block(self.offset, self.now);
        }
    }
}

// === impl State ===

impl Default for State {
    fn default() -> Self {
        Self::Bom(0)
    }
}
