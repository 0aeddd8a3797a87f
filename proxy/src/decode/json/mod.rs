//! A lenient JSON reader with a strict report: it reads what some clients read, and notes what others choke on.
//!
//! In: bytes. Out: a [`Value`], numbers as they were written, and anomalies with offsets. `NaN` and `Infinity` become
//! strings of that text; of a repeated key the last value stays (as serde and JavaScript have it); a lone surrogate
//! escape becomes a stand-in character (see [`surrogate`]) so that its other half can still be found in a later event.

use super::{Anomaly, AnomalyKind, Span, tally::Tally};
use serde_json::Value;

mod memory;
mod reader;
mod string;
pub mod surrogate;

pub(super) use memory::Memory as Cost;

/// The deepest nesting that is read; the same as serde_json's.
pub const MAX_DEPTH: usize = 128;

/// The most memory that one document may take once read, with what later stages make of it, as estimated; more is refused.
pub const MAX_MEMORY: usize = 66 << 20;

/// The memory from which on long lists keep no further items, so that a reply is read to its end whatever its lists
/// take: some 1,000 tokens with twenty alternatives each.
pub const MAX_LISTS: usize = 32 << 20;

/// The items that a list may keep in any case.
const ALWAYS_KEPT: usize = 64;

/// A document, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The value; `None` where the bytes are no JSON.
    pub value: Option<Value>,
    /// What was odd or wrong.
    pub anomalies: Vec<Anomaly>,
}

/// Where bytes of a document stand in a body: the data of one event may come in several lines.
#[derive(Debug, Default, Clone)]
pub(super) struct Origin {
    /// Pairs of an offset in the document and one in the body, ascending.
    lines: Vec<(usize, usize)>,
}

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Stop {
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep(usize),
    #[error("more than {MAX_MEMORY} bytes of memory, or than is left of them")]
    TooLarge(usize),
    #[error("expected {1} at byte {0}")]
    Expected(usize, &'static str),
}

/// Reads one document.
pub fn read(bytes: &[u8]) -> Reading {
    let mut tally = Tally::default();
    let value = read_at(bytes, MAX_MEMORY, &Origin::default(), &mut tally).0;
    Reading { value, anomalies: tally.finish(&[]) }
}

/// Reads one document that stands at `origin` and takes `most` memory; also tells how much it takes, or would take at
/// least, as estimated.
pub(super) fn read_at(
    bytes: &[u8],
    most: usize,
    origin: &Origin,
    tally: &mut Tally,
) -> (Option<Value>, Cost) {
    let mut reader = reader::Reader::new(bytes, Cost::within(most), origin, tally);
    match reader.document() {
        Ok(value) => {
            let (end, memory) = (reader.at, reader.memory);
            note_rest(bytes, end, most.saturating_sub(memory.taken), origin, tally);
            note_line_separators(bytes, origin, tally);
            (Some(value), memory)
        }
        Err(stop) => {
            let memory = reader.memory;
            note_stop(stop, bytes.len(), origin, tally);
            (None, if matches!(stop, Stop::TooLarge(_)) { memory } else { Cost::default() })
        }
    }
}

fn note_stop(stop: Stop, len: usize, origin: &Origin, tally: &mut Tally) {
    let (at, kind) = match stop {
        Stop::TooDeep(at) => (at, AnomalyKind::TooDeep),
        Stop::TooLarge(at) => (at, AnomalyKind::OversizeEvent),
        Stop::Expected(at, _) => (at, AnomalyKind::NotJson(stop.to_string())),
    };
    // Text that just ends is wrong as a whole, and an empty place would lie in no event.
    let start = if at < len { at } else { 0 };
    tally.note(origin.span(start, len), kind);
}

/// What stands after the document: nothing, another document, or something else.
fn note_rest(bytes: &[u8], end: usize, most: usize, origin: &Origin, tally: &mut Tally) {
    let rest = bytes.get(end..).unwrap_or_default();
    if rest.is_empty() {
        return;
    }
    // The anomalies of a glued document are not told: that it is there at all is what is wrong.
    let mut aside = Tally::default();
    let kind = match reader::Reader::new(rest, Cost::within(most), origin, &mut aside).document() {
        Ok(_) => AnomalyKind::GluedJson,
        Err(_) => AnomalyKind::NotJson(format!("text after the document at byte {end}")),
    };
    tally.note(origin.span(end, bytes.len()), kind);
}

/// Raw U+0085, U+2028 and U+2029: line ends to some clients' line splitters.
fn note_line_separators(bytes: &[u8], origin: &Origin, tally: &mut Tally) {
    for at in memchr::memchr2_iter(0xC2, 0xE2, bytes) {
        let len = match bytes.get(at + 1..) {
            Some([0x85, ..]) if bytes.get(at) == Some(&0xC2) => 2,
            Some([0x80, 0xA8 | 0xA9, ..]) if bytes.get(at) == Some(&0xE2) => 3,
            _ => continue,
        };
        tally.note(origin.span(at, at + len), AnomalyKind::RawLineSeparator);
    }
}

// === impl Origin ===

impl Origin {
    /// The most lines that are kept apart; offsets in later ones are told as if those lines were one.
    const MAX_LINES: usize = 4_096;

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }

    /// From `document` on, bytes stand at `body` on.
    pub(super) fn line(&mut self, document: usize, body: usize) {
        if self.lines.len() < Self::MAX_LINES {
            self.lines.push((document, body));
        }
    }

    fn offset(&self, at: usize) -> usize {
        let next = self.lines.partition_point(|(document, _)| *document <= at);
        let line = next.checked_sub(1).and_then(|n| self.lines.get(n));
        line.map_or(at, |(document, body)| body + (at - document))
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let first = self.offset(start);
        let last = if end > start { self.offset(end - 1) + 1 } else { first };
        Span { start: first, end: last }
    }
}

#[cfg(test)]
mod tests;
