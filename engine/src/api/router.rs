//! From an HTTP request to an HTTP response: the route, the body read under its caps, the answer or the refusal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::{
    Body, clock,
    errors::{Refusal, shown},
    ids::Ids,
    models, openai_chat,
};
use crate::plant::Switch;

/// The largest request body that is read: a conversation of millions of tokens.
pub const MAX_BODY: usize = 16 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// All that answering needs; shared by the connections.
#[derive(Debug)]
pub struct Service {
    /// Whether plants and decoys may be asked for.
    pub plants: Switch,
    /// Where ids come from.
    pub ids: Ids,
    /// How many rounds have been generated since the start.
    pub rounds: Arc<AtomicU64>,
    started: u64,
}

#[derive(Debug, Clone, Copy)]
enum Route {
    Health,
    Models,
    Chat,
}

// === impl Service ===

impl Service {
    /// A service that has answered nothing yet.
    pub fn new(plants: Switch) -> Self {
        Self { plants, ids: Ids::default(), rounds: Arc::default(), started: clock::now() }
    }

    /// Answers one request.
    pub async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        match Route::find(request.uri().path()) {
            None => {
                let path = request.uri().path();
                refuse(&Refusal::of_request(StatusCode::NOT_FOUND, format!("unknown path {}", shown(path))))
            }
            Some(route) if *request.method() != route.method() => wrong_method(route),
            Some(Route::Health) => json(StatusCode::OK, self.health()),
            Some(Route::Models) => json(StatusCode::OK, models::list(self.started)),
            Some(Route::Chat) => self.chat(request).await.unwrap_or_else(|refusal| refuse(&refusal)),
        }
    }

    fn health(&self) -> Vec<u8> {
        let (version, rounds) = (env!("CARGO_PKG_VERSION"), self.rounds.load(Ordering::Relaxed));
        format!(r#"{{"status":"ok","version":"{version}","rounds":{rounds}}}"#).into_bytes()
    }

    async fn chat(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let (head, body) = request.into_parts();
        let body = collect(body).await?;
        openai_chat::answer(self, &head.headers, &body).await
    }
}

// === impl Route ===

impl Route {
    fn find(path: &str) -> Option<Self> {
        match path {
            "/health" => Some(Self::Health),
            "/v1/models" => Some(Self::Models),
            "/v1/chat/completions" => Some(Self::Chat),
            _ => None,
        }
    }

    fn method(self) -> Method {
        match self {
            Self::Health | Self::Models => Method::GET,
            Self::Chat => Method::POST,
        }
    }
}

async fn collect(body: Incoming) -> Result<Bytes, Refusal> {
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::of_request(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {MAX_BODY} bytes"),
        )),
        Ok(Err(error)) => {
            Err(Refusal::of_request(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")))
        }
        Err(_) => Err(Refusal::of_request(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// A response with a JSON body.
pub fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    with_head(status, &[(CONTENT_TYPE, "application/json")], body.into())
}

/// A response that streams events.
pub fn event_stream(body: Body) -> Response<Body> {
    with_head(StatusCode::OK, &[(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body)
}

fn refuse(refusal: &Refusal) -> Response<Body> {
    json(refusal.status, refusal.body())
}

fn wrong_method(route: Route) -> Response<Body> {
    let method = route.method();
    let refusal =
        Refusal::of_request(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {method} only"));
    let mut response = refuse(&refusal);
    if let Ok(allow) = HeaderValue::from_str(method.as_str()) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

fn with_head(status: StatusCode, headers: &[(HeaderName, &'static str)], body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
