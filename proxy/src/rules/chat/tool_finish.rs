//! Rules about the finish reason of a reply with calls, or with none.

use crate::rules::{
    Digest, Rule, Severity,
    digest::{Arguments, Choice},
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[MISMATCH, HIDES_LENGTH];

const MISMATCH: Rule = Rule {
    id: "openai-chat/tool-finish-mismatch",
    severity: Severity::Warn,
    sentence: "A reply with a complete call finishes with tool_calls, and only such a reply does.",
    source: "vllm#25054, vllm#53255",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|choice| !expected(digest, choice)) {
            let complete = digest.calls_of(choice).any(|call| call.reading == Arguments::Object);
            let may_stop = digest.facts.asked.forced_tool.is_some() || !digest.facts.asked.stop.is_empty();
            let wrong = match choice.finish() {
                Some("tool_calls") if choice.calls.is_empty() => "tool_calls, with no call",
                Some("stop") if complete && !may_stop => "stop, with a complete call",
                _ => continue,
            };
            finish(choice, wrong, found);
        }
    },
    good: &[
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            finish!("tool_calls"),
            done!()
        ),
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            finish!("stop"),
            done!()
        )
        .asking(r#"{"stream":true,"tool_choice":{"type":"function","function":{"name":"f"}}}"#),
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#),
            finish!("stop"),
            done!()
        ),
    ],
    bad: &[
        stream!(
            call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            finish!("stop"),
            done!()
        ),
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "tool_calls"),
    ],
};

const HIDES_LENGTH: Rule = Rule {
    id: "openai-chat/tool-finish-hides-length",
    severity: Severity::Error,
    sentence: "A call that the token limit cut finishes with length.",
    source: "vllm#53269",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|choice| !expected(digest, choice)) {
            let broken = digest.calls_of(choice).last().is_some_and(|call| call.reading == Arguments::Broken);
            let other = matches!(choice.finish(), Some("tool_calls" | "stop"));
            if broken && other && reached_limit(digest) {
                finish(choice, "another reason, with every token used and a call broken off", found);
            }
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a"}}"#),
        finish!("length"),
        usage!(1, 9, 10),
        done!()
    )
    .asking(r#"{"stream":true,"max_tokens":9}"#)],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a"}}"#),
        finish!("tool_calls"),
        usage!(1, 9, 10),
        done!()
    )
    .asking(r#"{"stream":true,"max_completion_tokens":9}"#)],
};

fn finish(choice: &Choice, wrong: &str, found: &mut crate::rules::Found<'_>) {
    if let Some((event, _)) = choice.finishes.last() {
        found.event(*event, format_args!("choices[{}].finish_reason", choice.number), wrong);
    }
}

/// Whether the right answer has this finish reason.
fn expected(digest: &Digest<'_>, choice: &Choice) -> bool {
    digest.facts.expects(|expect| expect.finish.is_some() && expect.finish.as_deref() == choice.finish())
}

/// Whether as many tokens were counted as the request allowed. Asked only of broken calls: it reads the request.
fn reached_limit(digest: &Digest<'_>) -> bool {
    let request = digest.facts.exchange.request.json().unwrap_or_default();
    let limits = ["max_completion_tokens", "max_tokens"].into_iter().filter_map(|key| request.get(key));
    let counted = |usage: &Value| usage.get("completion_tokens").and_then(Value::as_u64);
    let counts = digest.chunks.iter().rev().filter_map(|chunk| chunk.usage.and_then(counted));
    limits.filter_map(Value::as_u64).min().zip(counts.max()).is_some_and(|(limit, count)| count >= limit)
}
