//! Rules about the bytes of an event stream: encoding, byte order marks, line ends, size.

use super::{Example, Rule, Severity};
use crate::decode::AnomalyKind;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    INVALID_UTF8,
    UTF8_BOUNDARY,
    BOM_LEADING,
    BOM_INNER,
    CR_LINE_ENDS,
    MIXED_LINE_ENDS,
    NUL_BYTE,
    EVENT_SIZE,
];

/// What an anomaly is called, if it is of the kind that a rule looks for.
macro_rules! anomaly {
    ($pattern:pat => $found:expr) => {
        |_, found| found.anomalies(|kind| if let $pattern = kind { Some($found.to_string()) } else { None })
    };
}
pub(super) use anomaly;

const INVALID_UTF8: Rule = Rule {
    id: "sse/invalid-utf8",
    severity: Severity::Error,
    sentence: "All bytes are valid UTF-8.",
    source: "WHATWG HTML, server-sent events; RFC 8259; openai-python raises",
    check: anomaly!(AnomalyKind::InvalidUtf8 => "bytes that are not UTF-8"),
    good: &[stream!(delta!(r#"{"content":"é"}"#), finish!("stop"), done!())],
    bad: &[Example::bytes(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xc3\"}}]}\n\n")],
};

const UTF8_BOUNDARY: Rule = Rule {
    id: "sse/utf8-boundary",
    severity: Severity::Info,
    sentence: "A slice that ends inside a character is legal; it is counted, so that coverage is known.",
    source: "own reasoning",
    check: anomaly!(AnomalyKind::SplitCharacter => "a slice that ends inside a character"),
    good: &[Example::stream("data: {\"a\":\"é\"}\n\n")],
    bad: &[Example::stream("data: {\"a\":\"é\"}\n\n").arriving(&[(13, 10)], 20)],
};

const BOM_LEADING: Rule = Rule {
    id: "sse/bom-leading",
    severity: Severity::Warn,
    sentence: "A stream does not begin with a byte order mark.",
    source: "openai-python#3819: the first event is lost",
    check: anomaly!(AnomalyKind::LeadingBom => "a byte order mark"),
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream("\u{feff}data: {\"a\":1}\n\n")],
};

const BOM_INNER: Rule = Rule {
    id: "sse/bom-inner",
    severity: Severity::Error,
    sentence: "No later line begins with a byte order mark, which would be part of the field's name.",
    source: "WHATWG HTML, server-sent events",
    check: anomaly!(AnomalyKind::InnerBom => "a byte order mark"),
    good: &[stream!(delta!("{\"content\":\"\u{feff}\"}"), finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"a\":1}\n\n\u{feff}data: {\"a\":2}\n\n")],
};

const CR_LINE_ENDS: Rule = Rule {
    id: "sse/cr-line-ends",
    severity: Severity::Warn,
    sentence: "A bare CR does not end a line.",
    source: "WHATWG HTML allows it; openai-go reads one endless line",
    check: anomaly!(AnomalyKind::CarriageReturn => "a bare CR as line end"),
    good: &[Example::stream("data: {\"a\":1}\r\n\r\n")],
    bad: &[Example::stream("data: {\"a\":1}\r\rdata: {\"a\":2}\r\r")],
};

const MIXED_LINE_ENDS: Rule = Rule {
    id: "sse/mixed-line-ends",
    severity: Severity::Info,
    sentence: "One style of line end holds throughout.",
    source: "own reasoning: two writers share one stream",
    check: anomaly!(AnomalyKind::MixedLineEnds => "more than one style of line end"),
    good: &[Example::stream("data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\r\n\r\n")],
    bad: &[Example::stream("data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\n\n")],
};

const NUL_BYTE: Rule = Rule {
    id: "sse/nul-byte",
    severity: Severity::Warn,
    sentence: "No NUL byte is sent.",
    source: "own reasoning: C readers stop there",
    check: anomaly!(AnomalyKind::NulByte => "a NUL byte"),
    good: &[stream!(delta!(r#"{"content":"\u0000"}"#), finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"a\":1}\n\n: \0\n\n")],
};

const EVENT_SIZE: Rule = Rule {
    id: "sse/event-size",
    severity: Severity::Info,
    sentence: "An event is smaller than the cap.",
    source: "openai-go: line readers have a cap",
    check: anomaly!(AnomalyKind::OversizeEvent => "an event over the cap"),
    good: &[stream!(finish!("stop"), done!())],
    // Megabytes: shown by an anomaly in the unit tests.
    bad: &[],
};
