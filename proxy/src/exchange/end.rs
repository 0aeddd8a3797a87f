//! Every way a response can end, by name, and what an error of the client means.

use std::{error::Error, io};

/// How a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The framing says that all of it came.
    Complete,
    /// No framing said how long it is: the close of the connection is the end, and a loss would not show.
    CloseDelimited,
    /// The connection closed before the framing said so.
    Cut(String),
    /// No connection was made.
    Refused(String),
    /// Nothing came for too long.
    TimedOut,
    /// The other side went away and took the exchange with it (live proxy), or we were told to stop.
    Cancelled,
    /// The response grew over the cap; what came until then is kept.
    TooLarge,
    /// The response breaks HTTP itself.
    Malformed(String),
}

// === impl End ===

impl End {
    /// Whether the body can be taken as all there is.
    pub const fn is_clean(&self) -> bool {
        matches!(self, Self::Complete | Self::CloseDelimited)
    }

    /// What an error before the head means.
    pub fn before_head(error: &reqwest::Error) -> Self {
        if error.is_connect() { Self::Refused(innermost(error)) } else { Self::in_body(error) }
    }

    /// What an error means once a connection stands.
    pub fn in_body(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::TimedOut;
        }
        let why = innermost(error);
        if causes(error).any(breaks_http) { Self::Malformed(why) } else { Self::Cut(why) }
    }
}

/// Whether the bytes that came are no HTTP, as against bytes that did not come.
fn breaks_http(error: &(dyn Error + 'static)) -> bool {
    // A chunk size that is no number is told by these kinds of input error.
    let is_bad_chunk =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
        || error.downcast_ref::<io::Error>().is_some_and(is_bad_chunk)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e: &&'a (dyn Error + 'static)| (*e).source())
}

/// The last cause, which is the one that says something; the address, which may hold a key, stands in none but the first.
fn innermost(error: &reqwest::Error) -> String {
    match causes(error).skip(1).last() {
        Some(cause) => cause.to_string(),
        None => "the connection failed".to_owned(),
    }
}
