//! Typed look-ups in a JSON object. Null is the same as absent, as OpenAI clients send nulls for what was not set.
//!
//! In: an object and where it stands in the body. Out: a value of the type asked for, or a refusal that names the key.

use serde_json::{Map, Value};

use crate::api::errors::Refusal;

/// An object of the body, and its place: `messages[0]`, or nothing for the body itself.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: String,
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// The body itself.
    pub fn body(object: &'a Map<String, Value>) -> Self {
        Self { object, place: String::new() }
    }

    /// A value that must be an object.
    pub fn of(value: &'a Value, place: String) -> Result<Self, Refusal> {
        match value {
            Value::Object(object) => Ok(Self { object, place }),
            _ => Err(Refusal::invalid(place, "expected an object")),
        }
    }

    /// Where a key stands.
    pub fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// A value that is there and not null.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// The refusal of a key's value.
    pub fn invalid(&self, key: &str, message: impl Into<String>) -> Refusal {
        Refusal::invalid(self.place(key), message)
    }

    /// Text.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Refusal> {
        self.typed(key, Value::as_str, "expected a string")
    }

    /// Text that may not be absent.
    pub fn required_text(&self, key: &str) -> Result<&'a str, Refusal> {
        self.text(key)?.ok_or_else(|| self.invalid(key, "expected a string, found nothing"))
    }

    /// True or false.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Refusal> {
        self.typed(key, Value::as_bool, "expected true or false")
    }

    /// A whole number from 1 on.
    pub fn positive(&self, key: &str) -> Result<Option<u64>, Refusal> {
        let read = |value: &Value| value.as_u64().filter(|number| *number > 0);
        self.typed(key, read, "expected a whole number of at least 1")
    }

    /// A list.
    pub fn list(&self, key: &str) -> Result<Option<&'a [Value]>, Refusal> {
        self.typed(key, |value| value.as_array().map(Vec::as_slice), "expected a list")
    }

    /// An object.
    pub fn object(&self, key: &str) -> Result<Option<Self>, Refusal> {
        self.get(key).map(|value| Fields::of(value, self.place(key))).transpose()
    }

    fn typed<T>(
        &self,
        key: &str,
        read: impl Fn(&'a Value) -> Option<T>,
        message: &str,
    ) -> Result<Option<T>, Refusal> {
        self.get(key).map(|value| read(value).ok_or_else(|| self.invalid(key, message))).transpose()
    }
}
