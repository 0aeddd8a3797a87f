//! One entry, from its exchanges to what is said of it. Pure: the same bytes give the same judgement for ever.
//!
//! In: an [`Entry`], its exchanges, and the [`Terms`] of the run. Out: a [`Judged`]. Recordings, pairs of files and live
//! traffic come through here as well, as entries without a case.

use super::{
    Expected, Judged, Sent, Tokens, Verdict,
    answer::{self, Answer},
    clients,
    pairs::{Ground, Pairs, Says},
    shown::shown,
    stages::{Known, Reading},
    upstream::Kind,
    verdict::{self, ErrorIs, Outcome, Weighed},
};
use crate::{
    decode::Span,
    exchange::Exchange,
    finding::{Evidence, Finding, Of, coverage, gather},
    plan::Entry,
    request::{Mode, handed},
    rules::{Breach, Profile, Severity},
};
use serde_json::Value;

/// What holds for all entries of a run.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The profile of rules.
    pub profile: &'static Profile,
    /// Whose server it is.
    pub kind: Kind,
    /// Whether a puppet there was seen to say what it is told.
    pub puppet: Puppet,
    /// The command that repeats the run, to which an entry's id is added; empty where none does.
    pub repeat: String,
}

/// Whether a puppet in or behind somebody's server was seen to say what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Puppet {
    /// It was, at the start of the run.
    Seen,
    /// What answers is our engine's puppet; somebody's gateway passes on what it says.
    Relayed,
    /// There is none.
    #[default]
    None,
}

/// Rules that what our engine's puppets are told to write breaks by itself: a rejected envelope is prose, and arguments that
/// were broken off stay so. What a gateway does to either shows against the other mode and against the right answer.
const WRITTEN: [&str; 2] = ["openai-chat/markup-leak", "openai-chat/tool-arguments-json"];

/// Judges an entry.
pub fn judge(entry: &Entry, exchanges: &[Exchange], terms: &Terms) -> Judged {
    let known = Known::of(entry);
    let mut readings: Vec<Reading<'_>> =
        exchanges.iter().map(|e| Reading::of(e, known, terms.profile)).collect();
    if terms.puppet == Puppet::Relayed {
        let is_own = |breach: &Breach| !WRITTEN.contains(&breach.rule);
        for reading in &mut readings {
            reading.breaches.retain(is_own);
        }
    }
    let told = entry.tokens.filter(|_| entry.is_puppet());
    let says = if hand_the_same(exchanges) { Says::Handed } else { Says::of(terms.kind, terms.puppet, told) };
    let ground = Ground { says, profile: terms.profile };
    let pairs = Pairs::of(&readings, ground);
    let answer = Answer::of(entry, &readings, ground);
    let evidence = evidence(entry, &readings, (&pairs, &answer), (terms.kind, ground));
    let (verdict, reason) = verdict::verdict(&evidence);
    let remarks = evidence.remarks(verdict);
    let severity_of = |rule: &str| {
        let severity = ground.severity(rule).unwrap_or(Severity::Info);
        let severity = pairs.worst(rule).map_or(severity, |worst| severity.min(worst));
        if remarks.contains(rule) { Severity::Info } else { severity }
    };
    let findings = findings(entry, &readings, &pairs, &answer, (&terms.repeat, &severity_of));
    Judged {
        verdict,
        reason,
        expected: answer.expected,
        exchanges: readings.iter().map(sent).collect(),
        reply: reply(&readings),
        findings,
        tokens: ground.tokens(&readings),
        other_policy: answer.other_policy,
        exercised: readings.first().map(exercised).unwrap_or_default(),
        ..unasked(entry)
    }
}

/// Whether all of them hand over the same tokens.
fn hand_the_same(exchanges: &[Exchange]) -> bool {
    let mut handed = exchanges.iter().map(|exchange| handed::tokens(&exchange.request));
    let Some(Some(first)) = handed.next() else { return false };
    handed.all(|tokens| tokens.as_ref() == Some(&first))
}

/// An entry that was not asked, and why.
pub fn skipped(entry: &Entry, why: String) -> Judged {
    Judged { reason: Some(why), ..unasked(entry) }
}

fn unasked(entry: &Entry) -> Judged {
    let case = &entry.case;
    Judged {
        id: entry.id.clone(),
        case: case.id.clone(),
        about: case.about.clone(),
        dialect: entry.dialect,
        format: case.format.clone(),
        says: case.says.clone(),
        verdict: Verdict::Skipped,
        reason: None,
        expected: Expected::None,
        exchanges: Vec::new(),
        reply: Value::Null,
        findings: Vec::new(),
        tokens: Tokens::NotAnswered,
        other_policy: false,
        tags: case.tags.clone(),
        exercised: Vec::new(),
    }
}

