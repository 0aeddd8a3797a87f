//! A block of lines up to a blank one, and the events made of such blocks.

use super::known::{Known, Said};
use crate::decode::{
    AnomalyKind, Event, MAX_EVENT, MAX_HELD, Payload, Span,
    json::{self, Origin},
    tally::Tally,
    utf8,
};
use std::sync::Arc;

/// The bytes whose events are kept of a stream that is too large to be judged: its start tells as much as all of it.
const MAX_OF_PARTIAL: usize = 1 << 20;

/// What later stages keep of an event beside its choices and fragments, as estimated: its place in lists, and where its text
/// lies.
const LATER: usize = 120;

/// A block being read. Its buffers are used again for the next one.
#[derive(Debug, Default)]
pub struct Block {
    /// Offset of its first line that is not blank.
    pub start: Option<usize>,
    /// `data` lines so far.
    pub data_lines: usize,
    /// Complete lines with a field that means something.
    pub fields: usize,
    /// Whether the body ended inside a line of it.
    pub cut: bool,
    data: Vec<u8>,
    origin: Origin,
    name: Option<Vec<u8>>,
    /// Where data or name grew over the cap.
    over: Option<usize>,
}

/// Where complete blocks go.
pub trait Sink {
    /// Whether anomalies of bytes, whatever they stand in, are wanted.
    const NOTES_BYTES: bool;

    /// Takes a block that ends at `end`, and leaves it empty: an event, or nothing a client would dispatch.
    fn close(&mut self, block: &mut Block, end: usize, arrived: u64, tally: &mut Tally);
}

/// The events so far, read.
#[derive(Debug)]
pub struct Events {
    pub list: Vec<Event>,
    /// An estimate of the memory they take.
    held: usize,
    /// The most that they may take.
    most: usize,
    full: bool,
    known: Known,
    /// The name of the last event that had one.
    name: Option<Arc<str>>,
}

// === impl Block ===

impl Block {
    pub fn open(&mut self, start: usize) {
        self.start.get_or_insert(start);
    }

    pub fn begin_data(&mut self, offset: usize) {
        if self.data_lines > 0 {
            self.push_data(b"\n", offset);
        }
        self.origin.line(self.data.len(), offset);
        self.data_lines += 1;
    }

    pub fn push_data(&mut self, run: &[u8], offset: usize) {
        push(&mut self.data, run, offset, &mut self.over);
    }

    pub fn begin_name(&mut self) {
        self.name.get_or_insert_default().clear();
    }

    pub fn push_name(&mut self, run: &[u8], offset: usize) {
        push(self.name.get_or_insert_default(), run, offset, &mut self.over);
    }

    /// Whether a client would lose something if the block were not dispatched: comments are nothing.
    pub const fn holds_anything(&self) -> bool {
        self.data_lines > 0 || self.fields > 0 || self.cut
    }

    /// Whether it reads as an event does that another reading found at `span`.
    pub fn reads_as(&self, event: &Event, span: Span) -> bool {
        event.span == span
            && is_text(&event.data, utf8::whole_characters_if(self.over.is_some(), &self.data))
            && match (&event.name, &self.name) {
                (Some(text), Some(bytes)) => is_text(text, bytes),
                (None, None) => true,
                _ => false,
            }
    }

    pub fn reset(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        let mut origin = std::mem::take(&mut self.origin);
        data.clear();
        data.shrink_to(64 << 10);
        origin.clear();
        *self = Self { data, origin, ..Self::default() };
    }
}

/// Whether `bytes` are `text`, once bad ones are replaced.
fn is_text(text: &str, bytes: &[u8]) -> bool {
    text.as_bytes() == bytes || (std::str::from_utf8(bytes).is_err() && text == utf8::lossy(bytes))
}

fn push(to: &mut Vec<u8>, run: &[u8], offset: usize, over: &mut Option<usize>) {
    let room = MAX_EVENT.saturating_sub(to.len()).min(run.len());
    to.extend_from_slice(run.get(..room).unwrap_or_default());
    if room < run.len() {
        over.get_or_insert(offset + room);
    }
}

// === impl Events ===

