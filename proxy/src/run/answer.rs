//! The replies of an entry against the right answer, as far as it is known and counts.
//!
//! In: readings and an entry. Out: [`Answer`]. Our own engine is held to every word, and so is what a gateway makes of it. Of
//! a foreign server a mismatch counts where the format leaves no choice; where our policy decides it is counted and nothing
//! more.

use super::{
    pairs::{Ground, Says},
    stages::Reading,
    verdict,
};
use crate::{
    compare::{Difference, Expected, compare_expected},
    finding::{Of, needs_proof},
    plan::{Entry, tokens::Vocabulary},
    request::{
        Mode,
        case::{Basis, Need},
    },
};
use serde_json::Value;

/// How the replies stand to what was expected.
#[derive(Debug)]
pub struct Answer {
    /// The worst of all replies.
    pub expected: Expected,
    /// Where they differ from it, as far as that counts.
    pub found: Vec<Of<Difference>>,
    /// Whether they follow another policy, alike in both modes.
    pub other_policy: bool,
    /// What the verdict makes of it.
    pub weighed: Vec<verdict::Weighed>,
}

/// The rules of facts that a whole server gets wrong, by the rule of the same thing at ours.
const TRUTHS: [(&str, &str); 9] = [
    ("expect/tool-count", "truth/tool-count"),
    ("expect/tool-name", "truth/tool-name"),
    ("expect/tool-arguments", "truth/tool-arguments"),
    ("expect/content", "truth/content"),
    ("expect/content-whitespace", "truth/content-whitespace"),
    ("expect/reasoning", "truth/reasoning"),
    ("expect/reasoning-whitespace", "truth/reasoning-whitespace"),
    ("expect/finish", "truth/finish"),
    ("expect/error", "truth/error"),
];

/// What rules of both modes alike against the right answer begin with.
const TRUTH: &str = "truth/";

/// Ends of a reply that the request did not decide.
const FREE: [Option<&str>; 2] = [Some("length"), Some("content_filter")];

// === impl Answer ===

impl Answer {
    /// Holds every reply against the right answer.
    pub fn of(entry: &Entry, readings: &[Reading<'_>], ground: Ground) -> Self {
        let mut answer =
            Self { expected: Expected::None, found: Vec::new(), other_policy: false, weighed: Vec::new() };
        let Some(expect) = &entry.expect else { return answer };
        if unsaid(entry, readings, ground.says).is_some() {
            return answer;
        }
        let answers: Vec<_> = readings.iter().filter(|r| r.is_answer()).collect();
        for reading in &answers {
            let rounds = reading.rounds.clone();
            let (expected, found) = compare_expected(expect, &reading.reply, &rounds);
            answer.expected = worse(answer.expected, expected);
            answer.found.push(Of { mode: reading.exchange.mode, rounds, found });
        }
        answer.narrow(entry.case.basis, ground.says);
        answer.weighed = answer.weigh(entry, &answers, ground);
        answer
    }

    /// Drops what does not count against a foreign server, and names what does by its own rule.
    fn narrow(&mut self, basis: Basis, says: Says) {
        if says.is_of_our_engine() || self.found.iter().all(|of| of.found.is_empty()) {
            return;
        }
        let is_alike = self.found.iter().all(|of| !of.found.is_empty());
        match basis {
            Basis::Policy => {
                self.other_policy = is_alike;
                self.found.clear();
            }
            Basis::Fact if is_alike => {
                self.found.iter_mut().flat_map(|of| &mut of.found).for_each(|d| d.rule = truth(d.rule));
            }
            Basis::Fact => {}
        }
    }

    /// A reply that is not what it should be counts fully only where it is known that the model said its text.
    fn weigh(&self, entry: &Entry, answers: &[&Reading<'_>], ground: Ground) -> Vec<verdict::Weighed> {
        // A server that constrains calls forces single tokens of them, and a puppet goes on in step: the count is right, and
        // the text is not what it was told. Only ids tell then.
        let is_free = |r: &Reading<'_>| {
            let is_unconstrained = ground.says.is_of_our_engine() || !offers_tools(entry);
            is_unconstrained || r.reply.proof.token_ids.is_some()
        };
        let is_said = |r: &Reading<'_>| {
            let is_counted = entry.tokens.is_some() && r.tokens() == entry.tokens;
            matches!(ground.says, Says::WhatItIsTold | Says::Handed) || (is_counted && is_free(r))
        };
        // A request of fact leaves a model no choice, whatever its tokens: what every reply gets wrong in the same way is wrong,
        // save where the limit left it no room or something else spoke for it.
        let wrong =
            |of: &Of<Difference>| of.found.iter().map(|d| (d.rule, d.right.clone())).collect::<Vec<_>>();
        let is_alike = self.found.windows(2).all(|two| matches!(two, [a, b] if wrong(a) == wrong(b)));
        let is_forced = |r: &Reading<'_>| {
            let is_own = r.reply.refusal().value.is_empty() && !FREE.contains(&r.reply.finish_reason());
            entry.case.basis == Basis::Fact && !entry.is_puppet() && is_alike && is_own
        };
        // A status that a mode gives now and then is chance, whatever is right.
        let is_steady = |mode: Mode, rule: &str| {
            let of_mode = self.found.iter().filter(|of| of.mode == mode);
            of_mode.clone().count() < 2 || of_mode.clone().all(|of| of.found.iter().any(|d| d.rule == rule))
        };
        let each = self.found.iter().zip(answers).flat_map(|(of, reading)| {
            let (is_said, is_forced) = (is_said(reading), is_forced(reading));
            let is_proven = move |rule: &str| is_said || (is_forced && rule.starts_with(TRUTH));
            let said = move |rule: &str| {
                if is_proven(rule) { verdict::Kind::Proven } else { verdict::Kind::Unproven }
            };
            let kind = move |rule: &str| match needs_proof(rule) {
                true => said(rule),
                false if ground.says == Says::Anything && !is_steady(of.mode, rule) => {
                    verdict::Kind::Unproven
                }
                false => verdict::Kind::Structure,
            };
            of.found.iter().filter_map(move |d| {
                let severity = ground.severity(d.rule)?;
                Some(verdict::Weighed { rule: d.rule, severity, kind: kind(d.rule) })
            })
        });
        each.collect()
    }
}

