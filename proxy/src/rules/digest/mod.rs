//! What the rules look at: one exchange, taken apart once.
//!
//! In: [`Facts`]. Out: [`Digest`], flat lists of chunks, deltas and tool fragments with their fields at hand, and
//! the same grouped by choice and by call. One pass over the events, linear in their size. Fields stay JSON
//! values, absent or not: a field of the wrong kind is what many rules are about.
//!
//! A whole reply is one chunk whose choices carry a `message`; its fields are read into the same places.

mod group;
mod read;

use super::Facts;
use crate::decode::Framing;
use serde_json::{Map, Value};
use std::ops::Range;

pub use group::{Arguments, Call, Choice};

/// A JSON object, its members in the order received.
pub type Object = Map<String, Value>;

/// One exchange, taken apart.
pub struct Digest<'a> {
    /// What it was taken from.
    pub facts: Facts<'a>,
    /// Events that are JSON objects and no errors.
    pub chunks: Vec<Chunk<'a>>,
    /// Entries of `choices`, over all chunks.
    pub deltas: Vec<Delta<'a>>,
    /// Entries of `tool_calls`, over all deltas.
    pub fragments: Vec<Fragment<'a>>,
    /// Members of deltas that no document knows.
    pub extensions: Vec<Extension<'a>>,
    /// Events that are errors.
    pub errors: Vec<ErrorEvent<'a>>,
    /// Events that are JSON, but no object.
    pub strange: Vec<(usize, &'a Value)>,
    /// Events that are the sentinel.
    pub done: Vec<usize>,
    /// Deltas by choice, in the order in which choices first appeared.
    pub choices: Vec<Choice>,
    /// Fragments by call, in the order in which calls first appeared.
    pub calls: Vec<Call<'a>>,
}

/// One chunk of a stream, or the whole reply.
#[derive(Default)]
pub struct Chunk<'a> {
    /// Its event.
    pub event: usize,
    /// `id`.
    pub id: Option<&'a Value>,
    /// `object`.
    pub object: Option<&'a Value>,
    /// `created`.
    pub created: Option<&'a Value>,
    /// `model`.
    pub model: Option<&'a Value>,
    /// `choices`.
    pub choices: Option<&'a Value>,
    /// `usage`.
    pub usage: Option<&'a Value>,
    /// `system_fingerprint`.
    pub fingerprint: Option<&'a Value>,
    /// `obfuscation`.
    pub obfuscation: Option<&'a Value>,
    /// `error`; never more than null here.
    pub error: Option<&'a Value>,
    /// Whether it has members beyond these and `service_tier`.
    pub extended: bool,
    /// Its entries in [`Digest::deltas`].
    pub deltas: Range<usize>,
}

/// One entry of `choices`.
#[derive(Default)]
pub struct Delta<'a> {
    /// Its event.
    pub event: usize,
    /// Its position in `choices`.
    pub at: usize,
    /// Its choice: `index`, or the position where there is none.
    pub number: i64,
    /// `index`.
    pub index: Option<&'a Value>,
    /// `delta`.
    pub delta: Option<&'a Value>,
    /// `message`.
    pub message: Option<&'a Value>,
    /// `finish_reason`.
    pub finish: Option<&'a Value>,
    /// `logprobs`.
    pub logprobs: Option<&'a Value>,
    /// `token_ids`.
    pub token_ids: Option<&'a Value>,
    /// `delta.role`, as all that follows of the message in a whole reply.
    pub role: Option<&'a Value>,
    /// `delta.content`.
    pub content: Option<&'a Value>,
    /// `delta.refusal`.
    pub refusal: Option<&'a Value>,
    /// `delta.reasoning`.
    pub reasoning: Option<&'a Value>,
    /// `delta.reasoning_content`.
    pub reasoning_content: Option<&'a Value>,
    /// `delta.tool_calls`.
    pub tool_calls: Option<&'a Value>,
    /// `delta.function_call`.
    pub function_call: Option<&'a Value>,
    /// Its entries in [`Digest::fragments`].
    pub fragments: Range<usize>,
}

/// One entry of `tool_calls`.
#[derive(Default, Clone, Copy)]
pub struct Fragment<'a> {
    /// Its event.
    pub event: usize,
    /// Position of its choice in `choices`.
    pub choice: usize,
    /// Its position in `tool_calls`.
    pub at: usize,
    /// `index`.
    pub index: Option<&'a Value>,
    /// `id`.
    pub id: Option<&'a Value>,
    /// `type`.
    pub kind: Option<&'a Value>,
    /// `function`.
    pub function: Option<&'a Value>,
    /// `function.name`.
    pub name: Option<&'a Value>,
    /// `function.arguments`.
    pub arguments: Option<&'a Value>,
}

/// A member of a delta that no document knows.
pub struct Extension<'a> {
    /// Its event.
    pub event: usize,
    /// Position of its choice in `choices`.
    pub choice: usize,
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a Value,
}

