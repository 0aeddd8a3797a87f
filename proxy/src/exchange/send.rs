//! Sends one request and collects what comes back, slice by slice, with arrival times.
//!
//! In: a planned exchange. Out: an [`Exchange`], always: every way it can end is a value of [`End`]. No redirect is
//! followed, no proxy is taken from the environment, nothing is decompressed.

use super::{Arrivals, Budget, Credentials, End, Exchange, Head, Root, Secrets, Took, clock::Clock, pieces};
use crate::{
    plan::Planned,
    request::{Mode, handed::Pieces},
};
use bytes::Bytes;
use reqwest::{
    Client, ClientBuilder, Response,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect, retry,
};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, timeout, timeout_at};

/// Bytes of a stream that are taken. A reply of a hundred thousand tokens streamed one by one has two thirds of that; what
/// grows beyond would only fill memory.
pub const MAX_STREAM: usize = 16 << 20;

/// Bytes of a whole reply that are taken: longer documents are not read.
pub const MAX_WHOLE: usize = 8 << 20;

/// Bytes that are kept of what grows beyond: the start of it tells as much as all of it.
pub const MAX_KEPT: usize = 1 << 20;

/// How long a pooled connection is trusted. Servers close idle ones after five seconds or more, and a request sent
/// into a closing connection would look like a broken transport.
const POOL_IDLE: Duration = Duration::from_secs(2);

/// How many times as long as without a byte an exchange may take as a whole.
pub const PATIENCE: u32 = 4;

/// A connection that the server had closed already shows it at once; what breaks off later has another cause.
const STALE: Duration = Duration::from_secs(1);

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands, and between two arrivals of bytes.
    pub idle: Duration,
    /// For the whole exchange.
    pub total: Duration,
}

/// Sends to one upstream.
#[derive(Debug, Clone)]
pub struct Sender {
    client: Client,
    /// Makes a connection for each exchange; set up when it is first needed.
    fresh: Arc<OnceLock<Option<Client>>>,
    pool: Pool,
    root: Root,
    credentials: Credentials,
    secrets: Secrets,
    limits: Limits,
    budget: Option<Budget>,
}

/// Whether a connection of an earlier exchange may lie ready.
#[derive(Debug, Clone)]
struct Pool {
    clock: Clock,
    /// When the last exchange ended cleanly, in microseconds; 0 where none has.
    used: Arc<AtomicU64>,
}

