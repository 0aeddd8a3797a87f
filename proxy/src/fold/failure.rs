//! Errors as answers: objects under `error`, flat objects, text, HTML, nothing; whole, by status, or in a stream.

use super::{reply::Failure, wire};
use crate::decode::{Decoded, Framing, Payload};
use serde_json::Value;

/// The longest message that is made of a body that is no error object.
const MAX_MESSAGE: usize = 4 << 10;

/// The error under the key `error` of a chunk or body: an object, or the message alone.
pub fn under_key(body: &Value) -> Option<Failure> {
    let error = wire::given(body, "error").filter(|error| !matches!(error, Value::Bool(false)))?;
    if error.is_object() {
        return Some(of_object(error, "error object"));
    }
    let message = error.as_str().map_or_else(|| error.to_string(), ToOwned::to_owned);
    let code = wire::given(body, "code").and_then(wire::word);
    let kind = wire::text(body, "error_type").map(ToOwned::to_owned);
    Some(Failure { status: 200, code, kind, message, envelope: "error text", ..Failure::default() })
}

/// An object that is itself an error: it says so, or it has a message and nothing of an answer.
pub fn flat(body: &Value) -> Option<Failure> {
    says_error(body).then(|| of_object(body, "flat"))
}

fn says_error(body: &Value) -> bool {
    let word = |key: &str| wire::text(body, key) == Some("error");
    body.get("choices").is_none() && (word("object") || word("type"))
}

/// An event named `error` whose data says nothing of itself.
pub fn flat_object(body: &Value) -> Failure {
    of_object(body, "flat")
}

fn of_object(error: &Value, envelope: &'static str) -> Failure {
    let message = wire::text(error, "message").or_else(|| wire::text(error, "detail"));
    Failure {
        status: 200,
        code: wire::given(error, "code").and_then(wire::word),
        kind: wire::text(error, "type").map(ToOwned::to_owned),
        param: wire::text(error, "param").map(ToOwned::to_owned),
        message: message.map_or_else(|| error.to_string(), ToOwned::to_owned),
        envelope,
        event: None,
    }
}

/// The error of the whole answer: one that was found in it, or what the HTTP status says, or that it is no reply.
pub fn of_answer(found: Option<Failure>, status: Option<u16>, decoded: &Decoded) -> Option<Failure> {
    let refused = status.filter(|status| !(200..300).contains(status));
    let other = decoded.framing == Framing::Other && status.is_some();
    if refused.is_none() && !other {
        return found;
    }
    let failure = found.unwrap_or_else(|| of_body(decoded));
    let event = if refused.is_some() { None } else { failure.event };
    Some(Failure { status: status.unwrap_or_default(), event, ..failure })
}

/// A body that holds no error object, taken as one.
fn of_body(decoded: &Decoded) -> Failure {
    match decoded.events.first() {
        None => of_text(&decoded.text),
        Some(event) => match &event.payload {
            Payload::Json(value) if value.is_object() => of_object(value, "flat"),
            Payload::Json(_) | Payload::Done | Payload::Other => of_text(&event.data),
        },
    }
}

fn of_text(text: &str) -> Failure {
    let text = text.trim();
    let envelope = match text.as_bytes().first() {
        None => "empty",
        Some(b'<') => "html",
        Some(_) => "text",
    };
    let message = text.chars().take(MAX_MESSAGE).collect();
    Failure { message, envelope, ..Failure::default() }
}
