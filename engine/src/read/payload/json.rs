//! The JSON grammar: `{"name": NAME, "arguments": {..}}` up to `</tool_call>`.
//!
//! In: the text from the opening brace on. Out: a call's name and arguments. The arguments may be a string that
//! holds JSON, may be null, and may stand before the name, which they then wait for; other members are markup.
//! Outside of strings the closer of the envelope closes whatever is open.

use super::{Payload, Step, TOOL_CALL_END, or_opener};
use crate::read::Origin;
use crate::read::json::{self, Decoder, Discard, Json, StringStep, is_blank};
use crate::read::marker::Marker;
use crate::read::offer::NameSoFar;
use crate::read::reading::{Arguments, Reading, Sink};
use crate::read::source::NeedMore;

const NAME: &str = "name";
const ARGUMENTS: [&str; 3] = ["arguments", "args", "parameters"];

/// A call in the JSON grammar.
#[derive(Debug, Default)]
pub(super) struct JsonCall {
    place: Place,
    decoder: Decoder,
    key: String,
    name: NameSoFar,
    name_seen: bool,
    arguments_seen: bool,
    arguments_done: bool,
    /// The value at hand.
    value: Json,
    /// What the arguments' string added last.
    decoded: String,
}

/// Where in the grammar the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Brace,
    FirstKey,
    NextKey,
    InKey,
    Colon,
    Value,
    InName,
    /// In the arguments' object.
    InArguments,
    /// In the arguments' string, before what it holds.
    Quote,
    /// In the arguments' string, in the object that it holds.
    Quoted,
    /// In the arguments' string, in the null that it holds.
    QuotedNull,
    /// In the arguments' string, after what it holds.
    Unquote,
    /// In a null for arguments.
    Null,
    /// In a value that says nothing.
    Other,
    AfterValue,
    /// After the closing brace.
    Done,
}

// === impl Place ===

impl Place {
    /// Whether it is in the arguments' string.
    fn is_quoted(self) -> bool {
        matches!(self, Self::Quote | Self::Quoted | Self::QuotedNull | Self::Unquote)
    }
}

// === impl JsonCall ===

impl Payload for JsonCall {
    fn step(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let Some(c) = reading.source.peek()? else { return Ok(self.end(reading)) };
        if c == '<' && !self.in_string() {
            return self.tag(reading);
        }
        Ok(match self.place {
            Place::InKey | Place::InName => self.string_character(c, reading),
            place if place.is_quoted() => self.quoted(c, reading),
            Place::InArguments | Place::Null | Place::Other => self.value_character(c, reading),
            _ if is_blank(c) => self.advance(c, self.place, reading),
            _ => self.structure(c, reading),
        })
    }
}

impl JsonCall {
    fn in_string(&self) -> bool {
        match self.place {
            Place::InArguments | Place::Other => self.value.in_string(),
            place => place.is_quoted() || matches!(place, Place::InKey | Place::InName),
        }
    }

    fn advance(&mut self, c: char, place: Place, reading: &mut Reading) -> Step {
        reading.advance(c.len_utf8());
        self.place = place;
        Step::Goes
    }

    /// A character between the strings and values of the outer object.
    fn structure(&mut self, c: char, reading: &mut Reading) -> Step {
        match (self.place, c) {
            (Place::Brace, '{') => self.advance(c, Place::FirstKey, reading),
            (Place::FirstKey | Place::NextKey, '"') => {
                self.key.clear();
                self.advance(c, Place::InKey, reading)
            }
            (Place::Colon, ':') => self.advance(c, Place::Value, reading),
            (Place::Value, _) => self.begin_value(c, reading),
            (Place::AfterValue, ',') => self.advance(c, Place::NextKey, reading),
            (Place::FirstKey | Place::AfterValue, '}') => {
                if self.arguments_seen || !self.name_seen {
                    reading.reject();
                }
                self.advance(c, Place::Done, reading)
            }
            _ => Step::Broken(reading.here()),
        }
    }

