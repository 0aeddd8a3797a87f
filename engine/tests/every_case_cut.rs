//! The text of every case, cut in every way, read as its request says, and held against what the case expects.
//!
//! In: the case files, read as plain JSON. What a puppet generates of a text (its end token, `max_tokens`, stop strings)
//! is worked out here a second time, without the engine's tokenizer. Out: nothing, unless a cut changes a reply, a
//! byte is not accounted for, or the cases that do not say what they expect are not those listed as known.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that cannot set up its stage fails, and says where"
)]

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tfengine::read::{End, Finish, Folded, Format, Offer, Reader, ReplyEvent, Thinking, Tool};

/// Texts shorter than this are cut at every pair of places.
const SHORT: usize = 300;

/// Texts longer than this are cut at so many places only.
const LONG: usize = 4 << 10;
const SAMPLES: usize = 100;

/// One case, as a reader meets it.
#[derive(Debug)]
struct Case {
    id: String,
    format: Format,
    thinking: Thinking,
    offer: Arc<Offer>,
    /// What is generated.
    text: String,
    end: End,
    expect: Value,
}

type Reply = (Folded, Finish);

/// The cases of a format, in the order of their files.
fn cases(format: Format) -> Vec<Case> {
    let texts = files().into_iter().map(|path| fs::read_to_string(path).unwrap());
    let found = texts.flat_map(|text| match serde_json::from_str(&text).unwrap() {
        Value::Array(list) => list,
        one => vec![one],
    });
    found.filter(|case| case["format"] == format.name()).map(|case| Case::of(&case, format)).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases")
}

