//! Headers that a user adds to every request: keys, mostly. They go out with a request and nowhere else.
//!
//! In: `--header` and the key of `--api-key-env`. Out: headers for sending, each where the request has none of that
//! name itself. They print as names only; what is kept of a request has the harmless ones, since it may answer otherwise
//! without them, and only the names of the others.

use super::{
    Root, Secrets,
    secrets::{REDACTED, is_secret_header},
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// Headers to send along.
#[derive(Clone, Default)]
pub struct Credentials(HeaderMap);

/// A header that cannot be sent, or must not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    /// It has no colon, or its name is none.
    #[error("--header {0:?}: write NAME:VALUE")]
    NoHeader(String),
    /// It belongs to the connection or to the body's framing, and would break both.
    #[error("--header {0:?}: is set by the connection itself")]
    Framing(String),
    /// Its value has characters that no header can hold. The value is not repeated.
    #[error("--header {0:?}: the value holds characters that no header can")]
    Value(String),
    /// It would cross a network for all to read.
    #[error(
        "a key would go to {0} over plain http, readable on the way: use https, or say --allow-plain-http"
    )]
    Plain(String),
}

/// Headers that a user cannot choose: with another length or framing a server waits for bytes that never come, and what
/// is compressed cannot be judged.
const FRAMING: [&str; 10] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether keys may go over plain http to another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainHttp {
    /// Only to this machine.
    #[default]
    Refused,
    /// The user said so.
    Allowed,
}

// === impl Credentials ===

impl Credentials {
    /// Adds a header written `NAME:VALUE`.
    pub fn add(&mut self, header: &str) -> Result<(), BadCredentials> {
        let (name, value) = header.split_once(':').ok_or_else(|| BadCredentials::NoHeader(shown(header)))?;
        let name: HeaderName = name.trim().parse().map_err(|_| BadCredentials::NoHeader(shown(name)))?;
        if FRAMING.contains(&name.as_str()) {
            return Err(BadCredentials::Framing(name.as_str().to_owned()));
        }
        self.insert(name, value.trim())
    }

    /// Adds a key as a bearer token.
    pub fn add_key(&mut self, key: &str) -> Result<(), BadCredentials> {
        self.insert(AUTHORIZATION, &format!("Bearer {}", key.trim()))
    }

    /// Whether they may be sent to an upstream.
    pub fn check(&self, root: &Root, plain: PlainHttp) -> Result<(), BadCredentials> {
        let is_safe = self.0.is_empty() || root.is_private();
        if is_safe || plain == PlainHttp::Allowed {
            Ok(())
        } else {
            Err(BadCredentials::Plain(root.to_string()))
        }
    }

    /// All of them.
    pub fn headers(&self) -> &HeaderMap {
        &self.0
    }

