//! The one place where the engine reads the time: `created` of a reply.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 if the machine's clock stands before that.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
