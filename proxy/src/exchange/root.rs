//! Where an upstream is: the address below which its paths lie.
//!
//! In: what a user writes, with or without `/v1`, with or without a scheme. Out: a checked address.

use reqwest::Url;
use std::{fmt, net::IpAddr, str::FromStr};

/// The root of an upstream, without `/v1` and without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(Url);

/// An address that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoot {
    /// It does not parse.
    #[error("upstream {0:?} is no address: write http://HOST:PORT")]
    NoUrl(String),
    /// Neither http nor https.
    #[error("upstream {0:?}: only http and https are spoken")]
    Scheme(String),
    /// A password in an address ends up in reports and process lists.
    #[error("upstream address holds a user name or password: give it with --header or --api-key-env")]
    UserInfo,
}

// === impl Root ===

impl Root {
    /// The address of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.text())
    }

    /// Whether everything sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether what is sent there can be read on the way.
    pub fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    fn text(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }
}

impl FromStr for Root {
    type Err = BadRoot;

    fn from_str(text: &str) -> Result<Self, BadRoot> {
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let mut url = Url::parse(&full).map_err(|_| BadRoot::NoUrl(text.to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadRoot::Scheme(text.to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadRoot::UserInfo);
        }
        url.set_query(None);
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_or_without_version_and_scheme() {
        for (text, root) in [
            ("http://localhost:8000", "http://localhost:8000"),
            ("http://localhost:8000/", "http://localhost:8000"),
            ("http://localhost:8000/v1", "http://localhost:8000"),
            ("http://localhost:8000/v1/", "http://localhost:8000"),
            ("localhost:8000/v1", "http://localhost:8000"),
            ("https://example.com/api/v1?x=1#y", "https://example.com/api"),
            ("127.0.0.1:80", "http://127.0.0.1"),
        ] {
            assert_eq!(text.parse::<Root>().unwrap().to_string(), root, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        assert_eq!("http://".parse::<Root>(), Err(BadRoot::NoUrl("http://".to_owned())));
        assert_eq!("ftp://a".parse::<Root>(), Err(BadRoot::Scheme("ftp://a".to_owned())));
        assert_eq!("http://me:secret@a".parse::<Root>(), Err(BadRoot::UserInfo));
    }

    #[test]
    fn loopback_is_this_machine_only() {
        for (text, expect) in [
            ("http://localhost:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:8000", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(text.parse::<Root>().unwrap().is_loopback(), expect, "{text}");
        }
    }
}
