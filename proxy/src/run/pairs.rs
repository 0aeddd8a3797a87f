//! Which replies of an entry are held against which, and what that found.
//!
//! In: the readings of an entry. Out: [`Pairs`]: whole against each stream, stream against stream, each mode against
//! itself, and whether each pair is known to come from equal tokens.

use super::{
    Tokens,
    judge::Puppet,
    noise::{MAX_ANSWERS, Noise},
    stages::Reading,
    upstream::Kind,
    verdict,
};
use crate::{
    compare::{Difference, Equality, compare, tokens},
    finding::{Of, needs_proof},
    rules::{Profile, Severity, catalogue},
};
use std::collections::BTreeSet;

/// Everything in which replies differ.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The whole reply against each stream.
    pub parity: Vec<Of<Difference>>,
    /// The first stream against each other one.
    pub streams: Vec<(String, Of<Difference>)>,
    /// Where one mode disagrees with itself, and equal tokens are not proven.
    pub unstable: Option<String>,
    /// What the verdict makes of it.
    pub weighed: Vec<verdict::Weighed>,
    /// How often answers differ, where equal tokens are not proven and each mode was asked more than once.
    pub noise: Option<Noise>,
    /// Rules by which one mode disagrees with itself.
    chance: BTreeSet<&'static str>,
}

/// What holds for all replies of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    /// Whether the server says what it is told by construction.
    pub says: Says,
    /// How strictly it is judged.
    pub profile: &'static Profile,
}

/// Whether equal tokens follow from what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// A puppet of our engine: its tokens are the text it was told. That stands in for evidence that a reply does not
    /// bring, and is refuted by evidence that differs: then the puppet said, in one of two modes, what it was not told.
    WhatItIsTold,
    /// A checkpoint that was seen to say what it is told, in somebody's server: two replies that bill as many tokens as the
    /// text has come from equal tokens. Servers constrain what a model says, so the number is asked of each reply.
    AsCounted(u64),
    /// A puppet of our engine behind somebody's gateway, and the tokens of its text, where a stop string does not decide
    /// them. It says a beginning of one text, whatever the gateway makes of it: so much of it as is billed, and replies that
    /// bill as much come from equal tokens.
    Relayed(Option<u64>),
    /// A server that was handed the tokens, which are the same in every exchange.
    Handed,
    /// Anything else: only evidence in the replies tells.
    Anything,
}

// === impl Says ===

impl Says {
    /// What the replies of a server rest on. Ours has no other models than puppets.
    /// `told` is how many tokens a puppet has to say.
    pub fn of(kind: Kind, puppet: Puppet, told: Option<u64>) -> Self {
        match (kind, puppet, told) {
            (Kind::Ours, _, _) => Self::WhatItIsTold,
            (Kind::Foreign, Puppet::Relayed, told) => Self::Relayed(told),
            (Kind::Foreign, Puppet::Seen, Some(told)) => Self::AsCounted(told),
            (Kind::Foreign, Puppet::Seen | Puppet::None, _) => Self::Anything,
        }
    }

    /// Whether our engine wrote the reply, be it behind a gateway.
    pub fn is_of_our_engine(self) -> bool {
        matches!(self, Self::WhatItIsTold | Self::Relayed(_))
    }

    /// Whether two counts prove equal tokens.
    fn proves(self, left: Option<u64>, right: Option<u64>) -> bool {
        match self {
            Self::WhatItIsTold | Self::Handed => true,
            Self::AsCounted(told) => [left, right].iter().all(|count| *count == Some(told)),
            Self::Relayed(told) => left.is_some() && left == right && (told.is_none() || told == left),
            Self::Anything => false,
        }
    }
}

// === impl Ground ===

impl Ground {
    /// How bad a difference is; `None` where the profile is silent.
    pub fn severity(self, rule: &str) -> Option<Severity> {
        let own = catalogue::describe(rule).map_or(Severity::Error, |named| named.severity);
        // Other tokens for one request are chance with a model that samples, and a fault by themselves with a puppet.
        let is_fault = rule == tokens::RULE && self.says == Says::WhatItIsTold;
        self.profile.severity(rule, if is_fault { Severity::Error } else { own })
    }

    fn are_equal(self, left: &Reading<'_>, right: &Reading<'_>) -> bool {
        let proven = left.reply.proof.same_tokens(&right.reply.proof);
        proven.unwrap_or_else(|| self.says.proves(left.tokens(), right.tokens()))
    }

