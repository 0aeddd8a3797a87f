//! Findings that have one cause, grouped over entries: what a person reads.
//!
//! In: entries with their findings. Out: [`Fault`]s, one for each rule, format and shape among the primaries that count; the
//! worst and most frequent first. Infos make no fault.

use super::{Finding, Side, place};
use crate::{compare::Kind, rules::Severity};
use std::collections::BTreeMap;

/// Most schedules that [`Fault::when`] lists by name.
const LISTED: usize = 6;

/// One entry, as far as grouping needs it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Entry id: the case's id, or `id~one-call`, `id~cut-17`.
    pub id: &'a str,
    /// The case's id.
    pub case: &'a str,
    /// The format, for puppet cases.
    pub format: Option<&'a str>,
    /// What the puppet was told to say.
    pub says: Option<&'a str>,
    /// Schedules of its streams, in the order sent.
    pub rounds: &'a [&'a str],
    /// What was found.
    pub findings: &'a [Finding],
}

/// Findings that have one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The rule they break.
    pub rule: String,
    /// The worst of their severities.
    pub severity: Severity,
    /// The format of their cases.
    pub format: Option<String>,
    /// What it looks like, in a few words: `whole has no call, stream has one`.
    pub shape: String,
    /// Ids of the entries that show it, in the order in which they ran.
    pub cases: Vec<String>,
    /// The entry to look at first: the one that says least.
    pub smallest: String,
    /// When it shows and when it does not.
    pub when: String,
    /// The finding of the smallest entry.
    pub example: Finding,
}

/// Groups the primaries of all entries; entries without findings tell when a fault does not show.
pub fn group(entries: &[Entry<'_>]) -> Vec<Fault> {
    let mut groups: BTreeMap<(&str, Option<&str>, String), Vec<Shown<'_>>> = BTreeMap::new();
    for &entry in entries {
        for finding in entry.findings.iter().filter(|f| makes_fault(f)) {
            let key = (finding.rule.as_str(), entry.format, shape(finding));
            groups.entry(key).or_default().push(Shown { entry, finding });
        }
    }
    let mut variants: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        variants.entry(entry.case).or_default().push(entry.id);
    }
    let mut faults: Vec<Fault> =
        groups.into_iter().filter_map(|((_, _, shape), shown)| fault(shape, &shown, &variants)).collect();
    faults.sort_by_key(|f| (std::cmp::Reverse(f.severity), std::cmp::Reverse(f.cases.len())));
    faults
}

/// What a finding looks like, in a few words.
pub fn shape(finding: &Finding) -> String {
    let (whole, stream) =
        (finding.whole.as_deref().unwrap_or_default(), finding.stream.as_deref().unwrap_or_default());
    let Some(kind) = finding.kind else { return breach_shape(finding) };
    match finding.rule.split_once('/').unwrap_or_default() {
        ("parity", "tool-count") => format!("whole has {}, stream has {}", count(whole), short_count(stream)),
        ("parity", "tool-order") => "stream has the calls in another order".to_owned(),
        ("parity", "finish-reason") => format!("whole says {whole}, stream says {stream}"),
        ("parity", "reasoning-split") => "reasoning ends at another place".to_owned(),
        ("parity", "rechunk") => format!(
            "{} of the stream {} on the rounds",
            noun(&finding.path),
            verb(&finding.path, "depends", "depend")
        ),
        ("expect" | "truth", name) => unexpected(finding, name, kind),
        _ => parity_shape(&finding.path, kind, whole, stream),
    }
}

fn parity_shape(path: &str, kind: Kind, whole: &str, stream: &str) -> String {
    let what = noun(path);
    match kind {
        Kind::Lost if is_nothing(stream) => format!("stream has no {what}"),
        Kind::Added if is_nothing(whole) => format!("whole has no {what}"),
        Kind::Lost => format!("stream lacks a part of the {what}"),
        Kind::Added => format!("stream has more {what}"),
        Kind::Doubled => format!("stream has the {what} twice"),
        Kind::Moved => format!("stream has the {what} in another place"),
        Kind::Whitespace => format!("{what} {} in whitespace", verb(path, "differs", "differ")),
        Kind::Changed => format!("{what} {}", verb(path, "differs", "differ")),
    }
}

