//! Examples of a rule: one exchange each, written down as constants and run through the public door.
//!
//! In: a literal body and, where it matters, what was asked and how the answer came. Out: an [`Exchange`].
//! The macros spell the parts of a chat stream, so that an example shows little but what it is about.

use crate::{
    exchange::{End, Exchange, Head, Slice, Took},
    request::{Dialect, Mode, Request},
};
use bytes::Bytes;

/// One exchange that keeps or breaks a rule.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The body of the answer.
    pub body: &'static [u8],
    /// The body of the request.
    pub request: &'static str,
    /// HTTP status.
    pub status: u16,
    /// `content-type`; empty for none.
    pub content_type: &'static str,
    /// Headers beside it.
    pub headers: &'static [(&'static str, &'static str)],
    /// How the answer ended.
    pub end: fn() -> End,
    /// Slices as (bytes, microseconds); what they leave over comes in one more slice. Empty: all at once.
    pub slices: &'static [(usize, u64)],
    /// When the answer ended, in microseconds.
    pub ended: u64,
}

// === impl Example ===

impl Example {
    /// An event stream that was asked for.
    pub const fn stream(body: &'static str) -> Self {
        Self::bytes(body.as_bytes())
    }

    /// An event stream that is not valid UTF-8.
    pub const fn bytes(body: &'static [u8]) -> Self {
        Self {
            body,
            request: r#"{"model":"m","messages":[],"stream":true}"#,
            status: 200,
            content_type: "text/event-stream",
            headers: &[],
            end: || End::Complete,
            slices: &[],
            ended: 1000,
        }
    }

    /// A JSON document that was asked for.
    pub const fn whole(body: &'static str) -> Self {
        let request = r#"{"model":"m","messages":[]}"#;
        Self { request, content_type: "application/json", ..Self::bytes(body.as_bytes()) }
    }

    /// Asked by this body.
    #[must_use]
    pub const fn asking(self, request: &'static str) -> Self {
        Self { request, ..self }
    }

    /// Answered with this status.
    #[must_use]
    pub const fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Labelled so.
    #[must_use]
    pub const fn content_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }

    /// With these headers too.
    #[must_use]
    pub const fn headers(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }

    /// Ended so.
    #[must_use]
    pub const fn end(self, end: fn() -> End) -> Self {
        Self { end, ..self }
    }

    /// Arrived in these slices, (bytes, microseconds) each, and ended then.
    #[must_use]
    pub const fn arriving(self, slices: &'static [(usize, u64)], ended: u64) -> Self {
        Self { slices, ended, ..self }
    }

    /// The exchange that it stands for.
    pub fn exchange(&self) -> Exchange {
        let request = Request {
            dialect: Dialect::OpenaiChat,
            path: "/v1/chat/completions".to_owned(),
            headers: Vec::new(),
            body: Bytes::from_static(self.request.as_bytes()),
        };
        Exchange {
            mode: if request.asked().stream { Mode::Stream } else { Mode::Whole },
            rounds: None,
            request,
            head: Some(Head { status: self.status, headers: self.all_headers() }),
            slices: self.all_slices(),
            end: (self.end)(),
            took: Took { head: 500, end: self.ended },
        }
    }

    fn all_headers(&self) -> Vec<(String, String)> {
        let typed = [("content-type", self.content_type)].into_iter().filter(|(_, value)| !value.is_empty());
        typed.chain(self.headers.iter().copied()).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
    }

    fn all_slices(&self) -> Vec<Slice> {
        let mut rest = self.body;
        let mut slices = Vec::new();
        for &(length, at) in self.slices.iter().chain(&[(usize::MAX, self.ended)]) {
            let (slice, after) = rest.split_at(length.min(rest.len()));
            rest = after;
            if !slice.is_empty() {
                slices.push(Slice { at, bytes: Bytes::from_static(slice) });
            }
        }
        slices
    }
}

// === parts of a chat stream ===

/// One event with a chunk: its choices, and further members of the chunk, if any.
macro_rules! chunk {
    ($choices:literal $(, $more:literal)?) => {
        concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":["#,
            $choices,
            "]",
            $(",", $more,)?
            "}\n\n"
        )
    };
}

/// One event with a delta of choice 0.
macro_rules! delta {
    ($delta:literal) => {
        concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":"#,
            $delta,
            r#","finish_reason":null}]}"#,
            "\n\n"
        )
    };
}

/// One event with a fragment of a tool call of choice 0.
macro_rules! call {
    ($fragment:literal) => {
        concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":["#,
            $fragment,
            r#"]},"finish_reason":null}]}"#,
            "\n\n"
        )
    };
}

/// The event that finishes choice 0.
macro_rules! finish {
    ($reason:literal) => {
        concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":""#,
            $reason,
            "\"}]}\n\n"
        )
    };
}

/// The usage event: prompt, completion and total tokens.
macro_rules! usage {
    ($prompt:literal, $completion:literal, $total:literal) => {
        concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":"#,
            $prompt,
            r#","completion_tokens":"#,
            $completion,
            r#","total_tokens":"#,
            $total,
            "}}\n\n"
        )
    };
}

/// The first event of choice 0.
macro_rules! role {
    () => {
        delta!(r#"{"role":"assistant","content":null}"#)
    };
}

/// The sentinel.
macro_rules! done {
    () => {
        "data: [DONE]\n\n"
    };
}

/// A stream: the role event, then these.
macro_rules! stream {
    ($($part:tt)*) => {
        $crate::rules::Example::stream(concat!(role!(), $($part)*))
    };
}

/// A whole reply: the message of choice 0, its finish reason, and further members, if any.
macro_rules! whole {
    ($message:literal, $finish:literal $(, $more:literal)?) => {
        $crate::rules::Example::whole(concat!(
            r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":"#,
            $message,
            r#","finish_reason":""#,
            $finish,
            "\"}]",
            $(",", $more,)?
            "}"
        ))
    };
}
