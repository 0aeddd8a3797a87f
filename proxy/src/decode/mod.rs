//! Bytes to events, with offsets, plus anomalies: what could be read *and* what was wrong with it. Pure.
//!
//! In: an [`Exchange`]. Out: [`Decoded`]. A bad byte never hides the rest of a stream.

use crate::exchange::Exchange;
use serde_json::Value;

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
    pub name: Option<String>,
    /// The `data:` field as text (lossily decoded where bytes are bad; an anomaly says so).
    pub data: String,
    /// The data, read.
    pub payload: Payload,
}

/// What an event's data is.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A JSON value, leniently read: lone surrogates, NaN and repeated keys are anomalies, not failures.
    Json(Value),
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The sentinel with something around it (spaces, quotes, other case).
    InexactDone,
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
}

/// Decodes the body of an exchange.
pub fn decode(exchange: &Exchange) -> Decoded {
    let _ = exchange;
    Decoded::default()
}