/// An event that is an error.
pub struct ErrorEvent<'a> {
    /// Its event.
    pub event: usize,
    /// The event's data.
    pub body: &'a Object,
    /// `error`.
    pub error: Option<&'a Value>,
}

/// The text of a field; empty if it is absent or no string.
pub fn text(field: Option<&Value>) -> &str {
    field.and_then(Value::as_str).unwrap_or_default()
}

/// A field that is there and not null.
pub fn given(field: Option<&Value>) -> Option<&Value> {
    field.filter(|value| !value.is_null())
}

// === impl Digest ===

impl<'a> Digest<'a> {
    /// Takes an exchange apart.
    pub fn of(facts: Facts<'a>) -> Self {
        let mut digest = Self {
            facts,
            chunks: Vec::new(),
            deltas: Vec::new(),
            fragments: Vec::new(),
            extensions: Vec::new(),
            errors: Vec::new(),
            strange: Vec::new(),
            done: Vec::new(),
            choices: Vec::new(),
            calls: Vec::new(),
        };
        digest.read();
        digest.group();
        digest
    }

    /// Whether the answer came as an event stream, asked for or not.
    pub fn streamed(&self) -> bool {
        self.facts.decoded.framing == Framing::Sse
    }

    /// The key that holds what a choice says: `delta` or `message`.
    pub fn holder(&self) -> &'static str {
        if self.streamed() { "delta" } else { "message" }
    }

    /// Whether the transport got to its end, and all of it was read.
    pub fn ended(&self) -> bool {
        self.facts.exchange.end.is_clean() && !self.facts.decoded.is_partial()
    }

    /// Whether the answer got to its end and is no error, so that what is missing is missing for good.
    pub fn concluded(&self) -> bool {
        self.errors.is_empty() && (self.ended() || !self.done.is_empty())
    }

    /// Deltas of one choice, in order.
    pub fn deltas_of<'d>(&'d self, choice: &'d Choice) -> impl Iterator<Item = &'d Delta<'a>> {
        choice.deltas.iter().filter_map(|&at| self.deltas.get(at))
    }

    /// Fragments of one call, in order.
    pub fn fragments_of<'d>(&'d self, call: &'d Call<'a>) -> impl Iterator<Item = &'d Fragment<'a>> {
        call.fragments.iter().filter_map(|&at| self.fragments.get(at))
    }

    /// Calls of one choice, in the order in which they first appeared.
    pub fn calls_of<'d>(&'d self, choice: &'d Choice) -> impl Iterator<Item = &'d Call<'a>> {
        choice.calls.iter().filter_map(|&at| self.calls.get(at))
    }

    /// The first fragment of each call, with its call.
    pub fn openings(&self) -> impl Iterator<Item = (&Call<'a>, &Fragment<'a>)> {
        self.calls.iter().filter_map(|call| Some((call, self.fragments.get(*call.fragments.first()?)?)))
    }

    /// The fragments of all calls but their first ones, with their calls.
    pub fn continuations(&self) -> impl Iterator<Item = (&Call<'a>, &Fragment<'a>)> {
        self.calls.iter().flat_map(move |call| {
            let later = call.fragments.iter().skip(1).filter_map(|&at| self.fragments.get(at));
            later.map(move |fragment| (call, fragment))
        })
    }

    /// `choices[0].delta.tool_calls[0].field`.
    pub fn fragment_path(&self, fragment: &Fragment<'_>, field: &str) -> String {
        let (choice, at) = (fragment.choice, fragment.at);
        format!("choices[{choice}].{}.tool_calls[{at}].{field}", self.holder())
    }

    /// `choices[0].delta.field`.
    pub fn delta_path(&self, delta: &Delta<'_>, field: &str) -> String {
        format!("choices[{}].{}.{field}", delta.at, self.holder())
    }
}

// === impl Chunk ===

impl<'a> Chunk<'a> {
    /// Its usage, if that is an object with members.
    pub fn counts(&self) -> Option<&'a Object> {
        self.usage.and_then(Value::as_object).filter(|usage| !usage.is_empty())
    }

    /// Number of its choices.
    pub fn width(&self) -> usize {
        self.deltas.len()
    }
}

// === impl Delta ===

impl<'a> Delta<'a> {
    /// Its content, as far as it is text.
    pub fn says(&self) -> &'a str {
        text(self.content)
    }

    /// Its reasoning, in whichever field.
    pub fn thinks(&self) -> &'a str {
        let first = text(self.reasoning_content);
        if first.is_empty() { text(self.reasoning) } else { first }
    }

    /// Its finish reason, if there is one; an empty one is none.
    pub fn finishes(&self) -> Option<&'a Value> {
        given(self.finish).filter(|reason| reason.as_str() != Some(""))
    }

    /// Whether it brings anything of an answer.
    pub fn speaks(&self) -> bool {
        !self.says().is_empty()
            || !self.thinks().is_empty()
            || !text(self.refusal).is_empty()
            || !self.fragments.is_empty()
    }
}
