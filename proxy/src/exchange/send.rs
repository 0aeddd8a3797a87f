//! Sends one request and collects what comes back, slice by slice, with arrival times.
//!
//! In: a planned exchange. Out: an [`Exchange`], always: every way it can end is a value of [`End`]. No redirect is
//! followed, no proxy is taken from the environment, nothing is decompressed.

use super::{Credentials, End, Exchange, Head, Root, Slice, Took, clock::Clock};
use crate::{plan::Planned, request::Mode};
use bytes::Bytes;
use reqwest::{Client, Response, header::HeaderMap, redirect, retry};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Bytes of a body that are kept. A reply of a hundred thousand tokens streamed one by one has a third of that; what
/// grows beyond would only fill memory.
pub const MAX_BODY: usize = 32 << 20;

/// How long a pooled connection is trusted. Servers close idle ones after five seconds or more, and a request sent
/// into a closing connection would look like a broken transport.
const POOL_IDLE: Duration = Duration::from_secs(2);

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
    root: Root,
    credentials: Credentials,
    limits: Limits,
}

/// The client could not be made: the machine's certificate store cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the http client: {0}")]
pub struct NoClient(#[from] reqwest::Error);

// === impl Limits ===

impl Limits {
    /// Limits for a time without a byte; a reply that keeps trickling gets four times as long.
    pub fn of(idle: Duration) -> Self {
        Self { idle, total: idle * 4 }
    }
}

// === impl Sender ===

impl Sender {
    /// A sender with a pool of connections.
    pub fn new(root: Root, credentials: Credentials, limits: Limits) -> Result<Self, NoClient> {
        // A second installation is refused, which is fine: it is the same provider.
        _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(limits.idle)
            .pool_idle_timeout(POOL_IDLE)
            .user_agent(concat!("tfproxy/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, root, credentials, limits })
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
        Self { credentials: own.over(&self.credentials), ..self.clone() }
    }

    /// Makes a planned exchange.
    pub async fn exchange(&self, planned: &Planned) -> Exchange {
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
        exchange.end = self.fill(&mut exchange, clock, deadline).await;
        exchange.took.end = clock.micros();
        exchange
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
        let mut slices = Vec::new();
        self.collect(&mut response, &mut slices, clock, deadline).await?;
        Ok(slices.into_iter().flat_map(|slice| slice.bytes).collect::<Vec<u8>>().into())
    }

    async fn fill(&self, exchange: &mut Exchange, clock: Clock, deadline: Instant) -> End {
        // A whole reply sends nothing while it is generated; only its overall limit holds.
        let head_limit = match exchange.mode {
            Mode::Whole => self.limits.total,
            Mode::Stream => self.limits.idle,
        };
        let mut response = match timeout(head_limit, self.request(exchange).send()).await {
            Err(_) => return End::TimedOut,
            Ok(Err(error)) => return End::before_head(&error),
            Ok(Ok(response)) => response,
        };
        exchange.took.head = clock.micros();
        exchange.head = Some(head(&response));
        let clean = clean_end(response.status().as_u16(), response.headers());
        match self.collect(&mut response, &mut exchange.slices, clock, deadline).await {
            Ok(()) => clean,
            Err(end) => end,
        }
    }

    async fn collect(
        &self,
        response: &mut Response,
        slices: &mut Vec<Slice>,
        clock: Clock,
        deadline: Instant,
    ) -> Result<(), End> {
        let mut room = MAX_BODY;
        loop {
            let until = deadline.min(Instant::now() + self.limits.idle);
            let arrived = timeout_at(until, response.chunk()).await.map_err(|_| End::TimedOut)?;
            let Some(mut bytes) = arrived.map_err(|error| End::in_body(&error))? else { return Ok(()) };
            let is_over = bytes.len() > room;
            bytes.truncate(room);
            room -= bytes.len();
            slices.push(Slice { at: clock.micros(), bytes });
            if is_over {
                return Err(End::TooLarge);
            }
        }
    }

    fn request(&self, exchange: &Exchange) -> reqwest::RequestBuilder {
        let request = &exchange.request;
        let mut builder = self.client.post(self.root.at(&request.path)).body(request.body.clone());
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let is_own = |name: &str| request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        for (name, value) in self.credentials.headers().iter().filter(|(name, _)| !is_own(name.as_str())) {
            builder = builder.header(name, value);
        }
        builder
    }
}

fn head(response: &Response) -> Head {
    let value = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Head {
        status: response.status().as_u16(),
        headers: response
            .headers()
            .iter()
            .map(|(n, v)| (n.as_str().to_owned(), value(v.as_bytes())))
            .collect(),
    }
}

/// How a body ends whose connection gave no error: framing said so, or nothing did.
fn clean_end(status: u16, headers: &HeaderMap) -> End {
    let is_framed = headers.contains_key("content-length") || headers.contains_key("transfer-encoding");
    if is_framed || matches!(status, 204 | 304) { End::Complete } else { End::CloseDelimited }
}

#[cfg(test)]
mod tests;
