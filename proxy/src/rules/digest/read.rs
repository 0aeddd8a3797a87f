//! Events to chunks, deltas and fragments: each object is walked once and its members put where rules find them.

use super::{Chunk, Delta, Digest, ErrorEvent, Extension, Fragment, Object, given, text};
use crate::decode::{Framing, Payload};
use serde_json::Value;

// === impl Digest ===

impl<'a> Digest<'a> {
    /// Reads every event up to the sentinel. What stands behind it nobody reads, and one rule says so.
    pub(super) fn read(&mut self) {
        let decoded = self.facts.decoded;
        // Nearly every event is a chunk with one choice; lists that grow take their memory twice.
        self.chunks.reserve_exact(decoded.events.len());
        self.deltas.reserve_exact(decoded.events.len());
        for (at, event) in decoded.events.iter().enumerate() {
            match &event.payload {
                Payload::Json(_) if !self.done.is_empty() => {}
                Payload::Json(value) => match &**value {
                    Value::Object(body) if self.is_error(body) => {
                        self.errors.push(ErrorEvent { event: at, body, error: body.get("error") });
                    }
                    Value::Object(body) => self.read_chunk(at, body),
                    other => self.strange.push((at, other)),
                },
                Payload::Done => self.done.push(at),
                Payload::Other => {}
            }
        }
    }

    /// An error names itself, or is the body of a refusal.
    fn is_error(&self, body: &Object) -> bool {
        let refused = || {
            self.facts.decoded.framing != Framing::Sse
                && self.facts.exchange.status().is_some_and(|status| status >= 400)
        };
        given(body.get("error")).is_some()
            || (!body.contains_key("choices")
                && (text(body.get("object")) == "error" || text(body.get("type")) == "error" || refused()))
    }

    fn read_chunk(&mut self, event: usize, body: &'a Object) {
        let mut chunk = Chunk { event, ..Chunk::default() };
        for (key, value) in body {
            match key.as_str() {
                "id" => chunk.id = Some(value),
                "object" => chunk.object = Some(value),
                "created" => chunk.created = Some(value),
                "model" => chunk.model = Some(value),
                "choices" => chunk.choices = Some(value),
                "usage" => chunk.usage = Some(value),
                "system_fingerprint" => chunk.fingerprint = Some(value),
                "obfuscation" => chunk.obfuscation = Some(value),
                "error" => chunk.error = Some(value),
                "service_tier" => {}
                _ => chunk.extended = true,
            }
        }
        let start = self.deltas.len();
        let choices = chunk.choices.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (at, choice) in choices.iter().enumerate() {
            self.read_choice(event, at, choice);
        }
        chunk.deltas = start..self.deltas.len();
        self.chunks.push(chunk);
    }

    fn read_choice(&mut self, event: usize, at: usize, choice: &'a Value) {
        let mut delta = Delta { event, at, ..Delta::default() };
        for (key, value) in choice.as_object().into_iter().flatten() {
            match key.as_str() {
                "index" => delta.index = Some(value),
                "delta" => delta.delta = Some(value),
                "message" => delta.message = Some(value),
                "finish_reason" => delta.finish = Some(value),
                "logprobs" => delta.logprobs = Some(value),
                "token_ids" => delta.token_ids = Some(value),
                _ => {}
            }
        }
        let position = i64::try_from(at).unwrap_or(i64::MAX);
        delta.number = delta.index.and_then(Value::as_i64).unwrap_or(position);
        let said = if self.streamed() { delta.delta.or(delta.message) } else { delta.message };
        for (key, value) in said.and_then(Value::as_object).into_iter().flatten() {
            self.read_member(&mut delta, key, value);
        }
        let start = self.fragments.len();
        let calls = delta.tool_calls.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        self.fragments.extend(calls.iter().enumerate().map(|(n, call)| read_fragment((event, at, n), call)));
        delta.fragments = start..self.fragments.len();
        self.deltas.push(delta);
    }

    fn read_member(&mut self, delta: &mut Delta<'a>, key: &'a str, value: &'a Value) {
        match key {
            "role" => delta.role = Some(value),
            "content" => delta.content = Some(value),
            "refusal" => delta.refusal = Some(value),
            "reasoning" => delta.reasoning = Some(value),
            "reasoning_content" => delta.reasoning_content = Some(value),
            "tool_calls" => delta.tool_calls = Some(value),
            "function_call" => delta.function_call = Some(value),
            "audio" => {}
            _ => self.extensions.push(Extension { event: delta.event, choice: delta.at, key, value }),
        }
    }
}

fn read_fragment((event, choice, at): (usize, usize, usize), call: &Value) -> Fragment<'_> {
    let mut fragment = Fragment { event, choice, at, ..Fragment::default() };
    for (key, value) in call.as_object().into_iter().flatten() {
        match key.as_str() {
            "index" => fragment.index = Some(value),
            "id" => fragment.id = Some(value),
            "type" => fragment.kind = Some(value),
            "function" => fragment.function = Some(value),
            _ => {}
        }
    }
    for (key, value) in fragment.function.and_then(Value::as_object).into_iter().flatten() {
        match key.as_str() {
            "name" => fragment.name = Some(value),
            "arguments" => fragment.arguments = Some(value),
            _ => {}
        }
    }
    fragment
}
