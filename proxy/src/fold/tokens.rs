//! What logprobs say of the tokens that were generated.
//!
//! In: the `logprobs` of choice 0, list by list, whole or chunk by chunk. Out: one short text that is equal for equal tokens,
//! or nothing where they do not account for every token: servers leave out those of calls, of reasoning, or of what they
//! held back, and what is left would prove too much.

use super::reply::Reply;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Tokens so far. Their bytes are hashed joined: a character that is spread over tokens may be shown with any of them.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Bytes of the content's tokens and of the refusal's.
    lists: [Sha256; 2],
    count: u64,
    has_gap: bool,
}

// === impl Tokens ===

impl Tokens {
    /// Takes the logprobs of a choice.
    pub(super) fn push(&mut self, choice: &Value) {
        let Some(logprobs) = choice.get("logprobs") else { return };
        for (key, list) in ["content", "refusal"].into_iter().zip(&mut self.lists) {
            for entry in logprobs.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.count += 1;
                match entry.get("bytes").and_then(bytes) {
                    Some(bytes) => list.update(bytes),
                    None => self.has_gap = true,
                }
            }
        }
    }

    /// Concludes: whether they are all tokens, usage says. The token that ends a turn is billed and by many servers not
    /// listed; an answer that was cut has none.
    pub(super) fn settle(self, reply: &mut Reply) {
        let billed = reply.usage.as_ref().and_then(|usage| usage.completion);
        let unlisted = billed.and_then(|billed| billed.checked_sub(self.count));
        let may_lack = u64::from(reply.finish_reason() != Some("length"));
        let is_all = self.count > 0 && !self.has_gap && unlisted.is_some_and(|lacks| lacks <= may_lack);
        if is_all {
            let [content, refusal] = self.lists.map(hexadecimal);
            reply.proof.token_bytes = Some(format!("{} tokens {content} {refusal}", self.count));
        }
    }
}

/// The first twelve digits of a hash.
fn hexadecimal(list: Sha256) -> String {
    let first = list.finalize().iter().take(6).fold(0, |number, byte| (number << 8) | u64::from(*byte));
    format!("{first:012x}")
}

/// A list of byte values, all of them.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let byte = |value: &Value| u8::try_from(value.as_u64()?).ok();
    value.as_array()?.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::reply::Usage;
    use serde_json::json;

    fn entry(text: &[u8]) -> Value {
        json!({ "token": String::from_utf8_lossy(text), "logprob": -0.1, "bytes": text, "top_logprobs": [] })
    }

    fn choice(entries: &[Value]) -> Value {
        json!({ "index": 0, "logprobs": { "content": entries, "refusal": null } })
    }

    /// What is proven by choices that come one after the other, where so many tokens are billed.
    fn of(choices: &[Value], billed: impl Into<Option<u64>>, finish: &str) -> Option<String> {
        let usage = Usage { completion: billed.into(), ..Usage::default() };
        let mut reply =
            Reply { usage: Some(usage), finish: Some((finish.to_owned(), 0)), ..Reply::default() };
        let mut tokens = Tokens::default();
        for choice in choices {
            tokens.push(choice);
        }
        tokens.settle(&mut reply);
        reply.proof.token_bytes
    }

    #[test]
    fn equal_tokens_are_equal_however_they_come() {
        let (a, e, acute) = (entry(b"a"), entry(b"\xc3"), entry(b"\xa9"));
        let whole = of(&[choice(&[a.clone(), e.clone(), acute.clone()])], 3, "stop");
        assert!(whole.is_some());
        assert_eq!(
            of(
                &[choice(std::slice::from_ref(&a)), choice(&[]), choice(&[e.clone(), acute.clone()])],
                3,
                "stop"
            ),
            whole
        );
        assert_ne!(of(&[choice(&[a.clone(), acute.clone(), e])], 3, "stop"), whole, "another order");
        assert_ne!(of(&[choice(&[a.clone(), entry("é".as_bytes())])], 2, "stop"), whole, "another number");
        let refusal = json!({ "logprobs": { "content": null, "refusal": [a.clone()] } });
        assert_ne!(of(&[refusal], 1, "stop"), of(&[choice(&[a])], 1, "stop"), "said in another field");
    }

    #[test]
    fn what_leaves_tokens_out_proves_nothing() {
        let (a, b) = (entry(b"a"), entry(b"b"));
        let both = [choice(&[a.clone(), b.clone()])];
        for (billed, finish, expect) in [
            (Some(2), "stop", true),
            (Some(3), "stop", true), // the end of the turn
            (Some(4), "stop", false),
            (Some(1), "stop", false),
            (Some(2), "length", true),
            (Some(3), "length", false),
            (None, "stop", false),
        ] {
            assert_eq!(of(&both, billed, finish).is_some(), expect, "{billed:?} {finish}");
        }
        for odd in [json!(null), json!("a"), json!([256]), json!([-1]), json!([97, "b"])] {
            let mut entry = b.clone();
            entry["bytes"] = odd;
            assert_eq!(of(&[choice(&[a.clone(), entry.clone()])], 2, "stop"), None, "{entry}");
        }
        assert_eq!(of(&[choice(&[])], 0, "stop"), None);
        assert_eq!(of(&[json!({ "logprobs": null }), json!({})], 0, "stop"), None);
    }
}