    /// What is known of the tokens of all replies. That our engine says what it is told needs no words.
    pub fn tokens(self, readings: &[Reading<'_>]) -> Tokens {
        let said = Tokens::of(readings);
        let answers: Vec<_> = readings.iter().filter(|r| r.is_answer()).collect();
        let is_counted =
            answers.iter().all(|answer| answers.iter().take(1).all(|first| self.are_equal(first, answer)));
        match said {
            Tokens::NotGiven if self.says == Says::Handed => Tokens::Handed,
            Tokens::NotGiven if is_counted && self.says != Says::WhatItIsTold => Tokens::EqualCount,
            said => said,
        }
    }

    /// Whether chance may be what one question asked twice shows. A puppet leaves it no room.
    fn is_chance(self, left: &Reading<'_>, right: &Reading<'_>) -> bool {
        self.says != Says::WhatItIsTold && !self.are_equal(left, right)
    }

    fn differences(self, left: &Reading<'_>, right: &Reading<'_>) -> Vec<Difference> {
        let equality = Equality {
            arguments_text: true,
            usage_completion: self.are_equal(left, right),
            usage_due: owes_usage(left) && owes_usage(right),
            stop: &left.asked.stop,
        };
        let mut found = compare(&left.reply, &right.reply, equality);
        found.extend(tokens::compare(&left.reply.proof, &right.reply.proof));
        found.retain(|difference| self.severity(difference.rule).is_some());
        found
    }

    /// What the verdict makes of differences between two replies.
    fn weigh(self, left: &Reading<'_>, right: &Reading<'_>, found: &[Difference]) -> Vec<verdict::Weighed> {
        let is_proven = self.are_equal(left, right);
        let kind = |rule: &str| match (needs_proof(rule), is_proven) {
            (false, _) => verdict::Kind::Structure,
            (true, true) => verdict::Kind::Proven,
            (true, false) => verdict::Kind::Unproven,
        };
        // What a puppet says and what form an answer has no backend changes.
        let is_of_backend = self.says == Says::Anything && are_of_two_backends(left, right);
        let weighed = found.iter().filter_map(|d| {
            let own = self.severity(d.rule)?;
            let severity = if is_of_backend && needs_proof(d.rule) { own.min(Severity::Warn) } else { own };
            Some(verdict::Weighed { rule: d.rule, severity, kind: kind(d.rule) })
        });
        weighed.collect()
    }
}

/// Whether two replies say that other backends gave them: then the modes are not all that differs.
fn are_of_two_backends(left: &Reading<'_>, right: &Reading<'_>) -> bool {
    let [left, right] =
        [left, right].map(|reading| reading.reply.fingerprint.as_deref().filter(|f| !f.is_empty()));
    left.is_some() && right.is_some() && left != right
}

// === impl Pairs ===

impl Pairs {
    /// Holds the replies of an entry against each other.
    pub fn of(readings: &[Reading<'_>], ground: Ground) -> Self {
        let mut pairs = Self::default();
        let wholes: Vec<_> = readings.iter().filter(|r| r.is_whole() && r.is_answer()).collect();
        let streams: Vec<_> = readings.iter().filter(|r| !r.is_whole() && r.is_answer()).collect();
        for stream in &streams {
            if let Some(whole) = wholes.first() {
                pairs.whole_and_stream(whole, stream, ground);
            }
        }
        if let [first, others @ ..] = streams.as_slice() {
            for other in others {
                pairs.stream_and_stream(first, other, ground);
            }
        }
        if let [first, others @ ..] = wholes.as_slice() {
            for other in others {
                pairs.whole_and_whole(first, other, ground);
            }
        }
        pairs.doubt();
        pairs.estimate(&wholes, &streams, ground);
        pairs
    }

    /// How bad a difference is in the worst pair that shows it; `None` where none does.
    pub fn worst(&self, rule: &str) -> Option<Severity> {
        self.weighed.iter().filter(|weighed| weighed.rule == rule).map(|weighed| weighed.severity).max()
    }

    /// Where answers differ without proof: whether they do so by mode. What one mode shows of itself too is noise, unless
    /// it shows far less of it.
    fn estimate<'a>(&mut self, wholes: &[&'a Reading<'a>], streams: &[&'a Reading<'a>], ground: Ground) {
        let is_unproven = self.weighed.iter().any(|weighed| weighed.kind == verdict::Kind::Unproven);
        let is_in_doubt = self.unstable.is_some() || is_unproven;
        let rounds = streams.first().map(|stream| stream.exchange.rounds);
        let is_one_question = streams.iter().all(|stream| Some(stream.exchange.rounds) == rounds);
        if !is_in_doubt || !is_one_question {
            return;
        }
        let mut kinds = Kinds { seen: Vec::new(), ground };
        let whole: Vec<usize> = wholes.iter().take(MAX_ANSWERS).map(|answer| kinds.of(answer)).collect();
        let streamed: Vec<usize> = streams.iter().take(MAX_ANSWERS).map(|answer| kinds.of(answer)).collect();
        self.noise = Noise::of(&whole, &streamed);
        if !self.noise.is_some_and(|noise| noise.is_by_mode()) {
            return;
        }
        self.unstable = None;
        // The first whole reply may be the one that is like the streams.
        let pairs = wholes
            .iter()
            .zip(&whole)
            .flat_map(|left| streams.iter().zip(&streamed).map(move |right| (left, right)));
        let differ = pairs
            .filter(|((_, left), (_, right))| left != right)
            .map(|((left, _), (right, _))| (left, right));
        if let (false, Some((left, right))) = (is_unproven, { differ }.next()) {
            self.whole_and_stream(left, right, ground);
        }
    }