    /// The first character of a member's value.
    fn begin_value(&mut self, c: char, reading: &mut Reading) -> Step {
        self.value = Json::default();
        if self.key == NAME && !self.name_seen {
            self.name_seen = true;
            if c == '"' {
                return self.advance(c, Place::InName, reading);
            }
            reading.reject();
        } else if ARGUMENTS.contains(&self.key.as_str()) && !self.arguments_seen {
            self.arguments_seen = true;
            return self.begin_arguments(c, reading);
        }
        self.place = Place::Other;
        Step::Goes
    }

    fn begin_arguments(&mut self, c: char, reading: &mut Reading) -> Step {
        match c {
            '{' => {
                reading.accept();
                self.place = Place::InArguments;
            }
            'n' => self.place = Place::Null,
            '"' => return self.advance(c, Place::Quote, reading),
            _ => return Step::Broken(reading.here()),
        }
        Step::Goes
    }

    /// A character of a member's key or of the name.
    fn string_character(&mut self, c: char, reading: &mut Reading) -> Step {
        let in_key = self.place == Place::InKey;
        let text = if in_key { &mut self.key } else { &mut self.decoded };
        let step = self.decoder.step(c, text);
        if !in_key {
            for c in std::mem::take(&mut self.decoded).chars() {
                reading.name_character(&mut self.name, c);
            }
        }
        match step {
            StringStep::Open => self.advance(c, self.place, reading),
            StringStep::Closed if in_key => self.advance(c, Place::Colon, reading),
            StringStep::Closed => {
                self.advance(c, Place::AfterValue, reading);
                reading.name_complete(&self.name);
                if self.arguments_begun(reading) {
                    reading.accept();
                }
                Step::Goes
            }
        }
    }

    /// Whether arguments that stand before the name wait for it.
    fn arguments_begun(&self, reading: &Reading) -> bool {
        self.arguments_seen && reading.undecided()
    }

    /// A character of a value that stands in the outer object as it is.
    fn value_character(&mut self, c: char, reading: &mut Reading) -> Step {
        let verbatim = self.value.verbatim(reading.source.rest());
        if verbatim > 0 {
            self.copy(verbatim, reading);
            return Step::Goes;
        }
        let here = reading.here();
        let span = here..here + c.len_utf8();
        let step = match self.place {
            Place::InArguments => self.value.step(c, span, reading),
            _ => self.value.step(c, span, &mut Discard),
        };
        match step {
            json::Step::More => reading.advance(c.len_utf8()),
            json::Step::Last => {
                reading.advance(c.len_utf8());
                self.value_done(reading);
            }
            json::Step::Past => self.value_done(reading),
            json::Step::Broken => return self.broken(reading),
        }
        Step::Goes
    }

    /// Reads text that stands in a string as it is written.
    fn copy(&self, bytes: usize, reading: &mut Reading) {
        if self.place == Place::InArguments && !self.value.skips() {
            reading.copy(bytes, Origin::StringValue);
        } else {
            reading.advance(bytes);
        }
    }

    fn value_done(&mut self, reading: &mut Reading) {
        match self.place {
            Place::InArguments | Place::Quoted => self.arguments_done(reading),
            Place::Null | Place::QuotedNull => self.no_arguments(reading),
            _ => {}
        }
        self.place = match self.place {
            Place::Quoted | Place::QuotedNull => Place::Unquote,
            _ => Place::AfterValue,
        };
    }

    fn arguments_done(&mut self, reading: &mut Reading) {
        self.arguments_done = true;
        reading.end_arguments(Arguments::Whole);
    }

    /// The arguments were null, or are left out.
    fn no_arguments(&mut self, reading: &mut Reading) {
        reading.accept();
        reading.arguments(reading.here(), Origin::Syntax, "{}");
        self.arguments_done(reading);
    }

