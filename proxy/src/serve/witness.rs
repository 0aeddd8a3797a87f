//! What is seen of one exchange while it passes. However it ends (by itself, by the client, by the upstream), the
//! witness ends with it and hands over what it saw.

use super::{LIVE, MAX_RECORDED_RESPONSE, after, shelf::Place, state::State, tap};
use crate::{
    exchange::{
        End, Exchange, Head, Secrets, Took,
        secrets::{REDACTED, Veil},
    },
    plan::{ROUNDS_HEADER, Rounds},
    request::{Dialect, Mode, Request},
    store::{
        live,
        live::{Order, Told},
        short_hash,
    },
};
use bytes::Bytes;
use std::sync::Arc;

/// Someone who watches one exchange.
pub(super) struct Witness {
    seen: Option<Seen>,
}

/// All that was seen of one exchange.
pub(super) struct Seen {
    pub state: Arc<State>,
    pub method: String,
    pub path: String,
    /// The dialect it speaks, if it is one of ours.
    pub dialect: Option<Dialect>,
    pub headers: Vec<(String, String)>,
    pub credentials: Vec<(String, String)>,
    pub upload: Arc<tap::Passed>,
    pub head: Option<Head>,
    /// Bytes of the response's body, recorded or not.
    pub received: u64,
    pub end: End,
    /// The id of its recording, where one is being written.
    pub id: Option<String>,
    number: u64,
    begun: u64,
    took: Took,
    place: Place,
    secrets: Secrets,
    /// Hides them in what is written while it passes.
    veil: Veil,
    /// Whether what is written while it passes is all that came.
    written: Told,
}

/// What a request says of itself before its body comes.
pub(super) struct Arrival {
    pub method: String,
    pub path: String,
    pub dialect: Option<Dialect>,
    pub headers: Vec<(String, String)>,
    pub credentials: Vec<(String, String)>,
}

// === impl Witness ===

impl Witness {
    pub fn begin(state: &Arc<State>, arrival: Arrival) -> Self {
        let pairs = arrival.credentials.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let secrets = Secrets::of(pairs.chain(parameters(&arrival.path)));
        let number = state.number();
        let seen = Seen {
            method: arrival.method,
            path: arrival.path,
            dialect: arrival.dialect,
            headers: arrival.headers,
            credentials: arrival.credentials,
            upload: Arc::default(),
            head: None,
            received: 0,
            end: End::Cancelled, // until another end is seen
            id: None,
            number,
            begun: state.now(),
            took: Took::default(),
            place: state.shelf.place(number),
            veil: Veil::new(secrets.clone()),
            secrets,
            written: Told::Taken,
            state: state.clone(),
        };
        Self { seen: Some(seen) }
    }

    pub fn upload(&self) -> Arc<tap::Passed> {
        self.seen.as_ref().map(|seen| seen.upload.clone()).unwrap_or_default()
    }

    pub fn head(&mut self, head: Head) {
        self.with(|seen| seen.head(head));
    }

    pub fn slice(&mut self, data: &Bytes) {
        self.with(|seen| seen.slice(data));
    }

    /// The answer ended as its framing says.
    pub fn ended(&mut self) {
        self.with(|seen| {
            let framed = ["content-length", "transfer-encoding"];
            let is_framed = seen.head.as_ref().is_none_or(|head| {
                framed.iter().any(|name| head.header(name).is_some()) || matches!(head.status, 204 | 304)
            });
            seen.end = if is_framed { End::Complete } else { End::CloseDelimited };
        });
    }

    /// The answer broke off.
    pub fn broke_off(&mut self, error: &reqwest::Error) {
        self.with(|seen| seen.end = End::in_body(error));
    }

    /// No answer came.
    pub fn failed(&mut self, end: End) {
        self.with(|seen| seen.end = end);
    }

    fn with(&mut self, note: impl FnOnce(&mut Seen)) {
        if let Some(seen) = &mut self.seen {
            note(seen);
            seen.took.end = seen.since();
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(mut seen) = self.seen.take() {
            seen.took.end = seen.since();
            after::after(seen);
        }
    }
}

// === impl Seen ===

impl Seen {
    fn since(&self) -> u64 {
        self.state.now().saturating_sub(self.begun)
    }

