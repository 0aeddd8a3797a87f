//! The XML grammar: `NAME><parameter=KEY>VALUE</parameter>..</function>`, in an envelope or bare.
//!
//! In: the text after `<function=`. Out: a call's name and arguments. One newline on each side of a value belongs
//! to its tags.

use super::tagged::{Framing, TagArguments, Value, ValueEnds};
use super::{FUNCTION_END, Payload, Step, TOOL_CALL_END, or_opener};
use crate::read::marker::Marker;
use crate::read::offer::NameSoFar;
use crate::read::reading::{Reading, Sink};
use crate::read::source::NeedMore;

const PARAMETER: Marker = Marker::exact("<parameter=");
const PARAMETER_END: Marker = Marker::exact("</parameter>");

static ENDS: ValueEnds = ValueEnds {
    closer: PARAMETER_END,
    closers: &[
        (PARAMETER_END, &[PARAMETER, FUNCTION_END, TOOL_CALL_END]),
        (FUNCTION_END, &[TOOL_CALL_END]),
        (TOOL_CALL_END, &[]),
    ],
    framing: Framing::Newlines,
    key: Some(PARAMETER),
};

/// A call in the XML grammar.
#[derive(Debug)]
pub(super) struct XmlCall {
    outer: Outer,
    place: Place,
    name: NameSoFar,
    key: String,
    arguments: TagArguments,
}

/// Whether the function stands in an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outer {
    Present,
    Absent,
}

#[derive(Debug)]
enum Place {
    Name,
    /// Between parameters.
    Pair,
    Key,
    Value(Value),
    /// After `</function>`.
    Closed,
}

// === impl XmlCall ===

impl XmlCall {
    pub(super) fn new(outer: Outer) -> Self {
        Self {
            outer,
            place: Place::Name,
            name: NameSoFar::default(),
            key: String::new(),
            arguments: TagArguments::default(),
        }
    }
}

impl Payload for XmlCall {
    fn step(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        match &mut self.place {
            Place::Value(value) => {
                if value.step(&self.arguments, reading)? {
                    self.place = Place::Pair;
                }
                Ok(Step::Goes)
            }
            Place::Closed => self.after_function(reading),
            Place::Name | Place::Pair | Place::Key => self.in_function(reading),
        }
    }
}

impl XmlCall {
    fn in_function(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let Some(c) = reading.source.peek()? else { return Ok(self.close(0, reading)) };
        match (&self.place, c) {
            (Place::Name, '<') | (Place::Key, '\n') => return Ok(Step::Broken(reading.here())),
            (_, '<') => return self.tag(reading),
            (Place::Name, '>') => {
                reading.name_complete(&self.name);
                self.place = Place::Pair;
            }
            (Place::Name, _) => reading.name_character(&mut self.name, c),
            (Place::Key, '>') => {
                reading.advance(1);
                self.place = Place::Value(self.arguments.value(self.key.trim(), &ENDS, reading));
                return Ok(Step::Goes);
            }
            (Place::Key, _) => self.key.push(c),
            _ if c.is_whitespace() => {}
            _ => return Ok(Step::Broken(reading.here())),
        }
        reading.advance(c.len_utf8());
        Ok(Step::Goes)
    }

    /// A tag between parameters, or one that breaks off a key.
    fn tag(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let markers = [PARAMETER, FUNCTION_END, TOOL_CALL_END];
        let Some(found) = reading.source.looking_at(0, or_opener(&markers, reading))? else {
            return Ok(Step::Broken(reading.here()));
        };
        if markers.contains(&found) {
            reading.accept();
        } else if !reading.is_call() {
            return Ok(Step::Broken(reading.here()));
        }
        Ok(match found {
            PARAMETER => self.open_key(reading),
            FUNCTION_END => {
                self.close(FUNCTION_END.len(), reading);
                self.place = Place::Closed;
                Step::Goes
            }
            TOOL_CALL_END => self.close(TOOL_CALL_END.len(), reading),
            _ => self.close(0, reading),
        })
    }

    fn open_key(&mut self, reading: &mut Reading) -> Step {
        self.lose_key(reading);
        reading.advance(PARAMETER.len());
        self.arguments.begin(reading);
        self.key.clear();
        self.place = Place::Key;
        Step::Goes
    }

    /// Between `</function>` and the closer of the envelope, which a bare function need not have.
    fn after_function(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        let after = reading.source.after_blanks(0)?;
        match reading.source.looking_at(after, or_opener(&[TOOL_CALL_END], reading))? {
            Some(TOOL_CALL_END) => reading.advance(after + TOOL_CALL_END.len()),
            _ if self.outer == Outer::Absent => {}
            None if !reading.source.ends_at(after) => {
                reading.advance(after);
                return Ok(Step::Broken(reading.here()));
            }
            _ => reading.advance(after),
        }
        Ok(Step::Closed)
    }

    fn lose_key(&self, reading: &mut Reading) {
        if matches!(self.place, Place::Key) {
            reading.lose(reading.here());
        }
    }

    /// The function is closed by the next so many bytes. A key without a value is lost.
    fn close(&self, bytes: usize, reading: &mut Reading) -> Step {
        self.lose_key(reading);
        reading.advance(bytes);
        self.arguments.close(reading);
        Step::Closed
    }
}