    /// A character of the arguments' string.
    fn quoted(&mut self, c: char, reading: &mut Reading) -> Step {
        let here = reading.here();
        let span = here..here + c.len_utf8();
        let mut decoded = std::mem::take(&mut self.decoded);
        let step = self.decoder.step(c, &mut decoded);
        let fits = decoded.chars().all(|c| self.decoded_character(c, span.clone(), reading));
        decoded.clear();
        self.decoded = decoded;
        if !fits {
            return self.broken(reading);
        }
        if step == StringStep::Open {
            return self.advance(c, self.place, reading);
        }
        self.end_null(reading);
        if self.place != Place::Unquote {
            return self.broken(reading);
        }
        self.advance(c, Place::AfterValue, reading)
    }

    /// A character that the arguments' string stands for. False if it cannot stand there.
    fn decoded_character(&mut self, c: char, span: std::ops::Range<usize>, reading: &mut Reading) -> bool {
        match (self.place, c) {
            (Place::Quote | Place::Unquote, c) if is_blank(c) => return true,
            (Place::Quote, '{') => {
                reading.accept();
                self.place = Place::Quoted;
            }
            (Place::Quote, 'n') => self.place = Place::QuotedNull,
            (Place::Quote | Place::Unquote, _) => return false,
            _ => {}
        }
        let step = match self.place {
            Place::Quoted => self.value.step(c, span, reading),
            _ => self.value.step(c, span, &mut Discard),
        };
        match step {
            json::Step::More => true,
            json::Step::Broken => false,
            json::Step::Last => {
                self.value_done(reading);
                true
            }
            json::Step::Past => {
                self.value_done(reading);
                is_blank(c)
            }
        }
    }

    /// A null that ends where the next character is none of its own.
    fn end_null(&mut self, reading: &mut Reading) {
        let null = matches!(self.place, Place::Null | Place::QuotedNull);
        if null && self.value.end_token(reading.here(), &mut Discard) {
            self.value_done(reading);
        }
    }

    /// A tag outside of strings: the closer, or an opener, which implies the closer of a call.
    fn tag(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let found: Option<Marker> = reading.source.looking_at(0, or_opener(&[TOOL_CALL_END], reading))?;
        match found {
            Some(TOOL_CALL_END) => {
                self.close(reading);
                reading.advance(TOOL_CALL_END.len());
                Ok(Step::Closed)
            }
            Some(_) if reading.is_call() => {
                self.close(reading);
                Ok(Step::Closed)
            }
            _ => Ok(self.broken(reading)),
        }
    }

    /// The model ended within a call: outside of strings that closes what is open.
    fn end(&mut self, reading: &mut Reading) -> Step {
        if self.in_string() && !self.arguments_done {
            return self.broken(reading);
        }
        self.close_open(reading);
        reading.reject();
        Step::Closed
    }

    /// The closer, or what implies it, closes everything that is open. With it, a name and nothing else is a call
    /// without arguments.
    fn close(&mut self, reading: &mut Reading) {
        self.close_open(reading);
        if !self.arguments_seen && self.name_seen {
            self.arguments_seen = true;
            self.no_arguments(reading);
        }
        reading.reject();
    }

    fn close_open(&mut self, reading: &mut Reading) {
        self.end_null(reading);
        if self.place == Place::InArguments {
            self.close_arguments(reading);
        }
    }

    fn close_arguments(&mut self, reading: &mut Reading) {
        self.value.end_token(reading.here(), reading);
        if self.value.holds() {
            reading.lose(reading.here());
        }
        reading.markup();
        if let Some(brackets) = self.value.missing_brackets() {
            reading.arguments(reading.here(), Origin::Syntax, &brackets);
            self.arguments_done(reading);
        } else {
            self.arguments_done = true;
            reading.end_arguments(Arguments::Cut);
        }
    }

    fn broken(&self, reading: &Reading) -> Step {
        let here = reading.here();
        Step::Broken(match self.place {
            Place::InArguments | Place::Quoted => self.value.breaks_at(here, reading.told()),
            _ => here,
        })
    }
}
