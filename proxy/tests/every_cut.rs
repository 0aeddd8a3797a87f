//! Streams of every puppet case as the bundled engine sends them, cut in every way on their way to the reader.
//!
//! In: the built-in cases, and the engine in another process. Out: nothing, unless a body that arrives in other slices
//! has other events or folds to another reply.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

mod support;

use bytes::Bytes;
use std::{ops::RangeInclusive, sync::Arc};
use support::{Folder, asking::Asking, running::Running};
use tfproxy::{
    decode::{Decoded, Framing, decode, same_events},
    exchange::{Exchange, Slice},
    fold::{Lens, Reply, fold},
    mode::sources,
    plan::{Cadence, Depth, Model, Rounds, Target, entry::entries, exchanges},
    request::{Dialect, Mode, case::Case},
};

const ROUNDS: [Rounds; 5] =
    [Rounds::Whole, Rounds::Special, Rounds::Every(1), Rounds::Every(3), Rounds::Rand { seed: 1, max: 8 }];

/// Bodies larger than this are cut at so many single places only.
const LONG: usize = 16 << 10;
const SAMPLES: usize = 200;

/// How a body arrived, and what it came to.
struct Heard {
    id: String,
    exchange: Exchange,
    decoded: Decoded,
    reply: Reply,
}

/// The streams of all puppet cases of a format, as planned and sent by the program itself.
fn heard(format: &str) -> Vec<Heard> {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let asking = Asking::of(&engine.url);
    let target = Target {
        model: Model::Puppets(vec![format.to_owned()]),
        cadence: Cadence::Header(ROUNDS.to_vec()),
        plant: None,
        fields: Vec::new(),
        repeat: 1,
    };
    let is_spoken = |case: &Arc<Case>| case.says.is_some() && case.format.as_deref() == Some(format);
    let cases: Vec<_> = sources::cases(&[]).unwrap().into_iter().filter(is_spoken).collect();
    assert!(cases.len() > 80, "{} cases", cases.len());
    let mut heard = Vec::new();
    for case in cases {
        let base = entries(&case, Dialect::OpenaiChat, Depth::Once).remove(0);
        for planned in exchanges(&base, &target).unwrap().iter().filter(|p| p.mode == Mode::Stream) {
            heard.push(Heard::of(&case.id, asking.planned(planned)));
        }
    }
    heard
}

// === impl Heard ===

impl Heard {
    fn of(id: &str, exchange: Exchange) -> Self {
        // Arrival times are no part of what is said.
        let exchange = Exchange { slices: sliced(&exchange.body(), &[]), ..exchange };
        let decoded = decode(&exchange);
        let reply = read(&exchange, &decoded);
        assert!(decoded.framing == Framing::Sse && reply.terminated && reply.finish.is_some(), "{id}");
        Self { id: format!("{id} rounds {}", exchange.rounds_name()), exchange, decoded, reply }
    }

    /// Cut at these places it says the same.
    fn hold(&self, how: &str, places: &[usize]) {
        let slices = sliced(&self.exchange.body(), places);
        let again = Exchange { slices, ..self.exchange.clone() };
        let decoded = decode(&again);
        assert!(same_events(&self.decoded, &decoded), "{} cut {how}", self.id);
        assert_eq!(read(&again, &decoded), self.reply, "{} cut {how}", self.id);
    }
}

fn read(exchange: &Exchange, decoded: &Decoded) -> Reply {
    fold(Dialect::OpenaiChat, exchange.status(), decoded, &Lens::STRICT)
}

/// A body cut at these places.
fn sliced(body: &Bytes, places: &[usize]) -> Vec<Slice> {
    let starts = std::iter::once(0).chain(places.iter().copied());
    let ends = places.iter().copied().chain([body.len()]);
    starts.zip(ends).map(|(start, end)| Slice { at: 0, bytes: body.slice(start..end) }).collect()
}

/// Places in a body of that size, so many bytes apart, drawn from a seed.
fn drawn(size: usize, seed: u64, apart: RangeInclusive<u64>) -> Vec<usize> {
    let mut state = seed;
    let step = |at: &usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = apart.start() + (state >> 33) % (apart.end() - apart.start() + 1);
        Some(at + usize::try_from(drawn).unwrap()).filter(|at| *at < size)
    };
    std::iter::successors(Some(0), step).skip(1).collect()
}

fn check(format: &str) {
    for heard in heard(format) {
        let size = heard.exchange.body().len();
        heard.hold("at every byte", &(1..size).collect::<Vec<_>>());
        for (seed, apart) in [(1, 1..=4), (2, 1..=64), (3, 1..=1024)] {
            heard.hold(&format!("by seed {seed}, {apart:?} bytes apart"), &drawn(size, seed, apart.clone()));
        }
        if heard.exchange.rounds == Some(Rounds::Whole) {
            let step = if size > LONG { size / SAMPLES } else { 1 };
            (1..size).step_by(step).for_each(|at| heard.hold(&format!("at {at}"), &[at]));
        }
    }
}

#[test]
fn hermes_streams_in_any_slices() {
    check("hermes");
}

#[test]
fn glm_streams_in_any_slices() {
    check("glm");
}

#[test]
fn qwen3_xml_streams_in_any_slices() {
    check("qwen3-xml");
}
