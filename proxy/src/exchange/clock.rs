//! The one place that reads time, so that everything after it is a function of recorded bytes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A stop watch.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

// === impl Clock ===

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start.
    pub fn micros(self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Time since 1970, for the names of recordings.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
