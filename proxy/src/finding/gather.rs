//! The differences and breaches of one entry become its findings.
//!
//! The same rule at the same place (indices aside) in several streams is one finding with a list of rounds. The values, the diff
//! and the event are those of the first reply that shows it.

use super::{
    Finding, Side,
    aspect::aspect,
    cause::{self, Draft, Witness},
    client, place,
};
use crate::{
    compare::{Difference, show},
    decode::Span,
    request::Mode,
    rules::{Breach, Severity, catalogue},
};
use std::collections::HashMap;

/// What was found in one reply, or between the whole reply and this one.
#[derive(Debug, Clone, PartialEq)]
pub struct Of<T> {
    /// Whole or stream.
    pub mode: Mode,
    /// The schedule as reports name it.
    pub rounds: String,
    /// What was found.
    pub found: Vec<T>,
}

/// By mode, schedule and event: its bytes and its arrival in microseconds.
pub type Locate<'a> = dyn Fn(Mode, &str, usize) -> Option<(Span, u64)> + 'a;

/// All that was found of one entry.
pub struct Evidence<'a> {
    /// The whole reply (left) against each stream.
    pub parity: &'a [Of<Difference>],
    /// Two streams against each other: the schedule of the left one, and the right one.
    pub streams: &'a [(String, Of<Difference>)],
    /// The right answer (left) against each reply.
    pub expect: &'a [Of<Difference>],
    /// Broken rules of each exchange.
    pub breaches: &'a [Of<Breach>],
    /// Where an event of an exchange lies and when it came, in microseconds.
    pub locate: &'a Locate<'a>,
    /// The command that repeats the entry.
    pub repeat: &'a str,
}

/// The findings of one entry, primaries first. `severity_of` says how bad a difference is, by its rule; a breach knows.
pub fn gather(evidence: &Evidence<'_>, severity_of: impl Fn(&str) -> Severity) -> Vec<Finding> {
    let mut gathering = Gathering { evidence, drafts: Vec::new(), known: HashMap::new() };
    for of in evidence.parity {
        for difference in &of.found {
            let severity = severity_of(difference.rule);
            gathering.add(of, draft(difference, severity, Witness::Parity), &[&of.rounds]);
        }
    }
    for (left, of) in evidence.streams {
        for difference in &of.found {
            gathering.add(of, streams_draft(difference, &severity_of), &[left, &of.rounds]);
        }
    }
    for of in evidence.expect {
        for difference in &of.found {
            let severity = severity_of(difference.rule);
            gathering.add(of, draft(difference, severity, Witness::Expect), &[&of.rounds]);
        }
    }
    for of in evidence.breaches {
        for breach in &of.found {
            gathering.add(of, breach_draft(breach), &[&of.rounds]);
        }
    }
    cause::settle(gathering.drafts)
}

/// Drafts so far, and where each rule and place is among them.
struct Gathering<'a> {
    evidence: &'a Evidence<'a>,
    drafts: Vec<Draft>,
    known: HashMap<(String, String), usize>,
}

fn draft(difference: &Difference, severity: Severity, witness: Witness) -> Draft {
    let finding = Finding {
        rule: difference.rule.to_owned(),
        severity,
        side: Side::Both,
        rounds: Vec::new(),
        path: difference.path.clone(),
        whole: Some(difference.left.clone()),
        stream: Some(difference.right.clone()),
        kind: Some(difference.kind),
        because_of: None,
        event: difference.events.1,
        span: None,
        at: None,
        diff: Some(difference.diff.clone()),
        repeat: String::new(),
        clients: Vec::new(),
        known: None,
    };
    Draft { finding, aspect: aspect(difference.rule), witness }
}

/// Streams must not depend on rounds: whatever differs between two is one rule's matter, at the difference's own place.
fn streams_draft(difference: &Difference, severity_of: &impl Fn(&str) -> Severity) -> Draft {
    let rule = "parity/rechunk";
    let severity = severity_of(rule).min(severity_of(difference.rule));
    let mut draft = draft(difference, severity, Witness::Streams);
    rule.clone_into(&mut draft.finding.rule);
    draft.finding.side = Side::Stream;
    draft
}

fn breach_draft(breach: &Breach) -> Draft {
    let finding = Finding {
        rule: breach.rule.to_owned(),
        severity: breach.severity,
        side: Side::Stream,
        rounds: Vec::new(),
        path: breach.path.clone(),
        whole: None,
        stream: Some(show::value(&breach.found, 0)),
        kind: None,
        because_of: None,
        event: breach.event,
        span: breach.span,
        at: None,
        diff: None,
        repeat: String::new(),
        clients: Vec::new(),
        known: None,
    };
    Draft { finding, aspect: aspect(breach.rule), witness: Witness::Rule }
}

// === impl Gathering ===

