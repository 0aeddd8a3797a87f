//! Rules about the index of a tool fragment, by which clients find the call it belongs to. Streams only.

use crate::rules::{
    Digest, Example, Rule, Severity,
    digest::{Call, Choice},
    found::Shown,
};

/// The rules of this file.
pub static RULES: &[Rule] = &[MISSING, TYPE, GAP, ORDER, REUSED, INTERLEAVED];

const MISSING: Rule = Rule {
    id: "openai-chat/tool-index-missing",
    severity: Severity::Error,
    sentence: "Every tool fragment has an index.",
    source: "OpenAI API reference, chat streaming; openai-python#2806",
    check: |digest, found| {
        for fragment in digest.fragments.iter().filter(|f| digest.streamed() && f.index.is_none()) {
            found.event(fragment.event, digest.fragment_path(fragment, "index"), "no index");
        }
    },
    good: &[stream!(call!(
        r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#
    ))],
    bad: &[stream!(call!(r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#))],
};

const TYPE: Rule = Rule {
    id: "openai-chat/tool-index-type",
    severity: Severity::Error,
    sentence: "The index of a tool fragment is an integer from 0.",
    source: "OpenAI API reference, chat streaming; the official clients merge or raise",
    check: |digest, found| {
        for fragment in digest.fragments.iter().filter(|_| digest.streamed()) {
            if let Some(index) = fragment.index.filter(|index| index.as_u64().is_none()) {
                found.event(fragment.event, digest.fragment_path(fragment, "index"), Shown(index));
            }
        }
    },
    good: &[stream!(call!(
        r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#
    ))],
    bad: &[
        stream!(call!(r#"{"index":"0","id":"a"}"#)),
        stream!(call!(r#"{"index":null,"id":"a"}"#)),
        stream!(call!(r#"{"index":-1,"id":"a"}"#)),
    ],
};

const GAP: Rule = Rule {
    id: "openai-chat/tool-index-gap",
    severity: Severity::Error,
    sentence: "The calls of a choice have the indexes 0, 1, 2 and so on, none left out.",
    source: "openai-python and openai-node raise, openai-go invents empty calls",
    check: |digest, found| {
        for choice in &digest.choices {
            let mut calls = indexed(digest, choice);
            calls.sort_unstable_by_key(|(index, _)| *index);
            let mut next = 0;
            for (index, call) in calls {
                if let Some(first) = digest.fragments_of(call).next().filter(|_| index > next) {
                    let path = digest.fragment_path(first, "index");
                    found.event(first.event, path, format_args!("{index}, with no call {next}"));
                }
                next = next.max(index.saturating_add(1));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":1,"id":"b"}"#))],
    bad: &[
        stream!(call!(r#"{"index":1,"id":"a"}"#)),
        stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":2,"id":"b"}"#)),
    ],
};

const ORDER: Rule = Rule {
    id: "openai-chat/tool-index-order",
    severity: Severity::Error,
    sentence: "New indexes appear in rising order.",
    source: "openai-python raises otherwise",
    check: |digest, found| {
        for choice in &digest.choices {
            let mut highest = -1;
            for (index, call) in indexed(digest, choice) {
                if let Some(first) = digest.fragments_of(call).next().filter(|_| index < highest) {
                    let path = digest.fragment_path(first, "index");
                    found.event(first.event, path, format_args!("{index} after {highest}"));
                }
                highest = highest.max(index);
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":1,"id":"b"}"#))],
    bad: &[stream!(call!(r#"{"index":1,"id":"a"}"#), call!(r#"{"index":0,"id":"b"}"#))],
};

const REUSED: Rule = Rule {
    id: "openai-chat/tool-index-reused",
    severity: Severity::Error,
    sentence: "An index is not used for another call.",
    source: "gcli2api#406; the official clients glue both calls together",
    check: |digest, found| {
        for (call, first) in digest.openings().filter(|(call, _)| call.reuses) {
            let path = digest.fragment_path(first, "index");
            found.event(
                first.event,
                path,
                format_args!("{} for another call", call.index.unwrap_or_default()),
            );
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
        call!(r#"{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}"#)
    )],
    bad: &[
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            call!(r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}"#)
        ),
        stream!(
            call!(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#),
            call!(r#"{"index":0,"function":{"name":"g","arguments":"{}"}}"#)
        ),
    ],
};

const INTERLEAVED: Rule = Rule {
    id: "openai-chat/tool-interleaved",
    severity: Severity::Info,
    sentence: "A call is not resumed after the next one began.",
    source: "openai-go reports the call as finished there",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|choice| choice.calls.len() > 1) {
            for pair in choice.calls.windows(2) {
                let [Some(call), Some(next)] = [pair.first(), pair.last()].map(|at| digest.calls.get(*at?))
                else {
                    continue;
                };
                let Some(begun) = next.fragments.first() else { continue };
                let late = call.fragments.last().filter(|last| *last > begun);
                if let Some(fragment) = late.and_then(|at| digest.fragments.get(*at)) {
                    let path = digest.fragment_path(fragment, "index");
                    found.event(fragment.event, path, "more of a call after the next one began");
                }
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":1,"id":"b"}"#))],
    bad: &[Example::stream(concat!(
        call!(r#"{"index":0,"id":"a"}"#),
        call!(r#"{"index":1,"id":"b"}"#),
        call!(r#"{"index":0,"function":{"arguments":"{}"}}"#)
    ))],
};

/// The calls of a choice that have an index from 0, in the order in which they first appeared.
fn indexed<'d, 'a>(digest: &'d Digest<'a>, choice: &'d Choice) -> Vec<(i64, &'d Call<'a>)> {
    if !digest.streamed() {
        return Vec::new();
    }
    let calls = digest.calls_of(choice).filter(|call| !call.reuses);
    calls.filter_map(|call| Some((call.index.filter(|index| *index >= 0)?, call))).collect()
}
