//! Arguments written as tags: what the GLM and the XML grammar have in common.
//!
//! In: keys, and values up to their closers. Out: members of a JSON object. Text flows as it comes; a value of
//! another type goes out at its closer, its key when it begins; a key that came before is lost with its value. A closer in a value is one
//! only if the grammar goes on after it; otherwise it is part of the text.

use std::collections::HashSet;

use super::or_opener;
use crate::read::Origin;
use crate::read::json::encode;
use crate::read::marker::{Marker, Sight};
use crate::read::reading::{Arguments, Reading, Sink};
use crate::read::source::NeedMore;
use crate::read::typed::{Type, declared, declared_types, fit};

/// The arguments of a call so far.
#[derive(Debug, Default)]
pub(super) struct TagArguments {
    keys: HashSet<String>,
    begun: bool,
    members: usize,
}

/// Where a value may end.
#[derive(Debug)]
pub(super) struct ValueEnds {
    /// The value's own closer.
    pub(super) closer: Marker,
    /// The closers that may stand in a value, and what must follow each, unless an opener or the end does.
    pub(super) closers: &'static [(Marker, &'static [Marker])],
    /// Whether a newline on each side of a value belongs to its tags.
    pub(super) framing: Framing,
    /// What opens the next key; on a line of its own it ends an unclosed value.
    pub(super) key: Option<Marker>,
}

/// Whether a newline on each side of a value belongs to its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Newlines,
    None,
}

/// A value while it is read.
#[derive(Debug)]
pub(super) struct Value {
    ends: &'static ValueEnds,
    take: Take,
    at_start: bool,
    line_start: bool,
}

/// How a value is taken.
#[derive(Debug)]
enum Take {
    Text,
    Typed(Vec<Type>, String),
    /// Its key came before.
    Lost,
}

/// How a value ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// By its own closer.
    Closer,
    /// By what implies its closer, and is read by others.
    Implied,
}

// === impl TagArguments ===

impl TagArguments {
    /// The first key's opener was read: the arguments begin.
    pub(super) fn begin(&mut self, reading: &mut Reading) {
        if self.begun {
            reading.markup();
        } else {
            self.begun = true;
            reading.arguments(reading.here(), Origin::Syntax, "{");
        }
    }

    /// A key was read, and the opener of its value.
    pub(super) fn value(&mut self, key: &str, ends: &'static ValueEnds, reading: &mut Reading) -> Value {
        let take =
            if self.keys.insert(key.to_owned()) { self.begin_member(key, reading) } else { Take::Lost };
        Value { ends, take, at_start: true, line_start: false }
    }

    /// Comma and key go out as soon as the value begins, and the quote of one that is text.
    fn begin_member(&mut self, key: &str, reading: &mut Reading) -> Take {
        let mut lead = String::from(if self.members == 0 { "\"" } else { ",\"" });
        encode(key, &mut lead);
        lead.push_str("\":");
        self.members += 1;
        let wanted = reading.tool().and_then(|tool| declared_types(&tool.parameters, key));
        if wanted.is_none() {
            lead.push('"');
        }
        reading.arguments(reading.here(), Origin::Syntax, &lead);
        wanted.map_or(Take::Text, |wanted| Take::Typed(wanted, String::new()))
    }

    /// The arguments are closed by what was read last, or by what it implies.
    pub(super) fn close(&self, reading: &mut Reading) {
        reading.arguments(reading.here(), Origin::Syntax, if self.begun { "}" } else { "{}" });
        reading.end_arguments(Arguments::Whole);
    }
}

// === impl Value ===

impl Value {
    /// Reads on. True at the end of the value.
    pub(super) fn step(&mut self, arguments: &TagArguments, reading: &mut Reading) -> Result<bool, NeedMore> {
        let Some(c) = reading.source.peek()? else {
            self.end(reading);
            return Ok(true);
        };
        let newline = self.ends.framing == Framing::Newlines && c == '\n';
        if std::mem::take(&mut self.at_start) && newline {
            self.first_newline(reading);
            return Ok(false);
        }
        if newline || c == '<' {
            let newline = usize::from(newline);
            if let Some(ending) = self.ending_at(newline, arguments, reading)? {
                reading.advance(newline);
                self.end(reading);
                self.close(ending, reading);
                return Ok(true);
            }
        }
        self.text(self.plain(c, reading), reading);
        Ok(false)
    }

    /// The newline after the opener belongs to it.
    fn first_newline(&mut self, reading: &mut Reading) {
        self.line_start = true;
        reading.advance(1);
        if matches!(self.take, Take::Text) {
            reading.markup();
        }
    }

