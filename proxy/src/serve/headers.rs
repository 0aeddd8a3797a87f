//! Which headers go on, and which are kept.
//!
//! A proxy must not pass on what belongs to one connection only; all else passes as it came.

use crate::store::redact;
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName};

/// What belongs to one connection, whether `connection` names it or not.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Names and values.
type Pairs = Vec<(String, String)>;

/// What goes on of a request. `host` is the upstream's own; `expect` was answered already.
pub(super) fn to_upstream(headers: &HeaderMap) -> HeaderMap {
    let mut kept = end_to_end(headers);
    kept.remove(HOST);
    kept.remove(EXPECT);
    kept
}

/// What goes on of a response, or of a request: all but the connection's own.
pub(super) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    let is_kept = |name: &HeaderName| !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(name);
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Splits what went on into what may be kept and the credentials, which may not.
pub(super) fn kept_and_secret(headers: &HeaderMap) -> (Pairs, Pairs) {
    let framing = [CONTENT_LENGTH, ACCEPT_ENCODING];
    let own = headers.iter().filter(|(name, _)| !framing.contains(name));
    let pairs = own.map(|(name, value)| (name.to_string(), lossy(value.as_bytes())));
    pairs.partition(|(name, value)| !redact::is_secret_header(name, value.as_bytes()))
}

/// All headers of a response, as an exchange holds them.
pub(super) fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), lossy(value.as_bytes()))).collect()
}

fn lossy(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| (name.parse().unwrap(), value.parse().unwrap());
        pairs.iter().map(pair).collect::<Vec<(HeaderName, _)>>().into_iter().collect()
    }

    #[test]
    fn only_the_connections_own_headers_stay_behind() {
        let headers = map(&[
            ("connection", "keep-alive, X-Mine"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("x-mine", "1"),
            ("x-other", "2"),
            ("host", "proxy"),
            ("expect", "100-continue"),
            ("content-length", "3"),
            ("authorization", "Bearer k"),
        ]);
        let kept = to_upstream(&headers);
        let expect = map(&[("x-other", "2"), ("content-length", "3"), ("authorization", "Bearer k")]);
        assert_eq!(kept, expect);
        let (kept, secret) = kept_and_secret(&kept);
        assert_eq!(kept, [("x-other".to_owned(), "2".to_owned())]);
        assert_eq!(secret, [("authorization".to_owned(), "Bearer k".to_owned())]);
    }
}