/// What a reply has in place of the right answer.
fn unexpected(finding: &Finding, name: &str, kind: Kind) -> String {
    let (expected, came) =
        (finding.whole.as_deref().unwrap_or_default(), finding.stream.as_deref().unwrap_or_default());
    let (who, what) = (side(finding), noun(&finding.path));
    let have = if finding.side == Side::Both { "have" } else { "has" };
    let how = match kind {
        Kind::Lost if is_nothing(came) => return format!("{who} {have} no {what}"),
        Kind::Lost => "a part is lost",
        Kind::Added => "there is more",
        Kind::Doubled => "it is doubled",
        Kind::Moved => "it moved",
        Kind::Whitespace => "whitespace only",
        Kind::Changed => "it is changed",
    };
    match name {
        "tool-count" => format!("{who} {have} {} where {} is expected", count(came), count(expected)),
        "finish" => format!("{who} finished with {came} where {expected} is expected"),
        "error" if came == "no error" => format!("{who} answered where {expected} is expected"),
        "error" => format!("{who} answered {came} where {expected} is expected"),
        _ => format!("{who} {have} other {what} than expected: {how}"),
    }
}

/// A primary that counts and is more than an info.
fn makes_fault(finding: &Finding) -> bool {
    finding.is_primary() && finding.counts() && finding.severity > Severity::Info
}

/// One finding and the entry that shows it.
#[derive(Clone, Copy)]
struct Shown<'a> {
    entry: Entry<'a>,
    finding: &'a Finding,
}

