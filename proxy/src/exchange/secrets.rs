//! Secrets that were sent, taken out of what comes back: some servers repeat a key that they refuse.
//!
//! In: headers that went out. Out: bytes and texts in which their secrets are stars, one for each byte, so that no offset
//! moves. Biased towards hiding: a harmless `x-partition-key` counts as a secret too.
//!
//! Found is a secret that stands in one piece of a head or a body, wherever slices cut it: plain, with JSON escapes, JSON in
//! JSON, percent-encoded. Not found is one that a server takes apart (over several events, by masking some of it), encodes
//! otherwise (base64, another case), or that is shorter than `SHORTEST`; and what a client writes into its own
//! request's body is kept as it is, since it could not be sent again else.

use super::echo::Needles;
use std::fmt;

/// Shorter values are found in too much that is none.
const SHORTEST: usize = 6;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// How values begin that are secrets whatever their header is called.
const SECRET_STARTS: [&str; 3] = ["bearer ", "basic ", "sk-"];

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

/// Whether a header holds a secret, by its name or by its value.
pub fn is_secret_header(name: &str, value: &[u8]) -> bool {
    let begins =
        |start: &&str| value.get(..start.len()).is_some_and(|v| v.eq_ignore_ascii_case(start.as_bytes()));
    is_secret(name) || SECRET_STARTS.iter().any(begins)
}

/// Values that must not be kept. They have no way to be printed.
#[derive(Clone, Default)]
pub struct Secrets(Needles);

/// Hides secrets in pieces as they come: what may be the start of one waits for the next piece.
#[derive(Debug, Default)]
pub struct Veil {
    secrets: Secrets,
    waiting: Vec<u8>,
}

// === impl Secrets ===

impl Secrets {
    /// Those among some headers.
    pub fn of<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let secret = headers.filter(|(name, value)| is_secret_header(name, value));
        let values = secret.flat_map(|(_, value)| forms(value)).filter(|value| value.len() >= SHORTEST);
        Self(Needles::new(values))
    }

    /// Puts stars in their place.
    pub fn hide(&self, bytes: &mut [u8]) {
        for place in self.0.find(bytes) {
            if let Some(place) = bytes.get_mut(place) {
                place.fill(b'*');
            }
        }
    }

    /// The most bytes that the longest may take, however it is written.
    pub const fn reach(&self) -> usize {
        self.0.reach()
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

// === impl Veil ===

impl Veil {
    /// One that hides these.
    pub fn new(secrets: Secrets) -> Self {
        Self { secrets, waiting: Vec::new() }
    }

    /// Takes a piece and gives what can be shown by now.
    pub fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        self.waiting.extend_from_slice(piece);
        self.secrets.hide(&mut self.waiting);
        let shown = self.waiting.len() - self.secrets.0.held_back(&self.waiting);
        let held = self.waiting.split_off(shown);
        std::mem::replace(&mut self.waiting, held)
    }
}

/// A value, what follows the name of a scheme as in `Bearer KEY`, and what cookies hold.
fn forms(value: &[u8]) -> Vec<&[u8]> {
    let words = value.split(|byte| matches!(byte, b' ' | b';' | b','));
    let last = value.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    let values = words.filter_map(|word| {
        let at = word.iter().position(|byte| *byte == b'=')?;
        word.get(at + 1..).filter(|value| !value.iter().all(|byte| *byte == b'='))
    });
    [value, last].into_iter().chain(values).collect()
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
            ("x-odd", b"Bearer 0ther/key"),
            ("cookie", b"theme=dark; session=c00kie=="),
            ("x-tfproxy-rounds", b"rand:1:8"),
        ];
        let secrets = Secrets::of(headers.into_iter());
        for (text, expect) in [
            ("Bad key s3cret-key, s3cret-key.", "Bad key **********, **********."),
            ("s3cret-ke 01234567", "s3cret-ke ********"),
            (r"0ther\/key dark c00kie==", r"********** dark ********"),
            ("short rand:1:8", "short rand:1:8"),
            ("", ""),
        ] {
            assert_eq!(secrets.hidden(text.as_bytes()), expect);
        }
        assert!(!format!("{secrets:?}").contains("s3cret"));
    }

    #[test]
    fn pieces_are_hidden_wherever_they_are_cut() {
        let text = br#"{"error":"bad key s3cret\/k\u0065y, s3cret-ke, \u00"}"#;
        let expect = br#"{"error":"bad key ****************, s3cret-ke, \u00"}"#;
        let secrets = || Secrets::of([("authorization", &b"Bearer s3cret/key"[..])].into_iter());
        for first in 0..=text.len() {
            for second in [first, first + 1, first + 5, text.len()] {
                let second = second.min(text.len());
                let mut veil = Veil::new(secrets());
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                let shown: Vec<u8> = pieces.iter().flat_map(|piece| veil.pass(piece)).collect();
                assert!(shown == expect, "{first} {second}: {}", String::from_utf8_lossy(&shown));
            }
        }
    }
}
