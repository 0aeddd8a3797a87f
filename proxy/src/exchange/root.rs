//! Where an upstream is: the address below which its paths lie. The one reading of an address in the program.
//!
//! In: what a user writes, with or without `/v1`, with or without a scheme. Out: a checked address, joined with the
//! paths that we and our clients ask for.

use reqwest::Url;
use std::{fmt, net::IpAddr, str::FromStr};

/// Paths that clients put behind a base URL which ends in `/v1`.
const BELOW_V1: [&str; 5] = ["/chat/completions", "/completions", "/models", "/embeddings", "/responses"];

/// The root of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Without `/v1`.
    url: Url,
    version: Version,
    /// What it is called instead of its address.
    name: Option<&'static str>,
}

/// Whether an address was given with `/v1` at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Given,
    Absent,
}

/// An address that is none. What may hold a secret is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoot {
    /// It does not parse.
    #[error("{0:?} is no address: write http://HOST:PORT")]
    NoUrl(String),
    /// Neither http nor https.
    #[error("{0:?} is neither http nor https")]
    Scheme(String),
    /// A password in an address ends up in reports and process lists.
    #[error("the address holds a user name or password: give it with --header or --api-key-env")]
    UserInfo,
    /// Paths cannot be joined to it.
    #[error("the address holds a query or a fragment: write http://HOST:PORT")]
    Query,
}

// === impl Root ===

impl Root {
    /// The address of a path with its query. Where the user gave `/v1`, so may a client have done: then the paths that
    /// clients put behind it get it back.
    pub fn at(&self, path: &str) -> String {
        let place = path.split('?').next().unwrap_or_default();
        let lacks_version = BELOW_V1.iter().any(|known| place.starts_with(known));
        let version = if self.version == Version::Given && lacks_version { "/v1" } else { "" };
        format!("{}{version}{path}", self.bare())
    }

    /// The same, called otherwise in all that is printed and kept: an address that changes with every start would make
    /// reports differ that say the same.
    #[must_use]
    pub fn called(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Whether what is sent there stays private: it is encrypted, or it stays on this machine.
    pub fn is_private(&self) -> bool {
        self.url.scheme() == "https" || self.is_loopback()
    }

    fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn bare(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }
}

impl FromStr for Root {
    type Err = BadRoot;

    fn from_str(text: &str) -> Result<Self, BadRoot> {
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let mut url = Url::parse(&full).map_err(|_| BadRoot::NoUrl(harmless(text)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadRoot::Scheme(harmless(text)));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadRoot::UserInfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadRoot::Query);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let (path, version) = match path.strip_suffix("/v1") {
            Some(path) => (path, Version::Given),
            None => (path.as_str(), Version::Absent),
        };
        url.set_path(path);
        Ok(Self { url, version, name: None })
    }
}

/// What cannot hold a user name, a password or a key.
fn harmless(text: &str) -> String {
    let host = text.rsplit('@').next().unwrap_or_default();
    host.split(['?', '#']).next().unwrap_or_default().to_owned()
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, self.version) {
            (Some(name), _) => f.write_str(name),
            (None, Version::Given) => write!(f, "{}/v1", self.bare()),
            (None, Version::Absent) => f.write_str(self.bare()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Root {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_read_with_or_without_version_and_scheme() {
        for (text, shown) in [
            ("http://localhost:8000", "http://localhost:8000"),
            ("http://localhost:8000/", "http://localhost:8000"),
            ("http://localhost:8000/v1", "http://localhost:8000/v1"),
            ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
            ("localhost:8000/v1", "http://localhost:8000/v1"),
            ("https://example.com/api/v1", "https://example.com/api/v1"),
            ("127.0.0.1:80", "http://127.0.0.1"),
        ] {
            assert_eq!(root(text).to_string(), shown, "{text}");
            assert_eq!(root(&root(text).to_string()), root(text), "{text}");
        }
        assert_eq!(root("http://localhost:8000").called("bundled").to_string(), "bundled");
    }

    #[test]
    fn paths_join_with_or_without_version() {
        for (text, path, expect) in [
            ("http://h:1", "/v1/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "/v1/models?a=b", "http://h:1/v1/models?a=b"),
            ("http://h:1/v1", "/v1/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1", "/chat/completions", "http://h:1/chat/completions"),
            ("http://h:1/v1", "/health", "http://h:1/health"),
            ("https://h/openai/v1", "/v1/models", "https://h/openai/v1/models"),
            ("h:1", "/", "http://h:1/"),
            ("localhost:8000/v1", "/v1/models", "http://localhost:8000/v1/models"),
        ] {
            assert_eq!(root(text).at(path), expect, "{text} {path}");
            assert_eq!(root(text).called("bundled").at(path), expect, "{text} {path}");
        }
    }

    #[test]
    fn what_is_no_address_says_why_and_keeps_secrets() {
        for (text, expect) in [
            ("http://", "is no address"),
            ("", "is no address"),
            ("ftp://a", r#""ftp://a" is neither http nor https"#),
            ("http://h:99999", r#""http://h:99999" is no address"#),
            ("http://me:s3cret@h:99999", r#""h:99999" is no address"#),
            ("http://me:s3cret@h", "holds a user name or password"),
            ("ftp://h?key=s3cret", r#""ftp://h" is neither"#),
            ("http://h/?key=s3cret", "holds a query"),
            ("http://h/#s3cret", "holds a query or a fragment"),
        ] {
            let told = text.parse::<Root>().unwrap_err().to_string();
            assert!(told.contains(expect) && !told.contains("s3cret"), "{text}: {told}");
        }
    }

    #[test]
    fn plain_http_is_private_on_this_machine_only() {
        for (text, expect) in [
            ("http://localhost:1", true),
            ("http://a.localhost", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:8000", true),
            ("https://h", true),
            ("http://h", false),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(root(text).is_private(), expect, "{text}");
        }
    }
}
