//! Hands a server the tokens of a reply piece by piece, and makes one streamed exchange of its answers.
//!
//! In: [`Pieces`]. Out: an exchange whose body has an event for each answer, with the bytes that came, and the sentinel behind
//! the last. Where the first is no success it stands for all, as a refused stream would; a later one ends the stream with what it
//! says, and what came before is kept.

use super::{Exchange, Head, Sender, Slice, Took, clock::Clock, end::End, send::MAX_STREAM};
use crate::{
    plan::Planned,
    request::{Mode, Request, handed::Pieces},
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

/// What a server says to a piece.
#[derive(Deserialize)]
struct Answer<'a> {
    /// What a stream would bring.
    #[serde(borrow)]
    chunk: &'a RawValue,
    /// What it has to be told with the next piece.
    #[serde(borrow)]
    stream_state: &'a RawValue,
}

/// The most bytes of all answers together. Each holds a piece of the reply, which is kept, and the state, which may hold all of it
/// before and is not.
const MAX_RECEIVED: usize = 16 * MAX_STREAM;

/// So many pieces are granted the time of one request.
pub(super) const SWIFT: usize = 50;

// === impl Sender ===

impl Sender {
    /// Sends one piece after the other, until one is answered otherwise than by a piece of the reply.
    pub(super) async fn hand(&self, planned: &Planned, pieces: &Pieces) -> Exchange {
        let clock = Clock::start();
        let mut whole = unanswered(planned);
        let mut state = "null".to_owned();
        let (mut received, mut kept, deadline) = (0, 0, self.patience(pieces.count()));
        for at in 0..pieces.count() {
            let Some(body) = pieces.body(at, &state) else { break };
            let request = Request { body, ..planned.request.clone() };
            let answer = self.once(&Planned { mode: Mode::Whole, rounds: planned.rounds, request }).await;
            whole.request.headers.clone_from(&answer.request.headers);
            if at == 0 && !answer.succeeded() {
                return Exchange { request: whole.request, mode: Mode::Stream, ..answer };
            }
            received += answer.received();
            whole.end = match taken(&answer, &mut state) {
                _ if received > MAX_RECEIVED || kept > MAX_STREAM => End::TooLarge,
                _ if Instant::now() > deadline => End::TimedOut,
                Ok(chunk) => {
                    kept += chunk.len();
                    whole.slices.push(event(&chunk, clock.micros()));
                    continue;
                }
                Err(end) => {
                    whole.slices.push(rest(&answer, clock.micros()));
                    match end {
                        End::Malformed(why) => End::Malformed(format!("the answer to piece {at}: {why}")),
                        end => end,
                    }
                }
            };
            break;
        }
        if whole.slices.len() == pieces.count() && whole.end.is_clean() {
            whole.slices.push(event("[DONE]", clock.micros()));
        }
        whole.took = Took { head: whole.slices.first().map_or(0, |slice| slice.at), end: clock.micros() };
        whole
    }
}

/// The piece of the reply that an answer brings, and the state behind it; or how the stream ends with it.
fn taken(answer: &Exchange, state: &mut String) -> Result<String, End> {
    if !answer.end.is_clean() {
        return Err(answer.end.clone());
    }
    if !answer.succeeded() {
        return Err(End::Complete);
    }
    let body = answer.body();
    let said: Answer<'_> =
        serde_json::from_slice(&body).map_err(|error| End::Malformed(error.to_string()))?;
    said.stream_state.get().clone_into(state);
    Ok(said.chunk.get().to_owned())
}

/// What came instead of a piece: an error stands in the stream as an event, as a server would send it; all else is kept as a
/// comment, since it is no event of any stream.
fn rest(answer: &Exchange, at: u64) -> Slice {
    let body = answer.body();
    let text = String::from_utf8_lossy(&body);
    if !answer.succeeded() && answer.end.is_clean() {
        return event(&text, at);
    }
    line("", &text, at)
}

fn unanswered(planned: &Planned) -> Exchange {
    Exchange {
        mode: planned.mode,
        rounds: planned.rounds,
        request: planned.request.clone(),
        head: Some(Head {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
        }),
        slices: Vec::new(),
        end: End::Complete,
        took: Took::default(),
    }
}

/// An event of JSON text. Line breaks in it stand between values and mean nothing.
fn event(data: &str, at: u64) -> Slice {
    line("data", data, at)
}

/// A field of an event stream on a line of its own.
fn line(field: &str, text: &str, at: u64) -> Slice {
    let text = text.replace(['\r', '\n'], " ");
    Slice { at, bytes: Bytes::from(format!("{field}: {text}\n\n")) }
}
