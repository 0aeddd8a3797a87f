//! What token ids and logprobs say of the tokens that were generated.
//!
//! In: the `token_ids` and `logprobs` of choice 0, list by list, whole or chunk by chunk. Out: for each one text that is equal
//! for equal tokens, or nothing where they do not account for every token: servers leave out those of calls, of reasoning,
//! or of what they held back, and what is left would prove too much. Ids that usage says nothing of are kept as such: they
//! stand where the other reply's usage confirms their number.

use super::{
    logprobs,
    reply::{Billed, Reply, TokenIds},
    wire,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Tokens so far. Their bytes are hashed joined: a character that is spread over tokens may be shown with any of them.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Bytes of the content's tokens and of the refusal's.
    lists: [Sha256; 2],
    count: u64,
    has_gap: bool,
    ids: Ids,
}

/// Token ids so far.
#[derive(Debug, Default)]
struct Ids {
    /// Joined by commas.
    list: String,
    count: u64,
    /// Whether one of them is no id.
    has_odd: bool,
}

// === impl Tokens ===

impl Tokens {
    /// Takes what a choice brings.
    pub(super) fn push(&mut self, choice: &Value) {
        self.ids.push(wire::given(choice, "token_ids"));
        for (entries, list) in logprobs::lists(choice).into_iter().zip(&mut self.lists) {
            for entry in entries {
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
        reply.proof.token_ids = self.ids.settle(billed, reply.finish_reason());
        let unlisted = billed.and_then(|billed| billed.checked_sub(self.count));
        let may_lack = u64::from(reply.finish_reason() != Some("length"));
        let is_all = self.count > 0 && !self.has_gap && unlisted.is_some_and(|lacks| lacks <= may_lack);
        if is_all {
            let [content, refusal] = self.lists.map(hexadecimal);
            reply.proof.token_bytes = Some(format!("{} tokens {content} {refusal}", self.count));
        }
    }
}

// === impl Ids ===

impl Ids {
    fn push(&mut self, ids: Option<&Value>) {
        let Some(ids) = ids else { return };
        self.has_odd |= !ids.is_array();
        for id in ids.as_array().into_iter().flatten() {
            self.count += 1;
            match id_of(id) {
                Some(id) => {
                    self.list.push_str(if self.list.is_empty() { "" } else { "," });
                    self.list.push_str(&id);
                }
                None => self.has_odd = true,
            }
        }
    }

    fn settle(self, billed: Option<u64>, finish: Option<&str>) -> Option<TokenIds> {
        let may_lack = finish != Some("length");
        let billed = match billed.map(|billed| billed.checked_sub(self.count)) {
            None => Billed::Unknown,
            Some(Some(0)) => Billed::All,
            Some(Some(1)) if may_lack => Billed::OneMore,
            Some(_) => return None,
        };
        let is_list = self.count > 0 && !self.has_odd;
        is_list.then_some(TokenIds { list: self.list, count: self.count, billed })
    }
}

/// An id: a whole number, or a text that cannot be taken for two.
fn id_of(value: &Value) -> Option<String> {
    let is_id = value.is_i64() || value.is_u64() || value.as_str().is_some_and(|id| !id.contains(','));
    wire::word(value).filter(|id| is_id && !id.is_empty())
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

    /// What ids prove that come one list after the other.
    fn ids(lists: &[Value], billed: impl Into<Option<u64>>, finish: &str) -> Option<(String, Billed)> {
        let usage = Usage { completion: billed.into(), ..Usage::default() };
        let mut reply =
            Reply { usage: Some(usage), finish: Some((finish.to_owned(), 0)), ..Reply::default() };
        let mut tokens = Tokens::default();
        for list in lists {
            tokens.push(&json!({ "token_ids": list }));
        }
        tokens.settle(&mut reply);
        reply.proof.token_ids.map(|ids| (ids.list, ids.billed))
    }

    #[test]
    fn ids_account_for_every_token_that_is_billed() {
        let lists = [json!([5]), json!(null), json!([]), json!([6, "7"])];
        for (billed, finish, expect) in [
            (Some(3), "stop", Some(Billed::All)),
            (Some(4), "stop", Some(Billed::OneMore)), // the end of the turn
            (Some(5), "stop", None),
            (Some(2), "stop", None),
            (Some(3), "length", Some(Billed::All)),
            (Some(4), "length", None),
            (None, "stop", Some(Billed::Unknown)),
        ] {
            let expect = expect.map(|billed| ("5,6,7".to_owned(), billed));
            assert_eq!(ids(&lists, billed, finish), expect, "{billed:?} {finish}");
        }
        for odd in [json!(1.5), json!(null), json!([1]), json!({}), json!(true), json!(""), json!("1,2")] {
            assert_eq!(ids(&[json!([5, odd])], 2, "stop"), None, "{odd}");
            assert_eq!(ids(&[json!([5]), json!([odd])], 2, "stop"), None, "{odd}");
        }
        for odd in [json!("5"), json!({"0": 5}), json!(5)] {
            assert_eq!(ids(&[json!([5]), odd.clone()], 1, "stop"), None, "{odd}");
        }
        assert_eq!(ids(&[json!([])], 0, "stop"), None);
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
