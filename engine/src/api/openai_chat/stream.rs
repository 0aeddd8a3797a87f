//! The streamed reply: a body that commits the next round when it is polled.
//!
//! Nothing runs between polls, so a connection that is dropped stops the generation, and a client that reads slowly slows
//! it down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;

use super::{Envelope, chunks::Chunks};
use crate::{
    chat::UsageChunk,
    generate::{Generation, Step},
    plant::{Moment, Seams},
    read::ReplyEvent,
};

/// After how many rounds that said nothing other connections, and news of a client that went away, get their turn.
const SILENT_ROUNDS_AT_A_TIME: u32 = 1024;

/// A reply that is generated while it is sent.
pub struct StreamBody {
    chunks: Chunks,
    usage: UsageChunk,
    generation: Generation,
    seams: Seams,
    rounds: Arc<AtomicU64>,
    events: Vec<ReplyEvent>,
    at: At,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Rounds,
    Over,
}

// === impl StreamBody ===

impl StreamBody {
    /// A stream that has not begun.
    pub fn new(
        envelope: Envelope,
        usage: UsageChunk,
        generation: Generation,
        seams: Seams,
        rounds: Arc<AtomicU64>,
    ) -> Self {
        let chunks = Chunks::new(envelope);
        Self { chunks, usage, generation, seams, rounds, events: Vec::new(), at: At::Start }
    }

    /// Whether everything was handed over.
    pub fn is_over(&self) -> bool {
        self.at == At::Over
    }

    /// The bytes of the next round that says something.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = Vec::new();
        for _ in 0..SILENT_ROUNDS_AT_A_TIME {
            if self.at == At::Over {
                return Poll::Ready(None);
            }
            self.round(&mut out);
            if !out.is_empty() {
                return Poll::Ready(Some(Bytes::from(out)));
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn round(&mut self, out: &mut Vec<u8>) {
        if self.at == At::Start {
            self.chunks.begin(out);
            self.at = At::Rounds;
        }
        let step = self.generation.round(&mut self.seams, &mut self.events);
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.chunks.round(&self.events, out);
        self.events.clear();
        match step {
            Step::More => self.seams.stream(out, Moment::Between),
            Step::Last(ended) => {
                self.chunks.end(&ended, self.usage, out);
                self.seams.stream(out, Moment::Last);
                self.at = At::Over;
            }
        }
    }
}
