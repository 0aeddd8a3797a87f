//! Deltas by choice, fragments by call. A new id *and* name at an index in use begins another call; the rest
//! continues the call that is there.

use super::{Digest, Fragment, text};
use crate::fold::reply::Text;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashMap;

/// What one choice said, delta by delta.
pub struct Choice {
    /// Its index.
    pub number: i64,
    /// Its entries in [`Digest::deltas`].
    pub deltas: Vec<usize>,
    /// Its entries in [`Digest::calls`].
    pub calls: Vec<usize>,
    /// Its content, joined.
    pub content: Text,
    /// Length of its reasoning in bytes.
    pub reasoning: usize,
    /// Length of its refusal in bytes.
    pub refusal: usize,
    /// The finish reasons that came, with their events; empty ones are none.
    pub finishes: Vec<(usize, String)>,
}

/// One tool call, fragment by fragment.
pub struct Call<'a> {
    /// Its choice.
    pub choice: i64,
    /// Its index, if it came with one; a whole reply has none.
    pub index: Option<i64>,
    /// Its entries in [`Digest::fragments`].
    pub fragments: Vec<usize>,
    /// Its first id that is not empty.
    pub id: Option<&'a str>,
    /// Its first name that is not empty.
    pub name: Option<&'a str>,
    /// Its arguments, joined as far as they are text.
    pub arguments: String,
    /// What the joined arguments are.
    pub reading: Arguments,
    /// Whether it came at the index of another call.
    pub reuses: bool,
}

/// What joined arguments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arguments {
    /// Nothing.
    #[default]
    Empty,
    /// One JSON object.
    Object,
    /// JSON, but no object.
    Other,
    /// No JSON, or more than one document.
    Broken,
}

/// Where calls are found again: by choice and index, and the latest one of a choice.
#[derive(Default)]
struct Slots {
    indexed: HashMap<(usize, i64), usize>,
    latest: HashMap<usize, usize>,
}

// === impl Digest ===

impl Digest<'_> {
    /// Groups what was read.
    pub(super) fn group(&mut self) {
        let mut numbers = HashMap::new();
        let mut slots = Slots::default();
        for at in 0..self.deltas.len() {
            let Some(place) = self.join_choice(at, &mut numbers) else { continue };
            for fragment in self.deltas.get(at).map(|delta| delta.fragments.clone()).unwrap_or_default() {
                self.join_call(place, fragment, &mut slots);
            }
        }
        for call in &mut self.calls {
            call.reading = Arguments::of(&call.arguments);
        }
    }

    fn join_choice(&mut self, at: usize, numbers: &mut HashMap<i64, usize>) -> Option<usize> {
        let delta = self.deltas.get(at)?;
        let place = *numbers.entry(delta.number).or_insert_with(|| {
            self.choices.push(Choice::new(delta.number));
            self.choices.len() - 1
        });
        let choice = self.choices.get_mut(place)?;
        choice.deltas.push(at);
        if !delta.says().is_empty() {
            choice.content.push(delta.says(), delta.event);
        }
        choice.reasoning += delta.thinks().len();
        choice.refusal += text(delta.refusal).len();
        if let Some(reason) = delta.finishes() {
            let reason = reason.as_str().map_or_else(|| reason.to_string(), ToOwned::to_owned);
            choice.finishes.push((delta.event, reason));
        }
        Some(place)
    }

    fn join_call(&mut self, choice: usize, at: usize, slots: &mut Slots) {
        let streamed = self.streamed();
        let Some(fragment) = self.fragments.get(at).copied() else { return };
        let index = fragment.index.and_then(Value::as_i64).filter(|_| streamed);
        let there = match index {
            Some(index) => slots.indexed.get(&(choice, index)),
            None => slots.latest.get(&choice).filter(|_| streamed),
        };
        let continued =
            there.copied().filter(|&n| self.calls.get(n).is_some_and(|c| c.goes_on_in(&fragment)));
        let reuses = continued.is_none() && there.is_some() && index.is_some();
        let place = continued.unwrap_or_else(|| self.open_call(choice, index, reuses));
        slots.latest.insert(choice, place);
        if let Some(index) = index {
            slots.indexed.insert((choice, index), place);
        }
        if let Some(call) = self.calls.get_mut(place) {
            call.take(at, &fragment);
        }
    }

    fn open_call(&mut self, choice: usize, index: Option<i64>, reuses: bool) -> usize {
        let place = self.calls.len();
        if let Some(choice) = self.choices.get_mut(choice) {
            choice.calls.push(place);
            self.calls.push(Call::new(choice.number, index, reuses));
        }
        place
    }
}

// === impl Choice ===

impl Choice {
    fn new(number: i64) -> Self {
        Self {
            number,
            deltas: Vec::new(),
            calls: Vec::new(),
            content: Text::default(),
            reasoning: 0,
            refusal: 0,
            finishes: Vec::new(),
        }
    }

    /// The finish reason most clients end up with: the last that is one.
    pub fn finish(&self) -> Option<&str> {
        self.finishes.last().map(|(_, reason)| reason.as_str())
    }
}

// === impl Call ===

impl<'a> Call<'a> {
    const fn new(choice: i64, index: Option<i64>, reuses: bool) -> Self {
        Self {
            choice,
            index,
            fragments: Vec::new(),
            id: None,
            name: None,
            arguments: String::new(),
            reading: Arguments::Empty,
            reuses,
        }
    }

    /// Whether a fragment at this call's index is more of it, not the beginning of another call.
    fn goes_on_in(&self, fragment: &Fragment<'_>) -> bool {
        let (id, name) = (text(fragment.id), text(fragment.name));
        let other_id = !id.is_empty() && self.id.is_some_and(|own| own != id);
        let other_name = self.name.is_some_and(|own| own != name);
        let same_id = !id.is_empty() && !other_id;
        let begins = other_id || (other_name && !same_id && !self.arguments.is_empty());
        name.is_empty() || !begins
    }

    fn take(&mut self, at: usize, fragment: &Fragment<'a>) {
        self.fragments.push(at);
        self.id = self.id.or_else(|| Some(text(fragment.id)).filter(|id| !id.is_empty()));
        self.name = self.name.or_else(|| Some(text(fragment.name)).filter(|name| !name.is_empty()));
        self.arguments.push_str(text(fragment.arguments));
    }
}

// === impl Arguments ===

impl Arguments {
    fn of(joined: &str) -> Self {
        match joined.trim_ascii_start().as_bytes().first() {
            None => Self::Empty,
            Some(_) if serde_json::from_str::<IgnoredAny>(joined).is_err() => Self::Broken,
            Some(b'{') => Self::Object,
            Some(_) => Self::Other,
        }
    }
}
