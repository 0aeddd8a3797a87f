//! Which finding follows from which, in one table.
//!
//! Every rule belongs to an [`Aspect`]; their order is the order from cause to consequence. A finding follows from another if that one is at least as severe, stands before it in the order, and was seen in the same replies:
//!
//! | finding | explains |
//! | --- | --- |
//! | a breach that loses bytes or merges calls (`Transport` to `Loss`, `Merge`) | everything after it |
//! | a difference between whole and stream | later differences; `expect/*` and breaches at its place or after |
//! | a mismatch with the right answer | later mismatches; breaches at its place or after |
//! | a choice that does not end as it should (`End`) | differences of the finish reason |
//! | any other breach | nothing, but what clients make of it, and its own echo in the other mode |
//!
//! Whatever belongs to no place of the reply (`Own`: a missing `[DONE]`, a repeated role) is a cause of its own and explains
//! nothing else. That streams differ among themselves follows from the difference of either one from the whole reply. What
//! clients make of a breach follows from it; a breach that one raises on is as bad as that.

use super::{Aspect, Finding, Side, aspect::is_echo, client, place};
use std::collections::BTreeSet;

/// Who says so. Of one aspect the earlier explains the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// Whole and stream differ.
    Parity,
    /// Two streams differ.
    Streams,
    /// A reply is not the right answer.
    Expect,
    /// A rule is broken.
    Rule,
}

/// A finding on its way: what it is about and who says so.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// What will be said.
    pub(super) finding: Finding,
    /// What it is about.
    pub(super) aspect: Aspect,
    /// Who says so.
    pub(super) witness: Witness,
}

/// Says of each draft which primary it follows from, and puts primaries first, the worst and most structural before the rest.
pub(super) fn settle(mut drafts: Vec<Draft>) -> Vec<Finding> {
    drafts.sort_by_key(|d| (d.aspect, d.witness));
    let mut settled: Vec<Draft> = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        draft.finding.because_of = cause_of(&draft, &settled);
        settled.push(draft);
    }
    weigh_crashes(&mut settled);
    settled.sort_by_key(|d| {
        (!d.finding.is_primary(), std::cmp::Reverse(d.finding.severity), d.aspect, d.witness)
    });
    settled.into_iter().map(|d| d.finding).collect()
}

/// A breach that makes a client raise is as bad as that.
fn weigh_crashes(settled: &mut [Draft]) {
    let is_crash = |d: &&Draft| d.aspect == Aspect::Client && !d.finding.is_primary();
    let crashes: Vec<Finding> = settled.iter().filter(is_crash).map(|d| d.finding.clone()).collect();
    for finding in settled.iter_mut().filter(|d| d.aspect != Aspect::Client).map(|d| &mut d.finding) {
        let raises = |crash: &&Finding| {
            client::comes_of(crash, &finding.rule) && crash.rounds.iter().any(|r| finding.rounds.contains(r))
        };
        if let Some(crash) = crashes.iter().find(raises) {
            finding.severity = finding.severity.max(crash.severity);
        }
    }
}

/// The difference from the whole reply behind a difference between two streams: of either stream, at the same place or
/// before it.
fn cause_of_streams(draft: &Draft, before: &[Draft]) -> Option<String> {
    let finding = &draft.finding;
    let explains = |cause: &&Draft| {
        let is_there = place(&cause.finding.path) == place(&finding.path);
        let is_before = cause.aspect <= draft.aspect && draft.aspect != Aspect::Own;
        cause.witness == Witness::Parity
            && (is_there || is_before)
            && cause.finding.severity >= finding.severity
            && cause.finding.rounds.iter().any(|rounds| finding.rounds.contains(rounds))
    };
    let cause = &before.iter().find(explains)?.finding;
    Some(cause.because_of.clone().unwrap_or_else(|| name(cause)))
}