    /// How many bytes from here on can only be text.
    fn plain(&self, first: char, reading: &Reading) -> usize {
        let newlines = self.ends.framing == Framing::Newlines;
        let special = |c: char| c == '<' || (newlines && c == '\n');
        let rest = reading.source.rest_from(first.len_utf8());
        first.len_utf8() + if special(first) { 0 } else { rest.find(special).unwrap_or(rest.len()) }
    }

    /// Whether the value ends at a place, and how. The place follows a newline unless it is the next one.
    fn ending_at(
        &self,
        at: usize,
        arguments: &TagArguments,
        reading: &mut Reading,
    ) -> Result<Option<Ending>, NeedMore> {
        match reading.source.peek_at(at)? {
            None => return Ok(Some(Ending::Implied)),
            Some('<') => {}
            Some(_) => return Ok(None),
        }
        let closers = self.ends.closers.iter().map(|(closer, _)| *closer);
        let Some(found) = reading.source.looking_at(at, closers)? else {
            let line_start = at > 0 || self.line_start;
            return if line_start { self.next_key_at(at, arguments, reading) } else { Ok(None) };
        };
        let next = self.ends.closers.iter().find(|(closer, _)| *closer == found);
        let after = reading.source.after_blanks(at + found.len())?;
        let next = or_opener(next.map_or(&[], |(_, next)| *next), reading);
        let real = reading.source.ends_at(after) || reading.source.looking_at(after, next)?.is_some();
        let ending = if found == self.ends.closer { Ending::Closer } else { Ending::Implied };
        Ok(real.then_some(ending))
    }

    /// Whether a declared key that was not used yet is opened at a place.
    fn next_key_at(
        &self,
        at: usize,
        arguments: &TagArguments,
        reading: &Reading,
    ) -> Result<Option<Ending>, NeedMore> {
        let Some(opener) = self.ends.key else { return Ok(None) };
        if reading.source.looking_at(at, [opener])?.is_none() {
            return Ok(None);
        }
        let text = reading.source.rest_from(at + opener.len());
        let declared = reading.tool().and_then(|tool| declared(&tool.parameters));
        let unused =
            declared.into_iter().flat_map(|keys| keys.keys()).filter(|key| !arguments.keys.contains(*key));
        let sights: Vec<Sight> = unused.map(|key| sight_of_key(key, text)).collect();
        if sights.contains(&Sight::Whole) {
            return Ok(Some(Ending::Implied));
        }
        let undecided =
            sights.contains(&Sight::Part) && !reading.source.ends_at(at + opener.len() + text.len());
        if undecided { Err(NeedMore) } else { Ok(None) }
    }

    /// Reads that many bytes of the value.
    fn text(&mut self, bytes: usize, reading: &mut Reading) {
        let text = reading.source.rest().get(..bytes).unwrap_or_default();
        self.line_start = text.ends_with('\n');
        match &mut self.take {
            Take::Text => {
                let mut piece = String::with_capacity(bytes);
                encode(text, &mut piece);
                reading.advance(bytes);
                reading.arguments(reading.here(), Origin::StringValue, &piece);
            }
            Take::Typed(_, value) => {
                value.push_str(text);
                reading.advance(bytes);
            }
            Take::Lost => reading.advance(bytes),
        }
    }

    /// The value ends here.
    fn end(&mut self, reading: &mut Reading) {
        match std::mem::replace(&mut self.take, Take::Lost) {
            Take::Text => {
                reading.markup();
                reading.arguments(reading.here(), Origin::Syntax, "\"");
            }
            Take::Typed(wanted, text) => {
                let value = fit(&text, &wanted).unwrap_or_else(|| {
                    let mut string = String::from('"');
                    encode(&text, &mut string);
                    string.push('"');
                    string
                });
                reading.arguments(reading.here(), Origin::TypedValue, &value);
            }
            Take::Lost => reading.lose(reading.here()),
        }
    }

    fn close(&self, ending: Ending, reading: &mut Reading) {
        if ending == Ending::Closer {
            reading.advance(self.ends.closer.len());
            reading.markup();
        }
    }
}

/// Whether `text` starts with a key and the end of its tag.
fn sight_of_key(key: &str, text: &str) -> Sight {
    match text.strip_prefix(key) {
        Some("") => Sight::Part,
        Some(rest) if rest.starts_with('>') => Sight::Whole,
        None if key.starts_with(text) => Sight::Part,
        _ => Sight::Other,
    }
}
