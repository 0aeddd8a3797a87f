//! The report on a terminal: who was asked, what proves it, the verdict, at most five faults, and what was not looked at.
//!
//! In: a [`Report`] and how to print it. Out: lines of plain text; whatever a server or model said goes through
//! [`plain::line`], so that no escape sequence of theirs reaches the terminal.

use super::{Report, fault, show};
use crate::{
    finding::{coverage::Condition, plain},
    request::Mode,
    run::{Judged, Verdict},
};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

pub use show::{BadShow, Show};

/// Faults that are printed; the rest is counted.
const FAULTS_MAX: usize = 5;
/// Column at which counts of cases and the exit code stand.
pub(super) const RIGHT: usize = 84;
/// Longest text of a server or model in one line.
const SAID_MAX: usize = 100;
/// Cases without a usable answer that are named.
const ERRORS_MAX: usize = 5;

/// How to print.
#[derive(Debug, Clone, Copy)]
pub struct Printing<'a> {
    /// All of it, or the verdict and the last line.
    pub volume: Volume,
    /// Details instead of the summary.
    pub show: Option<Show>,
    /// The report's folder, as the user wrote it.
    pub folder: &'a str,
    /// The name of an entry's folder below `failed/` in it.
    pub folder_of: fn(&str) -> String,
    /// Files in it.
    pub files: &'a [&'a str],
    /// The exit code that follows, and why where the report does not show it.
    pub exit: (u8, Option<&'static str>),
}

/// How much to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    /// Everything.
    Full,
    /// The verdict and the last line.
    Quiet,
}

/// Prints a report.
pub fn print(out: &mut dyn Write, report: &Report, printing: &Printing<'_>) -> io::Result<()> {
    if printing.volume == Volume::Full {
        header(out, report)?;
        writeln!(out)?;
    }
    writeln!(out, "{}", verdict(report))?;
    match printing.show {
        _ if printing.volume == Volume::Quiet => {}
        Some(what) => show::print(out, report, what, printing)?,
        None => summary(out, report, printing)?,
    }
    let left = format!("{}/  {}", printing.folder.trim_end_matches('/'), printing.files.join(" "));
    let (status, why) = printing.exit;
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    writeln!(out, "{}", aligned(&left, RIGHT, &format!("exit {status}{why}")))
}

/// Text, and what stands to the right of it in a column of its own.
pub(super) fn aligned(text: &str, column: usize, right: &str) -> String {
    let gap = column.saturating_sub(text.chars().count()).max(2);
    format!("{text}{:gap$}{right}", "")
}

fn header(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let up = &report.upstream;
    let server = format!("{} {}", up.server, up.version);
    let fields = [
        format!("tfproxy {}", env!("CARGO_PKG_VERSION")),
        up.url.clone(),
        server.trim().to_owned(),
        named("model", &up.model),
        named("profile", &up.profile),
    ];
    let fields: Vec<String> =
        fields.iter().filter(|f| !f.is_empty()).map(|f| plain::line(f, SAID_MAX)).collect();
    writeln!(out, "{}", fields.join("  "))?;
    if !report.proof.is_empty() {
        writeln!(out, "proof   {}", plain::line(&report.proof, 2 * SAID_MAX))?;
    }
    for dropped in &report.dropped {
        let instead = dropped.instead.map(|name| format!(" for {name}")).unwrap_or_default();
        let words = format!("{}{instead}, which the server refused: {}", dropped.field, dropped.said);
        writeln!(out, "dropped {}", plain::line(&words, 2 * SAID_MAX))?;
    }
    let (cases, retried) = (count(report.entries.len(), "case"), report.retried);
    writeln!(out, "sent    {cases}, {}, {retried} retried, {}", sent(report), duration(report.seconds))
}

fn named(what: &str, name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{what} {name}") }
}

fn sent(report: &Report) -> String {
    let mut by_dialect: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in &report.entries {
        let (whole, stream) = by_dialect.entry(entry.dialect.name()).or_default();
        let streams = entry.exchanges.iter().filter(|s| s.mode == Mode::Stream).count();
        *whole += entry.exchanges.len() - streams;
        *stream += streams;
    }
    let one = |(dialect, (whole, stream))| format!("{dialect}: {whole} whole, {stream} streamed");
    by_dialect.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

fn duration(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

/// `1 case`, `7 cases`.
pub(super) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The line that begins with the verdict.
fn verdict(report: &Report) -> String {
    let totals = report.totals();
    if let Some(reason) = &report.aborted {
        let done = format!("{} of {} cases were judged", totals.cases, report.planned.max(totals.cases));
        return format!("ABORTED {}  ({done})", plain::line(reason, SAID_MAX));
    }
    if report.failing().next().is_some() {
        return failed(report);
    }
    if totals.passed + totals.failed == 0 {
        return format!(
            "NOTHING judged to the end in {}{}",
            count(totals.cases, "case"),
            noted(&unjudged(report))
        );
    }
    if report.is_hollow() {
        let passed = vec![format!("{} of the others pass", totals.passed)];
        let all = count(totals.cases, "case");
        return format!("SKIPPED {} of {all}, more than a fifth{}", totals.skipped, noted(&passed));
    }
    let mut notes = vec![match totals.info_findings {
        0 => "no finding".to_owned(),
        infos => count(infos, "info"),
    }];
    notes.extend(unjudged(report));
    if report.known().next().is_some() {
        notes.push(count(report.known().count(), "known finding"));
    }
    format!("PASS    {} of {}{}", totals.passed, count(totals.cases, "case"), noted(&notes))
}

/// How many entries have no verdict that stands, by kind.
fn unjudged(report: &Report) -> Vec<String> {
    let kinds = [Verdict::Skipped, Verdict::Suspect, Verdict::Unstable, Verdict::Inconclusive];
    let counts = kinds.map(|verdict| (report.of_verdict(verdict).count(), verdict.name()));
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect()
}

fn noted(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) }
}

