//! How much the bodies of a run may hold in memory together, whatever the upstream sends and however many cases are asked
//! at once.
//!
//! In: bytes that want to be kept. Out: leave to keep them, at once or when it is this case's turn; or none. Whoever has the
//! turn waits for nobody, so that no two cases wait for each other.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// The most bytes that the bodies of one case hold together: those of a default check of sixty thousand tokens.
pub const MAX_CASE: usize = 40 << 20;

/// The bytes that a case holds in any case, uncounted.
pub const MAX_FREE: usize = 64 << 10;

/// The most bytes that bodies of all cases hold before a case has to wait for its turn.
const MAX_AT_ONCE: usize = 1 << 20;

/// What a run may hold, and what one of its cases holds.
#[derive(Debug, Clone)]
pub struct Budget {
    run: Arc<Run>,
    case: Arc<Case>,
}

#[derive(Debug)]
struct Run {
    held: AtomicUsize,
    turn: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Case {
    held: AtomicUsize,
    /// Kept until the last body of the case is dropped.
    turn: OnceCell<Option<OwnedSemaphorePermit>>,
}

/// Bytes that are held, given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    budget: Budget,
    /// By the case.
    bytes: usize,
    /// Of those, by the run before the case had its turn.
    at_once: usize,
}

/// A body may hold no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent;

// === impl Budget ===

impl Budget {
    /// That of a run.
    pub fn of_run() -> Self {
        let run = Run { held: AtomicUsize::new(0), turn: Arc::new(Semaphore::new(1)) };
        Self { run: Arc::new(run), case: Arc::default() }
    }

    /// That of another case of the same run.
    #[must_use]
    pub fn of_case(&self) -> Self {
        Self { run: Arc::clone(&self.run), case: Arc::default() }
    }

    /// Nothing held yet.
    pub fn hold(&self) -> Held {
        Held { budget: self.clone(), bytes: 0, at_once: 0 }
    }
}

// === impl Held ===

impl Held {
    /// Asks for some more bytes.
    pub async fn more(&mut self, bytes: usize) -> Result<(), Spent> {
        let Budget { run, case } = &self.budget;
        let Ok(before) = take(&case.held, bytes, MAX_CASE) else { return Err(Spent) };
        self.bytes += bytes;
        if before + bytes <= MAX_FREE {
            return Ok(());
        }
        if !case.turn.initialized() && take(&run.held, bytes, MAX_AT_ONCE).is_ok() {
            self.at_once += bytes;
            return Ok(());
        }
        case.turn.get_or_init(|| async { Arc::clone(&run.turn).acquire_owned().await.ok() }).await;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.case.held.fetch_sub(self.bytes, Relaxed);
        self.budget.run.held.fetch_sub(self.at_once, Relaxed);
    }
}

fn take(held: &AtomicUsize, bytes: usize, most: usize) -> Result<usize, usize> {
    held.fetch_update(Relaxed, Relaxed, |held| held.checked_add(bytes).filter(|sum| *sum <= most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn a_case_holds_so_much_and_gives_it_back() {
        let case = Budget::of_run().of_case();
        let mut first = case.hold();
        assert_eq!(first.more(MAX_CASE - 1).await, Ok(()));
        let mut second = case.hold();
        assert_eq!(second.more(2).await, Err(Spent));
        assert_eq!(second.more(1).await, Ok(()));
        drop(first);
        assert_eq!(second.more(MAX_CASE - 1).await, Ok(()));
    }

    #[tokio::test]
    async fn beyond_what_all_hold_one_case_goes_on_at_a_time() {
        let run = Budget::of_run();
        let (mut small, one, other) = (run.of_case().hold(), run.of_case(), run.of_case());
        let (mut first, mut later) = (one.hold(), one.hold());
        assert_eq!(small.more(MAX_FREE).await, Ok(()));
        assert_eq!(first.more(MAX_AT_ONCE).await, Ok(()));
        assert_eq!(later.more(1).await, Ok(()));
        let mut waits = other.hold();
        assert_eq!(waits.more(MAX_FREE).await, Ok(()));
        {
            let mut granted = Box::pin(waits.more(1));
            assert_eq!((&mut granted).now_or_never(), None);
            assert_eq!((&mut Box::pin(small.more(1))).now_or_never(), None);
            drop((one, first));
            // What is held of the case still has the turn.
            assert_eq!((&mut granted).now_or_never(), None);
            drop(later);
            assert_eq!(granted.await, Ok(()));
        }
        drop((other, waits));
        assert_eq!(small.more(1).await, Ok(()));
    }
}