    fn whole_and_stream(&mut self, whole: &Reading<'_>, stream: &Reading<'_>, ground: Ground) {
        let found = ground.differences(whole, stream);
        self.weighed.extend(ground.weigh(whole, stream, &found));
        self.parity.push(of(stream, found));
    }

    /// Streams at different rounds say the same; at the same rounds they are one question asked twice. What the whole
    /// reply shows of either stands for a cause of it: that the answer depends on rounds at all is told beside it.
    fn stream_and_stream(&mut self, first: &Reading<'_>, other: &Reading<'_>, ground: Ground) {
        let found = ground.differences(first, other);
        if first.exchange.rounds == other.exchange.rounds && ground.is_chance(first, other) {
            self.note_unstable("streamed", &found, ground);
            return;
        }
        self.weighed.extend(ground.weigh(first, other, &found));
        self.streams.push((first.rounds.clone(), of(other, found)));
    }

    fn whole_and_whole(&mut self, first: &Reading<'_>, other: &Reading<'_>, ground: Ground) {
        let found = ground.differences(first, other);
        if ground.is_chance(first, other) {
            self.note_unstable("whole", &found, ground);
        } else {
            self.weighed.extend(ground.weigh(first, other, &found));
            self.parity.push(of(other, found));
        }
    }

    fn note_unstable(&mut self, mode: &str, found: &[Difference], ground: Ground) {
        let is_bad = |d: &&Difference| ground.severity(d.rule) >= Some(Severity::Warn);
        if let Some(worst) = found.iter().find(is_bad) {
            self.unstable
                .get_or_insert(format!("two {mode} replies to one request differ in {}", worst.path));
        }
        self.chance.extend(found.iter().map(|difference| difference.rule));
    }

    /// What differs within one mode too (a status, now and then) does not differ by mode: form or not, it proves nothing.
    fn doubt(&mut self) {
        for weighed in self.weighed.iter_mut().filter(|weighed| weighed.kind == verdict::Kind::Structure) {
            if self.chance.contains(weighed.rule) {
                weighed.kind = verdict::Kind::Unproven;
            }
        }
    }
}

/// The different answers to one question.
struct Kinds<'a> {
    /// One of each.
    seen: Vec<&'a Reading<'a>>,
    ground: Ground,
}

// === impl Kinds ===

impl<'a> Kinds<'a> {
    /// The number of the answer that this is.
    fn of(&mut self, answer: &'a Reading<'a>) -> usize {
        let ground = self.ground;
        let is_bad = |d: &Difference| needs_proof(d.rule) && ground.severity(d.rule) >= Some(Severity::Warn);
        let is_same = |seen: &&Reading<'_>| !ground.differences(seen, answer).iter().any(is_bad);
        self.seen.iter().position(is_same).unwrap_or_else(|| {
            self.seen.push(answer);
            self.seen.len() - 1
        })
    }
}

fn owes_usage(reading: &Reading<'_>) -> bool {
    reading.is_whole() || reading.asked.include_usage
}

fn of(reading: &Reading<'_>, found: Vec<Difference>) -> Of<Difference> {
    Of { mode: reading.exchange.mode, rounds: reading.rounds.clone(), found }
}