    fn head(&mut self, mut head: Head) {
        for (_, value) in &mut head.headers {
            *value = self.secrets.hidden(value.as_bytes());
        }
        self.took.head = self.since();
        if let Some(request) = self.request().filter(|_| self.state.settings.record.is_some()) {
            self.record(request, &head);
        }
        self.head = Some(head);
    }

    /// Begins to write down what comes.
    fn record(&mut self, request: Request, head: &Head) {
        let Some(id) = self.claim(&request) else { return };
        let (number, mode, request) = (self.number, mode_of(&request), self.noted(request));
        let upstream = Some(self.state.settings.upstream.to_string());
        self.id = Some(id.clone());
        self.told(|| Order::Open { number, id, upstream, request, mode });
        self.told(|| Order::Head(number, head.clone()));
    }

    /// What is written while it passes ends where something was dropped: what lies there has no hole.
    fn told(&mut self, order: impl FnOnce() -> Order) {
        if self.written == Told::Taken {
            self.written = self.state.record(order);
        }
    }

    /// Takes a folder among the recordings.
    pub fn claim(&self, request: &Request) -> Option<String> {
        let folder = self.state.settings.record.as_deref()?;
        match live::claim(folder, &stem(request)) {
            Ok(id) => Some(id),
            Err(error) => {
                self.state.say(format!("cannot keep a recording: {error}"));
                None
            }
        }
    }

    /// Copies what passes: a reference to a frame of twenty bytes would keep the connection's whole buffer alive.
    fn slice(&mut self, data: &Bytes) {
        let from = self.received;
        self.received += data.len() as u64;
        let is_ours = self.dialect.is_some() && !self.is_too_large();
        if !is_ours || !self.place.push(data, from, self.since()) {
            return;
        }
        if self.id.is_some() {
            let (number, piece) = (self.number, self.veil.pass(data));
            self.told(|| Order::Slice(number, piece.into()));
        }
    }

    /// Whether it is more than is recorded of one exchange.
    pub fn is_too_large(&self) -> bool {
        self.received > MAX_RECORDED_RESPONSE as u64
    }

    /// The request, once its body is known; `None` for what is none of our dialects.
    pub fn request(&self) -> Option<Request> {
        let body = self.upload.body()?;
        let headers = self.headers.clone();
        Some(Request { dialect: self.dialect?, path: self.path.clone(), headers, body })
    }

    /// A request as it is kept: with the names of what else went along.
    pub fn noted(&self, mut request: Request) -> Request {
        let names = self.credentials.iter().map(|(name, _)| name.clone());
        request.headers.extend(names.map(|name| (name, REDACTED.to_owned())));
        request
    }

    /// What was seen as an exchange. Where recording stopped, it ends as too large.
    pub fn exchange(&mut self, request: &Request) -> Exchange {
        let mut arrivals = self.place.take();
        arrivals.hide(&self.secrets);
        let is_partial = arrivals.len() as u64 != self.received;
        Exchange {
            mode: mode_of(request),
            rounds: rounds_of(request),
            request: request.clone(),
            head: self.head.clone(),
            slices: arrivals.into_slices(),
            end: if is_partial { End::TooLarge } else { self.end.clone() },
            took: self.took,
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if self.id.is_some() {
            let _ = self.state.record(|| Order::Close(self.number)); // always taken
        }
    }
}

/// The parameters of a path's query.
fn parameters(path: &str) -> impl Iterator<Item = (&str, &[u8])> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter_map(|pair| pair.split_once('=').map(|(name, value)| (name, value.as_bytes())))
}

/// What the ids of a request's exchanges begin with.
pub(super) fn stem(request: &Request) -> String {
    format!("{LIVE}/{}", short_hash(&request.body))
}

pub(super) fn mode_of(request: &Request) -> Mode {
    if request.asked().stream { Mode::Stream } else { Mode::Whole }
}

fn rounds_of(request: &Request) -> Option<Rounds> {
    let header = request.headers.iter().find(|(name, _)| name == ROUNDS_HEADER)?;
    header.1.parse().ok()
}
