//! Findings that have one cause, grouped over entries: what a person reads.
//!
//! In: entries with their findings. Out: [`Fault`]s, one for each rule, format and shape among the primaries that count; the
//! worst and most frequent first. Infos make no fault.

use super::{Finding, Side, shape::shape};
use crate::rules::Severity;
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

#[cfg(test)]
mod tests {
    use super::{super::example, *};

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