/// The primary behind a draft, if those before it explain every reply that shows it.
fn cause_of(draft: &Draft, before: &[Draft]) -> Option<String> {
    if draft.witness == Witness::Streams
        && let Some(cause) = cause_of_streams(draft, before)
    {
        return Some(cause);
    }
    let finding = &draft.finding;
    // A difference lies between the two modes: the streams that show it are all there is to explain.
    let in_whole = draft.witness != Witness::Parity && finding.side != Side::Stream;
    let touches = |cause: &&Draft| {
        let whole = in_whole && cause.finding.side != Side::Stream;
        whole || cause.finding.rounds.iter().any(|rounds| finding.rounds.contains(rounds))
    };
    let causes: Vec<&Draft> = before.iter().filter(|cause| explains(cause, draft)).filter(touches).collect();
    let explained: BTreeSet<&str> =
        causes.iter().flat_map(|c| c.finding.rounds.iter().map(String::as_str)).collect();
    let streams = finding.rounds.iter().all(|rounds| explained.contains(rounds.as_str()));
    let whole = !in_whole || causes.iter().any(|c| c.finding.side != Side::Stream);
    let first = causes.first()?;
    (streams && whole).then(|| first.finding.because_of.clone().unwrap_or_else(|| name(&first.finding)))
}

fn explains(cause: &Draft, draft: &Draft) -> bool {
    if draft.aspect == Aspect::Client {
        return client::comes_of(&draft.finding, &cause.finding.rule);
    }
    if draft.aspect == Aspect::Echo {
        let is_lost = cause.witness == Witness::Rule && cause.aspect <= Aspect::Loss;
        return is_lost || is_echo(&draft.finding.rule, &cause.finding.rule);
    }
    let own = cause.aspect == Aspect::Own || draft.aspect == Aspect::Own;
    let may = match cause.witness {
        Witness::Parity | Witness::Streams => true,
        Witness::Expect => draft.witness >= Witness::Expect,
        Witness::Rule => {
            matches!(cause.aspect, Aspect::Transport | Aspect::Ended | Aspect::Loss | Aspect::Merge)
                || (cause.aspect, draft.aspect) == (Aspect::End, Aspect::Finish)
        }
    };
    let place = (cause.aspect, cause.witness) < (draft.aspect, draft.witness);
    !own && may && place && cause.finding.severity >= draft.finding.severity
}