fn findings(
    entry: &Entry,
    readings: &[Reading<'_>],
    pairs: &Pairs,
    answer: &Answer,
    (repeat, severity_of): (&str, &dyn Fn(&str) -> Severity),
) -> Vec<Finding> {
    let breaches: Vec<Of<Breach>> = readings.iter().map(breaches).collect();
    let locate = |mode: Mode, rounds: &str, event: usize| locate(readings, mode, rounds, event);
    let repeat = if repeat.is_empty() { String::new() } else { format!("{repeat} --run {}", entry.id) };
    let evidence = Evidence {
        parity: &pairs.parity,
        streams: &pairs.streams,
        expect: &answer.found,
        breaches: &breaches,
        locate: &locate,
        repeat: &repeat,
    };
    let mut findings = gather(&evidence, severity_of);
    clients::fill(&mut findings, readings);
    findings
}

fn breaches(reading: &Reading<'_>) -> Of<Breach> {
    Of { mode: reading.exchange.mode, rounds: reading.rounds.clone(), found: reading.breaches.clone() }
}

/// Where an event lies in its body and when it came.
fn locate(readings: &[Reading<'_>], mode: Mode, rounds: &str, event: usize) -> Option<(Span, u64)> {
    let reading = readings.iter().find(|r| r.exchange.mode == mode && r.rounds == rounds)?;
    reading.events.get(event).copied()
}

fn evidence(
    entry: &Entry,
    readings: &[Reading<'_>],
    (pairs, answer): (&Pairs, &Answer),
    (kind, ground): (Kind, Ground),
) -> verdict::Evidence {
    let is_busy = |r: &&Reading<'_>| matches!(r.outcome, Outcome::Busy(_));
    let broken = readings.iter().filter(|r| !is_busy(r)).flat_map(|r| &r.breaches);
    let broken = broken.map(|b| Weighed { rule: b.rule, severity: b.severity, kind: verdict::Kind::Breach });
    let compared = pairs.weighed.iter().chain(&answer.weighed).copied();
    // That an entry needs an error does not say which: without a word on it any failure would be right.
    let is_expected = entry.expect.as_ref().is_some_and(|e| e.error.is_some());
    verdict::Evidence {
        outcomes: readings.iter().map(|r| r.outcome.clone()).collect(),
        found: broken.chain(compared).collect(),
        unstable: pairs.unstable.clone(),
        noise: pairs.noise,
        error: if is_expected { ErrorIs::Expected } else { ErrorIs::Unexpected },
        needs: answer::needs(entry, readings),
        unsaid: answer::unsaid(entry, readings, ground.says),
        modes: modes(readings),
        shared_id: shared_id(readings).filter(|_| kind == Kind::Foreign),
        choices: choices(readings),
    }
}

fn modes(readings: &[Reading<'_>]) -> verdict::Modes {
    let has = |is_whole: bool| readings.iter().any(|r| r.is_whole() == is_whole);
    if has(true) && has(false) { verdict::Modes::Both } else { verdict::Modes::One }
}

/// The most choices that an answer brings or was asked for.
fn choices(readings: &[Reading<'_>]) -> u64 {
    let answered = readings.iter().filter(|r| r.outcome == Outcome::Answered);
    let each = answered.map(|r| r.asked.choices.max(u64::try_from(r.reply.choices).unwrap_or(u64::MAX)));
    each.max().unwrap_or(1)
}

/// A response id that a whole reply and a stream share.
fn shared_id(readings: &[Reading<'_>]) -> Option<String> {
    let ids = |is_whole: bool| {
        readings.iter().filter(move |r| r.is_whole() == is_whole).filter_map(|r| r.reply.id.as_deref())
    };
    ids(true).find(|id| !id.is_empty() && ids(false).any(|other| other == *id)).map(ToOwned::to_owned)
}

fn sent(reading: &Reading<'_>) -> Sent {
    let exchange = reading.exchange;
    Sent {
        mode: exchange.mode,
        rounds: reading.rounds.clone(),
        status: exchange.status().unwrap_or_default(),
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a run fit a double")]
        seconds: exchange.took.end as f64 / 1e6,
        events: reading.events.len(),
        finish: reading.reply.finish_reason().map(ToOwned::to_owned),
        tokens: reading.tokens(),
    }
}

/// The whole reply, if one came.
fn reply(readings: &[Reading<'_>]) -> Value {
    readings.iter().find(|r| r.is_whole() && r.is_answer()).map_or(Value::Null, |r| shown(&r.reply))
}

fn exercised(reading: &Reading<'_>) -> Vec<coverage::Condition> {
    coverage::of_request(&reading.asked, reading.reply.finish_reason())
}
