//! `parity.json`, schema `tfproxy.parity/1`.
//!
//! In: a [`Report`]. Out: the file, whole or not at all: it is written beside its place and then renamed. The wire types are for
//! writing only; a reader that needs them declares its own, so that a renamed field is noticed.

use super::{Report, model::Totals};
use crate::{
    finding::{Fault, Finding, Side},
    run::{Dropped, Judged, Sent},
};
use serde::Serialize;
use serde_json::Value;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

/// The schema's name; another number where a reader must change.
pub const SCHEMA: &str = "tfproxy.parity/1";
/// The file's name in the report's folder.
pub const FILE: &str = "parity.json";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: Tool,
    upstream: Upstream<'a>,
    totals: TotalsJson,
    faults: Vec<FaultJson<'a>>,
    cases: Vec<CaseJson<'a>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Upstream<'a> {
    url: &'a str,
    server: &'a str,
    version: &'a str,
    model: &'a str,
    profile: &'a str,
    /// Fields that it refused, so that they were left out.
    dropped: Vec<DroppedJson<'a>>,
}

#[derive(Serialize)]
struct DroppedJson<'a> {
    field: &'a str,
    /// The name under which it was sent instead.
    instead: Option<&'a str>,
    said: &'a str,
}

#[derive(Serialize)]
struct TotalsJson {
    cases: usize,
    exchanges: usize,
    passed: usize,
    failed: usize,
    suspect: usize,
    unstable: usize,
    inconclusive: usize,
    skipped: usize,
    errors: usize,
    findings: FindingTotals,
    seconds: f64,
}

#[derive(Serialize)]
struct FindingTotals {
    error: usize,
    warn: usize,
    info: usize,
}

#[derive(Serialize)]
struct FaultJson<'a> {
    rule: &'a str,
    shape: &'a str,
    cases: &'a [String],
    smallest: &'a str,
}

#[derive(Serialize)]
struct CaseJson<'a> {
    id: &'a str,
    dialect: &'static str,
    verdict: &'static str,
    reason: Option<&'a str>,
    expected: &'static str,
    exchanges: Vec<ExchangeJson<'a>>,
    reply: &'a Value,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Serialize)]
struct ExchangeJson<'a> {
    mode: &'static str,
    rounds: &'a str,
    status: u16,
    seconds: f64,
    events: usize,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    rule: &'a str,
    severity: &'static str,
    rounds: &'a [String],
    path: &'a str,
    /// The right value, where there is one to be held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<&'a str>,
    whole: Option<&'a str>,
    stream: Option<&'a str>,
    /// Why it is declared known and does not count; null where it counts.
    known: Option<&'a str>,
    because_of: Option<&'a str>,
    event: Option<usize>,
    diff: Option<&'a str>,
    repeat: &'a str,
}

/// The document as text, with a line feed at its end.
pub fn text(report: &Report) -> io::Result<String> {
    let mut text = serde_json::to_string_pretty(&Document::of(report)).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// Writes the document into a folder, which is made if it is not there; says where it lies.
pub fn write(folder: &Path, report: &Report) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (path, beside) = (folder.join(FILE), folder.join(format!(".{FILE}.{}", process::id())));
    let written = fs::write(&beside, text(report)?).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // What could not be written or moved is no report; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written.map(|()| path)
}

// === impl Document ===

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Self {
        let up = &report.upstream;
        Self {
            schema: SCHEMA,
            tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
            upstream: Upstream {
                url: &up.url,
                server: &up.server,
                version: &up.version,
                model: &up.model,
                profile: &up.profile,
                dropped: report.dropped.iter().map(DroppedJson::of).collect(),
            },
            totals: TotalsJson::of(report, report.totals()),
            faults: report.faults.iter().map(FaultJson::of).collect(),
            cases: report.entries.iter().map(CaseJson::of).collect(),
        }
    }
}

// === impl DroppedJson ===

impl<'a> DroppedJson<'a> {
    fn of(dropped: &'a Dropped) -> Self {
        Self { field: dropped.field, instead: dropped.instead, said: &dropped.said }
    }
}

// === impl TotalsJson ===

impl TotalsJson {
    fn of(report: &Report, totals: Totals) -> Self {
        Self {
            cases: totals.cases,
            exchanges: report.exchanges,
            passed: totals.passed,
            failed: totals.failed,
            suspect: totals.suspect,
            unstable: totals.unstable,
            inconclusive: totals.inconclusive,
            skipped: totals.skipped,
            errors: totals.errors,
            findings: FindingTotals {
                error: totals.error_findings,
                warn: totals.warn_findings,
                info: totals.info_findings,
            },
            seconds: seconds(report.seconds),
        }
    }
}

// === impl FaultJson ===

impl<'a> FaultJson<'a> {
    fn of(fault: &'a Fault) -> Self {
        Self { rule: &fault.rule, shape: &fault.shape, cases: &fault.cases, smallest: &fault.smallest }
    }
}

// === impl CaseJson ===

impl<'a> CaseJson<'a> {
    fn of(entry: &'a Judged) -> Self {
        Self {
            id: &entry.id,
            dialect: entry.dialect.name(),
            verdict: entry.verdict.name(),
            reason: entry.reason.as_deref(),
            expected: entry.expected.name(),
            exchanges: entry.exchanges.iter().map(ExchangeJson::of).collect(),
            reply: &entry.reply,
            findings: entry.findings.iter().map(FindingJson::of).collect(),
        }
    }
}

// === impl ExchangeJson ===

impl<'a> ExchangeJson<'a> {
    fn of(sent: &'a Sent) -> Self {
        Self {
            mode: sent.mode.name(),
            rounds: &sent.rounds,
            status: sent.status,
            seconds: seconds(sent.seconds),
            events: sent.events,
        }
    }
}

// === impl FindingJson ===

impl<'a> FindingJson<'a> {
    fn of(finding: &'a Finding) -> Self {
        // A finding against the right answer holds that in place of the whole reply's value.
        let is_answer = finding.is_of_answer();
        let got = |side| finding.stream.as_deref().filter(|_| [side, Side::Both].contains(&finding.side));
        Self {
            rule: &finding.rule,
            severity: finding.severity.name(),
            rounds: &finding.rounds,
            path: &finding.path,
            right: finding.whole.as_deref().filter(|_| is_answer),
            whole: if is_answer { got(Side::Whole) } else { finding.whole.as_deref() },
            stream: if is_answer { got(Side::Stream) } else { finding.stream.as_deref() },
            known: finding.known.as_deref(),
            because_of: finding.because_of.as_deref(),
            event: finding.event,
            diff: finding.diff.as_deref(),
            repeat: &finding.repeat,
        }
    }
}

/// To the microsecond; what is no number (it would be null) counts as nothing.
fn seconds(seconds: f64) -> f64 {
    if seconds.is_finite() { (seconds * 1e6).round() / 1e6 } else { 0.0 }
}