/// How consequences name their primary.
fn name(finding: &Finding) -> String {
    format!("{} {}", finding.rule, finding.path).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{aspect::aspect, example::finding},
        *,
    };
    use crate::rules::Severity;

    fn draft(rule: &str, rounds: &[&str]) -> Draft {
        let witness = match rule.split('/').next() {
            Some("parity") => Witness::Parity,
            Some("expect") => Witness::Expect,
            _ => Witness::Rule,
        };
        let mut one = finding(rule, "p", rounds);
        if witness != Witness::Parity {
            one.side = if rounds.is_empty() { Side::Whole } else { Side::Stream };
        }
        Draft { finding: one, aspect: aspect(rule), witness }
    }

    #[track_caller]
    fn check(drafts: &[(&str, &[&str])], expect: &[&str]) {
        let drafts = drafts.iter().map(|(rule, rounds)| draft(rule, rounds)).collect();
        let told = |f: Finding| match f.because_of {
            None => f.rule,
            Some(cause) => format!("{} <- {}", f.rule, cause.trim_end_matches(" p")),
        };
        assert_eq!(settle(drafts).into_iter().map(told).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_most_structural_difference_explains_the_rest() {
        check(
            &[
                ("parity/usage-completion", &["1", "2"]),
                ("parity/finish-reason", &["1", "2"]),
                ("parity/content", &["2"]),
                ("parity/tool-count", &["1", "2"]),
            ],
            &[
                "parity/tool-count",
                "parity/content <- parity/tool-count",
                "parity/finish-reason <- parity/tool-count",
                "parity/usage-completion <- parity/tool-count",
            ],
        );
    }

    #[test]
    fn only_in_the_same_rounds() {
        check(
            &[
                ("parity/tool-count", &["1"]),
                ("parity/content", &["1", "2"]),
                ("parity/finish-reason", &["2"]),
            ],
            &["parity/tool-count", "parity/content", "parity/finish-reason <- parity/content"],
        );
        check(
            &[("parity/tool-count", &["1"]), ("parity/tool-name", &["2"]), ("parity/content", &["1", "2"])],
            &["parity/tool-count", "parity/tool-name", "parity/content <- parity/tool-count"],
        );
    }

    #[test]
    fn a_difference_explains_the_mismatch_of_either_side() {
        let explained = &["parity/content", "expect/content <- parity/content"];
        check(&[("expect/content", &["1"]), ("parity/content", &["1"])], explained);
        check(&[("expect/content", &[]), ("parity/content", &["1"])], explained);
        check(
            &[("expect/content", &["1", "2"]), ("parity/content", &["1"])],
            &["parity/content", "expect/content"],
        );
        check(
            &[("expect/finish", &[]), ("expect/tool-count", &[])],
            &["expect/tool-count", "expect/finish <- expect/tool-count"],
        );
    }

    #[test]
    fn breaches_at_the_same_place_follow_and_those_that_lose_lead() {
        check(
            &[("openai-chat/markup-leak", &["1"]), ("parity/content", &["1"])],
            &["parity/content", "openai-chat/markup-leak <- parity/content"],
        );
        check(
            &[
                ("openai-chat/tool-index-reused", &["1"]),
                ("parity/tool-count", &["1"]),
                ("parity/content", &["1"]),
            ],
            &[
                "openai-chat/tool-index-reused",
                "parity/tool-count <- openai-chat/tool-index-reused",
                "parity/content <- openai-chat/tool-index-reused",
            ],
        );
        check(
            &[("openai-chat/done-missing", &["1"]), ("parity/tool-count", &["1"])],
            &["parity/tool-count", "openai-chat/done-missing"],
        );
    }

    #[test]
    fn streams_that_differ_follow_from_either_ones_difference_from_the_whole() {
        let streams = |rounds: &[&str], aspect| {
            let mut one = draft("parity/rechunk", rounds);
            (one.aspect, one.witness) = (aspect, Witness::Streams);
            one
        };
        let cause = |drafts: &[Draft]| {
            let rechunk = settle(drafts.to_vec()).into_iter().find(|f| f.rule == "parity/rechunk");
            rechunk.and_then(|finding| finding.because_of)
        };
        let parity = draft("parity/content", &["2"]);
        let content = Some("parity/content p".to_owned());
        assert_eq!(cause(&[streams(&["1", "2"], Aspect::Content), parity.clone()]), content);
        assert_eq!(cause(&[streams(&["1", "2"], Aspect::Own), parity.clone()]), content, "the same place");
        assert_eq!(cause(&[streams(&["1", "3"], Aspect::Content), parity.clone()]), None);
        let mut elsewhere = parity;
        elsewhere.finding.path = "q".to_owned();
        assert_eq!(cause(&[streams(&["1", "2"], Aspect::Calls), elsewhere]), None, "before it");
        assert_eq!(cause(&[streams(&["1", "2"], Aspect::Calls)]), None);
    }

    #[test]
    fn what_one_mode_owes_is_told_once_and_explained_by_nothing_else() {
        check(
            &[
                ("parity/usage-missing", &["1"]),
                ("openai-chat/usage-missing", &["1"]),
                ("parity/content", &["1"]),
            ],
            &[
                "parity/content",
                "openai-chat/usage-missing",
                "parity/usage-missing <- openai-chat/usage-missing",
            ],
        );
        check(
            &[("parity/usage-missing", &["1"]), ("parity/content", &["1"])],
            &["parity/content", "parity/usage-missing"],
        );
        check(
            &[("parity/usage-missing", &["1"]), ("sse/no-events", &["1"])],
            &["sse/no-events", "parity/usage-missing <- sse/no-events"],
        );
        check(
            &[("parity/logprobs-absent", &["1"]), ("openai-chat/usage-missing", &["1"])],
            &["openai-chat/usage-missing", "parity/logprobs-absent"],
        );
    }

    #[test]
    fn a_choice_that_does_not_end_explains_its_finish_reason_and_what_follows_from_that() {
        check(
            &[
                ("openai-chat/finish-reason-missing", &["1"]),
                ("parity/finish-reason", &["1"]),
                ("parity/usage-completion", &["1"]),
            ],
            &[
                "openai-chat/finish-reason-missing",
                "parity/finish-reason <- openai-chat/finish-reason-missing",
                "parity/usage-completion <- openai-chat/finish-reason-missing",
            ],
        );
        check(
            &[("openai-chat/finish-reason-missing", &["1"]), ("parity/usage-completion", &["1"])],
            &["openai-chat/finish-reason-missing", "parity/usage-completion"],
        );
    }

    #[test]
    fn a_transport_that_breaks_is_told_once_and_explains_what_is_lost() {
        check(
            &[("exchange/cut", &["1"]), ("http/chunked-truncated", &["1"]), ("parity/content", &["1"])],
            &[
                "http/chunked-truncated",
                "exchange/cut <- http/chunked-truncated",
                "parity/content <- http/chunked-truncated",
            ],
        );
        check(
            &[("exchange/timeout", &["1"]), ("parity/finish-reason", &["1"])],
            &["exchange/timeout", "parity/finish-reason <- exchange/timeout"],
        );
    }

    #[test]
    fn what_clients_do_follows_from_the_rule_it_is_about() {
        let client = |rule: &str, found: &str| {
            let mut one = draft(rule, &["1"]);
            one.finding.stream = Some(found.to_owned());
            one
        };
        let told = |drafts: Vec<Draft>| -> Vec<String> {
            let one = |f: Finding| f.because_of.map_or(f.rule.clone(), |c| format!("{} <- {c}", f.rule));
            settle(drafts).into_iter().map(one).collect()
        };
        let crash = client("merge/sdk-crash", "openai-python raises on a tool call without an index");
        let missing = draft("openai-chat/tool-index-missing", &["1"]);
        let other = draft("openai-chat/done-missing", &["1"]);
        assert_eq!(
            told(vec![crash.clone(), other.clone(), missing]),
            [
                "openai-chat/tool-index-missing",
                "openai-chat/done-missing",
                "merge/sdk-crash <- openai-chat/tool-index-missing p",
            ]
        );
        assert_eq!(told(vec![crash, other]), ["openai-chat/done-missing", "merge/sdk-crash"]);
        let mut milder = draft("openai-chat/tool-type-missing", &["1"]);
        milder.finding.severity = Severity::Warn;
        let crash = client("merge/sdk-crash", "openai-node raises on a tool call without a type");
        let found = settle(vec![milder, crash]);
        assert_eq!(found[0].severity, Severity::Error, "as bad as what it does");
        assert_eq!(found[1].because_of.as_deref(), Some("openai-chat/tool-type-missing p"));
        let other = draft("openai-chat/id-constant", &["1"]);
        let apart = client("merge/sdk-divergence", "openai-go shows nothing");
        assert_eq!(
            told(vec![apart, other]),
            ["openai-chat/id-constant", "merge/sdk-divergence <- openai-chat/id-constant p"]
        );
    }

    #[test]
    fn what_is_milder_explains_nothing_worse() {
        let mut info = draft("parity/content-whitespace", &["1"]);
        info.finding.severity = Severity::Info;
        let found = settle(vec![info, draft("parity/finish-reason", &["1"])]);
        assert!(found.iter().all(Finding::is_primary));
        assert_eq!(found[0].rule, "parity/finish-reason", "the worst first");
    }
}
