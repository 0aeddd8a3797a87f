//! One request through: on to the upstream, its answer back.
//!
//! In: a client's request. Out: the upstream's response, or, where there is none, 502 or 504 with an error object
//! that names the upstream. What names no path (`CONNECT`, `OPTIONS *`) is answered here with 501.

use super::{
    headers,
    line::{Remark, Said, line},
    state::State,
    status,
    tap::{BoxError, Download, Upload},
    wire::Flushed,
    witness::{Arrival, Witness},
};
use crate::{
    exchange::{End, Head, Root},
    request::Dialect,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Body, Incoming},
    header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue},
};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, sync::atomic::Ordering::Relaxed};

type Outgoing = UnsyncBoxBody<Bytes, BoxError>;

/// Why the upstream gave no answer.
struct NoAnswer {
    status: StatusCode,
    code: &'static str,
    message: String,
    end: End,
}

pub(super) async fn answer(
    state: Arc<State>,
    flushed: Arc<Flushed>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    if request.method() == Method::GET && request.uri().path() == status::PATH {
        let status = state.status.value(&state.settings.upstream);
        return Ok(json_response(StatusCode::OK, &status));
    }
    if let Some(refusal) = not_forwarded(&state, &request) {
        return Ok(refusal);
    }
    state.status.forwarded.fetch_add(1, Relaxed);
    Ok(forward(&state, flushed, request).await)
}

/// The answer to what cannot be asked of an upstream: it names no path there. The upstream never hears of it.
fn not_forwarded(state: &State, request: &Request<Incoming>) -> Option<Response<Outgoing>> {
    let (method, target) = (request.method(), request.uri().to_string());
    let why = match method {
        &Method::CONNECT => "tfproxy opens no tunnels: give its address as the base URL, not as a proxy",
        _ if !path_of(request.uri()).starts_with('/') => "tfproxy forwards paths only",
        _ => return None,
    };
    let status = StatusCode::NOT_IMPLEMENTED;
    let said = Said { status: Some(status.as_u16()), ..Said::default() };
    let remark = Remark::NotJudged("it is not forwarded".to_owned());
    state.say(line(method.as_str(), &target, &said, Some(remark)));
    let message = format!("{why} ({method} {target})");
    Some(json_response(status, &error("not_implemented", "not_forwarded", &message)))
}

async fn forward(
    state: &Arc<State>,
    flushed: Arc<Flushed>,
    request: Request<Incoming>,
) -> Response<Outgoing> {
    let (parts, body) = request.into_parts();
    let path = path_of(&parts.uri);
    let dialect = Dialect::from_path(&path).filter(|_| parts.method == Method::POST);
    let mut sent = headers::to_upstream(&parts.headers);
    if dialect.is_some() {
        sent.remove(ACCEPT_ENCODING); // what is compressed cannot be judged
    }
    state.settings.credentials.fill(&mut sent);
    let (kept, credentials) = headers::kept_and_secret(&sent);
    let method = parts.method.to_string();
    let url = state.settings.upstream.at(&path);
    let mut witness = Witness::begin(state, Arrival { method, path, dialect, headers: kept, credentials });
    let mut onward = state.client.request(parts.method, url).headers(sent);
    if body.is_end_stream() {
        witness.upload().complete();
    } else {
        onward = onward.body(reqwest::Body::wrap(Upload::new(body, witness.upload())));
    }
    match head(state, onward).await {
        Ok(response) => respond(response, witness, flushed),
        Err(no_answer) => refuse(no_answer, &mut witness),
    }
}

/// The path with its query, also where a client sends a whole URL as to a proxy.
fn path_of(uri: &Uri) -> String {
    uri.path_and_query().map_or("/", |path| path.as_str()).to_owned()
}

async fn head(state: &State, request: reqwest::RequestBuilder) -> Result<reqwest::Response, NoAnswer> {
    let upstream = &state.settings.upstream;
    match tokio::time::timeout(state.settings.head_timeout, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(NoAnswer::of(upstream, &error)),
        Err(_) => Err(NoAnswer::late(state)),
    }
}

fn respond(response: reqwest::Response, mut witness: Witness, flushed: Arc<Flushed>) -> Response<Outgoing> {
    let (mut parts, body) = hyper::Response::<reqwest::Body>::from(response).into_parts();
    witness.head(Head { status: parts.status.as_u16(), headers: headers::pairs(&parts.headers) });
    parts.headers = headers::end_to_end(&parts.headers);
    parts.version = hyper::Version::HTTP_11;
    parts.extensions.clear();
    Response::from_parts(parts, Download::new(body, witness, flushed).boxed_unsync())
}

fn refuse(no_answer: NoAnswer, witness: &mut Witness) -> Response<Outgoing> {
    let NoAnswer { status, code, message, end } = no_answer;
    witness.failed(end);
    json_response(status, &error("upstream_error", code, &message))
}

fn error(kind: &str, code: &str, message: &str) -> serde_json::Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn json_response(status: StatusCode, value: &serde_json::Value) -> Response<Outgoing> {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

// === impl NoAnswer ===

impl NoAnswer {
    fn of(upstream: &Root, error: &reqwest::Error) -> Self {
        let end = End::before_head(error);
        let why = match &end {
            End::Refused(why) | End::Malformed(why) | End::Cut(why) => why,
            _ => "nothing came in time",
        };
        let (code, message) = match end {
            End::Refused(_) => {
                ("upstream_unreachable", format!("tfproxy: cannot reach the upstream {upstream}: {why}"))
            }
            _ => ("upstream_broken", format!("tfproxy: the upstream {upstream} gave no answer: {why}")),
        };
        Self { status: StatusCode::BAD_GATEWAY, code, message, end }
    }

    fn late(state: &State) -> Self {
        let (upstream, limit) = (&state.settings.upstream, state.settings.head_timeout);
        let message = format!("tfproxy: the upstream {upstream} gave no answer within {limit:?}");
        Self { status: StatusCode::GATEWAY_TIMEOUT, code: "upstream_timeout", message, end: End::TimedOut }
    }
}
