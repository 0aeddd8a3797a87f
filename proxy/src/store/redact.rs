//! Takes secrets out of what is about to be kept: header values, query parameters, user names in URLs.
//!
//! In: names and values as they went over the wire. Out: the same with [`REDACTED`] in place of the secret ones.

use crate::exchange::credentials::kept;

pub use crate::exchange::secrets::{REDACTED, is_secret, is_secret_header};

/// The headers, secrets replaced.
pub fn headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.clone(), kept(name, value.as_bytes()))).collect()
}

/// A path with its query, secret parameters replaced.
pub fn path(path: &str) -> String {
    match path.split_once('?') {
        Some((place, query)) => format!("{place}?{}", self::query(query)),
        None => path.to_owned(),
    }
}

fn query(query: &str) -> String {
    query.split('&').map(parameter).collect::<Vec<_>>().join("&")
}

fn parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if is_secret(&percent_decoded(name)) => format!("{name}={REDACTED}"),
        _ => parameter.to_owned(),
    }
}

/// A URL without user name and password, secret parameters replaced.
pub fn url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return path(url) };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{}", path(tail))
}

fn percent_decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = tail.get(..2).filter(|_| *first == b'%').and_then(hex_pair);
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    u8::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls() {
        for (url, expect) in [
            ("/v1/chat", "/v1/chat"),
            ("/v1?api-key=s3cret&v=1", "/v1?api-key=[redacted]&v=1"),
            ("/v1?v=1&API%2dKEY=s3cret", "/v1?v=1&API%2dKEY=[redacted]"),
            ("/v1?%=%&%k&key=s3cret=&&", "/v1?%=%&%k&key=[redacted]&&"),
            ("http://h:1/v1", "http://h:1/v1"),
            ("https://me:s3cret@h/v1?key=s3cret", "https://h/v1?key=[redacted]"),
            ("https://me:s3c@ret@h?key=s3cret", "https://h?key=[redacted]"),
        ] {
            assert_eq!(self::url(url), expect);
        }
    }
}
