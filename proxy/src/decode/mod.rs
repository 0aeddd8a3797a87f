//! Bytes to events, with offsets, plus anomalies: what could be read *and* what was wrong with it. Pure.
//!
//! In: an [`Exchange`]. Out: [`Decoded`]. A bad byte never hides the rest of a stream.

use crate::exchange::Exchange;
use serde_json::Value;
use std::sync::Arc;

pub mod framing;
pub mod json;
mod quiet;
pub mod recut;
pub mod sse;
mod tally;
pub mod utf8;
pub mod whatwg;
mod whole;

#[cfg(test)]
pub(crate) mod tests;

pub use recut::{Cut, first_difference, recut, same_events};

/// The most bytes of data that are kept of one event, or of one JSON document. More is an anomaly, not an end.
pub const MAX_EVENT: usize = 8 << 20;

/// The most memory that the events of one body may take, with what later stages make of them, as estimated; events after
/// that are scanned, and only the start of the stream is kept. Equal events share what they hold: a reply of a hundred and
/// fifty thousand tokens streamed one by one fits, and one of twenty thousand where no two events are alike.
pub const MAX_HELD: usize = 58 << 20;

/// The most anomalies of one kind that are kept one by one; the rest is a number in [`AnomalyKind::More`].
pub const MAX_ANOMALIES: usize = 1_000;

/// The most of a body's text that is kept where it is neither events nor JSON.
pub const MAX_TEXT: usize = 64 << 10;

/// A stretch of a body, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What a body turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON document.
    Json,
    /// Neither: HTML, plain text, nothing.
    #[default]
    Other,
}

/// One event of a stream; a whole reply decodes to exactly one.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its bytes, blank line included.
    pub span: Span,
    /// Microseconds since sending, of the slice that completed it.
    pub arrived: u64,
    /// The `event:` field, if there was one.
    pub name: Option<Arc<str>>,
    /// The `data:` field as text (lossily decoded where bytes are bad; an anomaly says so).
    pub data: Arc<str>,
    /// The data, read.
    pub payload: Payload,
}

/// What an event's data is.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A JSON value, leniently read: lone surrogates, NaN and repeated keys are anomalies, not failures.
    Json(Arc<Value>),
    /// The sentinel `[DONE]`, exactly.
    Done,
    /// Nothing of the kind.
    Other,
}

/// A way in which bytes depart from the grammar or from what clients can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Where.
    pub span: Span,
    /// The event it belongs to, if it belongs to one.
    pub event: Option<usize>,
    /// What.
    pub kind: AnomalyKind,
}

/// Kinds of anomaly, in the order of the layers they belong to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnomalyKind {
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A slice border inside a character: legal, counted so that coverage is known.
    SplitCharacter,
    /// A byte order mark at the start.
    LeadingBom,
    /// A byte order mark at a later line start.
    InnerBom,
    /// A bare CR ends a line.
    CarriageReturn,
    /// More than one style of line end.
    MixedLineEnds,
    /// The last block lacks its blank line.
    UnterminatedEvent,
    /// A field that is not `data`, `event`, `id` or `retry`; holds its name.
    UnknownField(String),
    /// `data:` without a space after it.
    DataWithoutSpace,
    /// A payload over several `data` lines.
    MultilineData,
    /// A block of `event`, `id` or `retry` only.
    EventWithoutData,
    /// An event whose data is empty.
    EmptyData,
    /// An `id` field.
    IdField,
    /// An `id` field with a NUL in it.
    IdWithNul,
    /// A `retry` field.
    RetryField,
    /// A `retry` field that is not ASCII digits.
    RetryNotDigits,
    /// A comment line.
    Comment,
    /// A NUL byte.
    NulByte,
    /// An event over the cap; it is kept up to the cap.
    OversizeEvent,
    /// Data that is neither JSON nor the sentinel.
    NotJson(String),
    /// Two JSON documents glued in one event.
    GluedJson,
    /// `NaN`, `Infinity` or `-Infinity`.
    NonFiniteNumber,
    /// A repeated key; holds its JSON pointer.
    DuplicateKey(String),
    /// An unpaired surrogate escape.
    LoneSurrogate,
    /// A raw U+2028, U+2029 or U+0085 in a string.
    RawLineSeparator,
    /// Nested deeper than the cap.
    TooDeep,
    /// A list of which only the first items are kept: all of them would take too much memory.
    ShortenedList,
    /// The sentinel with something around it (spaces, quotes, other case).
    InexactDone,
    /// More events than may be kept; those from here on were scanned but dropped, and of those before the start is kept.
    TooManyEvents,
    /// Further anomalies of a kind after the first [`MAX_ANOMALIES`], told as a number.
    More {
        /// The first of them that was not kept.
        kind: Box<AnomalyKind>,
        /// How many were not kept.
        count: usize,
    },
}

/// A body, decoded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded {
    /// What it is.
    pub framing: Framing,
    /// Its events in order.
    pub events: Vec<Event>,
    /// What was odd or wrong, by position.
    pub anomalies: Vec<Anomaly>,
    /// The body's text up to [`MAX_TEXT`], where it is neither events nor JSON; else empty.
    pub text: String,
}

// === impl Decoded ===

impl Decoded {
    /// Whether some of the body was left out because it is over a cap of ours. What seems to be missing then blames
    /// nobody.
    pub fn is_partial(&self) -> bool {
        self.anomalies
            .iter()
            .any(|a| matches!(a.kind, AnomalyKind::TooManyEvents | AnomalyKind::OversizeEvent))
    }

    /// Whether events at the end were not kept.
    fn is_shortened(&self) -> bool {
        self.anomalies.iter().any(|a| a.kind == AnomalyKind::TooManyEvents)
    }
}

/// Decodes the body of an exchange. What it is is decided by its first bytes and, where they leave it open, by the
/// content type: events under a wrong type are still read as events, and a JSON document that answers
/// `stream: true` as JSON.
pub fn decode(exchange: &Exchange) -> Decoded {
    let media = exchange.head.as_ref().map(crate::exchange::Head::media_type).unwrap_or_default();
    match framing::of(&media, &exchange.slices) {
        Framing::Sse => events(exchange),
        Framing::Json => whole::document(&exchange.slices),
        Framing::Other => whole::text(&exchange.slices),
    }
}

fn events(exchange: &Exchange) -> Decoded {
    let mut scanner = sse::Scanner::new();
    for slice in &exchange.slices {
        scanner.feed(&slice.bytes, slice.at);
    }
    scanner.finish()
}
