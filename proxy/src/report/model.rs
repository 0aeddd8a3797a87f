//! The one model behind every report: what was judged, counted once.
//!
//! In: run events and the known failures. Out: [`Report`] with totals, faults, stale entries, and what was not exercised.

use super::proof;
use crate::{
    finding::{
        Fault, Finding, Known, Severity,
        coverage::{Condition, Coverage},
        fault,
        known::{How, Ran},
    },
    request::Mode,
    run::{
        Dropped, FailOn, Judged, Verdict, counted,
        event::{RunEvent, Upstream},
        fails, is_unanswered,
        verdict::blames,
    },
};

/// A run, as reports see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Who was asked.
    pub upstream: Upstream,
    /// What proves that replies come from equal tokens and how rounds were varied, in one line; empty where nothing was
    /// answered in both modes.
    pub proof: String,
    /// Fields that the upstream refused, so that they were left out.
    pub dropped: Vec<Dropped>,
    /// Entries that were planned.
    pub planned: usize,
    /// Every judged entry, in the order in which they were done.
    pub entries: Vec<Judged>,
    /// What a person reads.
    pub faults: Vec<Fault>,
    /// Lines of the known-failing file that nothing needs any more.
    pub stale: Vec<String>,
    /// Why the run stopped early, if it did.
    pub aborted: Option<String>,
    /// Wall time from the first exchange to the last.
    pub seconds: f64,
    /// Every HTTP request.
    pub exchanges: usize,
    /// How many of them were retries.
    pub retried: usize,
}

/// Counts of a run. `cases` counts entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Entries that were judged.
    pub cases: usize,
    /// Of these: verdict `pass`.
    pub passed: usize,
    /// Verdict `fail`, known failures included.
    pub failed: usize,
    /// Verdict `suspect`.
    pub suspect: usize,
    /// Verdict `unstable`.
    pub unstable: usize,
    /// Verdict `inconclusive`.
    pub inconclusive: usize,
    /// Verdict `skipped`.
    pub skipped: usize,
    /// Verdict `error`.
    pub errors: usize,
    /// Findings of severity error, of all entries, primaries and consequences.
    pub error_findings: usize,
    /// Of severity warn.
    pub warn_findings: usize,
    /// Of severity info.
    pub info_findings: usize,
}

// === impl Report ===

impl Report {
    /// The report of a run that is over (or was aborted).
    pub fn of(events: impl IntoIterator<Item = RunEvent>, known: &Known) -> Self {
        let mut report = Self::default();
        for event in events {
            report.take(event);
        }
        report.conclude(known);
        report
    }

