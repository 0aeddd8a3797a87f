//! Hands a server the tokens of a reply piece by piece, and makes one streamed exchange of its answers.
//!
//! In: [`Pieces`]. Out: an exchange whose body has an event for each answer, with the bytes that came, and the sentinel behind
//! the last. An answer that is no success ends it and stands for it, as a refused stream would.

use super::{Exchange, Head, Sender, Slice, clock::Clock, end::End};
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

/// The most bytes of all answers together: each holds a piece of the reply, and the state, which may hold all of it before.
const MAX_RECEIVED: usize = 64 << 20;

/// So many pieces are granted the time of one request.
pub(super) const SWIFT: usize = 50;

// === impl Sender ===

impl Sender {
    /// Sends one piece after the other.
    pub(super) async fn hand(&self, planned: &Planned, pieces: &Pieces) -> Exchange {
        let clock = Clock::start();
        let mut whole = unanswered(planned);
        let mut state = "null".to_owned();
        let (mut received, deadline) = (0, self.patience(pieces.count()));
        for at in 0..pieces.count() {
            let Some(body) = pieces.body(at, &state) else { break };
            let request = Request { body, ..planned.request.clone() };
            let answer = self.once(&Planned { mode: Mode::Whole, rounds: planned.rounds, request }).await;
            whole.request.headers.clone_from(&answer.request.headers);
            if !answer.succeeded() || !answer.end.is_clean() {
                return Exchange { request: whole.request, mode: Mode::Stream, ..answer };
            }
            let body = answer.body();
            received += body.len();
            if received > MAX_RECEIVED {
                whole.end = End::TooLarge;
                break;
            }
            if Instant::now() > deadline {
                whole.end = End::TimedOut;
                break;
            }
            match serde_json::from_slice::<Answer<'_>>(&body) {
                Ok(said) => {
                    said.stream_state.get().clone_into(&mut state);
                    whole.slices.push(event(said.chunk.get(), clock.micros()));
                }
                Err(error) => {
                    whole.end = End::Malformed(format!("the answer to piece {at}: {error}"));
                    whole.slices.push(event(&String::from_utf8_lossy(&body), clock.micros()));
                    break;
                }
            }
            whole.took.head = whole.slices.first().map_or(0, |slice| slice.at);
        }
        if whole.end.is_clean() {
            whole.slices.push(event("[DONE]", clock.micros()));
        }
        whole.took.end = clock.micros();
        whole
    }
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
        took: super::Took::default(),
    }
}

/// An event of JSON text. Line breaks in it stand between values and mean nothing.
fn event(data: &str, at: u64) -> Slice {
    let line = data.replace(['\r', '\n'], " ");
    Slice { at, bytes: Bytes::from(format!("data: {line}\n\n")) }
}
