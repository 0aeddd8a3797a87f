//! Rules about what usage is made of: an object of counts, and the three counts that every client reads.

use super::usage::{DETAILS, USAGE};
use crate::rules::{
    Found, Rule, Severity,
    digest::{Chunk, Object, given},
    found::Shown,
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[TYPE, INCOMPLETE];

/// What usage always has.
const COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

const TYPE: Rule = Rule {
    id: "openai-chat/usage-type",
    severity: Severity::Error,
    sentence: "Usage is an object of counts, and counts are integers from 0.",
    source: "OpenAI API reference, chat completions; openai-go cannot read any other number",
    check: |digest, found| {
        for chunk in &digest.chunks {
            match given(chunk.usage) {
                Some(Value::Object(usage)) => counts_are_counts(chunk, usage, found),
                Some(other) => found.event(chunk.event, "usage", Shown(other)),
                None => {}
            }
        }
    },
    good: &[
        stream!(chunk!("", r#""usage":null"#), finish!("stop"), usage!(0, 2, 2), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(18446744073709551615, 0, 18446744073709551615), done!()),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":null},"cost":0.25}"#
        ),
    ],
    bad: &[
        stream!(finish!("stop"), usage!(-1, 2, 1), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(1, 1.5, 2.5), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(1.0, 2, 3), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!("\"x\"", 2, 3), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(1, true, 3), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(1, 2, "1e400"), done!()).asking(USAGE),
        stream!(chunk!("", r#""usage":[1,2,3]"#), finish!("stop"), done!()),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":"1","completion_tokens":2,"total_tokens":3}"#
        ),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"completion_tokens_details":{"reasoning_tokens":-1}}"#
        ),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":7}"#
        ),
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop", r#""usage":"3""#),
    ],
};

const INCOMPLETE: Rule = Rule {
    id: "openai-chat/usage-incomplete",
    severity: Severity::Warn,
    sentence: "Usage has prompt, completion and total tokens.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for chunk in &digest.chunks {
            let Some(usage) = chunk.counts() else { continue };
            for key in COUNTS.into_iter().filter(|key| given(usage.get(*key)).is_none()) {
                found.event(chunk.event, format_args!("usage.{key}"), "none");
            }
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!()).asking(USAGE)],
    bad: &[
        stream!(finish!("stop"), chunk!("", r#""usage":{"completion_tokens":2}"#), done!()).asking(USAGE),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":null}"#
        ),
    ],
};

fn counts_are_counts(chunk: &Chunk<'_>, usage: &Object, found: &mut Found<'_>) {
    for key in COUNTS {
        is_count(chunk, key, usage.get(key), found);
    }
    let objects = ["prompt_tokens_details", "completion_tokens_details"];
    for (object, value) in objects.into_iter().filter_map(|key| Some((key, given(usage.get(key))?))) {
        if !value.is_object() {
            found.event(chunk.event, format_args!("usage.{object}"), Shown(value));
        }
    }
    for (_, object, key) in DETAILS {
        let value = usage.get(object).and_then(|details| details.get(key));
        is_count(chunk, format_args!("{object}.{key}"), value, found);
    }
}

/// Servers that do not know a count send null for it; that it is missing is another rule's matter.
fn is_count(chunk: &Chunk<'_>, path: impl std::fmt::Display, value: Option<&Value>, found: &mut Found<'_>) {
    if let Some(value) = given(value).filter(|value| !value.is_u64()) {
        found.event(chunk.event, format_args!("usage.{path}"), Shown(value));
    }
}