    /// The secrets among them.
    pub fn secrets(&self) -> Secrets {
        Secrets::of(self.0.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// Adds to the headers of a request those that it lacks: one that it has itself stands.
    pub fn fill(&self, headers: &mut HeaderMap) {
        let missing = self.0.keys().filter(|name| !headers.contains_key(*name)).cloned().collect::<Vec<_>>();
        for name in missing {
            for value in self.0.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
    }

    /// What is to be kept of them beside the headers that a request has itself: secrets as names only.
    pub fn noted(&self, own: &[(String, String)]) -> Vec<(String, String)> {
        let is_own = |name: &str| own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let added = self.0.iter().filter(|(name, _)| !is_own(name.as_str()));
        added.map(|(name, value)| (name.to_string(), kept(name.as_str(), value.as_bytes()))).collect()
    }

    /// These in front: what the others hold under the same names is left out.
    #[must_use]
    pub fn over(mut self, others: &Self) -> Self {
        others.fill(&mut self.0);
        self
    }

    fn insert(&mut self, name: HeaderName, value: &str) -> Result<(), BadCredentials> {
        let mut value =
            HeaderValue::from_str(value).map_err(|_| BadCredentials::Value(name.as_str().to_owned()))?;
        value.set_sensitive(true);
        self.0.append(name, value);
        Ok(())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// A value as it may be kept.
pub fn kept(name: &str, value: &[u8]) -> String {
    if is_secret_header(name, value) {
        REDACTED.to_owned()
    } else {
        String::from_utf8_lossy(value).into_owned()
    }
}

/// What precedes a space or an equals sign: enough to find the option again, too little to hold a key.
fn shown(header: &str) -> String {
    header.split([' ', '=', ':']).next().unwrap_or_default().chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Root {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_never_prints() {
        let mut credentials = Credentials::default();
        credentials.add_key(" s3cret\n").unwrap();
        credentials.add("X-Key: s3cret").unwrap();
        assert_eq!(format!("{credentials:?}"), r#"["authorization", "x-key"]"#);
        assert_eq!(credentials.headers()["authorization"], "Bearer s3cret");
        assert!(!format!("{:?}", credentials.headers()).contains("s3cret"));
    }

    #[test]
    fn a_header_of_the_request_itself_stands() {
        let mut credentials = Credentials::default();
        for header in ["x-team: ours", "x-tag: 1", "x-tag: 2"] {
            credentials.add(header).unwrap();
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-team", HeaderValue::from_static("theirs"));
        credentials.fill(&mut headers);
        assert_eq!(headers.get_all("x-team").iter().collect::<Vec<_>>(), ["theirs"]);
        assert_eq!(headers.get_all("x-tag").iter().collect::<Vec<_>>(), ["1", "2"]);
        let mut own = Credentials::default();
        own.add("x-tag: 3").unwrap();
        let both = own.over(&credentials);
        assert_eq!(both.headers().get_all("x-tag").iter().collect::<Vec<_>>(), ["3"]);
        assert_eq!(both.headers()["x-team"], "ours");
    }

    #[test]
    fn what_is_kept_has_the_names_of_all_and_the_values_of_the_harmless() {
        let mut credentials = Credentials::default();
        credentials.add_key("s3cret").unwrap();
        for header in
            ["x-tfproxy-plant: index-zero", "x-api-key: s3cret", "x-mine: Bearer s3cret", "x-own: 1"]
        {
            credentials.add(header).unwrap();
        }
        let mut noted = credentials.noted(&[("X-Own".to_owned(), "2".to_owned())]);
        noted.sort();
        let noted: Vec<String> = noted.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(
            noted,
            [
                "authorization: [redacted]",
                "x-api-key: [redacted]",
                "x-mine: [redacted]",
                "x-tfproxy-plant: index-zero"
            ]
        );
    }

    #[test]
    fn bad_headers_are_refused_without_their_value() {
        let add = |text| Credentials::default().add(text).unwrap_err().to_string();
        assert_eq!(add("Bearer s3cret"), r#"--header "Bearer": write NAME:VALUE"#);
        assert_eq!(add("a b: s3cret"), r#"--header "a": write NAME:VALUE"#);
        assert!(!add("x: s3c\nret").contains("s3c"));
        assert_eq!(add("Content-Length: 5"), r#"--header "content-length": is set by the connection itself"#);
    }

    #[test]
    fn keys_stay_on_this_machine_unless_encrypted_or_allowed() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.check(&root("http://10.0.0.1"), PlainHttp::Refused), Ok(()));
        credentials.add_key("k").unwrap();
        for (text, plain, is_sent) in [
            ("http://10.0.0.1", PlainHttp::Refused, false),
            ("http://10.0.0.1", PlainHttp::Allowed, true),
            ("https://10.0.0.1", PlainHttp::Refused, true),
            ("http://localhost:1", PlainHttp::Refused, true),
        ] {
            assert_eq!(credentials.check(&root(text), plain).is_ok(), is_sent, "{text}");
        }
    }
}
