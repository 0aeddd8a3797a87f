//! Where requests go: a URL with or without `/v1`, joined with the paths that clients ask for.

use crate::{request::Dialect, store::redact};
use std::fmt;

/// Paths that clients put behind a base URL which ends in `/v1`.
const BELOW_V1: [&str; 5] = ["/chat/completions", "/completions", "/models", "/embeddings", "/responses"];

/// A server's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    root: String,
    version: Version,
    name: String,
}

/// Whether the URL was given with `/v1` at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Given,
    Absent,
}

/// A URL that cannot be an upstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("upstream {url:?}: {problem}")]
pub struct BadUpstream {
    /// As given, without secrets.
    pub url: String,
    /// What is wrong with it.
    pub problem: String,
}

// === impl Upstream ===

impl Upstream {
    /// Reads a URL; without a scheme it is http.
    pub fn parse(text: &str) -> Result<Self, BadUpstream> {
        let bad = |problem: String| BadUpstream { url: redact::url(text), problem };
        let given = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = reqwest::Url::parse(&given).map_err(|error| bad(error.to_string()))?;
        match (url.scheme(), url.host_str(), url.query(), url.fragment()) {
            ("http" | "https", Some(_), None, None) => {}
            ("http" | "https", Some(_), _, _) => return Err(bad("has a query or a fragment".to_owned())),
            (scheme, _, _, _) => return Err(bad(format!("{scheme} is neither http nor https"))),
        }
        let trimmed = url.as_str().trim_end_matches('/');
        let (root, version) = match trimmed.strip_suffix("/v1") {
            Some(root) => (root, Version::Given),
            None => (trimmed, Version::Absent),
        };
        Ok(Self { root: root.to_owned(), version, name: redact::url(trimmed) })
    }

    /// The bundled engine at `url`; recordings call it `bundled`, since its port changes.
    pub fn bundled(url: &str) -> Result<Self, BadUpstream> {
        Ok(Self { name: "bundled".to_owned(), ..Self::parse(url)? })
    }

    /// The URL of a path with its query.
    pub fn join(&self, path: &str) -> String {
        let place = path.split('?').next().unwrap_or_default();
        let lacks_version = BELOW_V1.iter().any(|known| place.starts_with(known));
        let version = if self.version == Version::Given && lacks_version { "/v1" } else { "" };
        format!("{}{version}{path}", self.root)
    }

    /// The dialect that is asked at a path.
    pub fn dialect(path: &str) -> Option<Dialect> {
        Dialect::from_path(path)
    }

    /// As it is printed and kept: without secrets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether what is sent there stays private: https, or this machine.
    pub fn is_private(&self) -> bool {
        let Ok(url) = reqwest::Url::parse(&self.root) else { return false };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        url.scheme() == "https" || host == "localhost" || is_loopback
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_join_with_or_without_v1() {
        for (upstream, path, expect) in [
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
            assert_eq!(Upstream::parse(upstream).unwrap().join(path), expect, "{upstream} {path}");
        }
    }

    #[test]
    fn bad_upstreams_say_why_and_keep_secrets() {
        for (text, expect) in [
            ("ftp://h", "neither http nor https"),
            ("http://", "empty host"),
            ("", "empty host"),
            ("http://h:99999", "invalid port"),
            ("http://me:s3cret@h/?key=s3cret", "has a query"),
        ] {
            let error = Upstream::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect) && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn plain_http_is_private_on_this_machine_only() {
        for (url, expect) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("https://h", true),
            ("http://h", false),
            ("http://localhost.evil", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Upstream::parse(url).unwrap().is_private(), expect, "{url}");
        }
    }
}
