//! What all connections of a proxy share: settings, the client, the counters, the output.

use super::{
    Desk, MAX_RECORDED_TOGETHER, ServeError, Settings, output::Output, shelf::Shelf, status::Status,
};
use crate::{
    run::judging::Judging,
    store::live::{Order, Scribe, Told, Trouble},
};
use std::{
    fmt,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, watch},
};

/// How long a connection to the upstream may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct State {
    pub settings: Settings,
    pub desk: Desk,
    pub client: reqwest::Client,
    pub status: Status,
    pub pending: Pending,
    pub runtime: Handle,
    /// One permit for each set of twins that may be under way.
    pub shadows: Arc<Semaphore>,
    /// Room for what is judged at once.
    pub judging: Judging,
    /// What is being recorded.
    pub shelf: Arc<Shelf>,
    scribe: Option<Scribe>,
    number: AtomicU64,
    pub output: Output,
}

/// Counts what is being judged, so that one can wait for it.
pub(super) struct Pending(watch::Sender<usize>);

/// One thing that is being judged, for as long as it lives.
pub(super) struct Busy(Arc<State>);

// === impl State ===

impl State {
    pub fn new(settings: Settings, desk: Desk, out: Box<dyn Write + Send>) -> Result<Self, ServeError> {
        let output = Output::start(out).map_err(ServeError::Record)?;
        let complaints = output.clone();
        let complain = move |error: Trouble| complaints.say(format!("{error}"));
        let start = |folder: &std::path::PathBuf| Scribe::start(folder.clone(), complain);
        Ok(Self {
            client: client().map_err(ServeError::Client)?,
            scribe: settings.record.as_ref().map(start).transpose().map_err(ServeError::Record)?,
            shadows: Arc::new(Semaphore::new(settings.shadow.at_once())),
            judging: Judging::start(),
            status: Status::default(),
            pending: Pending(watch::Sender::new(0)),
            runtime: Handle::current(),
            shelf: Arc::new(Shelf::new(MAX_RECORDED_TOGETHER)),
            number: AtomicU64::new(0),
            settings,
            desk,
            output,
        })
    }

    /// One line to the output.
    pub fn say(&self, line: String) {
        self.output.say(line);
    }

    /// Microseconds since some fixed moment.
    pub fn now(&self) -> u64 {
        (self.desk.clock)()
    }

    /// A number that no other exchange has.
    pub fn number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// An order for the scribe, where there is one.
    pub fn record(&self, order: impl FnOnce() -> Order) -> Told {
        self.scribe.as_ref().map_or(Told::Taken, |scribe| scribe.tell(order()))
    }

    /// What the scribe gave up and had no time to tell.
    pub fn say_lost(&self) {
        let count = self.scribe.as_ref().map_or(0, Scribe::lost);
        if count > 0 {
            self.say(Trouble::Lost { count }.to_string());
        }
    }
}

/// A client that changes nothing: no redirects, no proxies of the environment, no decompression, no retries.
///
/// Every request gets a connection of its own. On a connection that lay idle a request may meet the server's close, after
/// whatever time that server keeps them, and would be answered with a 502 that the client would not have met without us.
/// Nor could it be sent again: once written, no error tells a server that had closed before from one that read the
/// request, generated (and billed) a reply, and broke. A connection costs little beside a generated reply.
fn client() -> reqwest::Result<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default(); // somebody may have been first
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(0)
        .build()
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("settings", &self.settings).finish_non_exhaustive()
    }
}

// === impl Pending ===

impl Pending {
    pub async fn idle(&self) {
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }

    pub fn count(&self) -> usize {
        *self.0.borrow()
    }
}

impl Busy {
    pub fn new(state: &Arc<State>) -> Self {
        state.pending.0.send_modify(|count| *count += 1);
        Self(state.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.pending.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
