//! A JSON value read character by character and said again without blanks.
//!
//! In: characters with their places. Out: pieces of compact JSON text, as early as they can never be taken back: a
//! comma and a key go out when their value begins, a number or literal when it is complete. Numbers stay as
//! written, strings are decoded and encoded again, `NaN` is a string, and of a repeated key the first stands.

mod string;
#[cfg(test)]
mod tests;
mod token;

use std::collections::HashSet;
use std::ops::Range;

use super::Origin;
use super::reading::Sink;
pub(super) use string::{Decoder, StringStep, encode};
use token::Token;

/// A value while it is read.
#[derive(Debug, Default)]
pub(super) struct Json {
    place: Place,
    levels: Vec<Level>,
    /// The comma and key that go out when their value begins.
    lead: String,
    /// How deep the member stands whose key came before.
    skipped_at: Option<usize>,
    decoder: Decoder,
    /// Where the last backslash in a string stands.
    escape_start: usize,
    /// A key, or what the last character added to a string.
    text: String,
    token: Token,
    token_start: usize,
    /// A comma or key is out whose number or literal is not.
    owes: bool,
}

/// Where in the grammar of JSON the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Value,
    FirstItem,
    FirstKey,
    Key,
    InKey,
    Colon,
    InString,
    InToken,
    AfterValue,
    Done,
}

/// An object or array that is open.
#[derive(Debug)]
struct Level {
    /// The keys of an object.
    keys: Option<HashSet<String>>,
    /// Whether a member or item went out.
    said: bool,
}

/// What a character did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It belongs to the value, and there is more of it.
    More,
    /// It is the last character of the value.
    Last,
    /// The value was complete before it.
    Past,
    /// It cannot stand there.
    Broken,
}

/// A sink for what nobody wants.
pub(super) struct Discard;

impl Sink for Discard {
    fn arguments(&mut self, _: usize, _: Origin, _: &str) {}
    fn lose(&mut self, _: usize) {}
}

impl Sink for String {
    fn arguments(&mut self, _: usize, _: Origin, piece: &str) {
        self.push_str(piece);
    }
    fn lose(&mut self, _: usize) {}
}

/// The blanks of JSON.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// A whole value without its blanks, or `None` if the text is not one.
pub(super) fn compact(text: &str) -> Option<String> {
    let (mut json, mut compact) = (Json::default(), String::new());
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let rest = match json.step(c, at..end, &mut compact) {
            Step::More => continue,
            Step::Last => text.get(end..),
            Step::Past => text.get(at..),
            Step::Broken => None,
        };
        return rest?.chars().all(is_blank).then_some(compact);
    }
    let complete = json.end_token(text.len(), &mut compact) && json.place == Place::Done;
    complete.then_some(compact)
}

// === impl Json ===

impl Json {
    /// Whether the next character stands in a string.
    pub(super) fn in_string(&self) -> bool {
        matches!(self.place, Place::InKey | Place::InString)
    }

    /// Whether something was read that is neither said nor blank.
    pub(super) fn holds(&self) -> bool {
        self.skipped_at.is_some() || !self.lead.is_empty() || self.in_string() || self.place == Place::InToken
    }

    /// How many bytes of `text` stand in the value as they are written.
    pub(super) fn verbatim(&self, text: &str) -> usize {
        if self.place != Place::InString || !self.decoder.is_idle() {
            return 0;
        }
        text.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\').unwrap_or(text.len())
    }

    /// Whether the value at hand is not said, because its key came before.
    pub(super) fn skips(&self) -> bool {
        self.skipped_at.is_some()
    }

    /// Where text begins that is neither said nor lost if the value breaks off: at an unfinished number, literal
    /// or escape. Keys and commas are lost.
    pub(super) fn breaks_at(&self, here: usize, told: usize) -> usize {
        match self.place {
            _ if self.skips() => here,
            Place::InToken => self.token_start,
            Place::InString => told,
            _ => here,
        }
    }

    /// Takes the next character, which stands at `span`.
    pub(super) fn step(&mut self, c: char, span: Range<usize>, sink: &mut impl Sink) -> Step {
        match self.place {
            Place::InKey => self.key_character(c),
            Place::InString => self.string_character(c, span, sink),
            Place::InToken => self.token_character(c, span, sink),
            _ if is_blank(c) => Step::More,
            Place::FirstItem if c == ']' => self.close(c, span.end, sink),
            Place::Value | Place::FirstItem => self.begin_value(c, span, sink),
            Place::FirstKey if c == '}' => self.close(c, span.end, sink),
            Place::FirstKey | Place::Key if c == '"' => self.go(Place::InKey),
            Place::Colon if c == ':' => self.go(Place::Value),
            Place::AfterValue => self.after_value(c, span.end, sink),
            Place::FirstKey | Place::Key | Place::Colon | Place::Done => Step::Broken,
        }
    }

    fn go(&mut self, place: Place) -> Step {
        self.place = place;
        Step::More
    }

    fn begin_value(&mut self, c: char, span: Range<usize>, sink: &mut impl Sink) -> Step {
        match c {
            '"' => {
                self.say("\"", span.end, sink);
                self.go(Place::InString)
            }
            '{' => self.open("{", Some(HashSet::new()), span.end, sink),
            '[' => self.open("[", None, span.end, sink),
            _ if self.token.start(c) => {
                self.token_start = span.start;
                self.owes = self.say("", span.start, sink);
                self.go(Place::InToken)
            }
            _ => Step::Broken,
        }
    }

