//! Fields of wire objects, read so that a wrong kind is passed over or becomes text, and never an end.

use super::reply::Presence;
use serde_json::Value;
use std::borrow::Cow;

/// A field that is a non-empty string.
pub fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// A field that is there and not null.
pub fn given<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// Content as text: a string; of a list of parts the texts; of anything else its JSON.
pub fn content(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(parts) => Some(Cow::Owned(parts.iter().map(part).collect())),
        other => Some(Cow::Owned(other.to_string())),
    }
}

fn part(part: &Value) -> Cow<'_, str> {
    match part.as_str().or_else(|| part.get("text")?.as_str()) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(part.to_string()),
    }
}

/// A value that is an id or a code: a string or a number, as text.
pub fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a field was there.
pub fn presence(object: &Value, key: &str) -> Presence {
    match object.get(key) {
        None => Presence::Absent,
        Some(Value::Null) => Presence::Null,
        Some(value) if content(value).is_some_and(|text| !text.is_empty()) => Presence::Text,
        Some(_) => Presence::Empty,
    }
}

/// The stronger of two presences: one delta with text makes a stream's content present.
pub const fn stronger(one: Presence, other: Presence) -> Presence {
    if rank(one) < rank(other) { other } else { one }
}

const fn rank(presence: Presence) -> u8 {
    match presence {
        Presence::Absent => 0,
        Presence::Null => 1,
        Presence::Empty => 2,
        Presence::Text => 3,
    }
}
