//! Characters whose two escaped halves came in two events: joined when the second half comes, and what is left over
//! becomes U+FFFD. Only a body with a lone surrogate is looked at, so that a private character stays itself.

use super::reply::{Call, Part, Reply, Text};
use crate::decode::{AnomalyKind, Decoded, json::surrogate};

/// Whether a body has lone halves.
pub fn are_in(decoded: &Decoded) -> bool {
    decoded.anomalies.iter().any(|a| a.kind == AnomalyKind::LoneSurrogate)
}

/// Appends a piece; a low half at its start is joined to a high half at the text's end.
pub fn push(text: &mut Text, piece: &str, event: usize) {
    let mut rest = piece.chars();
    let low = rest.next().and_then(surrogate::half);
    let high = text.value.chars().next_back().and_then(surrogate::half);
    match high.zip(low).and_then(|(high, low)| surrogate::join(high, low)) {
        Some(whole) => {
            // Stand-in and character are four bytes alike, so earlier pieces keep their offsets.
            text.value.pop();
            text.value.push(whole);
            if !rest.as_str().is_empty() {
                text.push(rest.as_str(), event);
            }
        }
        None => text.push(piece, event),
    }
}

/// Replaces the halves that stayed alone.
pub fn settle(reply: &mut Reply) {
    for part in &mut reply.parts {
        match part {
            Part::Reasoning(text) | Part::Text(text) | Part::Refusal(text) => settle_text(text),
            Part::Call(call) => settle_call(call),
        }
    }
    let beside = &mut reply.beside;
    beside.function_call.iter_mut().for_each(settle_call);
    settle_text(&mut beside.reasoning);
    settle_text(&mut beside.transcript);
}

fn settle_call(call: &mut Call) {
    call.name = surrogate::settle(&call.name);
    settle_text(&mut call.arguments);
}

fn settle_text(text: &mut Text) {
    let old = std::mem::take(text);
    let ends = old.pieces.iter().skip(1).map(|p| p.start).chain([old.value.len()]);
    for (piece, end) in old.pieces.iter().zip(ends) {
        text.push(&surrogate::settle(old.value.get(piece.start..end).unwrap_or_default()), piece.event);
    }
}
