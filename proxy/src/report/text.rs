//! The report on a terminal: who was asked, what proves it, the verdict, at most five faults, and what was not looked at.
//!
//! In: a [`Report`] and how to print it. Out: lines of plain text; whatever a server or model said goes through
//! [`plain::line`](crate::finding::plain::line), so that no escape sequence of theirs reaches the terminal.

use super::Report;
use crate::{
    compare::show,
    finding::{Fault, Finding, coverage::Condition, plain},
    request::Mode,
    run::{Judged, Sent, Verdict},
};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Faults that are printed; the rest is counted.
const FAULTS_MAX: usize = 5;
/// Column at which counts of cases and the exit code stand.
const RIGHT: usize = 84;
/// Width of the column of values.
const VALUE: usize = 48;
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
    /// The exit code that follows.
    pub exit: u8,
}

/// How much to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    /// Everything.
    Full,
    /// The verdict and the last line.
    Quiet,
}

/// Which details to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The fault of that number, from 1, with all its cases and all findings of the smallest.
    Fault(usize),
    /// Entries that were skipped, and why.
    Skipped,
    /// Entries that differ without proof of equal tokens.
    Suspect,
    /// Entries whose reply follows another policy than ours.
    Policy,
}

/// A `--show` value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("show {0:?}: write the number of a fault, skipped, policy or suspect")]
pub struct BadShow(pub String);