fn offers_tools(entry: &Entry) -> bool {
    entry.body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

fn truth(rule: &'static str) -> &'static str {
    TRUTHS.iter().find(|(expect, _)| *expect == rule).map_or(rule, |(_, truth)| truth)
}

fn worse(left: Expected, right: Expected) -> Expected {
    let order = |expected| match expected {
        Expected::None => 0,
        Expected::Match => 1,
        Expected::Whitespace => 2,
        Expected::Mismatch => 3,
    };
    if order(right) > order(left) { right } else { left }
}

/// Why a foreign puppet did not say its text, by token counts that are alike in both modes, or by ids where they are given;
/// `None` where it did or where nothing is known. Our engine's always does: another count behind a gateway is the gateway's.
pub fn unsaid(entry: &Entry, readings: &[Reading<'_>], says: Says) -> Option<String> {
    let told = entry.tokens.filter(|_| !says.is_of_our_engine())?;
    let said = tokens_alike(readings)?;
    if said != told {
        return Some(format!("the server would not say it: {said} tokens of {told}"));
    }
    // Tokens that were handed over have the ids of a vocabulary that need not be a puppet's.
    let odd = odd_token(entry, readings).filter(|_| says != Says::Handed)?;
    Some(format!("the server would not say it: token {odd} of {told} is another"))
}

/// The first token that is not the one that was told, counted from 1, where every answer gives its ids and has one. A server
/// that forces tokens may by chance end at the right number.
fn odd_token(entry: &Entry, readings: &[Reading<'_>]) -> Option<usize> {
    let (says, format) = (entry.case.says.as_deref()?, entry.case.format.as_deref()?);
    let told = Vocabulary::of(format)?.encode(says);
    let odd = |reading: &Reading<'_>| {
        let said = &reading.reply.proof.token_ids.as_ref()?.list;
        said.split(',').zip(&told).position(|(said, told)| said.parse() != Ok(*told))
    };
    let answers: Option<Vec<_>> = readings.iter().filter(|r| r.is_answer()).map(odd).collect();
    answers?.into_iter().min().map(|at| at + 1)
}

/// The number of generated tokens, where every answer gives the same.
fn tokens_alike(readings: &[Reading<'_>]) -> Option<u64> {
    let mut counts = readings.iter().filter(|r| r.is_answer()).map(Reading::tokens);
    let first = counts.next()??;
    counts.all(|count| count == Some(first)).then_some(first)
}

/// Whether the replies show what the entry is for.
pub fn needs(entry: &Entry, readings: &[Reading<'_>]) -> verdict::Needs {
    let answers: Vec<_> = readings.iter().filter(|r| r.is_answer()).collect();
    for need in &entry.needs {
        let shown = answers.iter().filter(|r| shows(r, *need)).count();
        if shown == answers.len() {
            continue;
        }
        if shown > 0 {
            return verdict::Needs::Mixed(*need);
        }
        let is_evident = tokens_alike(readings).is_some() || are_same(&answers);
        return if is_evident { verdict::Needs::Unsaid(*need) } else { verdict::Needs::Unknown(*need) };
    }
    verdict::Needs::Met
}

fn are_same(answers: &[&Reading<'_>]) -> bool {
    let [first, others @ ..] = answers else { return false };
    others.iter().all(|other| first.reply.proof.same_tokens(&other.reply.proof) == Some(true))
}

fn shows(reading: &Reading<'_>, need: Need) -> bool {
    let reply = &reading.reply;
    match need {
        Need::Call => reply.calls().next().is_some(),
        Need::Calls => reply.calls().count() >= 2,
        Need::Reasoning => !reply.reasoning().value.is_empty(),
        Need::Length => reply.finish_reason() == Some("length"),
        Need::Text => !reply.content().value.is_empty(),
        Need::Error => reply.error.is_some(),
    }
}