fn failed(report: &Report) -> String {
    let all = format!("of {}", count(report.entries.len(), "case"));
    let (broken, differing) = (report.unanswered().count(), report.differing().count());
    let faults = count(report.faults.len(), "fault");
    let what = match (differing, broken) {
        (0, broken) => format!("no usable answer in {broken} {all}"),
        (differing, 0) => format!("{faults} in {differing} {all}"),
        (differing, broken) => format!("{faults} in {differing} {all}, no usable answer in {broken}"),
    };
    let (findings, consequences) =
        (report.differences().count(), report.differences().filter(|f| !f.is_primary()).count());
    let counted = [
        (findings, count(findings, "finding")),
        (consequences, format!("{consequences} of them consequences")),
    ];
    let notes: Vec<String> = counted.into_iter().filter(|(n, _)| *n > 0).map(|(_, words)| words).collect();
    format!("FAIL    {what}{}", noted(&notes))
}

fn summary(out: &mut dyn Write, report: &Report, printing: &Printing<'_>) -> io::Result<()> {
    for (at, fault) in report.faults.iter().take(FAULTS_MAX).enumerate() {
        fault::print(out, report, at + 1, fault, printing)?;
    }
    let more = report.faults.len().saturating_sub(FAULTS_MAX);
    if more > 0 {
        writeln!(out, "{} more, the first of them by --show {}", count(more, "fault"), FAULTS_MAX + 1)?;
    }
    broken(out, report)?;
    not_looked_at(out, report)
}

/// Entries without a usable answer, and why, whatever else was found in them.
fn broken(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let broken: Vec<&Judged> = report.unanswered().collect();
    if broken.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", aligned("no usable answer", RIGHT, &count(broken.len(), "case")))?;
    broken.iter().take(ERRORS_MAX).try_for_each(|entry| show::entry(out, entry))?;
    if broken.len() > ERRORS_MAX {
        writeln!(out, "  and {} more (--show error)", broken.len() - ERRORS_MAX)?;
    }
    Ok(())
}

fn not_looked_at(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    row(
        out,
        "not judged",
        &not_judged(report),
        unjudged(report).first().and_then(|first| first.split(' ').nth(1)),
    )?;
    match report.other_policy().count() {
        0 => {}
        1 => row(
            out,
            "not counted",
            "1 reply follows another policy than ours, alike in both modes",
            Some("policy"),
        )?,
        count => {
            let replies = format!("{count} replies follow another policy than ours, alike in both modes");
            row(out, "not counted", &replies, Some("policy"))?;
        }
    }
    let known = report.known().count();
    if known > 0 {
        row(out, "known", &format!("{}, declared with a reason", count(known, "finding")), Some("known"))?;
    }
    for stale in &report.stale {
        row(out, "stale", &format!("{}: nothing fails there any more", plain::line(stale, SAID_MAX)), None)?;
    }
    let missing: Vec<&str> = report.not_exercised().into_iter().map(Condition::words).collect();
    if missing.is_empty() { Ok(()) } else { row(out, "not exercised", &missing.join(", "), None) }
}

fn not_judged(report: &Report) -> String {
    let totals = report.totals();
    let inconclusive = if totals.inconclusive == 0 {
        String::new()
    } else {
        format!(", {} inconclusive", totals.inconclusive)
    };
    format!(
        "{} skipped, {} suspect, {} unstable{inconclusive}",
        totals.skipped, totals.suspect, totals.unstable
    )
}

/// One line of what was left aside, and how to see it.
fn row(out: &mut dyn Write, name: &str, text: &str, show: Option<&str>) -> io::Result<()> {
    let show = show.map(|what| format!("(--show {what})")).unwrap_or_default();
    writeln!(out, "{}", aligned(&format!("{name:<14} {text}"), 55, &show).trim_end())
}
