//! The twins of an exchange that passed: the same request in the other mode, and in front of the bundled engine
//! streamed at every rounds schedule. Sent off the client's path, a few at a time.

use super::{
    Ask,
    state::State,
    witness::{Seen, mode_of},
};
use crate::{
    exchange::{End, Exchange},
    plan::{ROUNDS_HEADER, Rounds},
    request::{Mode, Request},
};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::OwnedSemaphorePermit;

/// So many exchanges may have their twins under way or waiting; those of further ones are not sent.
const MAX_WAITING: usize = 256;

/// Which twins are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shadow {
    /// None.
    Off,
    /// The same request in the other mode, once.
    Twin,
    /// Whole, and streamed at every schedule of a default check: for the bundled engine.
    Schedules,
}

/// What became of the twins of an exchange.
pub(super) enum Twins {
    /// None were due.
    None,
    /// These answered; the permit is held for as long as they are.
    Sent(Vec<Exchange>, OwnedSemaphorePermit),
    /// Too many were waiting.
    Dropped,
}

// === impl Shadow ===

impl Shadow {
    /// How many exchanges may have their twins under way: a server that is not ours gets one more request at a time.
    pub(super) const fn at_once(self) -> usize {
        match self {
            Self::Off | Self::Twin => 1,
            Self::Schedules => 4,
        }
    }
}

/// Sends the twins that are due for `exchange`, one after the other.
pub(super) async fn twins(seen: &Seen, exchange: &Exchange) -> Twins {
    let state = &seen.state;
    let asks = plan(state, exchange, &seen.credentials);
    if asks.is_empty() {
        return Twins::None;
    }
    if state.pending.count() > MAX_WAITING {
        state.status.twins_dropped.fetch_add(1, Relaxed);
        return Twins::Dropped;
    }
    let Ok(permit) = state.shadows.clone().acquire_owned().await else { return Twins::Dropped };
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        state.status.twins.fetch_add(1, Relaxed);
        answers.push((state.desk.sender)(ask).await);
    }
    Twins::Sent(answers, permit)
}

/// The twins of an exchange. One that was cut short by the client says nothing to compare with.
fn plan(state: &Arc<State>, exchange: &Exchange, credentials: &[(String, String)]) -> Vec<Ask> {
    if exchange.head.is_none() || matches!(exchange.end, End::Cancelled | End::TooLarge) {
        return Vec::new();
    }
    let twin = |mode| (state.desk.twin)(&exchange.request, mode);
    asked(state.settings.shadow, mode_of(&exchange.request))
        .into_iter()
        .filter_map(|(mode, rounds)| {
            let request = with_rounds(twin(mode)?, rounds);
            Some(Ask { request, mode, rounds, credentials: credentials.to_vec() })
        })
        .collect()
}

fn asked(shadow: Shadow, mode: Mode) -> Vec<(Mode, Option<Rounds>)> {
    let streams = Rounds::DEFAULT.map(|rounds| (Mode::Stream, Some(rounds)));
    match (shadow, mode) {
        (Shadow::Off, _) => Vec::new(),
        (Shadow::Twin, Mode::Whole) => vec![(Mode::Stream, None)],
        (Shadow::Twin, Mode::Stream) => vec![(Mode::Whole, None)],
        (Shadow::Schedules, Mode::Whole) => streams.to_vec(),
        (Shadow::Schedules, Mode::Stream) => [(Mode::Whole, None)].into_iter().chain(streams).collect(),
    }
}

fn with_rounds(mut request: Request, rounds: Option<Rounds>) -> Request {
    request.headers.retain(|(name, _)| name != ROUNDS_HEADER);
    request.headers.extend(rounds.map(|rounds| (ROUNDS_HEADER.to_owned(), rounds.to_string())));
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_its_twins() {
        let count = |shadow, mode| {
            let asked = asked(shadow, mode);
            let whole = asked.iter().filter(|(mode, _)| *mode == Mode::Whole).count();
            let timed = asked.iter().filter(|(_, rounds)| rounds.is_some()).count();
            (whole, asked.len() - whole, timed)
        };
        assert_eq!(count(Shadow::Off, Mode::Stream), (0, 0, 0));
        assert_eq!(count(Shadow::Twin, Mode::Whole), (0, 1, 0));
        assert_eq!(count(Shadow::Twin, Mode::Stream), (1, 0, 0));
        assert_eq!(count(Shadow::Schedules, Mode::Whole), (0, 11, 11));
        assert_eq!(count(Shadow::Schedules, Mode::Stream), (1, 11, 11));
    }
}
