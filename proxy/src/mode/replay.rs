//! Sends recordings again and says of each: fixed, still failing, cannot.
//!
//! In: names of recordings, and where to send. Out: a line each with the findings that remain, and an exit status.

use super::{
    bundled::BUNDLED,
    proxy::{Running, Wiring},
    rejudge::{print_finding, print_skipped, worth_reading},
};
use crate::{
    exchange::{BadRoot, End, Exchange, Root},
    finding::{Finding, place, plain},
    request::Request,
    run::{FailOn, Judged, Verdict, ask::is_busy, fails},
    serve::{Ask, Sender},
    store::{self, Recording, StoreError, folder_name, redact},
};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Characters of a reason that are printed.
const MAX_REASON: usize = 400;

/// What to send again, and where.
#[derive(Debug)]
pub struct Options {
    /// Ids, or folders.
    pub names: Vec<String>,
    /// The folder of the report whose `failed/` holds ids.
    pub report: PathBuf,
    /// The folder of kept exchanges, where ids are looked for next.
    pub recorded: PathBuf,
    /// The server to ask; each recording's own where absent.
    pub upstream: Option<Root>,
    /// Names of the headers that the sender adds, in lower case.
    pub given: Vec<String>,
    /// What makes an answer a failing one.
    pub fail_on: FailOn,
}

/// What became of a recording.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// What was found is found no more. Holds how much that was.
    Fixed(usize),
    /// Findings remain, or there are new ones.
    StillFailing(Vec<Remaining>),
    /// It could not be found out.
    Cannot(String),
}

/// A finding of today.
#[derive(Debug, PartialEq)]
pub struct Remaining {
    /// It.
    pub finding: Finding,
    /// Whether the recording shows it too.
    pub since: Since,
}

/// How long something is known to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The recording shows it.
    Recorded,
    /// The recording does not.
    Now,
}

/// A bundled engine that is started once, when the first recording needs it.
#[derive(Default)]
struct Engine(Option<Running>);

/// Sends all of it and gives the exit status: 0 all fixed, 1 still failing, 2 no such recording, 3 cannot. The
/// earliest of 2, 3, 1 that holds for one recording holds for all.
pub async fn replay(options: &Options, wiring: &Wiring, out: &mut (dyn Write + Send)) -> io::Result<u8> {
    let mut engine = Engine::default();
    let mut statuses = Vec::new();
    let places: Vec<PathBuf> = options.names.iter().map(|name| place_of(options, name)).collect();
    let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    let worth = worth_reading(&places);
    print_skipped(places.len() - worth.len(), out)?;
    for (index, place) in worth {
        let name = options.names.get(index).map_or("", String::as_str);
        let status = match store::read(place) {
            Ok(recording) => {
                let outcome = one(options, wiring, &mut engine, &recording).await;
                print(&recording.id, &outcome, out)?;
                print_missing(&missing(options, &recording), out)?;
                outcome.status()
            }
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let (name, failed) = (plain::line(name, MAX_REASON), options.report.join("failed"));
                writeln!(
                    out,
                    "error: {name}: neither a failing case in {} nor a folder with a recording",
                    failed.display()
                )?;
                2
            }
            Err(error) => {
                writeln!(out, "error: {}: {error}", plain::line(name, MAX_REASON))?;
                2
            }
        };
        statuses.push(status);
    }
    Ok([2, 3, 1].into_iter().find(|status| statuses.contains(status)).unwrap_or(0))
}

// === finding recordings ===

/// Where a recording is, by its id or its folder's name, or wherever a path leads.
fn place_of(options: &Options, name: &str) -> PathBuf {
    let places = [options.report.join("failed"), options.recorded.clone()];
    let named = places.iter().flat_map(|place| by_name(place, name));
    let folder = named.chain([PathBuf::from(name)]).find(|folder| store::is_there(folder));
    let folder = folder.unwrap_or_else(|| options.report.join("failed").join(folder_name(name)));
    match folder.parent().filter(|_| folder.is_file()) {
        Some(parent) => parent.to_owned(),
        None => folder,
    }
}

