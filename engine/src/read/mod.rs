//! Model text to reply events: one incremental reader, and the whole reply is the fold of its events.
//!
//! In: the raw text in pieces, cut anywhere. Out: [`ReplyEvent`]s that say what a client is sent, each with the
//! span of text it came from. There is no second parser anywhere.

mod events;
mod fold;
mod formats;
mod json;
mod marker;
mod offer;
mod payload;
mod reader;
mod reading;
mod source;
mod speech;
#[cfg(test)]
mod tests;
mod typed;

use std::ops::Range;

pub use fold::{Fold, Folded, FoldedCall};
pub use formats::Format;
pub use offer::{Offer, Tool};
pub use reader::{Finish, Reader, Thinking};

/// How generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model wrote its end token.
    Model,
    /// `max_tokens` was reached.
    Length,
    /// A stop string matched.
    Stop,
}

/// One thing the reply says, or one stretch of text that it does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyEvent {
    /// Bytes of the raw text it came from. The spans of all events account for every byte.
    pub span: Range<usize>,
    /// Why the text is what it is.
    pub origin: Origin,
    /// What it says.
    pub said: Said,
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A piece of reasoning.
    Reasoning(String),
    /// A piece of content.
    Content(String),
    /// A call was accepted; calls are numbered from 0 in order of acceptance.
    CallStart {
        /// Its number.
        call: usize,
        /// The offered spelling of its name.
        name: String,
    },
    /// A piece of a call's arguments, JSON text.
    Arguments {
        /// The call's number.
        call: usize,
        /// The piece.
        piece: String,
    },
    /// A call will get no more arguments.
    CallEnd {
        /// The call's number.
        call: usize,
        /// Whether the last bracket of its arguments was sent.
        complete: bool,
    },
    /// Nothing: the text is markup or a named loss.
    Nothing,
}

/// Why text is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Ordinary prose.
    Prose,
    /// Whitespace beside an envelope that turned out to be content.
    Separator,
    /// Text of an envelope that was rejected, or what followed a break.
    Rejected,
    /// Text inside a thinking block.
    Thinking,
    /// Markup: markers, framing newlines, separators that are not content.
    Markup,
    /// A key, a bracket, a quote or a comma of a call's arguments, or a name.
    Syntax,
    /// A piece of a string value.
    StringValue,
    /// A value typed by schema, or a JSON number, literal, object or array.
    TypedValue,
    /// A named loss of the reading rules: a later call in one-call mode, a repeated key, a key without a value, what
    /// was held at a cut.
    Loss,
}
