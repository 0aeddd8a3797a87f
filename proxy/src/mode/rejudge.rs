//! Today's rules over bytes that were recorded once, here or anywhere. No network.
//!
//! In: folders of recordings, or the files of one pair. Out: verdicts and findings as text, and an exit status.

use crate::{
    decode,
    exchange::{End, Exchange, Head, Slice, Took},
    finding::{Finding, plain},
    request::{Dialect, Mode, Request, twin},
    run::{FailOn, Judged, fails},
    serve::Judge,
    store::{self, StoreError},
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::{
    io,
    io::Write,
    path::{Path, PathBuf},
};

/// Characters of a value that are printed.
const MAX_VALUE: usize = 400;

/// Lines of a diff that are printed.
const MAX_DIFF: usize = 20;

/// What is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Folders of recordings.
    Recordings(Vec<PathBuf>),
    /// The files of one request, from anywhere.
    Pair(Pair),
}

/// The files of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The request's body, of either mode.
    pub request: PathBuf,
    /// The body of the whole reply.
    pub whole: Option<PathBuf>,
    /// The bodies of streams.
    pub streams: Vec<PathBuf>,
}

/// Why there is nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum RejudgeError {
    /// A recording or a file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The request is no JSON object.
    #[error("{}: {problem}", path.display())]
    Request {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Nobody takes what is printed.
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

/// One request and its exchanges, under the name that is printed.
struct Heard {
    name: String,
    request: Request,
    exchanges: Vec<Exchange>,
    case: Option<Value>,
}

/// Judges `source`, prints to `out`, and gives the exit status: 0 clean, 1 findings, 2 something cannot be read.
pub fn rejudge(source: &Source, judge: &Judge, fail_on: FailOn, out: &mut dyn Write) -> io::Result<u8> {
    let heard: Vec<Result<Heard, RejudgeError>> = match source {
        Source::Recordings(folders) => {
            let places: Vec<&Path> = folders.iter().map(|folder| holder(folder)).collect();
            let worth = worth_reading(&places);
            print_skipped(places.len() - worth.len(), out)?;
            worth.into_iter().map(|(_, folder)| recorded(folder)).collect()
        }
        Source::Pair(pair) => vec![heard(pair)],
    };
    let mut status = 0;
    for heard in heard {
        let one = match heard {
            Ok(heard) => judge_one(&heard, judge, fail_on, out)?,
            Err(error) => {
                writeln!(out, "error: {error}")?;
                2
            }
        };
        status = status.max(one);
    }
    Ok(status)
}

fn judge_one(heard: &Heard, judge: &Judge, fail_on: FailOn, out: &mut dyn Write) -> io::Result<u8> {
    let judged = judge(&heard.request, &heard.exchanges, heard.case.as_ref());
    print_judged(&heard.name, &judged, out)?;
    Ok(u8::from(fails(&judged, fail_on)))
}

/// The folder, also where a file in it is named.
fn holder(folder: &Path) -> &Path {
    if folder.is_file() { folder.parent().unwrap_or(folder) } else { folder }
}

/// Those of several folders that hold an exchange, by their numbers: a writer that was stopped leaves others behind, and
/// they must not fail the rest. Where none does, all, so that each says what is wrong with it.
pub fn worth_reading<'a>(folders: &[&'a Path]) -> Vec<(usize, &'a Path)> {
    let all = || folders.iter().copied().enumerate();
    let worth: Vec<_> = all().filter(|(_, folder)| !store::is_unfinished(folder)).collect();
    if worth.is_empty() { all().collect() } else { worth }
}

/// Says how many folders were passed over, if any were.
pub fn print_skipped(count: usize, out: &mut dyn Write) -> io::Result<()> {
    match count {
        0 => Ok(()),
        1 => writeln!(out, "1 folder holds no exchange: skipped"),
        count => writeln!(out, "{count} folders hold no exchange: skipped"),
    }
}

fn recorded(folder: &Path) -> Result<Heard, RejudgeError> {
    let recording = store::read(folder)?;
    Ok(Heard {
        name: recording.id,
        request: recording.request,
        exchanges: recording.exchanges,
        case: recording.case,
    })
}

// === a pair from anywhere ===

fn heard(pair: &Pair) -> Result<Heard, RejudgeError> {
    let body = object(&pair.request)?;
    let streams: Vec<Bytes> =
        pair.streams.iter().map(|path| store::read_file(path)).collect::<Result<_, _>>()?;
    let mut exchanges = Vec::new();
    if let Some(whole) = &pair.whole {
        exchanges.push(exchange(Mode::Whole, request(&twin::whole(&body)), store::read_file(whole)?));
    }
    for stream in streams {
        let request = request(&stream_body(&body, &stream));
        exchanges.push(exchange(Mode::Stream, request, stream));
    }
    Ok(Heard { name: pair.request.display().to_string(), request: request(&body), exchanges, case: None })
}

fn object(path: &Path) -> Result<Map<String, Value>, RejudgeError> {
    let problem = |problem: String| RejudgeError::Request { path: path.to_owned(), problem };
    match serde_json::from_slice(&store::read_file(path)?) {
        // A file of a recording: the body stands in it.
        Ok(Value::Object(mut object)) if object.contains_key("schema") => match object.remove("body") {
            Some(Value::Object(body)) => Ok(body),
            _ => Err(problem("a recording's request without a JSON object as its body".to_owned())),
        },
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(problem("the request is no JSON object".to_owned())),
        Err(error) => Err(problem(format!("the request is no JSON: {error}"))),
    }
}

fn request(body: &Map<String, Value>) -> Request {
    let dialect = Dialect::OpenaiChat;
    let body = Value::Object(body.clone()).to_string().into();
    Request { dialect, path: dialect.path().to_owned(), headers: Vec::new(), body }
}