fn by_name(place: &Path, name: &str) -> Vec<PathBuf> {
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    let plain = is_plain.then(|| place.join(name));
    [place.join(folder_name(name))].into_iter().chain(plain).collect()
}

// === sending ===

async fn one(options: &Options, wiring: &Wiring, engine: &mut Engine, recording: &Recording) -> Outcome {
    if recording.exchanges.is_empty() {
        return Outcome::Cannot("no exchange was recorded".to_owned());
    }
    let upstream = match target(options, wiring, engine, recording).await {
        Ok(upstream) => upstream,
        Err(why) => return Outcome::Cannot(why),
    };
    let sender = match (wiring.connect)(&upstream) {
        Ok(sender) => sender,
        Err(why) => return Outcome::Cannot(why),
    };
    match again(recording, &options.given, &sender).await {
        Ok(answers) => outcome(options, wiring, recording, &answers),
        Err(why) => Outcome::Cannot(format!("{upstream}: {why}")),
    }
}

async fn target(
    options: &Options,
    wiring: &Wiring,
    engine: &mut Engine,
    recording: &Recording,
) -> Result<Root, String> {
    match (&options.upstream, recording.upstream.as_deref()) {
        (Some(upstream), _) => Ok(upstream.clone()),
        (None, Some(BUNDLED)) => engine.upstream(wiring).await,
        (None, Some(url)) => {
            url.parse().map_err(|error: BadRoot| format!("the recording names its upstream so: {error}"))
        }
        (None, None) => {
            Err("the recording does not say where it was sent; name a server with --upstream".to_owned())
        }
    }
}

