//! `eventsource-stream` as a second opinion: how a Rust client that follows the WHATWG text reads a stream.
//!
//! It is guarded, since it panics on a byte order mark, gives up at one bad byte, and is quadratic in what it is
//! handed and in the length of a line. Bias: what it cannot be asked is not held against the stream.

use super::{AnomalyKind, Decoded, Event, quiet::quietly};
use eventsource_stream::EventStream;
use futures_util::{FutureExt, StreamExt, stream};
use memchr::{memchr2, memchr2_iter};
use std::convert::Infallible;

/// The most it is handed at a time.
const FEED: usize = 4 << 10;

/// From this length on a piece ends with its line: for each line it copies what it holds after it, so that pieces of
/// many short lines cost it their square.
const SHORT: usize = 64;

/// The longest line it is asked about.
const MAX_LINE: usize = 256 << 10;

/// What it reads: name and data of each event.
pub type Reading = Vec<(Option<String>, String)>;

/// Why it was not asked, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// It would stop at the first bad byte.
    #[error("the body is not UTF-8")]
    InvalidUtf8,
    /// It would panic.
    #[error("a second byte order mark follows the first")]
    SecondMark,
    /// It would take too long.
    #[error("a line is longer than {MAX_LINE} bytes")]
    LongLine,
    /// It panicked all the same.
    #[error("the second reader panicked")]
    Panicked,
    /// It gave an error.
    #[error("the second reader failed: {0}")]
    Failed(String),
}

/// Asks it.
pub fn second_reading(body: &[u8]) -> Result<Reading, NotAsked> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    let body = body.strip_prefix(MARK).unwrap_or(body);
    if body.starts_with(MARK) {
        return Err(NotAsked::SecondMark);
    }
    if std::str::from_utf8(body).is_err() {
        return Err(NotAsked::InvalidUtf8);
    }
    if longest_line(body) > MAX_LINE {
        return Err(NotAsked::LongLine);
    }
    quietly(|| ask(body)).unwrap_or(Err(NotAsked::Panicked))
}

/// Everything it reads; the stream lies in memory, so it is always ready.
fn ask(body: &[u8]) -> Result<Reading, NotAsked> {
    let slices = pieces(body).map(Ok::<_, Infallible>);
    let events = EventStream::new(stream::iter(slices)).collect::<Vec<_>>().now_or_never();
    let each = events.unwrap_or_default().into_iter().map(|event| match event {
        Ok(event) => Ok((Some(event.event).filter(|name| name != "message"), event.data)),
        Err(error) => Err(NotAsked::Failed(error.to_string())),
    });
    each.collect()
}

/// The body in pieces that cost it little.
fn pieces(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let most = rest.get(..FEED).unwrap_or(rest);
        let end = memchr2(b'\r', b'\n', most.get(SHORT..).unwrap_or_default());
        let (piece, after) = rest.split_at(end.map_or(most.len(), |at| SHORT + at + 1));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn longest_line(body: &[u8]) -> usize {
    let ends = memchr2_iter(b'\r', b'\n', body).chain([body.len()]);
    ends.fold((0, 0), |(longest, start), end| (longest.max(end - start), end)).0
}

/// The first difference between our reading and the second one. A last event that lacks its blank line, or whose
/// blank line is a CR at the very end, is rightly dropped by it: the anomalies tell of those.
pub fn disagreement(decoded: &Decoded, second: &[(Option<String>, String)]) -> Option<String> {
    if decoded.is_partial() {
        return None;
    }
    let ours = &decoded.events;
    let differs = ours.iter().zip(second).position(|(event, other)| !is_same(event, other));
    if let Some(at) = differs {
        return Some(format!("event {at} reads differently: {}", shown(ours.get(at), second.get(at))));
    }
    let may_lack = usize::from(last_may_be_dropped(decoded));
    let fine = second.len() <= ours.len() && second.len() + may_lack >= ours.len();
    (!fine).then(|| format!("{} events against {}", ours.len(), second.len()))
}

fn is_same(event: &Event, other: &(Option<String>, String)) -> bool {
    name_of(event) == other.0.as_deref() && *event.data == *other.1
}

/// The type a browser would give it, where that is not `message`.
fn name_of(event: &Event) -> Option<&str> {
    event.name.as_deref().filter(|name| !name.is_empty() && *name != "message")
}

fn last_may_be_dropped(decoded: &Decoded) -> bool {
    let Some(last) = decoded.events.last() else { return false };
    decoded.anomalies.iter().any(|a| match a.kind {
        AnomalyKind::UnterminatedEvent | AnomalyKind::CarriageReturn => a.span.end == last.span.end,
        AnomalyKind::More { .. } => true,
        _ => false,
    })
}

fn shown(ours: Option<&Event>, second: Option<&(Option<String>, String)>) -> String {
    let start = |text: &str| text.chars().take(60).collect::<String>();
    let ours = ours.map(|e| (name_of(e).map(start), start(&e.data)));
    let second = second.map(|(name, data)| (name.as_deref().map(start), start(data)));
    format!("{ours:?} against {second:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_slips_through_is_a_panic_that_is_told_as_a_value() {
        let marked = "\u{FEFF}data: 1\n\n".as_bytes();
        assert_eq!(quietly(|| ask(marked)), None);
        assert_eq!(second_reading(marked), Ok(vec![(None, "1".to_owned())]));
    }

    #[test]
    fn pieces_are_the_body_and_end_with_short_lines() {
        let long = "x".repeat(3 * FEED);
        for body in
            ["", "\n", "a\r\n", &"\n".repeat(1_000), &format!("data: 1\n\n{long}\n\n"), &"y\r".repeat(500)]
        {
            let all: Vec<&[u8]> = pieces(body.as_bytes()).collect();
            assert_eq!(all.concat(), body.as_bytes());
            assert!(all.iter().all(|piece| !piece.is_empty() && piece.len() <= FEED));
            let ends_with_line = |piece: &&[u8]| piece.ends_with(b"\n") || piece.ends_with(b"\r");
            let count = all.iter().rev().skip(1).filter(|piece| piece.len() < FEED);
            assert!(count.clone().all(ends_with_line), "{body:?}");
        }
        assert!(pieces("\n".repeat(1_000).as_bytes()).all(|piece| piece.len() <= SHORT + 1));
    }
}