/// What the stream was asked by. Where only the whole request is at hand, the stream is taken to have been asked for
/// usage exactly if it has some: nobody can know, and blaming the server for it would be wrong half of the time.
fn stream_body(body: &Map<String, Value>, stream: &[u8]) -> Map<String, Value> {
    let mut asked = body.clone();
    let was_streamed = asked.insert("stream".to_owned(), true.into()) == Some(Value::Bool(true));
    let has_usage =
        [&b"\"usage\":{"[..], b"\"usage\": {"].iter().any(|u| memchr::memmem::find(stream, u).is_some());
    if !was_streamed && has_usage && !asked.contains_key("stream_options") {
        asked.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    asked
}

/// A body as an exchange. Files have no head: JSON with an `error` was no success, all else was.
fn exchange(mode: Mode, request: Request, body: Bytes) -> Exchange {
    let is_json = body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'{');
    let media = if is_json { "application/json" } else { "text/event-stream" };
    let media = if mode == Mode::Whole { "application/json" } else { media };
    let status = if is_json { status_of(&body) } else { 200 };
    Exchange {
        mode,
        rounds: None,
        request,
        head: Some(Head { status, headers: vec![("content-type".to_owned(), media.to_owned())] }),
        slices: if body.is_empty() { Vec::new() } else { vec![Slice { at: 0, bytes: body }] },
        end: End::Complete,
        took: Took::default(),
    }
}

fn status_of(body: &[u8]) -> u16 {
    // Read as everything is, within bounds: a few megabytes of zeros would take hundreds as values.
    let body = decode::json::read(body).value.unwrap_or_default();
    let code = body.pointer("/error/code").or_else(|| body.get("code")).and_then(Value::as_u64);
    let is_error = body.get("choices").is_none() && body.get("error").is_some_and(|error| !error.is_null());
    match code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)) {
        Some(code) if body.get("choices").is_none() => code,
        _ if is_error => 400,
        _ => 200,
    }
}

// === printing ===

/// Prints a verdict and its findings.
pub fn print_judged(name: &str, judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let reason =
        judged.reason.as_deref().map(|why| format!("  {}", plain::line(why, MAX_VALUE))).unwrap_or_default();
    writeln!(out, "{:<12}  {}{reason}", judged.verdict.name(), plain::line(name, MAX_VALUE))?;
    judged.findings.iter().try_for_each(|finding| print_finding(finding, "", out))
}

/// Prints a finding; `note` stands behind its place.
pub fn print_finding(finding: &Finding, note: &str, out: &mut dyn Write) -> io::Result<()> {
    let rounds = if finding.rounds.is_empty() {
        String::new()
    } else {
        format!("  rounds {}", finding.rounds.join(" "))
    };
    let (severity, path) = (finding.severity.name(), plain::line(&finding.path, MAX_VALUE));
    let head = format!("  {severity:<5} {}  {path}{rounds}{note}", finding.rule);
    writeln!(out, "{}", head.trim_end())?;
    let is_of_answer = finding.is_of_answer();
    print_value(if is_of_answer { "expect" } else { "whole" }, finding.whole.as_deref(), out)?;
    let label = if is_of_answer {
        "got"
    } else if finding.whole.is_none() {
        "found"
    } else {
        "stream"
    };
    print_value(label, finding.stream.as_deref(), out)?;
    if let Some(because) = &finding.because_of {
        writeln!(out, "        follows from {}", plain::line(because, MAX_VALUE))?;
    }
    print_place(finding, out)?;
    print_diff(finding, out)
}

fn print_value(label: &str, value: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    value.map_or(Ok(()), |value| writeln!(out, "        {label:<7} {}", plain::line(value, MAX_VALUE)))
}

fn print_place(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let event = finding.event.map(|event| format!("event {event}"));
    let span = finding.span.map(|span| format!("bytes {}..{}", span.start, span.end));
    let at = finding.at.map(|at| format!("at {}.{:03} ms", at / 1000, at % 1000));
    let place: Vec<String> = [event, span, at].into_iter().flatten().collect();
    if place.is_empty() { Ok(()) } else { writeln!(out, "        {}", place.join("  ")) }
}

fn print_diff(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let lines = finding.diff.as_deref().unwrap_or_default().lines();
    lines.take(MAX_DIFF).try_for_each(|line| writeln!(out, "        | {}", plain::line(line, MAX_VALUE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_what_status_it_had() {
        for (body, expect) in [
            (r#"{"choices":[]}"#, 200),
            (r#"{"choices":[],"error":null}"#, 200),
            (r#"{"error":{"message":"x"}}"#, 400),
            (r#"{"error":{"message":"x","code":503}}"#, 503),
            (r#"{"error":{"code":"bad"}}"#, 400),
            (r#"{"object":"error","code":404}"#, 404),
            (r#"{"choices":[],"code":404}"#, 200),
            ("", 200),
        ] {
            assert_eq!(status_of(body.as_bytes()), expect, "{body}");
        }
    }

    #[test]
    fn the_streamed_request_is_asked_for_what_came() {
        let usage = br#"data: {"usage": {"a":1}}"#;
        for (body, stream, expect) in [
            (r#"{"a":1}"#, &b"data: 1"[..], r#"{"a":1,"stream":true}"#),
            (r#"{"a":1}"#, usage, r#"{"a":1,"stream":true,"stream_options":{"include_usage":true}}"#),
            (r#"{"stream":true}"#, usage, r#"{"stream":true}"#),
            (r#"{"stream_options":{}}"#, usage, r#"{"stream_options":{},"stream":true}"#),
        ] {
            let body = serde_json::from_str(body).unwrap();
            assert_eq!(Value::Object(stream_body(&body, stream)).to_string(), expect);
        }
    }
}