impl Gathering<'_> {
    /// Merges a draft into the one of the same rule and place, or adds it.
    fn add<T>(&mut self, of: &Of<T>, mut draft: Draft, rounds: &[&String]) {
        debug_assert!(
            catalogue::describe(&draft.finding.rule).is_some(),
            "{} is not in the catalogue",
            draft.finding.rule
        );
        let side = match (draft.witness, of.mode) {
            (Witness::Parity, _) => Side::Both,
            (Witness::Streams, _) | (_, Mode::Stream) => Side::Stream,
            (_, Mode::Whole) => Side::Whole,
        };
        let streamed = if side == Side::Whole { &[] } else { rounds };
        let key = (draft.finding.rule.clone(), place(&draft.finding.path));
        if let Some(known) = self.known.get(&key).and_then(|&at| self.drafts.get_mut(at)) {
            known.finding.side = known.finding.side.and(side);
            known.finding.severity = known.finding.severity.max(draft.finding.severity);
            known.aspect = known.aspect.min(draft.aspect);
            add_rounds(&mut known.finding.rounds, streamed);
            return;
        }
        draft.finding.side = side;
        add_rounds(&mut draft.finding.rounds, streamed);
        self.complete(of, &mut draft.finding);
        self.known.insert(key, self.drafts.len());
        self.drafts.push(draft);
    }

    /// Fills in what follows from the exchange: bytes, time, command, clients.
    fn complete<T>(&self, of: &Of<T>, finding: &mut Finding) {
        let located = finding.event.and_then(|event| (self.evidence.locate)(of.mode, &of.rounds, event));
        finding.span = finding.span.or(located.map(|(span, _)| span));
        finding.at = located.map(|(_, at)| at);
        self.evidence.repeat.clone_into(&mut finding.repeat);
        finding.clients = client::affected(&finding.rule);
    }
}

fn add_rounds(rounds: &mut Vec<String>, more: &[&String]) {
    for one in more {
        if !rounds.contains(one) {
            rounds.push((*one).clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Kind;

    fn difference(rule: &'static str, path: &str) -> Difference {
        Difference {
            rule,
            path: path.to_owned(),
            left: format!("left of {path}"),
            right: format!("right of {path}"),
            kind: Kind::Lost,
            diff: "diff".to_owned(),
            events: (Some(1), Some(4)),
        }
    }

    fn of<T>(mode: Mode, rounds: &str, found: Vec<T>) -> Of<T> {
        Of { mode, rounds: rounds.to_owned(), found }
    }

    fn told(found: &[Finding]) -> Vec<String> {
        let one = |f: &Finding| {
            let cause = f.because_of.as_ref().map(|c| format!(" <- {c}")).unwrap_or_default();
            format!("{} {} {:?} [{}]{cause}", f.rule, f.path, f.side, f.rounds.join(" "))
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn the_same_rule_and_place_is_one_finding() {
        let parity = [
            of(
                Mode::Stream,
                "1",
                vec![
                    difference("parity/tool-arguments", "tool_calls[0].arguments"),
                    difference("parity/tool-arguments", "tool_calls[1].arguments"),
                ],
            ),
            of(Mode::Stream, "2", vec![difference("parity/tool-arguments", "tool_calls[1].arguments")]),
        ];
        let expect = [
            of(Mode::Whole, "-", vec![difference("expect/finish", "finish")]),
            of(Mode::Stream, "3", vec![difference("expect/finish", "finish")]),
        ];
        let breach = Breach {
            rule: "openai-chat/role-repeated",
            severity: Severity::Warn,
            path: "choices[0].delta.role".to_owned(),
            found: "role".to_owned(),
            event: Some(2),
            span: None,
        };
        let breaches = [of(Mode::Stream, "1", vec![breach.clone()]), of(Mode::Stream, "1", vec![breach])];
        let streams =
            [("1".to_owned(), of(Mode::Stream, "3", vec![difference("parity/finish-reason", "finish")]))];
        let evidence = Evidence {
            parity: &parity,
            streams: &streams,
            expect: &expect,
            breaches: &breaches,
            locate: &|mode, rounds, event| {
                assert_eq!(mode == Mode::Whole, rounds == "-");
                Some((Span { start: event, end: event + 1 }, 10))
            },
            repeat: "tfproxy --check",
        };
        let found = gather(&evidence, |_| Severity::Error);
        assert_eq!(
            told(&found),
            [
                "parity/tool-arguments tool_calls[0].arguments Both [1 2]",
                "openai-chat/role-repeated choices[0].delta.role Stream [1]",
                "parity/rechunk finish Stream [1 3] <- parity/tool-arguments tool_calls[0].arguments",
                "expect/finish finish Both [3] <- parity/tool-arguments tool_calls[0].arguments",
            ]
        );
        assert_eq!(found[0].whole.as_deref(), Some("left of tool_calls[0].arguments"), "of the first");
        assert_eq!(
            (found[0].event, found[0].span, found[0].at),
            (Some(4), Some(Span { start: 4, end: 5 }), Some(10))
        );
        assert_eq!(found[0].repeat, "tfproxy --check");
    }
}
