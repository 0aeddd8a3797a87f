//! Rules about logprobs: their shape, their place, their presence.

use crate::rules::{
    Rule, Severity,
    digest::{Delta, given},
    found::Shown,
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[SHAPE, FIRST_CHUNK, FLOOR, MISSING];

/// What an entry of a logprobs list has.
const ENTRY: [&str; 4] = ["token", "logprob", "bytes", "top_logprobs"];

/// What the documents send for a token that is too unlikely.
const LOWEST: f64 = -9999.0;

const SHAPE: Rule = Rule {
    id: "openai-chat/logprobs-shape",
    severity: Severity::Warn,
    sentence: "Logprobs have the keys content and refusal; entries have token, logprob, bytes and top_logprobs.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for delta in &digest.deltas {
            let Some(logprobs) = given(delta.logprobs) else { continue };
            let path = format_args!("choices[{}].logprobs", delta.at);
            match ["content", "refusal"].iter().find(|key| logprobs.get(key).is_none()) {
                Some(key) => found.event(delta.event, path, format_args!("no {key}")),
                None => {
                    if let Some(key) = entries(delta).find_map(lacks) {
                        found.event(delta.event, path, format_args!("an entry without {key}"));
                    }
                }
            }
        }
    },
    good: &[stream!(
        chunk!(
            r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]}],"refusal":null},"finish_reason":null}"#
        ),
        finish!("stop"),
        done!()
    )],
    bad: &[
        stream!(chunk!(
            r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[]},"finish_reason":null}"#
        )),
        stream!(chunk!(
            r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}],"refusal":null},"finish_reason":null}"#
        )),
    ],
};

const FIRST_CHUNK: Rule = Rule {
    id: "openai-chat/logprobs-first-chunk",
    severity: Severity::Warn,
    sentence: "The first chunk of a choice holds no logprobs.",
    source: "openai-node's accumulator doubles them",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|_| digest.streamed()) {
            let first = digest.deltas_of(choice).next();
            if let Some(delta) = first.filter(|delta| entries(delta).next().is_some()) {
                found.event(
                    delta.event,
                    format_args!("choices[{}].logprobs", delta.at),
                    "entries in the first chunk",
                );
            }
        }
    },
    good: &[stream!(chunk!(
        r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]},"finish_reason":null}"#
    ))],
    bad: &[crate::rules::Example::stream(chunk!(
        r#"{"index":0,"delta":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a"}]},"finish_reason":null}"#
    ))],
};

const FLOOR: Rule = Rule {
    id: "openai-chat/logprobs-floor",
    severity: Severity::Info,
    sentence: "An unlikely token has the floor -9999.0, nothing below.",
    source: "OpenAI API reference, chat completions; llama.cpp sends the lowest float",
    check: |digest, found| {
        for delta in &digest.deltas {
            let below =
                |entry: &&Value| entry.get("logprob").and_then(Value::as_f64).is_some_and(|l| l < LOWEST);
            if let Some(entry) = entries(delta).find(below) {
                let value = entry.get("logprob").unwrap_or(&Value::Null);
                found.event(delta.event, format_args!("choices[{}].logprobs", delta.at), Shown(value));
            }
        }
    },
    good: &[stream!(chunk!(
        r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-9999.0}]},"finish_reason":null}"#
    ))],
    bad: &[stream!(chunk!(
        r#"{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-3.4e38}]},"finish_reason":null}"#
    ))],
};

const MISSING: Rule = Rule {
    id: "openai-chat/logprobs-missing",
    severity: Severity::Error,
    sentence: "Logprobs that were asked for come with the content.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|_| digest.facts.asked.logprobs && digest.concluded()) {
            let none = digest.deltas_of(choice).all(|delta| entries(delta).next().is_none());
            if none && !choice.content.value.is_empty() {
                found.exchange(format_args!("none in choice {}", choice.number));
            }
        }
    },
    good: &[stream!(finish!("length"), done!()).asking(r#"{"stream":true,"logprobs":true}"#)],
    bad: &[
        stream!(delta!(r#"{"content":"a"}"#), finish!("stop"), done!())
            .asking(r#"{"stream":true,"logprobs":true}"#),
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop").asking(r#"{"logprobs":true}"#),
    ],
};

fn entries<'a>(delta: &Delta<'a>) -> impl Iterator<Item = &'a Value> {
    let lists = ["content", "refusal"].into_iter().filter_map(|key| delta.logprobs?.get(key)?.as_array());
    lists.flatten()
}

fn lacks(entry: &Value) -> Option<&'static str> {
    ENTRY.into_iter().find(|key| entry.get(key).is_none())
}
