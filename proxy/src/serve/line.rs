//! One line an exchange: what was said, and what is wrong.
//!
//! In: an exchange, and what was made of it. Out: a line for a terminal. What a model or a client wrote is escaped:
//! a control character in a tool's name must not move anybody's cursor.

use crate::{
    decode::{self, Payload},
    exchange::{End, Exchange},
    finding::{Finding, Severity, plain},
    fold::{self, Lens, Reply},
    request::Mode,
    run::{Judged, Verdict},
};

/// Names of calls that are listed; the rest are counted.
const MAX_NAMES: usize = 5;

/// Findings that are listed; the rest are counted.
const MAX_FINDINGS: usize = 3;

/// Characters of a name, a path or a message that are shown.
const MAX_SHOWN: usize = 80;

/// What an exchange said, as far as a line tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// How it was asked; `None` for what is none of our dialects.
    pub mode: Option<Mode>,
    /// HTTP status, if a head came.
    pub status: Option<u16>,
    /// The model's name.
    pub model: String,
    /// Names of the calls.
    pub calls: Vec<String>,
    /// Characters of content.
    pub content: usize,
    /// Characters of reasoning.
    pub reasoning: usize,
    /// Finish reason.
    pub finish: Option<String>,
    /// Completion tokens.
    pub tokens: Option<u64>,
    /// The error's message.
    pub error: Option<String>,
    /// Events with data.
    pub events: usize,
    /// Bytes of the body.
    pub bytes: u64,
    /// Whether a stream's terminal event came: nothing of the answer is missing then, whoever went away.
    pub is_terminated: bool,
    /// How it ended.
    pub end: Option<End>,
}

/// What is said of an exchange at the end of its line.
#[derive(Debug)]
pub enum Remark {
    /// Nothing.
    None,
    /// It was not judged, and why.
    NotJudged(String),
    /// It was.
    Judged {
        /// With this result.
        judged: Box<Judged>,
        /// Beside so many twins.
        twins: usize,
        /// Its twins were not sent since too many were waiting.
        was_dropped: bool,
        /// The folder it is kept in, below the report's `failed/`.
        folder: Option<String>,
    },
}

/// The line.
pub fn line(method: &str, path: &str, said: &Said, remark: Option<Remark>) -> String {
    let place = shown(path.split('?').next().unwrap_or_default());
    let mode = said.mode.map_or("", |mode| if mode == Mode::Whole { " whole" } else { " stream" });
    let status = said.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let mut parts = vec![format!("{} {place}{mode} {status} {}", shown(method), shown(&said.model))];
    parts.extend(said.parts());
    parts.extend(remark.and_then(|remark| remark.text(said)));
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

/// Text from outside, fit for a line: escaped and cut.
fn shown(text: &str) -> String {
    plain::line(text, MAX_SHOWN)
}

// === impl Said ===

impl Said {
    /// Reads it out of an exchange.
    pub fn of(exchange: &Exchange) -> Self {
        let decoded = decode::decode(exchange);
        let reply = fold::fold(exchange.request.dialect, exchange.status(), &decoded, &Lens::STRICT);
        Self {
            mode: Some(exchange.mode),
            status: exchange.status(),
            events: decoded.events.iter().filter(|event| event.payload != Payload::Done).count(),
            bytes: exchange.slices.iter().map(|slice| slice.bytes.len() as u64).sum(),
            is_terminated: exchange.mode == Mode::Stream && reply.terminated,
            end: Some(exchange.end.clone()),
            ..Self::of_reply(&reply, &exchange.request.asked().model)
        }
    }

    fn of_reply(reply: &Reply, asked: &str) -> Self {
        Self {
            model: reply.model.clone().unwrap_or_else(|| asked.to_owned()),
            calls: reply.calls().map(|call| call.name.clone()).collect(),
            content: reply.content().value.chars().count() + reply.refusal().value.chars().count(),
            reasoning: reply.reasoning().value.chars().count(),
            finish: reply.finish_reason().map(ToOwned::to_owned),
            tokens: reply.usage.as_ref().and_then(|usage| usage.completion),
            error: reply.error.as_ref().map(|error| error.message.clone()),
            ..Self::default()
        }
    }

    fn parts(&self) -> Vec<String> {
        match (self.mode, &self.end) {
            (_, Some(End::Refused(why))) => vec![format!("the upstream is unreachable: {}", shown(why))],
            (_, Some(End::TimedOut)) => vec!["the upstream did not answer in time".to_owned()],
            (None, _) => [Some(format!("{} bytes", self.bytes)), self.cut()].into_iter().flatten().collect(),
            (Some(mode), _) => {
                [self.what(mode), self.finish(), self.tokens(), self.cut()].into_iter().flatten().collect()
            }
        }
    }

    fn what(&self, mode: Mode) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(format!("error {}", shown(error)));
        }
        let counted = |count: usize, what: &str| (count > 0).then(|| format!("{what} {}", characters(count)));
        let parts = [counted(self.reasoning, "reasoning"), counted(self.content, "content"), self.calls()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            return Some(parts.join("  "));
        }
        self.is_clean().then(|| self.empty(mode))
    }

    fn empty(&self, mode: Mode) -> String {
        let mode = if mode == Mode::Whole { "whole" } else { "stream" };
        match self.tokens {
            Some(tokens) => format!("{mode} empty, {tokens} tokens billed"),
            None => format!("{mode} empty"),
        }
    }

    fn is_empty(&self) -> bool {
        self.error.is_none() && self.calls.is_empty() && self.content + self.reasoning == 0
    }

    fn calls(&self) -> Option<String> {
        let names: Vec<String> = self.calls.iter().take(MAX_NAMES).map(|name| shown(name)).collect();
        let more = self.calls.len().saturating_sub(MAX_NAMES);
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        match self.calls.len() {
            0 => None,
            1 => Some(format!("1 call {}", names.join(""))),
            count => Some(format!("{count} calls {}{more}", names.join(", "))),
        }
    }

    fn finish(&self) -> Option<String> {
        self.finish.as_ref().map(|finish| format!("finish {}", shown(finish)))
    }

    fn tokens(&self) -> Option<String> {
        let is_told = self.is_empty() && self.is_clean();
        self.tokens.filter(|_| !is_told).map(|tokens| format!("{tokens} tokens"))
    }

    fn is_clean(&self) -> bool {
        self.end.as_ref().is_none_or(End::is_clean)
    }

    fn cut(&self) -> Option<String> {
        let after = match (self.mode, self.status) {
            (_, None) => "before it answered".to_owned(),
            (Some(Mode::Stream), _) => format!("after {} events", self.events),
            _ => format!("after {} bytes", self.bytes),
        };
        match self.end.as_ref()? {
            End::Cancelled => Some(format!("cut by the client {after}")),
            End::Cut(why) => Some(format!("cut by the upstream {after}: {}", shown(why))),
            End::Malformed(why) => Some(format!("no HTTP {after}: {}", shown(why))),
            End::TooLarge => Some(format!("{} bytes recorded", self.bytes)),
            _ => None,
        }
    }
}

