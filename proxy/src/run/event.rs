//! What a run tells the outside, as it happens. Reports, progress and recorders see nothing else of it.

use super::{Dropped, Judged};

/// One thing that happened in a run, in the order in which it did.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// The upstream is known and the plan is made.
    Started {
        /// Who is asked.
        upstream: Upstream,
        /// Number of entries (case x dialect, derived variants included) that will be judged.
        planned: usize,
    },
    /// One entry is judged.
    Done(Box<Judged>),
    /// The run stops here, with the reason; what was judged until then stands.
    Aborted(String),
    /// Fields that the upstream refused, so that they were left out.
    Dropped(Vec<Dropped>),
    /// The run is over; also after [`RunEvent::Aborted`].
    Finished {
        /// Wall time from the first exchange to the last.
        seconds: f64,
        /// Every HTTP request that was sent, retries included.
        exchanges: usize,
        /// How many of them were retries.
        retried: usize,
    },
}

/// Who is asked, as far as it could be found out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Upstream {
    /// Its base URL, or `bundled`.
    pub url: String,
    /// The server's name, `tfengine`, `vLLM`; empty where unknown.
    pub server: String,
    /// The server's version; empty where unknown.
    pub version: String,
    /// The model that is asked.
    pub model: String,
    /// The profile of its rules.
    pub profile: String,
}
