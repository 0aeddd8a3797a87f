//! Whether the replies of an entry are known to come from equal tokens, and by what.
//!
//! In: the readings of an entry. Out: [`Tokens`]: what a report says of proof rests on this and on nothing assumed. What a
//! count proves depends on who was asked, and is added by whoever knows that.

use super::{stages::Reading, verdict::Outcome};
use crate::fold::reply::Proof;

/// What the replies of an entry say of the tokens that they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tokens {
    /// Not both modes answered: there is nothing to prove.
    #[default]
    NotAnswered,
    /// Not every reply says something.
    NotGiven,
    /// The ids are equal in all replies.
    EqualIds,
    /// A hash of the ids is equal in all replies.
    EqualHash,
    /// The bytes of all tokens are equal in all replies.
    EqualBytes,
    /// All replies bill the tokens that a puppet was told to say.
    EqualCount,
    /// The server was handed them.
    Handed,
    /// Two replies say that their tokens differ.
    Different,
}

// === impl Tokens ===

impl Tokens {
    /// What the replies say.
    pub fn of(readings: &[Reading<'_>]) -> Self {
        let answers: Vec<_> = readings.iter().filter(|r| r.outcome == Outcome::Answered).collect();
        let has = |is_whole: bool| answers.iter().any(|r| r.is_whole() == is_whole);
        let [first, others @ ..] = answers.as_slice() else { return Self::NotAnswered };
        if !has(true) || !has(false) {
            return Self::NotAnswered;
        }
        let shared: Vec<_> = others.iter().map(|r| first.reply.proof.shared(&r.reply.proof)).collect();
        let rests_on = |kind: &str| shared.iter().flatten().any(|(path, _, _)| *path == kind);
        if shared.iter().flatten().any(|(_, a, b)| a != b) {
            Self::Different
        } else if shared.contains(&None) {
            Self::NotGiven
        } else if rests_on(Proof::LOGPROBS) {
            Self::EqualBytes
        } else if rests_on(Proof::SHA) {
            Self::EqualHash
        } else {
            Self::EqualIds
        }
    }
}
