//! Rules about the HTTP answer around the events: labels, status, framing, timing.

use super::{Digest, Found, Rule, Severity};
use crate::{
    decode::{Framing, Payload},
    exchange::{End, Head},
    request::Mode,
};

/// Sixty-four events with a delta each.
macro_rules! burst {
    () => {
        concat!(four!(), four!(), four!(), four!())
    };
}

/// A quarter of them.
macro_rules! four {
    () => {
        concat!(row!(), row!(), row!(), row!())
    };
}

/// Four of them.
macro_rules! row {
    () => {
        concat!(
            delta!(r#"{"content":"a"}"#),
            delta!(r#"{"content":"b"}"#),
            delta!(r#"{"content":"c"}"#),
            delta!(r#"{"content":"d"}"#)
        )
    };
}

/// The rules of this file.
pub static RULES: &[Rule] = &[
    STREAM_CONTENT_TYPE,
    WHOLE_CONTENT_TYPE,
    WHOLE_UNREADABLE,
    STREAM_NOT_STREAMED,
    WHOLE_STREAMED,
    ERROR_BODY_2XX,
    ERROR_STATUS_SSE,
    CHUNKED_TRUNCATED,
    LENGTH_SHORT,
    H2_RESET,
    CLOSE_DELIMITED,
    TRUNCATED_AFTER_TERMINAL,
    BUFFERED_STREAM,
    IDLE_WITHOUT_KEEPALIVE,
    LINGER_AFTER_TERMINAL,
    CACHEABLE_STREAM,
];

/// A burst at the end is told from a short reply by at least this many events that bring text.
const BURST_EVENTS: usize = 64;

/// ... which came within this many microseconds, faster than any model decodes,
const BURST_WITHIN: u64 = 5_000;

/// ... after at least this many microseconds of silence.
const BURST_AFTER: u64 = 1_000_000;

/// Silence in a stream after which proxies on the way are known to give up, in microseconds.
const IDLE_LIMIT: u64 = 30_000_000;

/// Time that a connection may stay open after the sentinel, in microseconds.
const LINGER_LIMIT: u64 = 5_000_000;

const STREAM_CONTENT_TYPE: Rule = Rule {
    id: "http/stream-content-type",
    severity: Severity::Error,
    sentence: "A streamed reply is labelled text/event-stream, with no other charset than utf-8.",
    source: "WHATWG HTML, server-sent events",
    check: |digest, found| {
        let Some(head) = succeeded(digest).filter(|_| digest.streamed() && asked(digest) == Mode::Stream)
        else {
            return;
        };
        let value = head.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let foreign = value
            .split_once("charset=")
            .is_some_and(|(_, set)| !matches!(set.trim_matches(['"', ' ']), "utf-8" | "utf8"));
        if foreign || head.media_type() != "text/event-stream" {
            found.exchange(format_args!("content-type {value:?}"));
        }
    },
    good: &[
        stream!(finish!("stop"), done!()),
        stream!(finish!("stop"), done!()).content_type("text/event-stream; charset=utf-8"),
    ],
    bad: &[
        stream!(finish!("stop"), done!()).content_type("application/json"),
        stream!(finish!("stop"), done!()).content_type(""),
        stream!(finish!("stop"), done!()).content_type("text/event-stream; charset=latin1"),
    ],
};

const WHOLE_CONTENT_TYPE: Rule = Rule {
    id: "http/whole-content-type",
    severity: Severity::Error,
    sentence: "A whole reply, and an error before a stream, is labelled application/json.",
    source: "Open Responses specification; OpenAI API reference",
    check: |digest, found| {
        let exchange = digest.facts.exchange;
        let Some(head) = exchange.head.as_ref().filter(|_| !digest.streamed()) else { return };
        let whole = exchange.mode == Mode::Whole || head.status >= 400;
        let media = head.media_type();
        let json = media == "application/json" || media.ends_with("+json");
        let empty = exchange.slices.iter().all(|slice| slice.bytes.is_empty());
        if whole && !json && !empty {
            found.exchange(format_args!("content-type {media:?}"));
        }
    },
    good: &[
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop"),
        super::Example::stream("").status(502).content_type(""),
    ],
    bad: &[
        whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop").content_type("text/plain"),
        super::Example::whole("<html>bad gateway</html>").status(502).content_type("text/html"),
    ],
};

const WHOLE_UNREADABLE: Rule = Rule {
    id: "http/whole-unreadable",
    severity: Severity::Error,
    sentence: "A whole reply is one JSON object.",
    source: "RFC 8259; OpenAI API reference, chat completions",
    check: |digest, found| {
        let exchange = digest.facts.exchange;
        let readable = digest.streamed() || !digest.chunks.is_empty() || !digest.errors.is_empty();
        if exchange.mode == Mode::Whole && exchange.succeeded() && digest.ended() && !readable {
            found.exchange("a body that is none");
        }
    },
    good: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop")],
    bad: &[
        super::Example::whole(""),
        super::Example::whole("<html>ok</html>"),
        super::Example::whole(r#"{"id":"#),
    ],
};

const STREAM_NOT_STREAMED: Rule = Rule {
    id: "http/stream-not-streamed",
    severity: Severity::Error,
    sentence: "A request for a stream is not answered with one JSON document.",
    source: "openai-python: the raw iterator yields nothing and raises nothing",
    check: |digest, found| {
        if asked(digest) == Mode::Stream && whole_success(digest) && digest.errors.is_empty() {
            found.exchange("one JSON document");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop").asking(r#"{"model":"m","stream":true}"#)],
};

const WHOLE_STREAMED: Rule = Rule {
    id: "http/whole-streamed",
    severity: Severity::Error,
    sentence: "A request for a whole reply is not answered with an event stream.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        if asked(digest) == Mode::Whole && digest.streamed() && succeeded(digest).is_some() {
            found.exchange("an event stream");
        }
    },
    good: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop")],
    bad: &[stream!(finish!("stop"), done!()).asking(r#"{"model":"m"}"#)],
};

const ERROR_BODY_2XX: Rule = Rule {
    id: "http/error-body-2xx",
    severity: Severity::Error,
    sentence: "An error body comes with an error status.",
    source: "openai-python and openai-node: the error's text is lost",
    check: |digest, found| {
        if whole_success(digest) && !digest.errors.is_empty() {
            let status = digest.facts.exchange.status().unwrap_or_default();
            found.event(0, "error", format_args!("an error body under status {status}"));
        }
    },
    good: &[super::Example::whole(r#"{"error":{"message":"no such model"}}"#).status(404)],
    bad: &[
        super::Example::whole(r#"{"error":{"message":"no such model"}}"#),
        super::Example::whole(r#"{"object":"error","message":"no such model"}"#).asking(r#"{"stream":true}"#),
    ],
};

const ERROR_STATUS_SSE: Rule = Rule {
    id: "http/error-status-sse",
    severity: Severity::Warn,
    sentence: "The body of an error status is JSON, not an event stream.",
    source: "openai-python and openai-node: the structured message is lost",
    check: |digest, found| {
        let status = digest.facts.exchange.status().unwrap_or_default();
        if status >= 400 && digest.streamed() {
            found.exchange(format_args!("an event stream under status {status}"));
        }
    },
    good: &[super::Example::whole(r#"{"error":{"message":"no such model"}}"#).status(404)],
    bad: &[super::Example::stream("data: {\"error\":{\"message\":\"no such model\"}}\n\n").status(404)],
};

const CHUNKED_TRUNCATED: Rule = Rule {
    id: "http/chunked-truncated",
    severity: Severity::Error,
    sentence: "A chunked body ends with the empty chunk.",
    source: "RFC 9112, incomplete messages",
    check: |digest, found| {
        let chunked = |head: &Head| head.header("transfer-encoding").is_some_and(|v| v.contains("chunked"));
        cut(digest, chunked, found);
    },
    good: &[stream!(finish!("stop"), done!()).headers(&[("transfer-encoding", "chunked")])],
    bad: &[stream!(delta!(r#"{"content":"Hi"}"#))
        .headers(&[("transfer-encoding", "chunked")])
        .end(|| End::Cut("connection closed".into()))],
};

const LENGTH_SHORT: Rule = Rule {
    id: "http/length-short",
    severity: Severity::Error,
    sentence: "A body has as many bytes as content-length says.",
    source: "RFC 9112, incomplete messages",
    check: |digest, found| cut(digest, |head| head.header("content-length").is_some(), found),
    good: &[super::Example::whole(r#"{"error":{"message":"no"}}"#)
        .status(400)
        .headers(&[("content-length", "26")])],
    bad: &[super::Example::whole(r#"{"error":{"message"#)
        .headers(&[("content-length", "26")])
        .end(|| End::Cut("connection closed".into()))],
};

const H2_RESET: Rule = Rule {
    id: "http/h2-reset",
    severity: Severity::Error,
    sentence: "A body whose end only the transport marks, as in HTTP/2, is not ended by a reset.",
    source: "RFC 9113, stream states",
    check: |digest, found| {
        let framed = ["transfer-encoding", "content-length"];
        cut(digest, |head| framed.iter().all(|name| head.header(name).is_none()), found);
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"content":"Hi"}"#)).end(|| End::Cut("stream reset".into()))],
};

const CLOSE_DELIMITED: Rule = Rule {
    id: "http/close-delimited",
    severity: Severity::Warn,
    sentence: "A stream says in its framing where it ends, so that a loss shows.",
    source: "RFC 9112, incomplete messages; openai-python hands out half an answer",
    check: |digest, found| {
        if digest.streamed() && digest.facts.exchange.end == End::CloseDelimited {
            found.exchange("the close of the connection as the only end");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), done!()).end(|| End::CloseDelimited)],
};

const TRUNCATED_AFTER_TERMINAL: Rule = Rule {
    id: "http/truncated-after-terminal",
    severity: Severity::Warn,
    sentence: "After the sentinel the transport ends cleanly too.",
    source: "RFC 9112, incomplete messages; some clients raise although all was said",
    check: |digest, found| {
        if let (End::Cut(cause), false) = (&digest.facts.exchange.end, digest.done.is_empty()) {
            found.exchange(format_args!("a broken transport after the sentinel: {cause}"));
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), done!()).end(|| End::Cut("connection closed".into()))],
};

const BUFFERED_STREAM: Rule = Rule {
    id: "http/buffered-stream",
    // Our own machine may have slept through the stream, so this alone is no ground to complain.
    severity: Severity::Info,
    sentence: "Events arrive while the answer is generated, not in one burst at its end.",
    source: "own reasoning: something on the way buffers",
    check: |digest, found| {
        let events = &digest.facts.decoded.events;
        let speaking = digest.deltas.iter().filter(|delta| delta.speaks()).count();
        if let (Some(first), Some(last), true) = (events.first(), events.last(), speaking >= BURST_EVENTS) {
            let took = last.arrived.saturating_sub(first.arrived);
            if first.arrived >= BURST_AFTER && took <= BURST_WITHIN {
                let (waited, took) = (first.arrived / 1000, took / 1000);
                found.exchange(format_args!(
                    "{speaking} deltas within {took} ms after {waited} ms of silence"
                ));
            }
        }
    },
    good: &[stream!(burst!(), finish!("stop"), done!()).arriving(&[(4000, 1_200_000)], 1_900_000)],
    bad: &[stream!(burst!(), finish!("stop"), done!()).arriving(&[], 1_900_000)],
};

const IDLE_WITHOUT_KEEPALIVE: Rule = Rule {
    id: "http/idle-without-keepalive",
    severity: Severity::Info,
    sentence: "No silence in a stream is so long that something on the way gives up; comments keep it alive.",
    source: "own reasoning: common idle limits of proxies",
    check: |digest, found| {
        let slices = &digest.facts.exchange.slices;
        let gaps = slices.windows(2).filter_map(|pair| match pair {
            [before, after] => Some(after.at.saturating_sub(before.at)),
            _ => None,
        });
        if let Some(longest) = gaps.max().filter(|gap| *gap > IDLE_LIMIT && digest.streamed()) {
            found.exchange(format_args!("{} s without a byte", longest / 1_000_000));
        }
    },
    good: &[stream!(finish!("stop"), done!()).arriving(&[(20, 1_000_000)], 2_000_000)],
    bad: &[stream!(finish!("stop"), done!()).arriving(&[(20, 1_000_000)], 61_000_000)],
};

const LINGER_AFTER_TERMINAL: Rule = Rule {
    id: "http/linger-after-terminal",
    severity: Severity::Warn,
    sentence: "The answer ends soon after the sentinel.",
    source: "openai-python waits for the end of the body before it frees the connection",
    check: |digest, found| {
        let exchange = digest.facts.exchange;
        let last = exchange.slices.last().map_or(exchange.took.end, |slice| slice.at);
        let lingered = exchange.took.end.saturating_sub(last);
        if !digest.done.is_empty() && lingered > LINGER_LIMIT {
            found.exchange(format_args!("{} s of silence after the sentinel", lingered / 1_000_000));
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(finish!("stop"), done!()).arriving(&[(usize::MAX, 1_000_000)], 20_000_000)],
};

const CACHEABLE_STREAM: Rule = Rule {
    id: "http/cacheable-stream",
    severity: Severity::Info,
    sentence: "A streamed reply is not offered to caches.",
    source: "RFC 9111: an answer to POST is stored only where freshness is stated",
    check: |digest, found| {
        let Some(head) = succeeded(digest).filter(|_| digest.streamed()) else { return };
        let value = head.header("cache-control").unwrap_or_default().to_ascii_lowercase();
        let fresh = value.split(',').map(str::trim).any(|part| {
            part == "public" || part.strip_prefix("max-age=").is_some_and(|age| age.parse() != Ok(0u64))
        });
        if fresh && !value.contains("no-store") && !value.contains("no-cache") {
            found.exchange(format_args!("cache-control {value:?}"));
        }
    },
    good: &[
        stream!(finish!("stop"), done!()),
        stream!(finish!("stop"), done!()).headers(&[("cache-control", "no-cache, max-age=0")]),
    ],
    bad: &[stream!(finish!("stop"), done!()).headers(&[("cache-control", "public, max-age=3600")])],
};

/// The head of a 2xx answer.
fn succeeded<'a>(digest: &Digest<'a>) -> Option<&'a Head> {
    digest.facts.exchange.head.as_ref().filter(|_| digest.facts.exchange.succeeded())
}

/// Whether a 2xx answer is one JSON document.
fn whole_success(digest: &Digest<'_>) -> bool {
    digest.facts.decoded.framing == Framing::Json
        && succeeded(digest).is_some()
        && digest.facts.decoded.events.iter().any(|event| matches!(event.payload, Payload::Json(_)))
}

const fn asked(digest: &Digest<'_>) -> Mode {
    digest.facts.exchange.mode
}

/// Says that the body was cut, if it was, if it is `framed` so, and if the sentinel had not come yet.
fn cut(digest: &Digest<'_>, framed: impl Fn(&Head) -> bool, found: &mut Found<'_>) {
    let exchange = digest.facts.exchange;
    if let (End::Cut(cause), Some(head), true) = (&exchange.end, &exchange.head, digest.done.is_empty())
        && framed(head)
    {
        found.exchange(format_args!("a body that breaks off: {cause}"));
    }
}
