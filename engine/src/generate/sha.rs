//! `token_sha`: what was generated, in twelve characters. Equal ones prove equal tokens.
//!
//! In: token ids, round by round. Out: the first 12 hex digits of the SHA-256 of the ids, decimal, joined by commas.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::text::TokenId;

/// How many bytes of the digest are said.
const SAID: usize = 6;

/// The digest under way.
#[derive(Debug, Default)]
pub struct TokenSha {
    hash: Sha256,
    digits: Vec<u8>,
    begun: bool,
}

// === impl TokenSha ===

impl TokenSha {
    /// Adds the tokens of a round.
    pub fn push(&mut self, ids: &[TokenId]) {
        self.digits.clear();
        for id in ids {
            if self.begun {
                self.digits.push(b',');
            }
            self.begun = true;
            push_decimal(&mut self.digits, *id);
        }
        self.hash.update(&self.digits);
    }

    /// The twelve digits.
    pub fn end(&mut self) -> String {
        let digest = std::mem::take(&mut self.hash).finalize();
        digest.iter().take(SAID).fold(String::with_capacity(2 * SAID), |mut hex, byte| {
            let written = write!(hex, "{byte:02x}");
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
            hex
        })
    }
}

fn push_decimal(out: &mut Vec<u8>, id: TokenId) {
    if id >= 10 {
        push_decimal(out, id / 10);
    }
    out.push(b'0' + u8::try_from(id % 10).unwrap_or_default());
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn check(rounds: &[&[TokenId]], expect: &str) {
        let mut sha = TokenSha::default();
        for ids in rounds {
            sha.push(ids);
        }
        assert_eq!(sha.end(), expect);
    }

    #[test]
    fn the_ids_count_and_not_the_rounds() {
        // printf '72,105,260' | sha256sum
        check(&[&[72, 105, 260]], HI);
        check(&[&[72], &[], &[105, 260]], HI);
        check(&[], "e3b0c44298fc");
    }

    /// The tokens of "Hi" and the end token.
    pub const HI: &str = "3ed008da4ffd";
}
