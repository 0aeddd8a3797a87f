//! Ids of replies and calls. No two replies of an engine, nor of two engines, share one.
//!
//! In: a counter and a key drawn at the start. Out: hexadecimal text.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// Hands out ids.
#[derive(Debug, Default)]
pub struct Ids {
    key: RandomState,
    replies: AtomicU64,
}

/// The id of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyId(u128);

// === impl Ids ===

impl Ids {
    /// A fresh id.
    pub fn next(&self) -> ReplyId {
        let number = self.replies.fetch_add(1, Ordering::Relaxed);
        let half = |which: u8| u128::from(self.key.hash_one((number, which)));
        ReplyId(half(0) << 64 | half(1))
    }
}

// === impl ReplyId ===

impl ReplyId {
    /// `chatcmpl-` and 32 digits.
    pub fn chat(self) -> String {
        format!("chatcmpl-{:032x}", self.0)
    }

    /// `call_` and 24 digits, another one for each call of the reply.
    pub fn call(self, call: usize) -> String {
        let mixed =
            self.0.wrapping_add(call as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        format!("call_{:024x}", mixed >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_have_their_form_and_differ() {
        let ids = Ids::default();
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            let id = ids.next();
            assert_eq!((id.chat().len(), id.call(0).len()), (9 + 32, 5 + 24));
            assert!(seen.insert(id.chat()) && (0..5).all(|call| seen.insert(id.call(call))));
        }
    }
}
