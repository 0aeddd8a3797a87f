//! Logprobs of a choice: the tokens and how likely each was, piece by piece.
//!
//! In: a choice of a whole reply or of a chunk. Out: [`Logprobs`], grown by what it brings. An entry without a token is
//! passed over; the alternatives are not kept.

use super::reply::Logprobs;
use serde_json::Value;

/// The entries that a choice brings of its content, and those of its refusal.
pub(super) fn lists(choice: &Value) -> [&[Value]; 2] {
    let logprobs = choice.get("logprobs");
    ["content", "refusal"].map(|key| {
        let list = logprobs.and_then(|logprobs| logprobs.get(key)?.as_array());
        list.map(Vec::as_slice).unwrap_or_default()
    })
}

/// Adds what a choice brings.
pub(super) fn note(held: &mut Option<Logprobs>, choice: &Value, event: usize) {
    for entry in lists(choice).into_iter().flatten() {
        if let Some(token) = entry.get("token").and_then(Value::as_str) {
            let held = held.get_or_insert_default();
            held.tokens.push(token, event);
            held.values.push(entry.get("logprob").and_then(Value::as_f64));
        }
    }
}

// === impl Logprobs ===

impl Logprobs {
    /// The tokens, each with the event that brought it and its logprob.
    pub fn entries(&self) -> impl Iterator<Item = (&str, usize, Option<f64>)> {
        let pieces = &self.tokens.pieces;
        let ends = pieces.iter().skip(1).map(|p| p.start).chain([self.tokens.value.len()]);
        pieces.iter().zip(ends).zip(&self.values).map(|((piece, end), value)| {
            (self.tokens.value.get(piece.start..end).unwrap_or_default(), piece.event, *value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_are_what_was_noted() {
        let mut held = None;
        note(&mut held, &json!({"logprobs": null}), 0);
        note(&mut held, &json!({"logprobs": {"content": null}}), 0);
        assert_eq!(held, None);
        note(&mut held, &json!({"logprobs": {"content": [{"token": "a", "logprob": -0.5}, {}]}}), 1);
        let more = json!([{"token": "", "logprob": "x"}, {"token": "é"}]);
        note(&mut held, &json!({"logprobs": {"content": more, "refusal": [{"token": "no"}]}}), 2);
        let held = held.unwrap();
        let entries: Vec<_> = held.entries().collect();
        assert_eq!(entries, [("a", 1, Some(-0.5)), ("", 2, None), ("é", 2, None), ("no", 2, None)]);
    }
}
