//! The GLM grammar: `NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>..`, up to `</tool_call>`.
//!
//! In: the text after the opener and its blanks. Out: a call's name and arguments. A name is broken by any `<` that
//! starts neither a key nor the closer. Keys are trimmed, values are not.

use super::tagged::{Framing, TagArguments, Value, ValueEnds};
use super::{Payload, Step, TOOL_CALL_END, or_opener};
use crate::read::marker::Marker;
use crate::read::offer::NameSoFar;
use crate::read::reading::{Reading, Sink};
use crate::read::source::NeedMore;

const KEY: Marker = Marker::exact("<arg_key>");
const KEY_END: Marker = Marker::exact("</arg_key>");
const VALUE: Marker = Marker::exact("<arg_value>");
const VALUE_END: Marker = Marker::exact("</arg_value>");

static ENDS: ValueEnds = ValueEnds {
    closer: VALUE_END,
    closers: &[(VALUE_END, &[KEY, TOOL_CALL_END]), (TOOL_CALL_END, &[])],
    framing: Framing::None,
    key: None,
};

/// A call in the GLM grammar.
#[derive(Debug, Default)]
pub(super) struct GlmCall {
    place: Place,
    name: NameSoFar,
    key: String,
    arguments: TagArguments,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Name,
    /// Between pairs.
    Pair,
    Key,
    /// Between a key and its value.
    Middle,
    Value(Value),
}

// === impl GlmCall ===

impl Payload for GlmCall {
    fn step(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        if let Place::Value(value) = &mut self.place {
            if value.step(&self.arguments, reading)? {
                self.place = Place::Pair;
            }
            return Ok(Step::Goes);
        }
        let Some(c) = reading.source.peek()? else { return Ok(self.close(0, reading)) };
        if c == '<' {
            return self.tag(reading);
        }
        match self.place {
            Place::Name => reading.name_character(&mut self.name, c),
            Place::Key => self.key.push(c),
            _ if c.is_whitespace() => {}
            _ => return Ok(broken(reading)),
        }
        reading.advance(c.len_utf8());
        Ok(Step::Goes)
    }
}

impl GlmCall {
    fn tag(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        match self.place {
            Place::Name => self.after_name(reading),
            Place::Key => self.in_key(reading),
            Place::Middle => self.after_key(reading),
            Place::Pair | Place::Value(_) => self.after_pair(reading),
        }
    }

    fn after_name(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let Some(found) = reading.source.looking_at(0, [KEY, TOOL_CALL_END])? else {
            return Ok(broken(reading));
        };
        reading.name_complete(&self.name);
        reading.accept();
        Ok(self.take(found, reading))
    }

    fn after_pair(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        match reading.source.looking_at(0, or_opener(&[KEY, TOOL_CALL_END], reading))? {
            Some(found) => Ok(self.take(found, reading)),
            None => Ok(broken(reading)),
        }
    }

    fn in_key(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let markers = [KEY_END, VALUE, VALUE_END, TOOL_CALL_END];
        match reading.source.looking_at(0, or_opener(&markers, reading))? {
            Some(KEY_END) => {
                reading.advance(KEY_END.len());
                self.place = Place::Middle;
            }
            Some(VALUE | VALUE_END) => return Ok(broken(reading)),
            Some(found) => return Ok(self.take(found, reading)),
            None => {
                self.key.push('<');
                reading.advance(1);
            }
        }
        Ok(Step::Goes)
    }

    fn after_key(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        match reading.source.looking_at(0, or_opener(&[VALUE, TOOL_CALL_END], reading))? {
            Some(VALUE) => {
                reading.advance(VALUE.len());
                self.place = Place::Value(self.arguments.value(self.key.trim(), &ENDS, reading));
                Ok(Step::Goes)
            }
            Some(found) => Ok(self.take(found, reading)),
            None => Ok(broken(reading)),
        }
    }

    /// Reads a marker that may stand between pairs: a key's opener, the closer, or an opener, which implies it.
    fn take(&mut self, found: Marker, reading: &mut Reading) -> Step {
        match found {
            KEY => {
                reading.advance(KEY.len());
                self.arguments.begin(reading);
                self.key.clear();
                self.place = Place::Key;
                Step::Goes
            }
            TOOL_CALL_END => self.close(TOOL_CALL_END.len(), reading),
            _ => self.close(0, reading),
        }
    }

    /// The call is closed by the next so many bytes. A key without a value is lost.
    fn close(&self, bytes: usize, reading: &mut Reading) -> Step {
        if matches!(self.place, Place::Key | Place::Middle) {
            reading.lose(reading.here());
        }
        reading.advance(bytes);
        self.arguments.close(reading);
        Step::Closed
    }
}

fn broken(reading: &Reading) -> Step {
    Step::Broken(reading.here())
}