fn files() -> Vec<PathBuf> {
    let list = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let suites = list(&folder()).filter(|path| path.is_dir());
    let files = suites.flat_map(|suite| list(&suite));
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// The ids whose expected answer is known not to be ours yet; recorded outputs are among them, which are no cases.
fn known() -> BTreeSet<String> {
    let text = fs::read_to_string(folder().join("known-failing.txt")).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

// === what a puppet generates ===

/// Where each token of a text ends: special ones are one token, of all else each byte is.
fn token_ends(format: Format, text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let special = format.markers().iter().find(|marker| rest.starts_with(marker.as_bytes()));
        at += special.map_or(1, |marker| marker.len());
        ends.push(at);
    }
    ends
}

/// What is generated of what a case says, and how that ends.
fn generated(case: &Value, format: Format) -> (String, End) {
    let request = &case["request"];
    let says = case["says"].as_str().unwrap();
    let says = says.split(format.end_token()).next().unwrap();
    let ends = token_ends(format, says);
    let asked = ["max_completion_tokens", "max_tokens"].iter().find_map(|key| request[*key].as_u64());
    let limit = if case["ends"] == "length" {
        Some(ends.len())
    } else {
        asked.map(|limit| usize::try_from(limit).unwrap())
    };
    let limit = limit.filter(|limit| *limit <= ends.len());
    let length = limit.map_or(says.len(), |limit| limit.checked_sub(1).map_or(0, |last| ends[last]));
    let bytes = &says.as_bytes()[..length];
    let stop = first_stop(bytes, &stops(case));
    let bytes = stop.map_or(bytes, |at| &bytes[..at]);
    let end = match (stop, limit) {
        (Some(_), _) => End::Stop,
        (None, Some(_)) => End::Length,
        (None, None) => End::Model,
    };
    let whole = std::str::from_utf8(bytes).map_or_else(|cut| cut.valid_up_to(), str::len);
    (says[..whole].to_owned(), end)
}

fn stops(case: &Value) -> Vec<String> {
    let asked = if case["ends"]["stop"].is_null() { &case["request"]["stop"] } else { &case["ends"]["stop"] };
    match asked {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many.iter().map(|stop| stop.as_str().unwrap().to_owned()).collect(),
        _ => Vec::new(),
    }
}

/// Where the stop string begins that is complete first; of those the one that begins first.
fn first_stop(bytes: &[u8], stops: &[String]) -> Option<usize> {
    (1..=bytes.len()).find_map(|end| {
        let complete = stops.iter().filter(|stop| bytes[..end].ends_with(stop.as_bytes()));
        complete.map(|stop| end - stop.len()).min()
    })
}

fn offer(request: &Value) -> Offer {
    let choice = &request["tool_choice"];
    let named = choice["function"]["name"].as_str();
    let offered = request["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]);
    let chosen = offered.filter(|tool| named.is_none_or(|name| tool["name"] == name) && *choice != "none");
    let tool = |tool: &Value| Tool {
        name: tool["name"].as_str().unwrap().to_owned(),
        parameters: tool["parameters"].clone(),
    };
    Offer { tools: chosen.map(tool).collect(), one_call: request["parallel_tool_calls"] == false }
}

// === impl Case ===

impl Case {
    fn of(case: &Value, format: Format) -> Self {
        let request = &case["request"];
        let (text, end) = generated(case, format);
        Self {
            id: case["id"].as_str().unwrap().to_owned(),
            format,
            thinking: match request["chat_template_kwargs"]["enable_thinking"].as_bool() {
                Some(true) => Thinking::Open,
                Some(false) => Thinking::Closed,
                None => Thinking::MayOpen,
            },
            offer: Arc::new(offer(request)),
            text,
            end,
            expect: case["expect"].clone(),
        }
    }

    fn events<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> (Vec<ReplyEvent>, Finish) {
        let mut reader = Reader::new(self.format, Arc::clone(&self.offer), self.thinking);
        let mut events = Vec::new();
        for piece in pieces {
            reader.feed(piece, &mut events);
        }
        let finish = reader.finish(self.end, &mut events);
        (events, finish)
    }

    fn read<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> Reply {
        let (events, finish) = self.events(pieces);
        (Folded::of(&events), finish)
    }

    fn whole(&self) -> Reply {
        self.read([self.text.as_str()])
    }

    /// Cut at these places it says the same, and accounts for every byte.
    fn hold(&self, places: &[usize], whole: &Reply) {
        let (events, finish) = self.events(pieces(&self.text, places));
        assert_eq!((Folded::of(&events), finish), *whole, "{} cut at {places:?}", self.id);
        self.every_byte_has_one_event(&events);
    }

    fn every_byte_has_one_event(&self, events: &[ReplyEvent]) {
        let mut spans: Vec<_> = events.iter().map(|event| event.span.clone()).collect();
        spans.retain(|span| !span.is_empty());
        spans.sort_by_key(|span| span.start);
        let end = spans.iter().fold(0, |end, span| {
            assert_eq!(span.start, end, "{}: {events:#?}", self.id);
            span.end
        });
        assert_eq!(end, self.text.len(), "{}: {events:#?}", self.id);
    }

    /// Borders of characters, all of them or a sample.
    fn places(&self) -> Vec<usize> {
        let borders = borders(&self.text);
        let step = if self.text.len() > LONG { borders.len() / SAMPLES } else { 1 };
        borders.into_iter().step_by(step).collect()
    }

    /// What of the answer is not as expected.
    fn wrong(&self, (reply, finish): &Reply) -> Vec<&'static str> {
        let expect = &self.expect;
        let text = |key: &str, said: &Option<String>| {
            expect.get(key).is_none_or(|e| e.as_str().unwrap_or("") == said.as_deref().unwrap_or(""))
        };
        let finish = match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::ToolCalls => "tool_calls",
        };
        let right = [
            ("content", text("content", &reply.content)),
            ("reasoning", text("reasoning", &reply.reasoning)),
            ("tool_calls", expect.get("tool_calls").is_none_or(|calls| same_calls(calls, reply))),
            ("finish", expect.get("finish").is_none_or(|expected| expected == finish)),
        ];
        right.into_iter().filter(|(_, right)| !right).map(|(key, _)| key).collect()
    }
}

/// Arguments are equal as JSON, or, where a string is expected, as text.
fn same_calls(expected: &Value, reply: &Folded) -> bool {
    let expected = expected.as_array().unwrap();
    let same = |(expected, call): (&Value, &tfengine::read::FoldedCall)| {
        let arguments = match &expected["arguments"] {
            Value::String(text) => *text == call.arguments,
            value => serde_json::from_str::<Value>(&call.arguments).is_ok_and(|said| said == *value),
        };
        arguments && expected["name"] == call.name
    };
    expected.len() == reply.calls.len() && expected.iter().zip(&reply.calls).all(same)
}

// === cuts ===

/// Borders between characters; the ends of the text are none.
fn borders(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).skip(1).collect()
}

