//! What was sent and what came back: head, byte slices with arrival times, how it ended. The only stage with IO.

use crate::{
    plan::Rounds,
    request::{Mode, Request},
};
use bytes::Bytes;

pub mod arrivals;
pub mod budget;
pub mod clock;
pub mod credentials;
mod echo;
pub mod end;
mod pieces;
pub mod root;
pub mod secrets;
pub mod send;

pub use arrivals::Arrivals;
pub use budget::Budget;
pub use credentials::Credentials;
pub use end::End;
pub use root::{BadRoot, Root};
pub use secrets::Secrets;
pub use send::{Limits, Sender};

/// One HTTP request and its response.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Whole or streamed, as asked.
    pub mode: Mode,
    /// The schedule that was asked for; `None` where the server's own was taken.
    pub rounds: Option<Rounds>,
    /// What was sent.
    pub request: Request,
    /// Status line and headers; `None` if none came.
    pub head: Option<Head>,
    /// The body, in the slices in which it arrived (chunked framing already removed).
    pub slices: Vec<Slice>,
    /// How the response ended.
    pub end: End,
    /// Microseconds from sending to the head, and to the end.
    pub took: Took,
}

/// Status and headers of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// HTTP status code.
    pub status: u16,
    /// Names in lower case, in order of arrival; a value that is not UTF-8 is decoded lossily.
    pub headers: Vec<(String, String)>,
}

/// Some bytes of a body and when they arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Microseconds since the request was sent.
    pub at: u64,
    /// What arrived.
    pub bytes: Bytes,
}

/// Durations in microseconds since the request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Took {
    /// Until the head was read.
    pub head: u64,
    /// Until the response ended.
    pub end: u64,
}

/// The size of the largest of their bodies.
pub fn largest_body(exchanges: &[Exchange]) -> usize {
    exchanges.iter().map(Exchange::received).max().unwrap_or_default()
}

// === impl Exchange ===

impl Exchange {
    /// The body in one piece.
    pub fn body(&self) -> Bytes {
        match self.slices.as_slice() {
            [] => Bytes::new(),
            [one] => one.bytes.clone(),
            many => {
                let mut body = Vec::with_capacity(self.received());
                for slice in many {
                    body.extend_from_slice(&slice.bytes);
                }
                body.into()
            }
        }
    }

    /// How many bytes of it are there.
    pub fn received(&self) -> usize {
        self.slices.iter().map(|slice| slice.bytes.len()).sum()
    }

    /// HTTP status; `None` if no head came.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|h| h.status)
    }

    /// Whether a head with a status from 200 to 299 came.
    pub fn succeeded(&self) -> bool {
        self.status().is_some_and(|s| (200..300).contains(&s))
    }

    /// Whether it timed out while bytes still came: its time as a whole was up, which is [`send::PATIENCE`] times as long as
    /// may pass without a byte.
    pub fn trickled(&self) -> bool {
        let last = self.slices.last().map_or(0, |slice| slice.at);
        let silent = self.took.end.saturating_sub(last);
        self.end == End::TimedOut && silent.saturating_mul(send::PATIENCE.into()) < self.took.end
    }

    /// The rounds as reports name them: the schedule, or `-`.
    pub fn rounds_name(&self) -> String {
        self.rounds.map_or_else(|| "-".to_owned(), |r| r.to_string())
    }
}

// === impl Head ===

impl Head {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The media type without parameters, in lower case; empty where there is none.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// How the body is coded, where it is not sent as it is. Nothing here decodes it.
    pub fn coding(&self) -> Option<&str> {
        let coding = self.header("content-encoding")?.trim();
        (!coding.is_empty() && !coding.eq_ignore_ascii_case("identity")).then_some(coding)
    }
}