/// The client could not be made: the machine's certificate store cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the http client: {0}")]
pub struct NoClient(#[from] reqwest::Error);

// === impl Limits ===

impl Limits {
    /// Limits for a time without a byte; a reply that keeps trickling gets [`PATIENCE`] times as long.
    pub fn of(idle: Duration) -> Self {
        Self { idle, total: idle * PATIENCE }
    }
}

// === impl Sender ===

impl Sender {
    /// A sender with a pool of connections.
    pub fn new(root: Root, credentials: Credentials, limits: Limits) -> Result<Self, NoClient> {
        // A second installation is refused, which is fine: it is the same provider.
        _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            client: client(limits).build()?,
            fresh: Arc::default(),
            pool: Pool::new(),
            root,
            secrets: credentials.secrets(),
            credentials,
            limits,
            budget: None,
        })
    }

    /// Where it sends to.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The same sender for one client's requests: its headers stand before our own of the same names.
    #[must_use]
    pub fn with(&self, headers: &[(String, String)]) -> Self {
        let mut own = Credentials::default();
        for (name, value) in headers {
            // A client that sent a header once sends one that can be sent.
            _ = own.add(&format!("{name}:{value}"));
        }
        let credentials = own.over(&self.credentials);
        Self { secrets: credentials.secrets(), credentials, ..self.clone() }
    }

    /// The same sender for one case of a run.
    #[must_use]
    pub fn within(&self, budget: Budget) -> Self {
        Self { budget: Some(budget), ..self.clone() }
    }

    /// Makes a planned exchange. One whose tokens are handed over piece by piece takes a request a piece.
    pub async fn exchange(&self, planned: &Planned) -> Exchange {
        match Pieces::of(&planned.request) {
            Some(pieces) => self.hand(planned, &pieces).await,
            None => self.once(planned).await,
        }
    }

    /// Sends one request and takes what comes.
    pub(super) async fn once(&self, planned: &Planned) -> Exchange {
        let clock = Clock::start();
        let deadline = Instant::now() + self.limits.total;
        let mut exchange = Exchange {
            mode: planned.mode,
            rounds: planned.rounds,
            request: planned.request.clone(),
            head: None,
            slices: Vec::new(),
            end: End::TimedOut,
            took: Took::default(),
        };
        exchange.end = self.fill(&self.client, &mut exchange, clock, deadline).await;
        if self.pool.was_stale(&exchange, clock)
            && let Some(fresh) = self.fresh()
        {
            exchange.end = self.fill(fresh, &mut exchange, clock, deadline).await;
        }
        exchange.request.headers.extend(self.credentials.noted(&planned.request.headers));
        if exchange.end.is_clean() {
            self.pool.note_use();
        }
        exchange.took.end = clock.micros();
        exchange
    }

    /// When so many requests in a row have taken too long.
    pub(super) fn patience(&self, requests: usize) -> Instant {
        Instant::now() + self.limits.total * u32::try_from(requests / pieces::SWIFT + 1).unwrap_or(u32::MAX)
    }

    fn fresh(&self) -> Option<&Client> {
        self.fresh.get_or_init(|| client(self.limits).pool_max_idle_per_host(0).build().ok()).as_ref()
    }

    /// The body of a path, if it is answered with a 2xx in time.
    pub async fn get(&self, path: &str) -> Result<Bytes, End> {
        let clock = Clock::start();
        let deadline = Instant::now() + self.limits.idle;
        let request = self.client.get(self.root.at(path)).headers(self.credentials.headers().clone());
        let response = timeout_at(deadline, request.send()).await.map_err(|_| End::TimedOut)?;
        let mut response = response.map_err(|error| End::before_head(&error))?;
        if !response.status().is_success() {
            return Err(End::Malformed(format!("status {}", response.status().as_u16())));
        }
        let mut arrivals = Arrivals::default();
        self.collect(&mut response, &mut arrivals, (MAX_WHOLE, deadline), clock).await?;
        arrivals.hide(&self.secrets);
        Ok(arrivals.into_body())
    }

    async fn fill(&self, client: &Client, exchange: &mut Exchange, clock: Clock, deadline: Instant) -> End {
        // A whole reply sends nothing while it is generated; only its overall limit holds.
        let head_limit = match exchange.mode {
            Mode::Whole => self.limits.total,
            Mode::Stream => self.limits.idle,
        };
        let mut response = match timeout(head_limit, self.request(client, exchange).send()).await {
            Err(_) => return End::TimedOut,
            Ok(Err(error)) => return End::before_head(&error),
            Ok(Ok(response)) => response,
        };
        exchange.took.head = clock.micros();
        exchange.head = Some(head(&response, &self.secrets));
        let clean = clean_end(response.status().as_u16(), response.headers());
        let mut arrivals = Arrivals::within(self.budget.as_ref().map(Budget::hold));
        let until = (most(exchange.mode), deadline);
        let collected = self.collect(&mut response, &mut arrivals, until, clock).await;
        arrivals.hide(&self.secrets);
        exchange.slices = arrivals.into_slices();
        collected.map_or_else(|end| end, |()| clean)
    }

    async fn collect(
        &self,
        response: &mut Response,
        arrivals: &mut Arrivals,
        (most, mut deadline): (usize, Instant),
        clock: Clock,
    ) -> Result<(), End> {
        loop {
            let until = deadline.min(Instant::now() + self.limits.idle);
            let arrived = timeout_at(until, response.chunk()).await.map_err(|_| End::TimedOut)?;
            let Some(bytes) = arrived.map_err(|error| End::in_body(&error))? else { return Ok(()) };
            let asked = Instant::now();
            let is_over = arrivals.len() + bytes.len() > most;
            if is_over || arrivals.ask(bytes.len()).await.is_err() {
                arrivals.push(bytes.get(..MAX_KEPT).unwrap_or(&bytes), clock.micros());
                arrivals.truncate(MAX_KEPT);
                return Err(End::TooLarge);
            }
            // Time in which others held what this one needs is none of the server's.
            deadline += asked.elapsed();
            arrivals.push(&bytes, clock.micros());
        }
    }

    fn request(&self, client: &Client, exchange: &Exchange) -> reqwest::RequestBuilder {
        let request = &exchange.request;
        let mut builder = client.post(self.root.at(&request.path)).body(request.body.clone());
        for (name, value) in &request.headers {
            // As bytes, since a value beyond ASCII can be sent; what cannot be is no reason to blame the server.
            let header = name.parse::<HeaderName>().ok().zip(HeaderValue::from_bytes(value.as_bytes()).ok());
            if let Some((name, value)) = header {
                builder = builder.header(name, value);
            }
        }
        let is_own = |name: &str| request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        for (name, value) in self.credentials.headers().iter().filter(|(name, _)| !is_own(name.as_str())) {
            builder = builder.header(name, value);
        }
        builder
    }
}

// === impl Pool ===

impl Pool {
    fn new() -> Self {
        Self { clock: Clock::start(), used: Arc::default() }
    }

    fn note_use(&self) {
        self.used.store(self.clock.micros().max(1), Relaxed);
    }

    /// Whether an exchange may have gone into a connection that the server had closed after an earlier one: it blames
    /// this exchange for nothing, and the server never saw it.
    fn was_stale(&self, exchange: &Exchange, clock: Clock) -> bool {
        let is_at_once = || Duration::from_micros(clock.micros()) < STALE;
        let used = self.used.load(Relaxed);
        let since = || Duration::from_micros(self.clock.micros().saturating_sub(used));
        let may_be_pooled = || used > 0 && since() < POOL_IDLE + STALE;
        exchange.head.is_none() && matches!(exchange.end, End::Cut(_)) && is_at_once() && may_be_pooled()
    }
}

fn client(limits: Limits) -> ClientBuilder {
    Client::builder()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        .referer(false)
        .connect_timeout(limits.idle)
        .pool_idle_timeout(POOL_IDLE)
        .user_agent(concat!("tfproxy/", env!("CARGO_PKG_VERSION")))
}

fn head(response: &Response, secrets: &Secrets) -> Head {
    Head {
        status: response.status().as_u16(),
        headers: response
            .headers()
            .iter()
            .map(|(n, v)| (n.as_str().to_owned(), secrets.hidden(v.as_bytes())))
            .collect(),
    }
}

/// The most bytes of a body that are taken.
pub const fn most(mode: Mode) -> usize {
    match mode {
        Mode::Whole => MAX_WHOLE,
        Mode::Stream => MAX_STREAM,
    }
}

/// How a body ends whose connection gave no error: framing said so, or nothing did.
fn clean_end(status: u16, headers: &HeaderMap) -> End {
    let is_framed = headers.contains_key("content-length") || headers.contains_key("transfer-encoding");
    if is_framed || matches!(status, 204 | 304) { End::Complete } else { End::CloseDelimited }
}

#[cfg(test)]
mod tests;
