//! Rules about the blocks of an event stream: fields, names, what ends it.

use super::{Example, Rule, Severity, sse_bytes::anomaly};
use crate::{
    decode::{AnomalyKind, Framing, Payload},
    request::Mode,
};

/// The rules of this file.
pub static RULES: &[Rule] = &[
    UNTERMINATED_EVENT,
    UNKNOWN_FIELD,
    DATA_NO_SPACE,
    DATA_MULTILINE,
    EVENT_WITHOUT_DATA,
    EMPTY_DATA,
    ID_USED,
    ID_NUL,
    RETRY_USED,
    RETRY_NOT_DIGITS,
    COMMENT,
    EVENT_NAME_UNEXPECTED,
    AFTER_TERMINAL,
    NO_EVENTS,
];

/// Names of events that servers send on purpose in a dialect without names.
const NAMED_ON_PURPOSE: [&str; 1] = ["sglext_ids"];

const UNTERMINATED_EVENT: Rule = Rule {
    id: "sse/unterminated-event",
    severity: Severity::Error,
    sentence: "The last block is closed by a blank line.",
    source: "WHATWG HTML, server-sent events; openai-python drops it in silence",
    check: |digest, found| {
        // Of a broken transport the HTTP rules speak.
        if digest.facts.exchange.end.is_clean() {
            found.anomalies(|kind| {
                (*kind == AnomalyKind::UnterminatedEvent).then(|| "a block without its blank line".to_owned())
            });
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"a\":1}\n\ndata: [DONE]\n")],
};

const UNKNOWN_FIELD: Rule = Rule {
    id: "sse/unknown-field",
    severity: Severity::Warn,
    sentence: "Only the fields data, event, id and retry are sent, in lower case.",
    source: "WHATWG HTML, server-sent events; llama.cpp#16109",
    check: anomaly!(AnomalyKind::UnknownField(name) => format_args!("a field {name:?}, which clients skip")),
    good: &[Example::stream(": hello\n\ndata: {\"a\":1}\n\n")],
    bad: &[Example::stream("error: {\"message\":\"no\"}\n\n"), Example::stream("Data: {\"a\":1}\n\n")],
};

const DATA_NO_SPACE: Rule = Rule {
    id: "sse/data-no-space",
    severity: Severity::Info,
    sentence: "The colon after data is followed by one space.",
    source: "WHATWG HTML allows it; readers that look for `data: ` miss the event",
    check: anomaly!(AnomalyKind::DataWithoutSpace => "`data:` without a space"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream("data:{\"a\":1}\n\n")],
};

const DATA_MULTILINE: Rule = Rule {
    id: "sse/data-multiline",
    severity: Severity::Info,
    sentence: "A payload sits on one data line.",
    source: "WHATWG HTML allows it; readers that go by line miss the rest",
    check: anomaly!(AnomalyKind::MultilineData => "a payload over several data lines"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream("data: {\"a\":\ndata: 1}\n\n")],
};

const EVENT_WITHOUT_DATA: Rule = Rule {
    id: "sse/event-without-data",
    severity: Severity::Warn,
    sentence: "No block consists of event, id or retry alone.",
    source: "WHATWG HTML, server-sent events; openai-python and openai-node raise",
    check: anomaly!(AnomalyKind::EventWithoutData => "a block without data"),
    good: &[Example::stream(": ping\n\ndata: {\"a\":1}\n\n")],
    bad: &[Example::stream("event: ping\n\ndata: {\"a\":1}\n\n")],
};

const EMPTY_DATA: Rule = Rule {
    id: "sse/empty-data",
    severity: Severity::Error,
    sentence: "No event has empty data.",
    source: "openai-python, openai-node and openai-go raise",
    check: anomaly!(AnomalyKind::EmptyData => "an event with empty data"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream("data:\n\ndata: {\"a\":1}\n\n")],
};

const ID_USED: Rule = Rule {
    id: "sse/id-used",
    severity: Severity::Warn,
    sentence: "No id field is sent on an answer that cannot be resumed.",
    source: "Open Responses specification; openai-python raises at a blank line after one",
    check: anomaly!(AnomalyKind::IdField => "an id field"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream("id: 7\ndata: {\"a\":1}\n\n")],
};

