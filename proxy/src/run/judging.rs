//! Where judging is done: beside those who send and receive, a few at once, and what is large on one thread.
//!
//! In: a call, and the size of the largest body it reads. Out: what it gave, or that it broke. Reading a body takes many times
//! its size. The allocator keeps much of what a thread gave back for that thread, so that large bodies which are judged on
//! several threads would take the memory several times, even one after the other.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};
use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
};

/// So many KiB of bodies are judged at once, as the largest of each call counts.
const MAX_AT_ONCE: u32 = 1 << 10;

/// A body is large from so many KiB on.
const LARGE: u32 = 128;

type Call = Box<dyn FnOnce() + Send>;

/// Judges.
#[derive(Debug)]
pub struct Judging {
    room: Semaphore,
    /// The thread of large bodies; there is none where none could be started.
    large: Option<mpsc::Sender<Call>>,
}

// === impl Judging ===

impl Judging {
    /// Starts the thread of large bodies; it ends when this is dropped.
    pub fn start() -> Self {
        let (large, calls) = mpsc::channel::<Call>();
        let run = move || calls.into_iter().for_each(|call| call());
        let thread = thread::Builder::new().name("judging".to_owned()).spawn(run);
        Self { room: Semaphore::new(MAX_AT_ONCE as usize), large: thread.is_ok().then_some(large) }
    }

    /// Makes a call that reads bodies of up to so many bytes; `None` where it panicked.
    pub async fn call<T: Send + 'static>(
        &self,
        bytes: usize,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let weight = u32::try_from(bytes >> 10).unwrap_or(MAX_AT_ONCE).clamp(1, MAX_AT_ONCE);
        let _room = self.room.acquire_many(weight).await;
        match self.large.as_ref().filter(|_| weight >= LARGE) {
            Some(large) => on_thread(large, call).await,
            None => spawn_blocking(call).await.ok(),
        }
    }
}

async fn on_thread<T: Send + 'static>(
    thread: &mpsc::Sender<Call>,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (told, heard) = oneshot::channel();
    let call = move || {
        // Whoever asked may have gone.
        _ = told.send(catch_unwind(AssertUnwindSafe(call)).ok());
    };
    thread.send(Box::new(call)).ok()?;
    heard.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn large_bodies_share_a_thread_and_a_break_is_told() {
        let judging = Judging::start();
        let name = || thread::current().name().map(ToOwned::to_owned);
        for bytes in [1 << 20, 1 << 30] {
            assert_eq!(judging.call(bytes, name).await.flatten().as_deref(), Some("judging"));
            assert_eq!(judging.call(bytes, || panic!("a fault of ours")).await, None::<()>);
        }
        assert_ne!(judging.call(1 << 10, name).await.flatten().as_deref(), Some("judging"));
        assert_eq!(judging.call(1 << 10, || panic!("a fault of ours")).await, None::<()>);
    }

    #[tokio::test]
    async fn small_ones_are_judged_beside_each_other_and_not_beside_a_large_one() {
        let judging = Judging::start();
        let (go, wait) = mpsc::channel::<()>();
        let mut first = Box::pin(judging.call(1, move || wait.recv().is_ok()));
        assert_eq!((&mut first).now_or_never(), None);
        assert_eq!(judging.call(1, || 2).await, Some(2));
        let mut large = Box::pin(judging.call(1 << 20, || 3));
        assert_eq!((&mut large).now_or_never(), None);
        go.send(()).unwrap();
        assert_eq!((first.await, large.await), (Some(true), Some(3)));
    }
}
