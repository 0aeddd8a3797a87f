//! One reply against the right answer. Findings against it are `expect/*`, never `parity/*`.
//!
//! In: what is known of the right answer, a reply, and the rounds it came in. Out: how they stand to each other, and where
//! they differ (left is what was expected, right what came). What is not said of the right answer is not compared.

use super::{Difference, Kind, arguments, show, text};
use crate::{
    fold::{
        Reply,
        reply::{Call, Text},
    },
    request::case::{Expect, ExpectCall, ExpectError},
};
use serde_json::Value;

/// How replies stand to what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Equal.
    Match,
    /// Equal once blanks in content and reasoning are removed.
    Whitespace,
    /// Not equal.
    Mismatch,
    /// Nothing is expected.
    None,
}

/// Holds a reply against the right answer. `rounds` is the schedule's name, `-` for a whole reply.
pub fn compare_expected(expect: &Expect, reply: &Reply, rounds: &str) -> (Expected, Vec<Difference>) {
    if expect.accept.is_empty() {
        return one_answer(expect, reply, rounds);
    }
    let answers = expect.accept.iter().map(|accepted| one_answer(accepted, reply, rounds));
    let closest = answers.min_by_key(|(expected, found)| (expected.distance(), found.len()));
    closest.unwrap_or((Expected::None, Vec::new()))
}

fn one_answer(expect: &Expect, reply: &Reply, rounds: &str) -> (Expected, Vec<Difference>) {
    if let Some(error) = &expect.error {
        return expected_error(error, reply);
    }
    if !says_anything(expect) {
        return (Expected::None, Vec::new());
    }
    if let Some(error) = &reply.error {
        let came = format!("status {}: {}", error.status, error.message);
        let one = Difference::of_values("expect/error", "error", Some("no error"), Some(&came));
        return (Expected::Mismatch, vec![one.at(None, error.event)]);
    }
    let mut found = Vec::new();
    compare_calls(expect, reply, &mut found);
    compare_texts(expect, reply, &mut found);
    compare_json(expect, reply, &mut found);
    let expected = Expected::of(expect, &found);
    compare_finish(expect, reply, &mut found);
    compare_deltas(expect, reply, rounds, &mut found);
    (expected, found)
}

fn says_anything(expect: &Expect) -> bool {
    expect.content.is_some()
        || expect.content_json.is_some()
        || expect.reasoning.is_some()
        || expect.tool_calls.is_some()
        || expect.finish.is_some()
        || expect.argument_deltas_at_least.is_some()
}

fn expected_error(error: &ExpectError, reply: &Reply) -> (Expected, Vec<Difference>) {
    let came = reply.error.as_ref();
    let same = came.is_some_and(|e| {
        e.status == error.status && (error.code.is_none() || error.code.as_deref() == e.code.as_deref())
    });
    if same {
        return (Expected::Match, Vec::new());
    }
    let words = |status: u16, code: Option<&str>| match code {
        Some(code) => format!("status {status} code {code}"),
        None => format!("status {status}"),
    };
    let wanted = words(error.status, error.code.as_deref());
    let came_words = came.map(|e| words(e.status, e.code.as_deref()));
    let came_words = came_words.as_deref().unwrap_or("no error");
    let one = Difference::of_values("expect/error", "error", Some(&wanted), Some(came_words));
    (Expected::Mismatch, vec![one.at(None, came.and_then(|e| e.event))])
}

fn compare_texts(expect: &Expect, reply: &Reply, found: &mut Vec<Difference>) {
    let [content, reasoning] = ["expect/content-whitespace", "expect/reasoning-whitespace"];
    let fields = [
        (&expect.content, reply.content(), "content", "expect/content", content),
        (&expect.reasoning, reply.reasoning(), "reasoning", "expect/reasoning", reasoning),
    ];
    for (wanted, came, path, rule, whitespace) in fields {
        let Some(wanted) = wanted else { continue };
        let wanted = Text { value: wanted.clone().unwrap_or_default(), pieces: Vec::new() };
        if wanted.value != came.value {
            let mut one = text::of_texts(rule, path, &wanted, &came);
            if one.kind == Kind::Whitespace {
                one.rule = whitespace;
            }
            found.push(one);
        }
    }
}

/// The content as JSON, however it is written.
fn compare_json(expect: &Expect, reply: &Reply, found: &mut Vec<Difference>) {
    let Some(wanted) = &expect.content_json else { return };
    let came = reply.content();
    let value = serde_json::from_str::<Value>(&came.value).ok();
    if value.is_none_or(|value| arguments::canonical(&value) != arguments::canonical(wanted)) {
        let wanted = Text { value: wanted.to_string(), pieces: Vec::new() };
        found.push(text::of_texts("expect/content", "content", &wanted, &came));
    }
}

