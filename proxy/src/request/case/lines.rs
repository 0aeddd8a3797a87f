//! On which line each key and element of a JSON text stands.
//!
//! In: text that is known to be JSON. Out: a map from JSON pointer to line, and the keys that are written twice. serde
//! keeps no positions, and a mistake without its line is a search.
//!
//! Pointers are kept as hashes: a long key above many elements would else be held once for each of them.

use crate::request::select::{StableHash, stable_hash};
use std::collections::HashMap;

/// Repeated keys that are told; who has more sees them after mending these.
const MAX_REPEATED: usize = 1_000;

/// Where things stand in a JSON text.
#[derive(Debug, Default)]
pub struct Lines {
    at: HashMap<u64, usize>,
    /// Pointer and line of each key that its object already had.
    pub repeated: Vec<(String, usize)>,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    /// Keys and indices of the place that is being read.
    path: Vec<Step<'a>>,
    position: usize,
    line: usize,
    found: Lines,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a [u8]),
    Index(usize),
}

// === impl Lines ===

impl Lines {
    /// Scans a text that serde has accepted, so nesting is bounded and the grammar holds.
    pub fn of(text: &str) -> Self {
        let (bytes, path) = (text.as_bytes(), Vec::new());
        let mut scanner = Scanner { bytes, path, position: 0, line: 1, found: Self::default() };
        scanner.value(StableHash::default());
        scanner.found
    }

    /// The 1-based line of what the pointer leads to; of the nearest ancestor where it leads nowhere.
    pub fn line(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            match (self.at.get(&stable_hash(pointer.as_bytes())), pointer.rsplit_once('/')) {
                (Some(line), _) => return *line,
                (None, Some((parent, _))) => pointer = parent,
                (None, None) => return 1,
            }
        }
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    fn value(&mut self, pointer: StableHash) {
        self.blanks();
        self.found.at.entry(pointer.value()).or_insert(self.line);
        match self.peek() {
            Some(b'{') => self.object(pointer),
            Some(b'[') => self.array(pointer),
            Some(b'"') => _ = self.string(),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, pointer: StableHash) {
        self.position += 1;
        while self.next_member(b'}') {
            let line = self.line;
            let key = self.string();
            let below = pointer.with(b"/").with(key);
            self.path.push(Step::Key(key));
            if self.found.at.insert(below.value(), line).is_some() && self.found.repeated.len() < MAX_REPEATED
            {
                self.found.repeated.push((self.pointer(), line));
            }
            self.blanks();
            self.position += 1;
            self.value(below);
            self.path.pop();
        }
    }

    fn array(&mut self, pointer: StableHash) {
        self.position += 1;
        let mut index = 0_usize;
        while self.next_member(b']') {
            self.path.push(Step::Index(index));
            self.value(pointer.with(b"/").with(index.to_string().as_bytes()));
            self.path.pop();
            index += 1;
        }
    }

    /// The pointer of the place that is being read.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&String::from_utf8_lossy(key)),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Moves to the next member of an object or array; false once its closing bracket is behind.
    fn next_member(&mut self, close: u8) -> bool {
        self.blanks();
        if self.peek() == Some(b',') {
            self.position += 1;
            self.blanks();
        }
        match self.peek() {
            Some(byte) if byte != close => true,
            _ => {
                self.position += 1;
                false
            }
        }
    }

    /// The text between the quotes, escapes as written.
    fn string(&mut self) -> &'a [u8] {
        self.position += 1;
        let start = self.position;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => break,
                b'\\' => self.position += 2,
                _ => self.position += 1,
            }
        }
        let end = self.position.min(self.bytes.len());
        self.position += 1;
        self.bytes.get(start..end).unwrap_or_default()
    }

    fn scalar(&mut self) {
        while self
            .peek()
            .is_some_and(|byte| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
        {
            self.position += 1;
        }
    }

    fn blanks(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            self.line += usize::from(byte == b'\n');
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_element_has_the_line_it_stands_on() {
        let lines = Lines::of("{\n \"a\": [1,\n  {\"b\\\"c\": \"x\\\\\"}],\n\"d\":\n null}");
        let found =
            ["", "/a", "/a/0", "/a/1", "/a/1/b\\\"c", "/d", "/d/nothing"].map(|pointer| lines.line(pointer));
        assert_eq!(found, [1, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn a_key_written_twice_is_told_with_its_line() {
        assert_eq!(Lines::of("{\"a\": 1,\n\"a\": 2}").repeated, [("/a".to_owned(), 2)]);
    }

    #[test]
    fn text_that_is_no_json_ends_somewhere() {
        let text = "{\"a\": [1, {\"b\": \"c\\";
        for end in 0..=text.len() {
            Lines::of(text.get(..end).unwrap());
        }
    }
}
