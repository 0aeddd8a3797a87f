//! One JSON object of a case file, read key by key; what is wrong with it is noted and reading goes on.
//!
//! In: an object and where it stands. Out: typed fields, `None` where absent or wrong. [`Object::end`] names the keys
//! that nobody asked for.

use super::{lines::Lines, read::Mistake};
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::BTreeSet};

/// What a file's mistakes are collected in.
pub struct File<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where its keys stand.
    pub lines: &'a Lines,
    /// All that is wrong so far.
    pub mistakes: RefCell<Vec<Mistake>>,
}

/// An object under reading.
pub struct Object<'a> {
    file: &'a File<'a>,
    /// JSON pointer of the object in the file.
    pub pointer: String,
    map: &'a Map<String, Value>,
    known: RefCell<BTreeSet<&'static str>>,
}

// === impl File ===

impl File<'_> {
    /// Notes a mistake at a pointer. The key is named without the index of the case in its list.
    pub fn mistake(&self, pointer: &str, what: impl Into<String>) {
        let key = pointer.split('/').skip_while(|s| s.is_empty() || s.parse::<usize>().is_ok());
        self.mistakes.borrow_mut().push(Mistake {
            file: self.name.to_owned(),
            line: self.lines.line(pointer),
            key: key.collect::<Vec<_>>().join("."),
            what: what.into(),
        });
    }
}

// === impl Object ===

impl<'a> Object<'a> {
    /// The object at a pointer; `None`, and a mistake, where there is something else.
    pub fn of(file: &'a File<'a>, pointer: String, value: &'a Value) -> Option<Self> {
        let Value::Object(map) = value else {
            file.mistake(&pointer, format!("should be an object, not {}", kind(value)));
            return None;
        };
        Some(Self { file, pointer, map, known: RefCell::default() })
    }

    /// The pointer of one of its keys.
    pub fn at(&self, key: &str) -> String {
        format!("{}/{key}", self.pointer)
    }

    /// Whether a key is there, null included.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// The value of a key.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.known.borrow_mut().insert(key);
        self.map.get(key)
    }

    /// Notes a mistake at a key.
    pub fn mistake(&self, key: &str, what: impl Into<String>) {
        self.file.mistake(&self.at(key), what);
    }

    /// The value of a key as `pick` reads it; a mistake that names `wanted` where it does not.
    pub fn read<T>(
        &self,
        key: &'static str,
        wanted: &str,
        pick: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let picked = pick(value);
        if picked.is_none() {
            self.mistake(key, format!("should be {wanted}, not {}", shown(value)));
        }
        picked
    }

    /// A string.
    pub fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, "a string", |v| v.as_str().map(Into::into))
    }

    /// A string that has to be there.
    pub fn required_text(&self, key: &'static str) -> Option<String> {
        if !self.has(key) {
            self.file.mistake(&self.pointer, format!("lacks the key {key:?}"));
        }
        self.text(key)
    }

    #[expect(clippy::option_option, reason = "not said and said to be null are two things here")]
    /// A string or null: `None` where the key is absent, `Some(None)` for null.
    pub fn text_or_null(&self, key: &'static str) -> Option<Option<String>> {
        self.read(key, "a string or null", |v| match v {
            Value::Null => Some(None),
            Value::String(text) => Some(Some(text.clone())),
            _ => None,
        })
    }

    /// A list of strings; empty where absent.
    pub fn texts(&self, key: &'static str) -> Vec<String> {
        self.read(key, "a list of strings", |v| {
            v.as_array()?.iter().map(|s| s.as_str().map(Into::into)).collect::<Option<Vec<_>>>()
        })
        .unwrap_or_default()
    }

    /// A list of words out of a fixed set; each word that is none of them is a mistake.
    pub fn words<T: Clone>(&self, key: &'static str, known: &[(&str, T)]) -> Vec<T> {
        let texts = self.texts(key);
        texts.iter().filter_map(|text| self.word(key, text, known)).collect()
    }

    /// The meaning of one word; a mistake where it has none.
    pub fn word<T: Clone>(&self, key: &str, text: &str, known: &[(&str, T)]) -> Option<T> {
        let found = known.iter().find(|(word, _)| *word == text).map(|(_, meaning)| meaning.clone());
        if found.is_none() {
            let words = known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.mistake(key, format!("{text:?} is none of: {words}"));
        }
        found
    }

    /// The object under a key.
    pub fn object(&self, key: &'static str) -> Option<Self> {
        Self::of(self.file, self.at(key), self.value(key)?)
    }

    /// Every key that was never asked for is a mistake.
    pub fn end(self) {
        let known = self.known.into_inner();
        for key in self.map.keys().filter(|key| !known.contains(key.as_str())) {
            self.file.mistake(&format!("{}/{key}", self.pointer), "unknown key");
        }
    }

    /// The file it stands in.
    pub fn file(&self) -> &'a File<'a> {
        self.file
    }
}

/// The value itself where it is short, since its kind alone may be the right one; else its kind.
fn shown(value: &Value) -> String {
    const SHORT: usize = 40;
    match value {
        Value::Number(_) | Value::Array(_) => {
            let text = value.to_string();
            if text.len() <= SHORT { text } else { kind(value).to_owned() }
        }
        _ => kind(value).to_owned(),
    }
}

/// What kind of JSON value it is, with an article.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