/// Prints a report.
pub fn print(out: &mut dyn Write, report: &Report, printing: &Printing<'_>) -> io::Result<()> {
    if printing.volume == Volume::Full {
        header(out, report)?;
        writeln!(out)?;
    }
    writeln!(out, "{}", verdict(report))?;
    match printing.show {
        _ if printing.volume == Volume::Quiet => {}
        Some(Show::Fault(number)) => one_fault(out, report, number, printing)?,
        Some(Show::Skipped) => entries(out, report.of_verdict(Verdict::Skipped))?,
        Some(Show::Suspect) => entries(out, report.of_verdict(Verdict::Suspect))?,
        Some(Show::Policy) => entries(out, report.other_policy())?,
        None => summary(out, report, printing)?,
    }
    let files = printing.files.join(" ");
    let left = format!("{}/  {files}", printing.folder.trim_end_matches('/'));
    writeln!(out, "{left:<RIGHT$}exit {}", printing.exit)
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
        writeln!(out, "proof   {}", plain::line(&report.proof, SAID_MAX))?;
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
fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The line that begins with the verdict.
fn verdict(report: &Report) -> String {
    let totals = report.totals();
    if let Some(reason) = &report.aborted {
        let done = format!("{} of {} cases were judged", totals.cases, report.planned.max(totals.cases));
        return format!("ABORTED {}  ({done})", plain::line(reason, SAID_MAX));
    }
    let failing = report.failing().count();
    if failing > 0 {
        return failed(report, failing);
    }
    if totals.passed + totals.failed == 0 {
        return format!(
            "NOTHING {} judged to the end",
            count(totals.cases, "case").replacen("0 cases", "no case", 1)
        );
    }
    let mut notes = vec![match totals.info_findings {
        0 => "no finding".to_owned(),
        infos => count(infos, "info"),
    }];
    if report.known().next().is_some() {
        notes.push(count(report.known().count(), "known finding"));
    }
    format!("PASS    {} of {} cases  ({})", totals.passed, totals.cases, notes.join(", "))
}

fn failed(report: &Report, failing: usize) -> String {
    let (all, consequences) =
        (report.differences().count(), report.differences().filter(|f| !f.is_primary()).count());
    let cases = report.entries.len();
    let faults = count(report.faults.len(), "fault");
    let differences = count(all, "finding");
    format!(
        "FAIL    {faults} in {failing} of {cases} cases  ({differences}, {consequences} of them consequences)"
    )
}

fn summary(out: &mut dyn Write, report: &Report, printing: &Printing<'_>) -> io::Result<()> {
    for (at, fault) in report.faults.iter().take(FAULTS_MAX).enumerate() {
        print_fault(out, report, at + 1, fault, printing)?;
    }
    let more = report.faults.len().saturating_sub(FAULTS_MAX);
    if more > 0 {
        writeln!(out, "{} more, the first of them by --show {}", count(more, "fault"), FAULTS_MAX + 1)?;
    }
    broken(out, report)?;
    not_looked_at(out, report)
}

/// Entries without a usable answer: they have no finding, only a reason.
fn broken(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let broken: Vec<&Judged> = report.of_verdict(Verdict::Error).filter(|e| e.findings.is_empty()).collect();
    if broken.is_empty() {
        return Ok(());
    }
    writeln!(out, "{:<RIGHT$}{}", "no usable answer", count(broken.len(), "case"))?;
    entries(out, broken.iter().take(ERRORS_MAX).copied())?;
    if broken.len() > ERRORS_MAX {
        writeln!(out, "  and {} more", broken.len() - ERRORS_MAX)?;
    }
    Ok(())
}

fn not_looked_at(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let totals = report.totals();
    let mut not_judged =
        format!("{} skipped, {} suspect, {} unstable", totals.skipped, totals.suspect, totals.unstable);
    if totals.inconclusive > 0 {
        not_judged.extend([", ", &totals.inconclusive.to_string(), " inconclusive"]);
    }
    let show = if totals.skipped == 0 && totals.suspect > 0 { "suspect" } else { "skipped" };
    writeln!(out, "not judged     {not_judged:<39} (--show {show})")?;
    let policy = report.other_policy().count();
    if policy > 0 {
        let replies = if policy == 1 { "1 reply follows" } else { &format!("{policy} replies follow") };
        writeln!(
            out,
            "not counted    {replies} another policy than ours, alike in both modes (--show policy)"
        )?;
    }
    let known = report.known().count();
    if known > 0 {
        writeln!(out, "known          {}", count(known, "finding"))?;
    }
    for stale in &report.stale {
        writeln!(out, "stale          {}: nothing fails there any more", plain::line(stale, SAID_MAX))?;
    }
    let missing: Vec<&str> = report.not_exercised().into_iter().map(Condition::words).collect();
    if !missing.is_empty() {
        writeln!(out, "not exercised  {}", missing.join(", "))?;
    }
    Ok(())
}

fn print_fault(
    out: &mut dyn Write,
    report: &Report,
    number: usize,
    fault: &Fault,
    printing: &Printing<'_>,
) -> io::Result<()> {
    let shape = plain::line(&fault.shape, SAID_MAX);
    let head = format!("{number} {} {}  {shape}", fault.severity.name(), fault.rule);
    writeln!(out, "{head:<RIGHT$}{}", count(fault.cases.len(), "case"))?;
    let entry = report.entries.iter().find(|e| e.id == fault.smallest);
    field(out, "when", &fault.when)?;
    let says = entry.and_then(|e| e.says.as_deref());
    let says = says.map(|s| format!("  says {}", plain::line(s, SAID_MAX - 20))).unwrap_or_default();
    field(out, "smallest", &format!("{}{says}", plain::line(&fault.smallest, SAID_MAX)))?;
    sides(out, &fault.example, entry)?;
    let clients: Vec<String> =
        fault.example.clients.iter().map(|(who, what)| format!("{who}: {what}")).collect();
    if !clients.is_empty() {
        field(out, "clients", &clients.join("; "))?;
    }
    if !fault.example.repeat.is_empty() {
        field(out, "repeat", &plain::line(&fault.example.repeat, 2 * SAID_MAX))?;
    }
    field(out, "bytes", &bytes(fault, printing))
}

fn field(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{}", format!("  {name:<9} {value}").trim_end())
}

/// What either side gave, with finish and tokens of the exchange that shows it.
fn sides(out: &mut dyn Write, finding: &Finding, entry: Option<&Judged>) -> io::Result<()> {
    let sent = |mode: Mode, rounds: Option<&String>| {
        let all = entry.map(|e| e.exchanges.as_slice()).unwrap_or_default();
        all.iter().find(|s| s.mode == mode && rounds.is_none_or(|r| *r == s.rounds))
    };
    let stream = sent(Mode::Stream, finding.rounds.first());
    let whole = sent(Mode::Whole, None);
    let came = if finding.rounds.is_empty() { whole } else { stream };
    let rows = match (finding.kind, finding.rule.split('/').next()) {
        (None, _) => [("", None, None), ("found", finding.stream.as_deref(), came)],
        (_, Some("expect")) => {
            [("expected", finding.whole.as_deref(), None), ("came", finding.stream.as_deref(), came)]
        }
        _ => [("whole", finding.whole.as_deref(), whole), ("stream", finding.stream.as_deref(), stream)],
    };
    for (name, said, sent) in rows {
        if let Some(said) = said {
            field(out, name, &side(&finding.path, said, sent))?;
        }
    }
    match &finding.diff {
        Some(diff) if finding.path != "tool_calls" && finding.path != "finish" => {
            field(out, "diff", &plain::line(diff, 2 * SAID_MAX))
        }
        _ => Ok(()),
    }
}

fn side(path: &str, said: &str, sent: Option<&Sent>) -> String {
    let value = match path {
        "content" | "reasoning" | "refusal" => format!("{path} \"{}\"", plain::line(said, VALUE - 12)),
        "" | "tool_calls" => plain::line(said, VALUE),
        _ => {
            let name = plain::line(path, VALUE / 2);
            let room = VALUE.saturating_sub(name.chars().count() + 1);
            format!("{name} {}", plain::line(said, room))
        }
    };
    let finish = sent.and_then(|s| s.finish.as_deref());
    let finish = finish.map(|f| format!("finish {}", plain::line(f, 20))).unwrap_or_default();
    let tokens = sent.and_then(|s| s.tokens).map(|t| format!("{t} tokens")).unwrap_or_default();
    format!("{value:<VALUE$}  {finish:<18}  {tokens}")
}

/// Where the bytes lie, and which of them show it.
fn bytes(fault: &Fault, printing: &Printing<'_>) -> String {
    let at = format!(
        "{}/failed/{}/",
        printing.folder.trim_end_matches('/'),
        (printing.folder_of)(&fault.smallest)
    );
    let finding = &fault.example;
    let event = finding.event.map(|event| format!("event {event}"));
    let span = finding.span.map(|span| format!("bytes {}..{}", span.start, span.end));
    let time = finding.at.map(|at| format!("{}.{:03} ms", at / 1000, at % 1000));
    let place: Vec<String> = [event, span, time].into_iter().flatten().collect();
    if place.is_empty() { at } else { format!("{at}  {}", place.join(", ")) }
}

fn one_fault(out: &mut dyn Write, report: &Report, number: usize, printing: &Printing<'_>) -> io::Result<()> {
    let Some(fault) = number.checked_sub(1).and_then(|at| report.faults.get(at)) else {
        return writeln!(out, "there is no fault {number}; there are {}", report.faults.len());
    };
    print_fault(out, report, number, fault, printing)?;
    for id in &fault.cases {
        field(out, "case", &plain::line(id, SAID_MAX))?;
    }
    let entry = report.entries.iter().find(|e| e.id == fault.smallest);
    for finding in entry.map(|e| e.findings.as_slice()).unwrap_or_default() {
        detail(out, finding)?;
    }
    Ok(())
}

fn detail(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let because =
        finding.because_of.as_ref().map(|cause| format!("  because of {cause}")).unwrap_or_default();
    let rounds = if finding.rounds.is_empty() { "whole".to_owned() } else { finding.rounds.join(" ") };
    let head =
        format!("{} {}  {}  rounds {rounds}{because}", finding.severity.name(), finding.rule, finding.path);
    field(out, "finding", &plain::line(&head, 2 * SAID_MAX))?;
    let said = finding.diff.as_ref().or(finding.stream.as_ref());
    said.map_or(Ok(()), |said| field(out, "", &plain::line(said, show::VALUE_MAX)))
}

fn entries<'a>(out: &mut dyn Write, entries: impl Iterator<Item = &'a Judged>) -> io::Result<()> {
    for entry in entries {
        let reason = match (entry.reason.as_deref(), entry.findings.first()) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(finding)) => format!("{} {}", finding.rule, finding.path),
            (None, None) => entry.verdict.name().to_owned(),
        };
        writeln!(out, "  {}  {}", plain::line(&entry.id, SAID_MAX), plain::line(&reason, 2 * SAID_MAX))?;
    }
    Ok(())
}

// === impl Show ===

impl std::str::FromStr for Show {
    type Err = BadShow;

    fn from_str(text: &str) -> Result<Self, BadShow> {
        match text {
            "skipped" => Ok(Self::Skipped),
            "suspect" => Ok(Self::Suspect),
            "policy" => Ok(Self::Policy),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Fault(number)),
                _ => Err(BadShow(text.to_owned())),
            },
        }
    }
}