fn characters(count: usize) -> String {
    format!("{count} character{}", if count == 1 { "" } else { "s" })
}

// === impl Remark ===

impl Remark {
    fn text(self, said: &Said) -> Option<String> {
        match self {
            Self::None => None,
            Self::NotJudged(why) => Some(format!("not judged: {}", shown(&why))),
            Self::Judged { judged, twins, was_dropped, folder } => {
                let dropped = was_dropped.then(|| "twins not sent: too many waiting".to_owned());
                let folder = folder.map(|folder| format!("failed/{folder}"));
                let result = result(&judged, twins, said);
                Some([Some(result), dropped, folder].into_iter().flatten().collect::<Vec<_>>().join("  "))
            }
        }
    }
}

fn result(judged: &Judged, twins: usize, said: &Said) -> String {
    let told: Vec<&Finding> = judged.findings.iter().filter(|f| f.severity > Severity::Info).collect();
    let reason = judged.reason.as_deref().map(|why| format!(" {}", shown(why))).unwrap_or_default();
    let verdict = match judged.verdict {
        Verdict::Suspect => Some(format!("suspect{reason}")),
        Verdict::Unstable => Some(format!("unstable{reason}")),
        Verdict::Inconclusive if twins > 0 => Some(format!("inconclusive{reason}")),
        Verdict::Error if twins > 0 => Some(format!("not compared{reason}")),
        _ => None,
    };
    if told.is_empty() {
        return verdict.unwrap_or_else(|| ok(twins, said));
    }
    let errors = told.iter().filter(|f| f.severity == Severity::Error).count();
    let counts = [counted(errors, "error"), counted(told.len() - errors, "warning"), verdict];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    format!("{}  {}", counts.join(", "), findings(&told))
}

fn ok(twins: usize, said: &Said) -> String {
    match twins {
        _ if !said.is_clean() => String::new(),
        0 if said.status.is_some_and(|status| status >= 300) => String::new(), // alone it says nothing
        0 => "ok".to_owned(),
        1 => "ok, as its twin".to_owned(),
        twins => format!("ok, as its {twins} twins"),
    }
}

fn counted(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
}

/// The first findings, those that follow from another last.
fn findings(findings: &[&Finding]) -> String {
    let (mut first, later): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|f| f.because_of.is_none());
    first.extend(later);
    let mut list: Vec<String> = first.iter().take(MAX_FINDINGS).map(|finding| told(finding)).collect();
    if first.len() > MAX_FINDINGS {
        list.push(format!("+{}", first.len() - MAX_FINDINGS));
    }
    list.join(", ")
}

fn told(finding: &Finding) -> String {
    let path = if finding.path.is_empty() { String::new() } else { format!(" {}", shown(&finding.path)) };
    match (&finding.whole, &finding.stream) {
        (Some(whole), Some(stream)) => {
            format!("{}{path}: whole {}, stream {}", finding.rule, brief(whole), brief(stream))
        }
        (None, Some(found)) => format!("{}{path}: {}", finding.rule, brief(found)),
        _ => format!("{}{path}", finding.rule),
    }
}

fn brief(value: &str) -> String {
    let cut: String = value.chars().take(40).collect();
    let more = if cut.len() < value.len() { "..." } else { "" };
    shown(&cut) + more
}

#[cfg(test)]
mod tests;