    fn open(
        &mut self,
        bracket: &str,
        keys: Option<HashSet<String>>,
        upto: usize,
        sink: &mut impl Sink,
    ) -> Step {
        self.say(bracket, upto, sink);
        let place = if keys.is_some() { Place::FirstKey } else { Place::FirstItem };
        self.levels.push(Level { keys, said: false });
        self.go(place)
    }

    /// Says the first of a value, with the comma and the key that stand before it. Whether that was anything.
    fn say(&mut self, first: &str, upto: usize, sink: &mut impl Sink) -> bool {
        if self.skips() {
            return false;
        }
        self.begin_lead();
        self.lead.push_str(first);
        let says = !self.lead.is_empty();
        if says {
            sink.arguments(upto, Origin::Syntax, &self.lead);
        }
        self.lead.clear();
        says
    }

    /// Of an item of an array, writes the comma; of a member of an object, comma and key are written already.
    fn begin_lead(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            if level.keys.is_none() && level.said {
                self.lead.push(',');
            }
            level.said = true;
        }
    }

    fn key_character(&mut self, c: char) -> Step {
        match self.decoder.step(c, &mut self.text) {
            StringStep::Open => Step::More,
            StringStep::Closed => {
                let key = std::mem::take(&mut self.text);
                self.end_key(key);
                self.go(Place::Colon)
            }
        }
    }

    fn end_key(&mut self, key: String) {
        if self.skips() {
            return;
        }
        let depth = self.levels.len();
        let Some(Level { keys: Some(keys), said }) = self.levels.last_mut() else { return };
        if keys.contains(&key) {
            self.skipped_at = Some(depth);
            return;
        }
        self.lead.push_str(if *said { ",\"" } else { "\"" });
        encode(&key, &mut self.lead);
        self.lead.push_str("\":");
        keys.insert(key);
    }

    fn string_character(&mut self, c: char, span: Range<usize>, sink: &mut impl Sink) -> Step {
        if c == '\\' {
            self.escape_start = span.start;
        }
        let closed = self.decoder.step(c, &mut self.text) == StringStep::Closed;
        self.say_text(if closed { span.start } else { span.end }, sink);
        if !closed {
            return Step::More;
        }
        if !self.skips() {
            sink.arguments(span.end, Origin::Syntax, "\"");
        }
        self.end_value(span.end, sink)
    }

    /// Says what came to a string up to there. An escape of which more may come is not told yet.
    fn say_text(&mut self, upto: usize, sink: &mut impl Sink) {
        if !self.text.is_empty() && !self.skips() {
            let mut piece = String::with_capacity(self.text.len());
            encode(&self.text, &mut piece);
            let upto = if self.decoder.is_idle() { upto } else { self.escape_start };
            sink.arguments(upto, Origin::StringValue, &piece);
        }
        self.text.clear();
    }

    fn token_character(&mut self, c: char, span: Range<usize>, sink: &mut impl Sink) -> Step {
        if self.token.push(c) {
            return Step::More;
        }
        if Token::may_hold(c) || !self.end_token(span.start, sink) {
            return Step::Broken;
        }
        match self.place {
            Place::Done => Step::Past,
            _ if is_blank(c) => Step::More,
            _ => self.after_value(c, span.end, sink),
        }
    }

    /// Nothing more comes of a number or literal: says it if it is complete. False if it is not.
    pub(super) fn end_token(&mut self, upto: usize, sink: &mut impl Sink) -> bool {
        if self.place != Place::InToken {
            return true;
        }
        let Some(text) = self.token.complete() else { return false };
        if !self.skips() {
            sink.arguments(upto, Origin::TypedValue, &text);
        }
        self.owes = false;
        self.end_value(upto, sink);
        true
    }

    fn end_value(&mut self, upto: usize, sink: &mut impl Sink) -> Step {
        if self.skipped_at == Some(self.levels.len()) {
            self.skipped_at = None;
            sink.lose(upto);
        }
        if self.levels.is_empty() {
            self.place = Place::Done;
            return Step::Last;
        }
        self.go(Place::AfterValue)
    }

    fn after_value(&mut self, c: char, upto: usize, sink: &mut impl Sink) -> Step {
        let in_object = self.levels.last().is_some_and(|level| level.keys.is_some());
        match (c, in_object) {
            (',', true) => self.go(Place::Key),
            (',', false) => self.go(Place::Value),
            ('}', true) | (']', false) => self.close(c, upto, sink),
            _ => Step::Broken,
        }
    }

    fn close(&mut self, bracket: char, upto: usize, sink: &mut impl Sink) -> Step {
        self.levels.pop();
        if !self.skips() {
            sink.arguments(upto, Origin::Syntax, bracket.encode_utf8(&mut [0; 4]));
        }
        self.end_value(upto, sink)
    }

    /// The brackets that are still to come if the value is closed where it stands; `None` if they would not make it
    /// JSON, because a comma or a key waits for its number or literal.
    pub(super) fn missing_brackets(&self) -> Option<String> {
        (!self.owes).then(|| self.open_brackets())
    }

    fn open_brackets(&self) -> String {
        let open = self.skipped_at.unwrap_or(self.levels.len());
        self.levels
            .iter()
            .take(open)
            .rev()
            .map(|level| if level.keys.is_some() { '}' } else { ']' })
            .collect()
    }
}