/// The text cut at these places.
fn pieces<'t>(text: &'t str, places: &[usize]) -> impl Iterator<Item = &'t str> {
    let starts = std::iter::once(0).chain(places.iter().copied());
    let ends = places.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end])
}

/// Places so many characters apart, drawn from a seed.
fn drawn(borders: &[usize], seed: u64, apart: RangeInclusive<u64>) -> Vec<usize> {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(apart.start() + (state >> 33) % (apart.end() - apart.start() + 1)).unwrap()
    };
    let mut at = draw();
    std::iter::from_fn(|| {
        let border = borders.get(at.checked_sub(1)?).copied();
        at += draw();
        border
    })
    .collect()
}

// === the tests: one a format, so that they run side by side ===

fn one_cut(format: Format) {
    let cases = cases(format);
    assert!(cases.len() > 80, "{} cases", cases.len());
    for case in cases {
        let whole = case.whole();
        case.hold(&[], &whole);
        for at in case.places() {
            case.hold(&[at], &whole);
        }
    }
}

fn many_cuts(format: Format) {
    for case in cases(format) {
        let (whole, borders) = (case.whole(), borders(&case.text));
        case.hold(&borders, &whole);
        for seed in 1..=5 {
            case.hold(&drawn(&borders, seed, 1..=8), &whole);
            case.hold(&drawn(&borders, seed, 1..=40), &whole);
        }
    }
}

fn two_cuts(format: Format) {
    for case in cases(format).into_iter().filter(|case| case.text.len() < SHORT) {
        let (whole, borders) = (case.whole(), borders(&case.text));
        for (number, first) in borders.iter().enumerate() {
            for second in &borders[number + 1..] {
                let reply = case.read(pieces(&case.text, &[*first, *second]));
                assert_eq!(reply, whole, "{} cut at {first} and {second}", case.id);
            }
        }
    }
}

/// A reply that is cut anywhere, and one that may hold one call only, is the same whole and letter by letter.
fn beginnings(format: Format) {
    for case in cases(format).into_iter().filter(|case| case.text.len() < SHORT) {
        let offer = Arc::new(Offer { one_call: true, tools: case.offer.tools.clone() });
        let mut cut = Case { end: End::Length, ..case };
        let text = cut.text.clone();
        for at in borders(&text) {
            cut.text.truncate(0);
            cut.text.push_str(&text[..at]);
            cut.hold(&borders(&cut.text), &cut.whole());
        }
        let one = Case { offer, text, ..cut };
        one.hold(&borders(&one.text), &one.whole());
    }
}

#[test]
fn hermes_cut_once() {
    one_cut(Format::Hermes);
}

#[test]
fn hermes_cut_often() {
    many_cuts(Format::Hermes);
}

#[test]
fn hermes_cut_twice() {
    two_cuts(Format::Hermes);
}

#[test]
fn hermes_ends_anywhere() {
    beginnings(Format::Hermes);
}

#[test]
fn glm_cut_once() {
    one_cut(Format::Glm);
}

#[test]
fn glm_cut_often() {
    many_cuts(Format::Glm);
}

#[test]
fn glm_cut_twice() {
    two_cuts(Format::Glm);
}

#[test]
fn glm_ends_anywhere() {
    beginnings(Format::Glm);
}

#[test]
fn qwen3_xml_cut_once() {
    one_cut(Format::Qwen3Xml);
}

#[test]
fn qwen3_xml_cut_often() {
    many_cuts(Format::Qwen3Xml);
}

#[test]
fn qwen3_xml_cut_twice() {
    two_cuts(Format::Qwen3Xml);
}

#[test]
fn qwen3_xml_ends_anywhere() {
    beginnings(Format::Qwen3Xml);
}

#[test]
fn every_case_says_what_it_expects() {
    let all: Vec<Case> = Format::ALL.into_iter().flat_map(cases).collect();
    let mut known = known();
    known.retain(|id| all.iter().any(|case| case.id == *id));
    let wrong = all.iter().filter_map(|case| {
        let wrong = case.wrong(&case.whole());
        (!wrong.is_empty()).then(|| (case.id.clone(), wrong, case.whole()))
    });
    let wrong: Vec<_> = wrong.collect();
    let unexpected: Vec<_> = wrong.iter().filter(|(id, ..)| !known.contains(id)).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let failing: BTreeSet<String> = wrong.into_iter().map(|(id, ..)| id).collect();
    assert_eq!(failing, known, "known failures that no longer show");
}
