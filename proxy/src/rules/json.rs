//! Rules about the JSON inside events, and inside a whole reply: what some readers accept and others do not.

use super::{Example, Rule, Severity, sse_bytes::anomaly};
use crate::decode::AnomalyKind;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    DATA_NOT_JSON,
    MISSING_BLANK_LINE,
    NONFINITE,
    DUPLICATE_KEY,
    LONE_SURROGATE,
    RAW_LINE_SEPARATOR,
    TOO_DEEP,
    LIST_SIZE,
];

const DATA_NOT_JSON: Rule = Rule {
    id: "sse/data-not-json",
    severity: Severity::Error,
    sentence: "A payload is JSON or the sentinel.",
    source: "OpenAI API reference, chat streaming; the official clients raise",
    check: |digest, found| {
        // Of a whole reply that is no JSON http/whole-unreadable speaks.
        if digest.streamed() {
            found.anomalies(|kind| match kind {
                AnomalyKind::NotJson(why) => Some(format!("data that is no JSON: {why}")),
                _ => None,
            });
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"a\":\n\n"), Example::stream("data: ping\n\n")],
};

const MISSING_BLANK_LINE: Rule = Rule {
    id: "sse/missing-blank-line",
    severity: Severity::Error,
    sentence: "An event holds one JSON document, not two glued by a missing blank line.",
    source: "the official clients raise",
    check: anomaly!(AnomalyKind::GluedJson => "two JSON documents in one event"),
    good: &[Example::stream("data: {\"a\":1}\n\ndata: {\"a\":2}\n\n")],
    bad: &[Example::stream("data: {\"a\":1}\ndata: {\"a\":2}\n\n")],
};

const NONFINITE: Rule = Rule {
    id: "sse/json-nonfinite",
    severity: Severity::Error,
    sentence: "JSON holds no NaN and no Infinity.",
    source: "RFC 8259; openai-node and openai-go raise, openai-python does not",
    check: anomaly!(AnomalyKind::NonFiniteNumber => "a number that is not finite"),
    good: &[Example::stream("data: {\"a\":-9999.0}\n\n")],
    bad: &[Example::stream("data: {\"a\":NaN}\n\n"), Example::stream("data: {\"a\":-Infinity}\n\n")],
};

const DUPLICATE_KEY: Rule = Rule {
    id: "sse/json-duplicate-key",
    severity: Severity::Warn,
    sentence: "The keys of a JSON object are unique.",
    source: "RFC 8259: readers differ in which one they keep",
    check: anomaly!(AnomalyKind::DuplicateKey(pointer) => format_args!("a repeated key at {pointer}")),
    good: &[Example::stream("data: {\"a\":{\"b\":1},\"b\":2}\n\n")],
    bad: &[Example::stream("data: {\"a\":1,\"a\":2}\n\n")],
};

const LONE_SURROGATE: Rule = Rule {
    id: "sse/json-lone-surrogate",
    severity: Severity::Warn,
    sentence: "A surrogate escape is paired within its string, even if the next event brings the other half.",
    source: "RFC 8259; strict readers reject it",
    check: anomaly!(AnomalyKind::LoneSurrogate => "half a surrogate pair"),
    good: &[Example::stream("data: {\"a\":\"\\ud83d\\ude00\"}\n\n")],
    bad: &[Example::stream("data: {\"a\":\"\\ud83d\"}\n\n")],
};

const RAW_LINE_SEPARATOR: Rule = Rule {
    id: "sse/json-raw-line-separator",
    severity: Severity::Info,
    sentence: "A raw U+2028, U+2029 or U+0085 in a string is legal, and recorded.",
    source: "RFC 8259; readers that split at Unicode line ends break",
    check: anomaly!(AnomalyKind::RawLineSeparator => "a raw line separator in a string"),
    good: &[Example::stream("data: {\"a\":\"\\u2028\"}\n\n")],
    bad: &[Example::stream("data: {\"a\":\"\u{2028}\"}\n\n")],
};

const TOO_DEEP: Rule = Rule {
    id: "sse/json-too-deep",
    severity: Severity::Warn,
    sentence: "JSON is nested less deep than the cap.",
    source: "RFC 8259 lets readers set one",
    check: anomaly!(AnomalyKind::TooDeep => "nesting over the cap"),
    good: &[Example::stream("data: {\"a\":[[[1]]]}\n\n")],
    // Its size depends on the cap: shown by an anomaly in the unit tests.
    bad: &[],
};

const LIST_SIZE: Rule = Rule {
    id: "sse/json-list-size",
    severity: Severity::Info,
    sentence: "A list in a document is read to its end; of one that would take too much memory only the start is judged.",
    source: "own reasoning: logprobs with many alternatives grow large",
    check: anomaly!(AnomalyKind::ShortenedList => "a list of which only the first items are judged"),
    good: &[Example::stream("data: {\"a\":[1,2,3]}\n\n")],
    // Its size depends on the cap: shown by an anomaly in the unit tests.
    bad: &[],
};
