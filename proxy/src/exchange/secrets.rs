//! Secrets that were sent, taken out of what comes back: some servers repeat a key that they refuse.
//!
//! In: headers that went out. Out: bytes and texts in which their secrets are stars, one for each byte, so that no offset
//! moves. Biased towards hiding: a harmless `x-partition-key` counts as a secret too.

use std::fmt;

/// Shorter values are found in too much that is none.
const SHORTEST: usize = 8;

/// Names that hold a secret, beside those that end in one of [`SECRET_ENDS`].
const SECRET_NAMES: [&str; 11] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "cookie2",
    "set-cookie",
    "set-cookie2",
    "key",
    "apikey",
    "sig",
    "signature",
    "token",
];

/// Ends of names that hold a secret.
const SECRET_ENDS: [&str; 8] =
    ["-key", "-apikey", "-token", "-secret", "secret", "-signature", "password", "-authorization"];

/// Whether a header or a query parameter of that name holds a secret. Case and `_` for `-` make no difference.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase().replace('_', "-");
    SECRET_NAMES.contains(&name.as_str()) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Values that must not be kept. They have no way to be printed.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Vec<u8>>);

// === impl Secrets ===

impl Secrets {
    /// Those among some headers.
    pub fn of<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let secret = headers.filter(|(name, _)| is_secret(name)).map(|(_, value)| key(value));
        Self(secret.filter(|value| value.len() >= SHORTEST).map(<[u8]>::to_vec).collect())
    }

    /// Puts stars in their place.
    pub fn hide(&self, bytes: &mut [u8]) {
        for secret in &self.0 {
            let found: Vec<usize> = memchr::memmem::find_iter(bytes, secret).collect();
            for at in found {
                if let Some(place) = bytes.get_mut(at..at + secret.len()) {
                    place.fill(b'*');
                }
            }
        }
    }

    /// A text with stars in their place.
    pub fn hidden(&self, bytes: &[u8]) -> String {
        let mut bytes = bytes.to_vec();
        self.hide(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

/// What follows the name of a scheme, as in `Bearer KEY`.
fn key(value: &[u8]) -> &[u8] {
    value.rsplit(|byte| *byte == b' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "Authorization",
            "PROXY-AUTHORIZATION",
            "cookie",
            "Set-Cookie",
            "api-key",
            "X-Api-Key",
            "x_api_key",
            "apikey",
            "x-goog-api-key",
            "ocp-apim-subscription-key",
            "key",
            "access_token",
            "x-auth-token",
            "client_secret",
            "Password",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["content-type", "x-ratelimit-remaining-tokens", "user-agent", "openai-version", "keyed"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn what_was_sent_is_hidden_where_it_comes_back() {
        let headers = [
            ("authorization", &b"Bearer s3cret-key"[..]),
            ("x-api-key", b"01234567"),
            ("x-token", b"short"),
            ("x-tfproxy-rounds", b"rand:1:8"),
        ];
        let secrets = Secrets::of(headers.into_iter());
        for (text, expect) in [
            ("Bad key s3cret-key, s3cret-key.", "Bad key **********, **********."),
            ("s3cret-ke 01234567", "s3cret-ke ********"),
            ("short rand:1:8", "short rand:1:8"),
            ("", ""),
        ] {
            assert_eq!(secrets.hidden(text.as_bytes()), expect);
        }
        assert!(!format!("{secrets:?}").contains("s3cret"));
    }
}