impl Sink for Events {
    const NOTES_BYTES: bool = true;

    fn close(&mut self, block: &mut Block, end: usize, arrived: u64, tally: &mut Tally) {
        let Some(start) = block.start else { return };
        let span = Span { start, end };
        if block.data_lines > 0 {
            self.event(block, span, arrived, tally);
        } else if block.fields > 0 {
            tally.note(span, AnomalyKind::EventWithoutData);
        }
        block.reset();
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::holding(MAX_HELD)
    }
}

impl Events {
    /// None so far, and at most so much memory for all.
    pub fn holding(most: usize) -> Self {
        Self { list: Vec::new(), held: 0, most, full: false, known: Known::default(), name: None }
    }

    fn event(&mut self, block: &mut Block, span: Span, arrived: u64, tally: &mut Tally) {
        if self.is_full(span, tally) {
            return;
        }
        note_block(block, span, tally);
        let name = block.name.take().map(|name| self.named(&name));
        let Said { data, payload, later } = self.said(block, span, tally);
        self.held += size_of::<Event>() + later;
        self.list.push(Event { span, arrived, name, data, payload });
    }

    fn said(&mut self, block: &Block, span: Span, tally: &mut Tally) -> Said {
        if let Some(said) = self.known.find(&block.data).filter(|_| block.over.is_none()) {
            return said;
        }
        let noted = tally.noted();
        let left = self.most.saturating_sub(self.held + block.data.len());
        let (payload, cost) = payload(block, span, left, tally);
        let data = utf8::shared(utf8::whole_characters_if(block.over.is_some(), &block.data));
        self.held += data.len() + cost.taken;
        let said = Said { data, payload, later: LATER + cost.later };
        if tally.noted() == noted && block.over.is_none() {
            self.known.keep(&block.data, &said);
        }
        said
    }

    /// The text of a name; mostly that of the event before.
    fn named(&mut self, name: &[u8]) -> Arc<str> {
        if let Some(last) = self.name.as_ref().filter(|last| last.as_bytes() == name) {
            return Arc::clone(last);
        }
        let name = utf8::shared(name);
        self.held += name.len();
        self.name = Some(Arc::clone(&name));
        name
    }

    fn is_full(&mut self, span: Span, tally: &mut Tally) -> bool {
        let full = self.held > self.most;
        if full && !self.full {
            tally.note(span, AnomalyKind::TooManyEvents);
            self.list.retain(|event| event.span.end <= MAX_OF_PARTIAL);
            self.known = Known::default();
        }
        self.full = full;
        full
    }
}

fn note_block(block: &Block, span: Span, tally: &mut Tally) {
    if block.data_lines > 1 {
        tally.note(span, AnomalyKind::MultilineData);
    }
    if block.data.is_empty() {
        tally.note(span, AnomalyKind::EmptyData);
    }
    if let Some(start) = block.over {
        tally.note(Span { start, end: span.end }, AnomalyKind::OversizeEvent);
    }
}

/// What the data is, and how much memory it takes, read.
fn payload(block: &Block, span: Span, most: usize, tally: &mut Tally) -> (Payload, json::Cost) {
    let data = block.data.as_slice();
    if data == b"[DONE]" {
        return (Payload::Done, json::Cost::default());
    }
    if block.over.is_some() || data.is_empty() {
        return (Payload::Other, json::Cost::default());
    }
    if is_inexact_done(data) {
        tally.note(span, AnomalyKind::InexactDone);
        return (Payload::Other, json::Cost::default());
    }
    let (value, cost) = json::read_at(data, most, &block.origin, tally);
    (value.map_or(Payload::Other, |value| Payload::Json(value.into())), cost)
}

fn is_inexact_done(data: &[u8]) -> bool {
    let space = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'');
    let from = data.iter().position(|b| !space(b)).unwrap_or_default();
    let inner = data.get(from..).unwrap_or_default();
    let to = inner.iter().rposition(|b| !space(b)).map_or(0, |at| at + 1);
    inner.get(..to).is_some_and(|d| d.eq_ignore_ascii_case(b"[DONE]") || d.eq_ignore_ascii_case(b"DONE"))
}
