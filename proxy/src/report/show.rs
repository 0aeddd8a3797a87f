//! What `--show` prints in place of the summary: one fault with all that belongs to it, or the entries of one kind.

use super::{Report, fault, text::Printing};
use crate::{
    finding::{Finding, plain},
    run::{Judged, Verdict},
};
use std::io::{self, Write};

/// Longest text of a server or model in one line.
const SAID_MAX: usize = 200;

/// Which details to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The fault of that number, from 1, with all its cases and all findings of the smallest.
    Fault(usize),
    /// Entries of that verdict, and why.
    Of(Verdict),
    /// Entries whose reply follows another policy than ours.
    Policy,
    /// Findings that are declared known, and why.
    Known,
}

/// A `--show` value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write the number of a fault, {}, policy or known", SHOWN.map(Verdict::name).join(", "))]
pub struct BadShow;

/// Verdicts whose entries can be shown.
const SHOWN: [Verdict; 5] =
    [Verdict::Skipped, Verdict::Suspect, Verdict::Unstable, Verdict::Inconclusive, Verdict::Error];

/// Prints it.
pub fn print(out: &mut dyn Write, report: &Report, show: Show, printing: &Printing<'_>) -> io::Result<()> {
    match show {
        Show::Fault(number) => fault::in_full(out, report, number, printing),
        Show::Of(verdict) => {
            let of_verdict: Vec<&Judged> = report.of_verdict(verdict).collect();
            none(out, verdict.name(), of_verdict.len())?;
            of_verdict.iter().try_for_each(|entry| {
                self::entry(out, entry)?;
                entry.findings.iter().filter(|f| f.is_primary()).try_for_each(|f| fault::detail(out, f))
            })
        }
        Show::Policy => {
            none(out, "policy", report.other_policy().count())?;
            report.other_policy().try_for_each(|entry| line(out, &entry.id, &entry.reply.to_string()))
        }
        Show::Known => known(out, report),
    }
}

/// One entry and why it has its verdict.
pub fn entry(out: &mut dyn Write, entry: &Judged) -> io::Result<()> {
    line(out, &entry.id, entry.reason.as_deref().unwrap_or_else(|| entry.verdict.name()))
}

fn known(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    none(out, "known", report.known().count())?;
    for entry in &report.entries {
        for (finding, reason) in entry.findings.iter().filter_map(|f| Some((f, f.known.as_ref()?))) {
            line(out, &entry.id, &format!("{}  {reason}", at(finding)))?;
        }
    }
    Ok(())
}

fn at(finding: &Finding) -> String {
    format!("{} {}", finding.rule, finding.path).trim_end().to_owned()
}

/// Nothing to show is said, not shown as nothing.
fn none(out: &mut dyn Write, what: &str, count: usize) -> io::Result<()> {
    if count == 0 { writeln!(out, "{what}: none") } else { Ok(()) }
}

fn line(out: &mut dyn Write, id: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {}  {}", plain::line(id, SAID_MAX), plain::line(text, SAID_MAX))
}

// === impl Show ===

impl std::str::FromStr for Show {
    type Err = BadShow;

    fn from_str(text: &str) -> Result<Self, BadShow> {
        if let Some(verdict) = SHOWN.into_iter().find(|verdict| verdict.name() == text) {
            return Ok(Self::Of(verdict));
        }
        match text {
            "policy" => Ok(Self::Policy),
            "known" => Ok(Self::Known),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Fault(number)),
                _ => Err(BadShow),
            },
        }
    }
}