/// Sends every recorded request again, in the order recorded, until one shows that it is of no use.
async fn again(recording: &Recording, given: &[String], sender: &Sender) -> Result<Vec<Exchange>, String> {
    let mut answers = Vec::with_capacity(recording.exchanges.len());
    for recorded in &recording.exchanges {
        let request = sendable(&recorded.request, given)?;
        let ask = Ask { request, mode: recorded.mode, rounds: recorded.rounds, credentials: Vec::new() };
        let answer = sender(ask).await;
        if let Some(why) = useless(recorded, &answer) {
            return Err(why);
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// The request without what was redacted, and without what the sender is told to send in its place.
fn sendable(request: &Request, given: &[String]) -> Result<Request, String> {
    if request.path.contains(redact::REDACTED) {
        return Err("its path held a key, which is not kept".to_owned());
    }
    let is_kept = |(name, value): &&(String, String)| {
        value != redact::REDACTED && !redact::is_secret(name) && !given.contains(&name.to_lowercase())
    };
    let headers = request.headers.iter().filter(is_kept).cloned().collect();
    Ok(Request { headers, ..request.clone() })
}

/// Names of headers that went along when it was recorded and do not now. The bundled engine wants no keys.
fn missing(options: &Options, recording: &Recording) -> BTreeSet<String> {
    if options.upstream.is_none() && recording.upstream.as_deref() == Some(BUNDLED) {
        return BTreeSet::new();
    }
    let headers = recording.exchanges.iter().flat_map(|exchange| &exchange.request.headers);
    let redacted =
        headers.filter(|(_, value)| value == redact::REDACTED).map(|(name, _)| name.to_lowercase());
    redacted.filter(|name| !options.given.contains(name)).collect()
}

fn print_missing(missing: &BTreeSet<String>, out: &mut (dyn Write + Send)) -> io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter().map(|name| plain::line(name, MAX_REASON)).collect::<Vec<_>>().join(", ");
    writeln!(
        out,
        "               sent without {names}: secrets are not kept; --api-key-env or --header gives them"
    )
}

/// Why an answer says nothing of the fault, if it does not.
fn useless(recorded: &Exchange, answer: &Exchange) -> Option<String> {
    match (&answer.end, answer.status()) {
        (End::Refused(why), _) => Some(format!("unreachable: {why}")),
        (_, Some(status @ (401 | 403))) if recorded.status() != Some(status) => {
            Some(format!("it wants a key (status {status}); name its variable with --api-key-env"))
        }
        _ => None,
    }
}

// === judging ===

fn outcome(options: &Options, wiring: &Wiring, recording: &Recording, answers: &[Exchange]) -> Outcome {
    let judge =
        |exchanges: &[Exchange]| (wiring.judge)(&recording.request, exchanges, recording.case.as_ref());
    let (before, now) = (judge(&recording.exchanges), judge(answers));
    if recording.exchanges.iter().all(Exchange::succeeded) && answers.iter().all(is_refused) {
        return Outcome::Cannot(format!("every request is refused now: {}", refusal(&now, answers)));
    }
    let remaining = remaining(&before, &now, options.fail_on);
    if !remaining.is_empty() {
        return Outcome::StillFailing(remaining);
    }
    match now.verdict {
        Verdict::Inconclusive | Verdict::Error | Verdict::Unstable => Outcome::Cannot(reason(&now)),
        Verdict::Skipped if before.verdict != Verdict::Skipped => Outcome::Cannot(reason(&now)),
        _ => Outcome::Fixed(before.findings.len()),
    }
}

/// What counts of today's findings: those that fail, and those of the recording that are there again.
fn remaining(before: &Judged, now: &Judged, fail_on: FailOn) -> Vec<Remaining> {
    let fails_now = fails(now, fail_on);
    // What lacks its proof now, since nothing says what the model was told, is no less there than it was.
    let was_seen = fails(before, fail_on) || before.verdict == Verdict::Suspect;
    let counts_in_both = |finding: &Finding| is_known(before, finding) && was_seen;
    let remaining = now.findings.iter().filter(|f| f.severity != crate::rules::Severity::Info);
    let remaining = remaining.filter(|f| fails_now || counts_in_both(f));
    let since = |finding: &Finding| if is_known(before, finding) { Since::Recorded } else { Since::Now };
    remaining.map(|finding| Remaining { since: since(finding), finding: finding.clone() }).collect()
}

fn is_known(before: &Judged, finding: &Finding) -> bool {
    before
        .findings
        .iter()
        .any(|known| known.rule == finding.rule && place(&known.path) == place(&finding.path))
}

/// Whether a request was not to the server's taste: of what it said before that tells nothing.
fn is_refused(answer: &Exchange) -> bool {
    answer.status().is_some_and(|status| (400..500).contains(&status) && !is_busy(Some(status)))
}

fn refusal(now: &Judged, answers: &[Exchange]) -> String {
    let found = || now.findings.iter().find_map(|finding| finding.stream.clone());
    let status = || answers.first().and_then(Exchange::status).unwrap_or_default();
    now.reason.clone().or_else(found).unwrap_or_else(|| format!("status {}", status()))
}

fn reason(judged: &Judged) -> String {
    let verdict = judged.verdict.name();
    judged.reason.as_ref().map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}: {reason}"))
}

fn print(id: &str, outcome: &Outcome, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let id = plain::line(id, MAX_REASON);
    match outcome {
        Outcome::Fixed(0) => {
            writeln!(out, "fixed          {id}  nothing was wrong when recorded, nothing is now")
        }
        Outcome::Fixed(count) => writeln!(out, "fixed          {id}  none of {count} findings remains"),
        Outcome::Cannot(why) => writeln!(out, "cannot         {id}  {}", plain::line(why, MAX_REASON)),
        Outcome::StillFailing(remaining) => {
            writeln!(out, "still failing  {id}")?;
            remaining.iter().try_for_each(|one| {
                let note = if one.since == Since::Now { "  (new)" } else { "" };
                print_finding(&one.finding, note, out)
            })
        }
    }
}

// === impl Outcome ===

impl Outcome {
    const fn status(&self) -> u8 {
        match self {
            Self::Fixed(_) => 0,
            Self::StillFailing(_) => 1,
            Self::Cannot(_) => 3,
        }
    }
}

// === impl Engine ===

impl Engine {
    async fn upstream(&mut self, wiring: &Wiring) -> Result<Root, String> {
        let running = match self.0.take() {
            Some(running) => running,
            None => (wiring.bundled)().await?,
        };
        Ok(self.0.insert(running).root.clone())
    }
}
