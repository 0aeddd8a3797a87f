//! Calls into code that may panic, without a word on the standard error: what it is asked is no fault of ours.
//!
//! In: a call. Out: what it gave, or that it panicked. Panics elsewhere are told as ever.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Once,
};

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

thread_local! {
    /// Whether this thread is within such a call.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call; `None` where it panicked.
pub(super) fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| panic::set_hook(quiet(panic::take_hook())));
    let outer = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    IS_QUIET.set(outer);
    result.ok()
}

/// A hook that says what `told` says, but not within a quiet call.
fn quiet(told: Hook) -> Hook {
    Box::new(move |info| {
        if !IS_QUIET.get() {
            told(info);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        thread,
    };

    #[test]
    fn a_panic_within_is_told_to_nobody_and_one_beside_is() {
        assert_eq!(quietly(|| 1), Some(1));
        let (count, before, own) =
            (Arc::new(AtomicUsize::new(0)), panic::take_hook(), thread::current().id());
        let counter = Arc::clone(&count);
        // Other tests may panic meanwhile.
        panic::set_hook(quiet(Box::new(move |info| {
            if thread::current().id() == own { _ = counter.fetch_add(1, SeqCst) } else { before(info) }
        })));
        assert_eq!(quietly(|| panic!("within")), None::<()>);
        assert_eq!(count.load(SeqCst), 0);
        assert!(panic::catch_unwind(|| panic!("beside")).is_err());
        assert_eq!(count.load(SeqCst), 1);
    }
}
