//! Rules about the entries of `choices`: their index, their order, what they carry.

use crate::rules::{Example, Rule, Severity, found::Shown};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] =
    &[INDEX_MISSING, INDEX_RANGE, MISSING, FIRST_ORDER, DELTA_MISSING, MESSAGE_IN_CHUNK, FINISH_KEY_ABSENT];

const INDEX_MISSING: Rule = Rule {
    id: "openai-chat/choice-index-missing",
    severity: Severity::Error,
    sentence: "Each choice has an integer index.",
    source: "OpenAI API reference, chat completions; the official clients raise",
    check: |digest, found| {
        for delta in &digest.deltas {
            let path = format_args!("choices[{}].index", delta.at);
            match delta.index {
                None => found.event(delta.event, path, "no index"),
                Some(index) if index.as_i64().is_none() => found.event(delta.event, path, Shown(index)),
                Some(_) => {}
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        Example::stream("data: {\"choices\":[{\"delta\":{}}]}\n\n"),
        Example::whole(r#"{"choices":[{"index":"0","message":{}}]}"#),
    ],
};

const INDEX_RANGE: Rule = Rule {
    id: "openai-chat/choice-index-range",
    severity: Severity::Error,
    sentence: "The index of a choice is at least 0 and less than n.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        let n = i64::try_from(digest.facts.asked.choices.max(1)).unwrap_or(i64::MAX);
        for delta in &digest.deltas {
            if let Some(index) = delta.index.and_then(Value::as_i64).filter(|index| !(0..n).contains(index)) {
                let path = format_args!("choices[{}].index", delta.at);
                found.event(delta.event, path, format_args!("{index}, with n {n}"));
            }
        }
    },
    good: &[Example::stream("data: {\"choices\":[{\"index\":1,\"delta\":{}}]}\n\n")
        .asking(r#"{"stream":true,"n":2}"#)],
    bad: &[
        Example::stream("data: {\"choices\":[{\"index\":1,\"delta\":{}}]}\n\n"),
        Example::stream("data: {\"choices\":[{\"index\":-1,\"delta\":{}}]}\n\n"),
    ],
};

const MISSING: Rule = Rule {
    id: "openai-chat/choice-missing",
    severity: Severity::Error,
    sentence: "All n choices appear.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        let n = digest.facts.asked.choices.max(1);
        let seen = digest.choices.len() as u64;
        if digest.concluded() && !digest.chunks.is_empty() && seen < n {
            found.exchange(format_args!("{seen} of {n} choices"));
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        stream!(finish!("stop"), done!()).asking(r#"{"stream":true,"n":2}"#),
        Example::whole(r#"{"id":"c","choices":[]}"#),
    ],
};

const FIRST_ORDER: Rule = Rule {
    id: "openai-chat/choice-first-order",
    severity: Severity::Warn,
    sentence: "Choices first appear in rising order.",
    source: "openai-python's accumulator raises otherwise",
    check: |digest, found| {
        for (before, after) in digest.choices.iter().zip(digest.choices.iter().skip(1)) {
            let first = digest.deltas_of(after).next().filter(|_| after.number < before.number);
            if let Some(delta) = first {
                let path = format_args!("choices[{}].index", delta.at);
                found.event(delta.event, path, format_args!("{} after {}", after.number, before.number));
            }
        }
    },
    good: &[Example::stream(
        "data: {\"choices\":[{\"index\":0,\"delta\":{}},{\"index\":1,\"delta\":{}}]}\n\n",
    )],
    bad: &[Example::stream(
        "data: {\"choices\":[{\"index\":1,\"delta\":{}},{\"index\":0,\"delta\":{}}]}\n\n",
    )],
};

const DELTA_MISSING: Rule = Rule {
    id: "openai-chat/delta-missing",
    severity: Severity::Error,
    sentence: "Each choice of a chunk has a delta that is an object.",
    source: "OpenAI API reference, chat streaming; openai-python raises",
    check: |digest, found| {
        for delta in digest.deltas.iter().filter(|delta| digest.streamed() && delta.message.is_none()) {
            let path = format_args!("choices[{}].delta", delta.at);
            match delta.delta {
                None => found.event(delta.event, path, "no delta"),
                Some(value) if !value.is_object() => found.event(delta.event, path, Shown(value)),
                Some(_) => {}
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        Example::stream("data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\"}]}\n\n"),
        Example::stream("data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n"),
    ],
};

const MESSAGE_IN_CHUNK: Rule = Rule {
    id: "openai-chat/message-in-chunk",
    severity: Severity::Error,
    sentence: "A chunk carries a delta, not a message.",
    source: "OpenAI API reference, chat streaming; clients lose what it says",
    check: |digest, found| {
        for delta in digest.deltas.iter().filter(|delta| digest.streamed() && delta.message.is_some()) {
            found.event(delta.event, format_args!("choices[{}].message", delta.at), "a message in a chunk");
        }
    },
    good: &[stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"}}]}\n\n")],
};

const FINISH_KEY_ABSENT: Rule = Rule {
    id: "openai-chat/finish-key-absent",
    severity: Severity::Info,
    sentence: "The key finish_reason is there from the start, null until the end.",
    source: "OpenAI API reference, chat streaming",
    check: |digest, found| {
        for delta in digest.deltas.iter().filter(|delta| delta.finish.is_none()) {
            found.event(delta.event, format_args!("choices[{}].finish_reason", delta.at), "no such key");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        Example::stream("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"),
        Example::whole(r#"{"choices":[{"index":0,"message":{"content":"Hi"}}]}"#),
    ],
};