fn fault(shape: String, shown: &[Shown<'_>], variants: &BTreeMap<&str, Vec<&str>>) -> Option<Fault> {
    let smallest = shown.iter().min_by_key(|s| weight(s))?;
    let mut cases: Vec<String> = shown.iter().map(|s| s.entry.id.to_owned()).collect();
    cases.dedup();
    Some(Fault {
        rule: smallest.finding.rule.clone(),
        severity: shown.iter().map(|s| s.finding.severity).max()?,
        format: smallest.entry.format.map(ToOwned::to_owned),
        shape,
        smallest: smallest.entry.id.to_owned(),
        when: [rounds_words(shown), variant_words(shown, variants)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
        example: smallest.finding.clone(),
        cases,
    })
}

/// The less it says the smaller; a prompted case, whose text is the model's, comes last.
fn weight<'a>(shown: &Shown<'a>) -> (usize, usize, &'a str) {
    (shown.entry.says.map_or(usize::MAX, str::len), shown.entry.id.len(), shown.entry.id)
}

/// At which schedules: every one, some, or the whole reply alone.
fn rounds_words(shown: &[Shown<'_>]) -> Option<String> {
    if shown.iter().all(|s| s.finding.side == Side::Whole) {
        return Some("the whole reply".to_owned());
    }
    let at_every = |s: &Shown<'_>| s.entry.rounds.iter().all(|r| s.finding.rounds.iter().any(|f| f == r));
    let (mut yes, mut no): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for rounds in shown.iter().flat_map(|s| s.entry.rounds) {
        let seen = shown.iter().any(|s| s.finding.rounds.iter().any(|f| f == rounds));
        let list = if seen { &mut yes } else { &mut no };
        if !list.contains(rounds) {
            list.push(rounds);
        }
    }
    let words = match (yes.as_slice(), no.len()) {
        ([], _) => return None,
        (["-"], 0) => "every stream".to_owned(),
        ([one], 0) => format!("rounds {one}"),
        (_, 0) if shown.iter().all(at_every) => "every rounds".to_owned(),
        (_, 0) => "every rounds, not all in each case".to_owned(),
        (shows, hides) if shows.len() <= hides || hides > LISTED => format!("rounds {} only", listed(&yes)),
        _ => format!("every rounds but {}", listed(&no)),
    };
    // A difference between the two modes lies in neither of them; what is wrong in both is not the stream's alone.
    let is_of_both =
        shown.iter().all(|s| s.finding.side == Side::Both && !s.finding.rule.starts_with("parity/"));
    Some(if is_of_both { format!("the whole reply, and {words}") } else { words })
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(" ");
    if names.len() > LISTED { format!("{shown} and {} more", names.len() - LISTED) } else { shown }
}

/// In which variants of the cases: said only where other variants ran and do not show it.
fn variant_words(shown: &[Shown<'_>], variants: &BTreeMap<&str, Vec<&str>>) -> Option<String> {
    let mut ran = [false; 3];
    let mut shows = [false; 3];
    for s in shown {
        mark(&mut shows, variant(s.entry.id));
        for id in variants.get(s.entry.case).into_iter().flatten() {
            mark(&mut ran, variant(id));
        }
    }
    let named = |keep: fn(bool, bool) -> bool| {
        let all = VARIANTS.iter().zip(ran.iter().zip(shows));
        all.filter(|(_, (ran, shows))| keep(**ran, *shows)).map(|(name, _)| *name).collect::<Vec<_>>()
    };
    let (yes, no) = (named(|_, shows| shows), named(|ran, shows| ran && !shows));
    match (yes.as_slice(), no.is_empty()) {
        (_, true) => None,
        ([one], _) if *one != VARIANTS[0] => Some(format!("only {one}")),
        _ => Some(format!("not {}", no.join(", not "))),
    }
}

/// Variants of a case in words: as written, one call at most, cut by a token limit.
const VARIANTS: [&str; 3] = ["as written", "with one call at most", "when cut by max_tokens"];

fn variant(id: &str) -> usize {
    match id.split_once('~') {
        None => 0,
        Some((_, "one-call")) => 1,
        Some(_) => 2,
    }
}

fn mark(flags: &mut [bool; 3], at: usize) {
    if let Some(flag) = flags.get_mut(at) {
        *flag = true;
    }
}

fn breach_shape(finding: &Finding) -> String {
    let at = place(&finding.path);
    if at.is_empty() { format!("in {}", side(finding)) } else { format!("in {}, at {at}", side(finding)) }
}

fn side(finding: &Finding) -> &'static str {
    match finding.side {
        Side::Whole => "the whole reply",
        Side::Stream => "the stream",
        Side::Both => "both modes",
    }
}

/// `no call`, `one call`, `2 calls`: what a described list of calls begins with.
fn count(value: &str) -> &str {
    value.split_once(": ").map_or(value, |(count, _)| count)
}

/// The same without the word: `none`, `one`, `2`.
fn short_count(value: &str) -> &str {
    match count(value) {
        "no call" => "none",
        other => other.split(' ').next().unwrap_or(other),
    }
}

fn is_nothing(value: &str) -> bool {
    value.is_empty() || value == "none" || value == "no error"
}

/// The last word of a path, in plain words.
fn noun(path: &str) -> String {
    let last = place(path).rsplit('.').next().unwrap_or_default().replace("[]", "").replace('_', " ");
    if last.is_empty() { "answer".to_owned() } else { last }
}

/// The form of a verb that fits the noun of a path.
fn verb<'a>(path: &str, one: &'a str, many: &'a str) -> &'a str {
    if noun(path).ends_with('s') { many } else { one }
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};
    use Kind::{Added, Changed, Doubled, Lost, Whitespace};

    const ROUNDS: &[&str] = &["whole", "special", "1", "2", "3"];

    fn entry<'a>(id: &'a str, says: &'a str, findings: &'a [Finding]) -> Entry<'a> {
        let case = id.split('~').next().unwrap_or(id);
        Entry { id, case, format: Some("glm"), says: Some(says), rounds: ROUNDS, findings }
    }

    fn tool_count(rounds: &[&str]) -> Vec<Finding> {
        let mut one = example::finding("parity/tool-count", "tool_calls", rounds);
        one.whole = Some("no call: content \"x\"".to_owned());
        one.stream = Some("one call: f {}".to_owned());
        vec![one]
    }

    #[test]
    fn shapes() {
        let check = |rule: &str, path: &str, kind, whole: &str, stream: &str, expect: &str| {
            let mut one = example::finding(rule, path, &["1"]);
            (one.kind, one.whole, one.stream) = (kind, Some(whole.to_owned()), Some(stream.to_owned()));
            if kind.is_none() {
                one.side = Side::Stream;
            }
            assert_eq!(shape(&one), expect);
        };
        let count = "parity/tool-count";
        check(
            count,
            "tool_calls",
            Some(Added),
            "no call",
            "2 calls: f {}, g {}",
            "whole has no call, stream has 2",
        );
        check(
            count,
            "tool_calls",
            Some(Lost),
            "one call: f {}",
            "no call",
            "whole has one call, stream has none",
        );
        let finish = "parity/finish-reason";
        check(
            finish,
            "finish",
            Some(Changed),
            "tool_calls",
            "stop",
            "whole says tool_calls, stream says stop",
        );
        check("parity/content", "content", Some(Lost), "abc", "ab", "stream lacks a part of the content");
        check("parity/content", "content", Some(Lost), "abc", "", "stream has no content");
        check("parity/content", "content", Some(Added), "", "abc", "whole has no content");
        let arguments = "tool_calls[3].arguments";
        check("parity/tool-arguments", arguments, Some(Doubled), "a", "aa", "stream has the arguments twice");
        check(
            "expect/content-whitespace",
            "content",
            Some(Whitespace),
            "a",
            "a ",
            "both modes have other content than expected: whitespace only",
        );
        let usage = "usage.completion_tokens";
        check("parity/usage-completion", usage, Some(Changed), "1", "2", "completion tokens differ");
        check(
            "expect/error",
            "error",
            Some(Changed),
            "status 400",
            "no error",
            "both modes answered where status 400 is expected",
        );
        check(
            "expect/finish",
            "finish",
            Some(Changed),
            "stop",
            "length",
            "both modes finished with length where stop is expected",
        );
        check(
            "openai-chat/role-repeated",
            "choices[0].delta.role",
            None,
            "",
            "x",
            "in the stream, at choices[].delta.role",
        );
        check("openai-chat/done-missing", "", None, "", "x", "in the stream");
    }

    #[test]
    fn primaries_are_grouped_by_rule_format_and_shape() {
        let (all, some) = (tool_count(ROUNDS), tool_count(&["1"]));
        let mut consequence = example::finding("parity/content", "content", &["1"]);
        consequence.because_of = Some("parity/tool-count tool_calls".to_owned());
        let mut known = example::finding("parity/content", "content", &["1"]);
        known.known = Some("reason".to_owned());
        let mut info = example::finding("parity/content-presence", "content", &["1"]);
        info.severity = Severity::Info;
        let silent = [consequence, known, info];
        let mut other = entry("hermes/a", "short", &some);
        other.format = Some("hermes");
        let entries = [
            entry("glm/long", "much to say", &all),
            entry("glm/short", "little", &some),
            entry("glm/x", "", &silent),
            other,
        ];
        let faults = group(&entries);
        let told: Vec<_> =
            faults.iter().map(|f| (f.format.as_deref(), f.cases.join(" "), f.smallest.as_str())).collect();
        assert_eq!(
            told,
            [
                (Some("glm"), "glm/long glm/short".to_owned(), "glm/short"),
                (Some("hermes"), "hermes/a".to_owned(), "hermes/a"),
            ]
        );
        assert_eq!(faults[0].when, "every rounds, not all in each case");
    }

    #[test]
    fn it_is_said_when_a_fault_shows_and_when_not() {
        let check = |entries: &[(&str, &[&str])], expect: &str| {
            let findings: Vec<_> = entries
                .iter()
                .map(|(_, rounds)| if rounds.is_empty() { Vec::new() } else { tool_count(rounds) })
                .collect();
            let entries: Vec<_> =
                entries.iter().zip(&findings).map(|((id, _), found)| entry(id, "says", found)).collect();
            assert_eq!(group(&entries)[0].when, expect);
        };
        check(&[("a", ROUNDS)], "every rounds");
        check(&[("a", &["1", "2"])], "rounds 1 2 only");
        check(&[("a", &["special", "1", "2", "3"])], "every rounds but whole");
        check(&[("a~one-call", ROUNDS), ("a", &[])], "every rounds; only with one call at most");
        check(&[("a", ROUNDS), ("a~one-call", &[])], "every rounds; not with one call at most");
        check(
            &[("a~cut-3", &["1"]), ("a~cut-9", &["1"]), ("a", &[])],
            "rounds 1 only; only when cut by max_tokens",
        );
        check(
            &[("a", ROUNDS), ("a~one-call", &[]), ("a~cut-1", &[])],
            "every rounds; not with one call at most, not when cut by max_tokens",
        );
        check(&[("a~one-call", ROUNDS)], "every rounds");
    }
}
