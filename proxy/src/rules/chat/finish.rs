//! Rules about finish reasons: one for each choice, at its end, of a known kind.

use crate::rules::{Digest, Example, Rule, Severity, digest::Delta, found::Shown};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[EMPTY, KNOWN, ONCE, MISSING, ERASED, CONTENT_AFTER];

/// Finish reasons of the documents.
const REASONS: [&str; 5] = ["stop", "length", "tool_calls", "content_filter", "function_call"];

const EMPTY: Rule = Rule {
    id: "openai-chat/finish-reason-empty",
    severity: Severity::Warn,
    sentence: "A choice that is not finished says null, never the empty string.",
    source: "OpenAI API reference, chat streaming; TGI sends an empty one",
    check: |digest, found| {
        for delta in digest.deltas.iter().filter(|d| d.finish.and_then(Value::as_str) == Some("")) {
            found.event(delta.event, path(delta), "an empty string");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!(""), finish!("stop"), done!())],
};

const KNOWN: Rule = Rule {
    id: "openai-chat/finish-reason-enum",
    severity: Severity::Warn,
    sentence: "A finish reason is stop, length, tool_calls, content_filter or function_call.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for delta in &digest.deltas {
            let unknown = |reason: &&Value| !reason.as_str().is_some_and(|known| REASONS.contains(&known));
            if let Some(reason) = delta.finishes().filter(unknown) {
                found.event(delta.event, path(delta), Shown(reason));
            }
        }
    },
    good: &[
        stream!(finish!("content_filter"), done!()),
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "length"),
    ],
    bad: &[
        stream!(finish!("eos_token"), done!()),
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "end_turn"),
    ],
};

const ONCE: Rule = Rule {
    id: "openai-chat/finish-reason-once",
    severity: Severity::Error,
    sentence: "A choice has one finish reason that is not null.",
    source: "OpenAI API reference, chat streaming; clients keep the last and lose the first",
    check: |digest, found| {
        for choice in &digest.choices {
            if let [(_, first), others @ ..] = choice.finishes.as_slice() {
                for (event, reason) in others {
                    let path = format_args!("choices[{}].finish_reason", choice.number);
                    found.event(*event, path, format_args!("{reason:?} after {first:?}"));
                }
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("tool_calls"), finish!("stop"), done!())],
};

const MISSING: Rule = Rule {
    id: "openai-chat/finish-reason-missing",
    severity: Severity::Error,
    sentence: "Every choice has a finish reason before the end.",
    source: "OpenAI API reference, chat streaming; openai-node raises",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|_| digest.concluded()) {
            let last = digest.deltas_of(choice).last().filter(|_| choice.finishes.is_empty());
            if let Some(delta) = last {
                found.event(delta.event, path(delta), "none until the end");
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        stream!(delta!(r#"{"content":"Hi"}"#), done!()),
        Example::whole(r#"{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":null}]}"#),
    ],
};

const ERASED: Rule = Rule {
    id: "openai-chat/finish-reason-erased",
    severity: Severity::Warn,
    sentence: "No later chunk of a finished choice says null again.",
    source: "openai-go keeps the last, even null",
    check: |digest, found| {
        after_finish(digest, |delta| {
            if delta.finishes().is_none() {
                found.event(delta.event, path(delta), "null after a finish reason");
            }
        });
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[stream!(finish!("stop"), delta!("{}"), done!())],
};

const CONTENT_AFTER: Rule = Rule {
    id: "openai-chat/content-after-finish",
    severity: Severity::Error,
    sentence: "A finished choice says nothing more.",
    source: "OpenAI API reference, chat streaming; clients stop listening",
    check: |digest, found| {
        after_finish(digest, |delta| {
            if delta.speaks() {
                let path = format_args!("choices[{}].delta", delta.at);
                found.event(delta.event, path, "more of an answer after its finish reason");
            }
        });
    },
    good: &[stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), delta!(r#"{"content":"Hi"}"#), done!())],
};

fn path(delta: &Delta<'_>) -> String {
    format!("choices[{}].finish_reason", delta.at)
}

/// The deltas of each choice that follow its first finish reason.
fn after_finish(digest: &Digest<'_>, mut visit: impl FnMut(&Delta<'_>)) {
    for choice in digest.choices.iter().filter(|choice| !choice.finishes.is_empty()) {
        let late = digest.deltas_of(choice).skip_while(|delta| delta.finishes().is_none()).skip(1);
        late.for_each(&mut visit);
    }
}
