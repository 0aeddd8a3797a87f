//! One fault on a terminal: what is broken, when, the smallest case that shows it, what either side gave, who breaks,
//! how to see it again.

use super::{
    Report,
    text::{Printing, RIGHT, aligned, count},
};
use crate::{
    finding::{Fault, Finding, Side, plain},
    request::Mode,
    run::{Judged, Sent},
};
use std::io::{self, Write};

/// Width of the column of values.
const VALUE: usize = 48;
/// Longest text of a server or model in one line.
const SAID_MAX: usize = 100;

/// Prints a fault.
pub fn print(
    out: &mut dyn Write,
    report: &Report,
    number: usize,
    fault: &Fault,
    printing: &Printing<'_>,
) -> io::Result<()> {
    let format = fault.format.as_ref().map(|format| format!("{format}: ")).unwrap_or_default();
    let shape = plain::line(&format!("{format}{}", fault.shape), SAID_MAX);
    let head = format!("{number} {} {}  {shape}", fault.severity.name(), fault.rule);
    writeln!(out, "{}", aligned(&head, RIGHT, &count(fault.cases.len(), "case")))?;
    let entry = report.entries.iter().find(|e| e.id == fault.smallest);
    if let Some(sentence) = fault.example.sentence() {
        field(out, "rule", sentence)?;
    }
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
        field(out, "repeat", &plain::line(&fault.example.repeat, 4 * SAID_MAX))?;
    }
    field(out, "bytes", &bytes(fault, printing))
}

/// Prints the fault of a number with all its cases, and all findings of the smallest.
pub fn in_full(
    out: &mut dyn Write,
    report: &Report,
    number: usize,
    printing: &Printing<'_>,
) -> io::Result<()> {
    let Some(fault) = number.checked_sub(1).and_then(|at| report.faults.get(at)) else {
        return writeln!(out, "there is no fault {number}; there are {}", report.faults.len());
    };
    print(out, report, number, fault, printing)?;
    for id in &fault.cases {
        field(out, "case", &plain::line(id, SAID_MAX))?;
    }
    let entry = report.entries.iter().find(|e| e.id == fault.smallest);
    entry.iter().flat_map(|e| &e.findings).try_for_each(|finding| detail(out, finding))
}

/// One finding in two lines.
pub fn detail(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let because =
        finding.because_of.as_ref().map(|cause| format!("  because of {cause}")).unwrap_or_default();
    let place = match (finding.side, finding.rounds.as_slice()) {
        (Side::Whole, _) | (_, []) => "whole".to_owned(),
        (_, [one]) if one == "-" => "streamed".to_owned(),
        (_, rounds) => format!("rounds {}", rounds.join(" ")),
    };
    let path = if finding.path.is_empty() { String::new() } else { format!("  {}", finding.path) };
    let head = format!("{} {}{path}  {place}{because}", finding.severity.name(), finding.rule);
    field(out, "finding", &plain::line(&head, 2 * SAID_MAX))?;
    let said = finding.diff.as_ref().or(finding.stream.as_ref());
    said.map_or(Ok(()), |said| field(out, "", &plain::line(said, plain::VALUE_MAX)))
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
    let (whole, stream) = (sent(Mode::Whole, None), sent(Mode::Stream, finding.rounds.first()));
    let came = if finding.rounds.is_empty() { whole } else { stream };
    let rows = match finding.kind {
        None => [("", None, None), ("found", finding.stream.as_deref(), came)],
        _ if finding.is_of_answer() => [
            ("expected", finding.whole.as_deref(), None),
            (of_side(finding.side), finding.stream.as_deref(), came),
        ],
        _ => [("whole", finding.whole.as_deref(), whole), ("stream", finding.stream.as_deref(), stream)],
    };
    for (name, said, sent) in rows {
        if let Some(said) = said {
            field(out, name, &side(finding, said, sent))?;
        }
    }
    let is_text = ["content", "reasoning", "refusal"].contains(&finding.path.as_str());
    match &finding.diff {
        Some(diff) if is_text || finding.path.ends_with(".arguments") => {
            field(out, "diff", &plain::line(diff, 2 * SAID_MAX))
        }
        _ => Ok(()),
    }
}

const fn of_side(side: Side) -> &'static str {
    match side {
        Side::Whole => "whole",
        Side::Stream => "stream",
        Side::Both => "both",
    }
}

fn side(finding: &Finding, said: &str, sent: Option<&Sent>) -> String {
    let path = finding.path.as_str();
    let value = match path {
        // The head line names the place of a broken rule; its last word makes a sentence of what was found.
        _ if finding.kind.is_none() => {
            let last = path.rsplit('.').next().unwrap_or_default();
            plain::line(format!("{last} {said}").trim_start(), VALUE)
        }
        "content" | "reasoning" | "refusal" => format!("{path} \"{}\"", plain::line(said, VALUE - 12)),
        "error" => error(said, sent),
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

/// An error, or the status of what came in its place.
fn error(said: &str, sent: Option<&Sent>) -> String {
    match sent {
        Some(sent) if said == "no error" => format!("status {}, no error", sent.status),
        _ => plain::line(said, VALUE),
    }
}

/// Where the bytes lie, and which of them show it.
fn bytes(fault: &Fault, printing: &Printing<'_>) -> String {
    let folder = printing.folder.trim_end_matches('/');
    let at = format!("{folder}/failed/{}/", (printing.folder_of)(&fault.smallest));
    let finding = &fault.example;
    let event = finding.event.map(|event| format!("event {event}"));
    let span = finding.span.map(|span| format!("bytes {}..{}", span.start, span.end));
    let time = finding.at.map(|at| format!("{}.{:03} ms", at / 1000, at % 1000));
    let place: Vec<String> = [event, span, time].into_iter().flatten().collect();
    if place.is_empty() { at } else { format!("{at}  {}", place.join(", ")) }
}
