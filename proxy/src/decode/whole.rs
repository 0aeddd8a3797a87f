//! A body that is one document, or neither document nor events.

use super::{
    Anomaly, AnomalyKind, Decoded, Event, Framing, MAX_EVENT, MAX_TEXT, Payload, Span, json, tally::Tally,
    utf8,
};
use crate::exchange::Slice;

/// One JSON document: exactly one event.
pub(super) fn document(slices: &[Slice]) -> Decoded {
    let mut tally = note_bytes(slices);
    let length = slices.iter().map(|s| s.bytes.len()).sum();
    let body = joined(slices, MAX_EVENT);
    let from = leading_mark(&body, &mut tally);
    let mut origin = json::Origin::default();
    origin.line(0, from);
    let data = body.get(from..).unwrap_or_default();
    let payload = if length > body.len() {
        tally.note(Span { start: body.len(), end: length }, AnomalyKind::OversizeEvent);
        Payload::Other
    } else {
        json::read_at(data, json::MAX_MEMORY, &origin, &mut tally)
            .0
            .map_or(Payload::Other, |value| Payload::Json(value.into()))
    };
    let data = utf8::shared(utf8::whole_characters_if(length > body.len(), data));
    let arrived = slices.last().map_or(0, |s| s.at);
    let event = Event { span: Span { start: 0, end: length }, arrived, name: None, data, payload };
    let events = vec![event];
    let anomalies = tally.finish(&events);
    Decoded { framing: Framing::Json, events, anomalies, text: String::new() }
}

/// Neither events nor JSON: no events, but the text is kept.
pub(super) fn text(slices: &[Slice]) -> Decoded {
    let mut tally = note_bytes(slices);
    let body = joined(slices, MAX_TEXT);
    let from = leading_mark(&body, &mut tally);
    let text = utf8::lossy(utf8::whole_characters(body.get(from..).unwrap_or_default()));
    let anomalies: Vec<Anomaly> = tally.finish(&[]);
    Decoded { framing: Framing::Other, events: Vec::new(), anomalies, text }
}

/// What concerns bytes whatever they stand in.
fn note_bytes(slices: &[Slice]) -> Tally {
    let (mut tally, mut validator, mut offset) = (Tally::default(), utf8::Validator::default(), 0);
    for slice in slices.iter().filter(|s| !s.bytes.is_empty()) {
        if validator.is_inside_character() {
            tally.note(Span { start: offset, end: offset }, AnomalyKind::SplitCharacter);
        }
        validator.feed(&slice.bytes, |span| tally.note(span, AnomalyKind::InvalidUtf8));
        for at in memchr::memchr_iter(0, &slice.bytes) {
            tally.note(Span { start: offset + at, end: offset + at + 1 }, AnomalyKind::NulByte);
        }
        offset += slice.bytes.len();
    }
    validator.finish(|span| tally.note(span, AnomalyKind::InvalidUtf8));
    tally
}

fn leading_mark(body: &[u8], tally: &mut Tally) -> usize {
    if !body.starts_with(b"\xEF\xBB\xBF") {
        return 0;
    }
    tally.note(Span { start: 0, end: 3 }, AnomalyKind::LeadingBom);
    3
}

/// The body in one piece, up to a cap.
fn joined(slices: &[Slice], cap: usize) -> Vec<u8> {
    let length: usize = slices.iter().map(|s| s.bytes.len()).sum();
    let mut body = Vec::with_capacity(length.min(cap));
    for slice in slices {
        let room = (cap - body.len()).min(slice.bytes.len());
        body.extend_from_slice(slice.bytes.get(..room).unwrap_or_default());
    }
    body
}
