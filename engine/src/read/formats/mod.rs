//! The formats, one file each: the markers of a format and what its envelopes are read with.
//!
//! In: nothing. Out: a [`Grammar`], which is data. A new format is a new file here and a line in [`Format`].

mod glm;
mod hermes;
mod qwen3_xml;

use super::marker::Marker;
use super::payload::Payload;

/// How a family of models writes reasoning and tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Calls as JSON in `<tool_call>` tags.
    Hermes,
    /// Calls as a name and `<arg_key>` and `<arg_value>` pairs in `<tool_call>` tags.
    Glm,
    /// Calls as `<function=NAME>` and `<parameter=KEY>` tags, in `<tool_call>` tags or bare.
    Qwen3Xml,
}

/// What there is to know of a format.
#[derive(Debug)]
pub(super) struct Grammar {
    name: &'static str,
    /// The texts that are single tokens, the end of the turn aside.
    specials: &'static [&'static str],
    end_token: &'static str,
    /// What opens and closes a thinking block.
    pub(super) thinking: [Marker; 2],
    pub(super) openers: &'static [Opener],
}

/// What opens an envelope, and how to go on from there.
#[derive(Debug)]
pub(super) struct Opener {
    pub(super) marker: Marker,
    /// What closes the text of a call whose grammar broke.
    pub(super) closers: &'static [Marker],
    /// What reads the envelope after its opener.
    pub(super) payload: fn() -> Box<dyn Payload>,
}

/// The thinking block of all formats that write it with tags.
const THINK: [Marker; 2] = [Marker::exact("<think>"), Marker::exact("</think>")];

// === impl Format ===

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Hermes, Self::Glm, Self::Qwen3Xml];

    /// Its name, as in `puppet-<name>`.
    pub fn name(self) -> &'static str {
        self.grammar().name
    }

    /// The format with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The texts that are single tokens, the end of the turn aside.
    pub fn markers(self) -> &'static [&'static str] {
        self.grammar().specials
    }

    /// The text of the token that ends a turn.
    pub fn end_token(self) -> &'static str {
        self.grammar().end_token
    }

    pub(super) fn grammar(self) -> &'static Grammar {
        match self {
            Self::Hermes => &hermes::GRAMMAR,
            Self::Glm => &glm::GRAMMAR,
            Self::Qwen3Xml => &qwen3_xml::GRAMMAR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn names_are_found_again() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        assert_eq!(Format::from_name("Hermes"), None);
    }
}