    /// Takes one event.
    pub fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Started { upstream, planned } => {
                self.upstream = upstream;
                self.planned = planned;
            }
            RunEvent::Done(judged) => self.entries.push(*judged),
            RunEvent::Dropped(dropped) => self.dropped = dropped,
            RunEvent::Aborted(reason) => self.aborted = Some(reason),
            RunEvent::Finished { seconds, exchanges, retried } => {
                self.seconds = seconds;
                self.exchanges = exchanges;
                self.retried = retried;
            }
        }
    }

    /// Marks known failures, groups faults, finds stale entries. Once, after the last event.
    pub fn conclude(&mut self, known: &Known) {
        for entry in &mut self.entries {
            known.mark(&entry.id, &mut entry.findings);
            if let Some(reason) = known.reason(&entry.id, None).filter(|_| is_unanswered(entry)) {
                entry.findings.push(known_answer(entry, reason));
            }
        }
        self.proof = proof::line(&self.entries, &self.upstream);
        self.faults = self.group();
        let ran: Vec<Ran<'_>> = self
            .entries
            .iter()
            .map(|e| Ran { id: &e.id, how: how(e.verdict), findings: &e.findings })
            .collect();
        self.stale = known.stale(&ran).iter().map(ToString::to_string).collect();
        if self.exchanges == 0 {
            self.exchanges = self.entries.iter().map(|e| e.exchanges.len()).sum();
        }
    }

    /// Counts.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { cases: self.entries.len(), ..Totals::default() };
        for entry in &self.entries {
            *totals.of_verdict(entry.verdict) += 1;
            for finding in &entry.findings {
                *totals.of_severity(finding.severity) += 1;
            }
        }
        totals
    }

    /// Whether something fails that nobody has declared known.
    pub fn fails(&self, fail_on: FailOn) -> bool {
        self.entries.iter().any(|entry| fails(entry, fail_on))
    }

    /// Entries that fail and are not known to.
    pub fn failing(&self) -> impl Iterator<Item = &Judged> {
        self.entries.iter().filter(|e| is_unanswered(e) || differs(e))
    }

    /// Entries with findings that count and are more than an info.
    pub fn differing(&self) -> impl Iterator<Item = &Judged> {
        self.entries.iter().filter(|e| differs(e))
    }

    /// Entries without a usable answer that are not known to have none.
    pub fn unanswered(&self) -> impl Iterator<Item = &Judged> {
        self.entries.iter().filter(|e| is_unanswered(e))
    }

    /// Whether no entry was exercised, or more than a fifth was skipped.
    pub fn is_hollow(&self) -> bool {
        let totals = self.totals();
        totals.passed + totals.failed + totals.suspect + totals.unstable + totals.errors == 0
            || totals.skipped * 5 > totals.cases
    }

    /// Entries whose reply follows another policy than ours, alike in both modes.
    pub fn other_policy(&self) -> impl Iterator<Item = &Judged> {
        self.entries.iter().filter(|e| e.other_policy)
    }

    /// Entries of one verdict.
    pub fn of_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Judged> {
        self.entries.iter().filter(move |e| e.verdict == verdict)
    }

    /// Findings that are known and do not fail.
    pub fn known(&self) -> impl Iterator<Item = &Finding> {
        self.entries.iter().flat_map(|e| &e.findings).filter(|f| !f.counts())
    }

    /// Findings that count and are more than an info.
    pub fn differences(&self) -> impl Iterator<Item = &Finding> {
        self.entries.iter().flat_map(counted).filter(|f| f.severity > Severity::Info)
    }

    /// What no judged entry exercised.
    pub fn not_exercised(&self) -> Vec<Condition> {
        let mut coverage = Coverage::default();
        for entry in self.entries.iter().filter(|e| is_judged(e.verdict)) {
            coverage.note_reply(&entry.reply);
            entry.exercised.iter().for_each(|condition| coverage.note(*condition));
            if entry.exchanges.iter().any(|e| e.status >= 400) {
                coverage.note(Condition::Error);
            }
        }
        coverage.missing()
    }

    fn group(&self) -> Vec<Fault> {
        let rounds: Vec<Vec<&str>> = self.entries.iter().map(streamed).collect();
        // What blames nobody is no fault, though it stands in the entry.
        let blamed: Vec<Vec<Finding>> = self.entries.iter().map(blaming).collect();
        let entries = self.entries.iter().zip(&rounds).zip(&blamed);
        let entries = entries.filter(|((e, _), blamed)| is_judged(e.verdict) || !blamed.is_empty());
        let entries: Vec<fault::Entry<'_>> = entries
            .map(|((e, rounds), findings)| fault::Entry {
                id: &e.id,
                case: &e.case,
                format: e.format.as_deref(),
                says: e.says.as_deref(),
                rounds,
                findings,
            })
            .collect();
        fault::group(&entries)
    }
}

/// Schedules of an entry's streams, each once, in the order sent.
fn streamed(entry: &Judged) -> Vec<&str> {
    let mut rounds: Vec<&str> = Vec::new();
    for sent in entry.exchanges.iter().filter(|s| s.mode == Mode::Stream) {
        if !rounds.contains(&sent.rounds.as_str()) {
            rounds.push(&sent.rounds);
        }
    }
    rounds
}

/// Whether the verdict stands: the others say that there was no proof, no stability or no answer to judge.
const fn is_judged(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail | Verdict::Error)
}

const fn how(verdict: Verdict) -> How {
    if matches!(verdict, Verdict::Pass | Verdict::Fail) { How::Fully } else { How::InPart }
}

/// Findings that blame the server, known ones included.
fn blaming(entry: &Judged) -> Vec<Finding> {
    entry.findings.iter().filter(|f| blames(entry.verdict, f)).cloned().collect()
}

fn differs(entry: &Judged) -> bool {
    counted(entry).any(|finding| finding.severity > Severity::Info)
}

/// An entry without a usable answer may have no finding that could be marked: its reason becomes one.
fn known_answer(entry: &Judged, reason: &str) -> Finding {
    Finding {
        rule: "run/no-answer".to_owned(),
        severity: Severity::Error,
        side: crate::finding::Side::Both,
        rounds: Vec::new(),
        path: String::new(),
        whole: None,
        stream: entry.reason.clone(),
        kind: None,
        because_of: None,
        event: None,
        span: None,
        at: None,
        diff: None,
        repeat: String::new(),
        clients: Vec::new(),
        known: Some(reason.to_owned()),
    }
}

// === impl Totals ===

impl Totals {
    fn of_verdict(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Pass => &mut self.passed,
            Verdict::Fail => &mut self.failed,
            Verdict::Suspect => &mut self.suspect,
            Verdict::Unstable => &mut self.unstable,
            Verdict::Inconclusive => &mut self.inconclusive,
            Verdict::Skipped => &mut self.skipped,
            Verdict::Error => &mut self.errors,
        }
    }

    fn of_severity(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.error_findings,
            Severity::Warn => &mut self.warn_findings,
            Severity::Info => &mut self.info_findings,
        }
    }
}
