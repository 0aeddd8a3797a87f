//! The recursive part of the JSON reader; recursion is bounded by [`MAX_DEPTH`].

use super::{ALWAYS_KEPT, MAX_DEPTH, Origin, Stop, memory::Memory};
use crate::decode::{AnomalyKind, tally::Tally, utf8};
use serde_json::{Map, Number, Value};

/// The number of items from which on a list gives its spare room back.
const ROOMY: usize = 16;

/// The longest pointer that an anomaly holds.
const MAX_POINTER: usize = 200;

/// A place in a document that is being read.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    /// The next byte.
    pub(super) at: usize,
    /// What the values so far take.
    pub(super) memory: Memory,
    path: Vec<Step>,
    origin: &'a Origin,
    tally: &'a mut Tally,
}

enum Step {
    /// The bytes of a key between its quotes.
    Key(usize, usize),
    Index(usize),
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], memory: Memory, origin: &'a Origin, tally: &'a mut Tally) -> Self {
        Self { bytes, at: 0, memory, path: Vec::new(), origin, tally }
    }

    /// One value with white space around it.
    pub(super) fn document(&mut self) -> Result<Value, Stop> {
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        Ok(value)
    }

    fn value(&mut self) -> Result<Value, Stop> {
        if self.memory.is_full() {
            return Err(Stop::TooLarge(self.at));
        }
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string_value(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Value::Null),
            Some(b'N') => self.non_finite(self.at, "NaN"),
            Some(b'I') => self.non_finite(self.at, "Infinity"),
            _ => Err(self.expected("a value")),
        }
    }

    fn string_value(&mut self) -> Result<Value, Stop> {
        let text = self.string()?;
        self.memory.add_string(text.len());
        Ok(Value::String(text))
    }

    fn object(&mut self) -> Result<Value, Stop> {
        self.descend(Step::Key(0, 0))?;
        let mut map = Map::new();
        if !self.closes_empty(b'}') {
            self.memory.add_object();
            loop {
                self.member(&mut map)?;
                if !self.has_next(b'}', "a comma or a closing brace")? {
                    break;
                }
            }
        }
        self.path.pop();
        Ok(Value::Object(map))
    }

    fn member(&mut self, map: &mut Map<String, Value>) -> Result<(), Stop> {
        self.skip_space();
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        let key = self.string()?;
        let end = self.at;
        self.memory.add_member(&key, map.len());
        self.step(Step::Key(start + 1, end - 1));
        self.skip_space();
        if !self.take(b':') {
            return Err(self.expected("a colon"));
        }
        self.skip_space();
        let value = self.value()?;
        if map.insert(key, value).is_some() {
            let pointer = self.pointer();
            self.note(start, end, AnomalyKind::DuplicateKey(pointer));
        }
        Ok(())
    }

    fn array(&mut self) -> Result<Value, Stop> {
        let key = self.key();
        self.descend(Step::Index(0))?;
        let (mut items, mut dropped) = (Vec::new(), None);
        if !self.closes_empty(b']') {
            loop {
                self.step(Step::Index(items.len()));
                self.skip_space();
                self.item(key, &mut items, &mut dropped)?;
                if !self.has_next(b']', "a comma or a closing bracket")? {
                    break;
                }
            }
        }
        self.path.pop();
        if let Some(start) = dropped {
            self.note(start, self.at, AnomalyKind::ShortenedList);
        }
        if items.len() > ROOMY {
            items.shrink_to_fit();
        }
        Ok(Value::Array(items))
    }

    /// Reads one item, and keeps it if there is room.
    fn item(&mut self, key: &[u8], items: &mut Vec<Value>, dropped: &mut Option<usize>) -> Result<(), Stop> {
        let (start, before) = (self.at, self.memory);
        let is_dropped = items.len() >= ALWAYS_KEPT && before.shortens_lists();
        let item = self.value()?;
        if is_dropped {
            self.memory = before;
            dropped.get_or_insert(start);
        } else {
            self.memory.add_item(key);
            items.push(item);
        }
        Ok(())
    }

    /// The key of the member that is being read; empty in a list.
    fn key(&self) -> &'a [u8] {
        let bytes: &'a [u8] = self.bytes;
        match self.path.last() {
            Some(Step::Key(start, end)) => bytes.get(*start..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    fn descend(&mut self, step: Step) -> Result<(), Stop> {
        if self.path.len() >= MAX_DEPTH {
            return Err(Stop::TooDeep(self.at));
        }
        self.at += 1;
        self.path.push(step);
        Ok(())
    }

    fn closes_empty(&mut self, closer: u8) -> bool {
        self.skip_space();
        self.take(closer)
    }

    fn has_next(&mut self, closer: u8, what: &'static str) -> Result<bool, Stop> {
        self.skip_space();
        if self.take(closer) {
            return Ok(false);
        }
        if self.take(b',') { Ok(true) } else { Err(self.expected(what)) }
    }

    fn number(&mut self) -> Result<Value, Stop> {
        let start = self.at;
        if self.take(b'-') && self.peek() == Some(b'I') {
            return self.non_finite(start, "Infinity");
        }
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        self.memory.add_text(self.at - start);
        Ok(number(self.bytes.get(start..self.at).unwrap_or_default()))
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    fn non_finite(&mut self, start: usize, word: &'static str) -> Result<Value, Stop> {
        self.word(word)?;
        self.note(start, self.at, AnomalyKind::NonFiniteNumber);
        self.memory.add_text(self.at - start);
        Ok(Value::String(utf8::lossy(self.bytes.get(start..self.at).unwrap_or_default())))
    }

    fn word(&mut self, word: &'static str) -> Result<(), Stop> {
        let found = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        if !found {
            return Err(self.expected(word));
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) const fn expected(&self, what: &'static str) -> Stop {
        Stop::Expected(self.at, what)
    }

    pub(super) fn note(&mut self, start: usize, end: usize, kind: AnomalyKind) {
        self.tally.note(self.origin.span(start, end), kind);
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn step(&mut self, step: Step) {
        if let Some(last) = self.path.last_mut() {
            *last = step;
        }
    }

    /// The JSON pointer of the value just read, keys as they were written.
    fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.path {
            out.push('/');
            match step {
                Step::Index(at) => out.push_str(&at.to_string()),
                Step::Key(start, end) => {
                    let key = self.bytes.get(*start..(*end).min(start + MAX_POINTER)).unwrap_or_default();
                    out.push_str(&utf8::lossy(key).replace('~', "~0").replace('/', "~1"));
                }
            }
            if out.len() > MAX_POINTER {
                break;
            }
        }
        out
    }
}

/// A number of valid spelling, digit for digit.
fn number(text: &[u8]) -> Value {
    /// Digits that surely fit, so that plain counts need no second reading.
    const PLAIN: usize = 18;
    if text.len() <= PLAIN && text.iter().all(u8::is_ascii_digit) {
        let count = text.iter().fold(0u64, |count, digit| count * 10 + u64::from(digit - b'0'));
        return Value::Number(count.into());
    }
    let text = utf8::lossy(text);
    text.parse::<Number>().map_or(Value::String(text), Value::Number)
}