const ID_NUL: Rule = Rule {
    id: "sse/id-nul",
    severity: Severity::Info,
    sentence: "An id field holds no NUL.",
    source: "WHATWG HTML, server-sent events: it is ignored",
    check: anomaly!(AnomalyKind::IdWithNul => "an id field with a NUL"),
    good: &[Example::stream("id: 7\ndata: {\"a\":1}\n\n")],
    bad: &[Example::stream("id: 7\0\ndata: {\"a\":1}\n\n")],
};

const RETRY_USED: Rule = Rule {
    id: "sse/retry-used",
    severity: Severity::Info,
    sentence: "No retry field is sent where there is nothing to reconnect to.",
    source: "WHATWG HTML, server-sent events",
    check: anomaly!(AnomalyKind::RetryField => "a retry field"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream("retry: 1000\ndata: {\"a\":1}\n\n")],
};

const RETRY_NOT_DIGITS: Rule = Rule {
    id: "sse/retry-not-digits",
    severity: Severity::Info,
    sentence: "A retry field is ASCII digits.",
    source: "WHATWG HTML, server-sent events: it is ignored",
    check: anomaly!(AnomalyKind::RetryNotDigits => "a retry field that is no number"),
    good: &[Example::stream("retry: 1000\ndata: {\"a\":1}\n\n")],
    bad: &[Example::stream("retry: 1s\ndata: {\"a\":1}\n\n")],
};

const COMMENT: Rule = Rule {
    id: "sse/comment",
    severity: Severity::Info,
    sentence: "Comments are legal, and recorded.",
    source: "WHATWG HTML, server-sent events; google-genai fails on them",
    check: anomaly!(AnomalyKind::Comment => "a comment"),
    good: &[Example::stream("data: {\"a\":1}\n\n")],
    bad: &[Example::stream(": keep-alive\n\ndata: {\"a\":1}\n\n")],
};

const EVENT_NAME_UNEXPECTED: Rule = Rule {
    id: "sse/event-name-unexpected",
    severity: Severity::Info,
    sentence: "Events carry no name in a dialect that has none.",
    source: "OpenAI API reference, chat streaming; some clients lose named events",
    check: |digest, found| {
        for (at, event) in digest.facts.decoded.events.iter().enumerate() {
            if let Some(name) = event.name.as_deref().filter(|name| !NAMED_ON_PURPOSE.contains(name)) {
                found.event(at, "event", format_args!("the name {name:?}"));
            }
        }
    },
    good: &[Example::stream("event: sglext_ids\ndata: {\"a\":1}\n\n")],
    bad: &[Example::stream("event: chunk\ndata: {\"a\":1}\n\n")],
};

const AFTER_TERMINAL: Rule = Rule {
    id: "sse/after-terminal",
    severity: Severity::Warn,
    sentence: "Nothing but comments follows the sentinel.",
    source: "openai-python, openai-node and openai-go stop reading there",
    check: |digest, found| {
        let Some(&done) = digest.done.first() else { return };
        for (at, event) in digest.facts.decoded.events.iter().enumerate().skip(done + 1) {
            if event.payload != Payload::Done {
                found.event(at, "", "an event after the sentinel, which clients do not read");
            }
        }
    },
    good: &[stream!(finish!("stop"), done!(), ": bye\n\n")],
    bad: &[stream!(finish!("stop"), done!(), usage!(1, 2, 3))],
};

const NO_EVENTS: Rule = Rule {
    id: "sse/no-events",
    severity: Severity::Error,
    sentence: "A stream has at least one event.",
    source: "openai-python: an empty stream is an empty answer without an error",
    check: |digest, found| {
        let facts = &digest.facts;
        let stream = facts.exchange.mode == Mode::Stream && facts.decoded.framing != Framing::Json;
        let is_empty = facts.decoded.events.is_empty() && !facts.decoded.is_partial();
        if stream && facts.exchange.succeeded() && is_empty {
            found.exchange("no event at all");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream(""), Example::stream(": nothing\n\n"), Example::stream("<html></html>")],
};