fn compare_calls(expect: &Expect, reply: &Reply, found: &mut Vec<Difference>) {
    let Some(wanted) = &expect.tool_calls else { return };
    let came: Vec<&Call> = reply.calls().collect();
    if wanted.len() != came.len() {
        found.push(count_differs(wanted, &came, reply));
        return;
    }
    for (at, (want, call)) in wanted.iter().zip(&came).enumerate() {
        if want.name != call.name {
            let path = format!("tool_calls[{at}].name");
            let one = Difference::of_values("expect/tool-name", &path, Some(&want.name), Some(&call.name));
            found.push(one.at(None, Some(call.event)));
        }
    }
    for (at, (want, call)) in wanted.iter().zip(&came).enumerate() {
        if !arguments_hold(&want.arguments, &call.arguments.value) {
            let path = format!("tool_calls[{at}].arguments");
            let wanted = Text { value: expected_text(&want.arguments), pieces: Vec::new() };
            found.push(text::of_texts("expect/tool-arguments", &path, &wanted, &call.arguments));
        }
    }
}

fn count_differs(wanted: &[ExpectCall], came: &[&Call], reply: &Reply) -> Difference {
    let as_calls: Vec<Call> = wanted
        .iter()
        .map(|w| Call {
            name: w.name.clone(),
            arguments: Text { value: expected_text(&w.arguments), pieces: Vec::new() },
            ..Call::default()
        })
        .collect();
    let wanted = super::calls::describe(&as_calls.iter().collect::<Vec<_>>(), &Text::default());
    let came_words = super::calls::describe(came, &reply.content());
    let mut one = Difference::of_values("expect/tool-count", "tool_calls", Some(&wanted), Some(&came_words));
    one.kind = if came.len() < as_calls.len() { Kind::Lost } else { Kind::Added };
    one.diff = show::diff(&wanted, &came_words);
    one.at(None, came.last().map(|call| call.event))
}

/// An object must be equal as JSON, a string must be exactly the text.
fn arguments_hold(wanted: &Value, came: &str) -> bool {
    match wanted {
        Value::String(text) => text == came,
        value => arguments::canonical_text(came) == arguments::canonical_text(&value.to_string()),
    }
}

fn expected_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), ToOwned::to_owned)
}

fn compare_finish(expect: &Expect, reply: &Reply, found: &mut Vec<Difference>) {
    let Some(wanted) = expect.finish.as_deref() else { return };
    if reply.finish_reason() != Some(wanted) {
        let one = Difference::of_values("expect/finish", "finish", Some(wanted), reply.finish_reason());
        found.push(one.at(None, reply.finish.as_ref().map(|(_, event)| *event)));
    }
}

fn compare_deltas(expect: &Expect, reply: &Reply, rounds: &str, found: &mut Vec<Difference>) {
    let Some((at, least)) = &expect.argument_deltas_at_least else { return };
    let came: usize = reply.calls().map(|call| call.deltas).sum();
    if at == rounds && came < *least {
        let (wanted, came) = (format!("at least {least} argument deltas"), format!("{came} argument deltas"));
        let path = "tool_calls[].arguments";
        found.push(Difference::of_values("expect/argument-deltas", path, Some(&wanted), Some(&came)));
    }
}

// === impl Expected ===

impl Expected {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Whitespace => "whitespace",
            Self::Mismatch => "mismatch",
            Self::None => "none",
        }
    }

    /// The worse of two: an entry stands as its worst reply does.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if other.distance() > self.distance() { other } else { self }
    }

    /// `found` holds the differences of content, reasoning and calls only.
    fn of(expect: &Expect, found: &[Difference]) -> Self {
        let is_said = expect.content.is_some() || expect.content_json.is_some() || expect.reasoning.is_some();
        let compared = is_said || expect.tool_calls.is_some();
        let blank = |d: &Difference| d.kind == Kind::Whitespace && !d.rule.starts_with("expect/tool-");
        if !compared {
            Self::None
        } else if found.is_empty() {
            Self::Match
        } else if found.iter().all(blank) {
            Self::Whitespace
        } else {
            Self::Mismatch
        }
    }

    const fn distance(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Match => 1,
            Self::Whitespace => 2,
            Self::Mismatch => 3,
        }
    }
}
