//! Rules about the sentinel that ends a stream.

use crate::{
    decode::AnomalyKind,
    rules::{Digest, Rule, Severity},
};

/// The rules of this file.
pub static RULES: &[Rule] = &[DONE_MISSING, DONE_EXACT, DONE_DUPLICATE];

const DONE_MISSING: Rule = Rule {
    id: "openai-chat/done-missing",
    severity: Severity::Error,
    sentence: "A stream ends with [DONE].",
    source: "OpenAI API reference, chat streaming; a loss would not show without it",
    check: |digest, found| {
        let began = digest.streamed() && !digest.chunks.is_empty() && digest.errors.is_empty();
        if began && digest.done.is_empty() && !inexact(digest) && digest.ended() {
            found.exchange("an end without it");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"))],
};

const DONE_EXACT: Rule = Rule {
    id: "openai-chat/done-exact",
    severity: Severity::Warn,
    sentence: "The sentinel is exactly [DONE].",
    source: "OpenAI API reference, chat streaming; others are read as JSON",
    check: |_, found| {
        found.anomalies(|kind| {
            (*kind == AnomalyKind::InexactDone).then(|| "a sentinel with something around it".to_owned())
        });
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), "data: [DONE] \n\n"), stream!(finish!("stop"), "data: [done]\n\n")],
};

const DONE_DUPLICATE: Rule = Rule {
    id: "openai-chat/done-duplicate",
    severity: Severity::Info,
    sentence: "The sentinel comes once.",
    source: "own reasoning: two layers end one stream",
    check: |digest, found| {
        for event in digest.done.iter().skip(1) {
            found.event(*event, "", "the sentinel again");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), done!(), done!())],
};

fn inexact(digest: &Digest<'_>) -> bool {
    digest.facts.decoded.anomalies.iter().any(|anomaly| anomaly.kind == AnomalyKind::InexactDone)
}
