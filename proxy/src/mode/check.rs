//! `tfproxy --check`: cases are asked whole and streamed, judged, reported.
//!
//! In: [`CheckSettings`]. Out: a report on the output and in a folder, and an exit status.

use super::{
    bundled::Plants,
    complain, interrupted,
    keep::Keeper,
    output,
    ready::{NotReady, Ready},
    sources, tell,
};
use crate::{
    cli::{MessageFormat, Via},
    exit::{Exit, Tally},
    finding::Known,
    plan::{Depth, Entry, Model, Target, exchanges, plan},
    report::{self, Report, text},
    request::{case::Case, select::Pattern},
    run::{
        FailOn, Verdict,
        upstream::Kind,
        workers::{Job, run as run_job},
    },
    settings::{Act, CheckSettings, Noise, default_rounds, quoted},
    store,
};
use serde_json::{Value, json};
use std::{fs, io, path::Path, sync::Arc};

/// Known failures of the bundled engine under the built-in cases.
const KNOWN_FAILING: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../cases/known-failing.txt"));

/// Ordinary requests: all that a server without puppets can be asked, and what puppets are not asked. The first let the model
/// say what it likes, the others leave it no choice.
const ORDINARY: [&str; 2] = ["prompted", "forced"];

/// Requests that an upstream which may bill for them is sent where the user does not say.
const MAX_UNASKED: usize = 60;

/// Column behind ids in a list: the same in every list, so that lists can be compared and joined.
const ID_WIDTH: usize = 60;

/// What a run can end with before it begins.
type Stopped = Result<Exit, Exit>;

/// Runs it.
pub async fn run(settings: CheckSettings) -> Exit {
    match checked(&settings).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn checked(settings: &CheckSettings) -> Stopped {
    let cases = sources::cases(&settings.cases).map_err(|mistakes| {
        mistakes.iter().for_each(complain);
        Exit::Usage
    })?;
    let named = named_known(settings)?;
    let ready =
        Ready::new(&settings.access, Plants::Refused, settings.model.as_deref(), settings.profile.as_deref());
    let not_ready = |error: NotReady| {
        complain(&error);
        let is_usage = matches!(error, NotReady::NoProfile { .. } | NotReady::NoFormat(_));
        if is_usage { Exit::Usage } else { Exit::NotRun }
    };
    let ready = ready.await.map_err(not_ready)?;
    let format = settings.puppet.as_deref();
    let ready = match settings.via {
        None => ready.with_puppet(format).await,
        Some(Via::Derender) => ready.with_reader(format, &cases).await,
    };
    let ready = ready.map_err(not_ready)?;
    let ready = ready.with_relay(settings.model.as_deref()).await.map_err(not_ready)?;
    let known = named.map_or_else(|| own_known(settings, &ready), Ok)?;
    let target = ready.target(&settings.rounds, settings.repeat, settings.model.as_deref());
    if settings.rounds != default_rounds(settings.via)
        && let Some(why) = ready.cannot_cut(&settings.rounds, &target)
    {
        complain(why);
        return Err(Exit::Usage);
    }
    let cases = asked(cases, settings, &target);
    let mut entries = plan(&cases, &settings.dialects, settings.depth, &settings.selection);
    ready.count_as_billed(&mut entries);
    let exit = if entries.is_empty() {
        complain(nothing(settings));
        Exit::NotExercised
    } else if settings.act == Act::List {
        list(settings, &entries, &target)?
    } else {
        run_and_report(settings, &ready, target, entries, &known).await?
    };
    ready.end().await;
    Ok(exit)
}

/// What is asked where the user names no cases: a puppet says texts, any other model answers prompts.
fn asked(mut cases: Vec<Arc<Case>>, settings: &CheckSettings, target: &Target) -> Vec<Arc<Case>> {
    if let Some(format) = target.model.format() {
        cases.retain(|case| case.format.as_deref() == Some(format));
    }
    let is_default = settings.cases.is_empty()
        && settings.selection.suites.is_empty()
        && settings.selection.run.is_empty();
    if !is_default {
        return cases;
    }
    let has_puppets = !matches!(target.model, Model::Named(_));
    let is_ordinary = |case: &Case| case.id.split('/').next().is_some_and(|suite| ORDINARY.contains(&suite));
    cases.into_iter().filter(|case| is_ordinary(case) != has_puppets).collect()
}

/// Which options left nothing over.
fn nothing(settings: &CheckSettings) -> String {
    let selection = &settings.selection;
    let patterns = |option: &'static str, patterns: &[Pattern]| {
        patterns.iter().map(|p| (option, p.text().to_owned())).collect::<Vec<_>>()
    };
    let mut by = [patterns("run", &selection.run), patterns("skip", &selection.skip)].concat();
    by.extend(selection.suites.iter().map(|suite| ("suite", suite.clone())));
    by.extend(selection.shard.map(|shard| ("shard", format!("{}/{}", shard.index, shard.of))));
    let by: Vec<String> = by.iter().map(|(option, value)| format!("--{option} {}", quoted(value))).collect();
    let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" ")) };
    format!("nothing is selected{by} (--list without selection names all cases)")
}

/// Says what would be asked: a line an entry, or a list of objects.
fn list(settings: &CheckSettings, entries: &[Entry], target: &Target) -> Stopped {
    let planned = entries.iter().map(|entry| (entry, exchanges(entry, target).map(|all| all.len())));
    if settings.format == MessageFormat::Json {
        let object = |(entry, planned): (&Entry, Result<usize, String>)| json!({ "id": entry.id, "dialect": entry.dialect.name(), "exchanges": planned.as_ref().ok(), "skipped": planned.as_ref().err() });
        tell(&format!("{:#}\n", Value::Array(planned.map(object).collect())))?;
        return Ok(Exit::Clean);
    }
    let line = |(entry, planned): (&Entry, Result<usize, String>)| {
        let what = planned.map_or_else(|why| format!("skipped: {why}"), |count| format!("{count} exchanges"));
        format!("{:<ID_WIDTH$}  {}  {what}\n", entry.id, entry.dialect)
    };
    tell(&planned.map(line).collect::<String>())?;
    if settings.noise == Noise::Progress {
        complain(format_args!("{} cases would be asked", entries.len()));
    }
    Ok(Exit::Clean)
}

/// What is known in the file that the user names.
fn named_known(settings: &CheckSettings) -> Result<Option<Known>, Exit> {
    let Some(file) = &settings.known_failing else { return Ok(None) };
    let text = fs::read_to_string(file).map_err(|error| {
        complain(format_args!("--known-failing {}: {error}", file.display()));
        Exit::Usage
    })?;
    read_known(&file.display().to_string(), &text).map(Some)
}

/// What is known where the user names no file: for the built-in cases against our engine, wherever it runs, what comes with
/// them.
fn own_known(settings: &CheckSettings, ready: &Ready) -> Result<Known, Exit> {
    if settings.cases.is_empty() && ready.found.kind == Kind::Ours {
        built_in_known()
    } else {
        Ok(Known::default())
    }
}

/// What is known of the bundled engine under the built-in cases.
pub fn built_in_known() -> Result<Known, Exit> {
    read_known("cases/known-failing.txt", KNOWN_FAILING)
}

fn read_known(name: &str, text: &str) -> Result<Known, Exit> {
    Known::read(text).map_err(|bad| {
        for line in bad {
            complain(format_args!("{name}: {line}"));
        }
        Exit::Usage
    })
}

/// How many requests are sent at most. What a model that is no puppet says is not known before, and its server may bill for it:
/// then there is a limit, and how many there will be is said first.
fn max_requests(
    settings: &CheckSettings,
    ready: &Ready,
    target: &Target,
    entries: &[Entry],
) -> Option<usize> {
    let is_known = ready.found.kind == Kind::Ours || !matches!(target.model, Model::Named(_));
    if is_known {
        return settings.max_requests;
    }
    let most = settings.max_requests.unwrap_or(MAX_UNASKED);
    let all: usize =
        entries.iter().filter_map(|entry| exchanges(entry, target).ok()).map(|all| all.len()).sum();
    if settings.noise == Noise::Progress {
        let url = &ready.found.upstream.url;
        if all <= most {
            complain(format_args!("{all} requests go to {url}"));
        } else {
            complain(format_args!(
                "at most {most} of {all} requests go to {url} (--max-requests {all} for all)"
            ));
        }
    }
    Some(most)
}

async fn run_and_report(
    settings: &CheckSettings,
    ready: &Ready,
    target: Target,
    entries: Vec<Entry>,
    known: &Known,
) -> Stopped {
    let max_requests = max_requests(settings, ready, &target, &entries);
    let job = Job {
        upstream: ready.found.upstream.clone(),
        entries,
        target,
        sender: ready.sender.clone(),
        terms: ready.terms(repeat(settings)),
        jobs: ready.jobs(settings.jobs),
        retries: settings.retries,
        again: settings.again,
        max_requests,
    };
    let mut keeper = Keeper::new(&settings.report, &ready.found.upstream.url, known, settings.noise)
        .map_err(|error| {
            complain(format_args!("--report {}: {error}", settings.report.display()));
            Exit::Usage
        })?;
    run_job(job, &mut keeper, interrupted()).await;
    let mut report = keeper.end();
    report.conclude(known);
    let exit = Exit::of(&tally(&report, settings.fail_on));
    told(settings, &report, exit).map_err(|error| {
        complain(format_args!("cannot report: {error}"));
        Exit::NotRun
    })?;
    Ok(exit)
}

/// The command that runs this again, without what selects.
fn repeat(settings: &CheckSettings) -> String {
    let mut words = vec!["tfproxy --check".to_owned()];
    words.extend_from_slice(&settings.access.words);
    words.extend(settings.model.as_ref().map(|model| format!("--model {}", quoted(model))));
    words.extend(settings.puppet.as_ref().map(|format| format!("--puppet {}", quoted(format))));
    words.extend(settings.via.map(|Via::Derender| "--via derender".to_owned()));
    words.extend(settings.profile.as_ref().map(|profile| format!("--profile {}", quoted(profile))));
    words
        .extend(settings.cases.iter().map(|path| format!("--cases {}", quoted(&path.display().to_string()))));
    if settings.rounds != default_rounds(settings.via) {
        let rounds: Vec<String> = settings.rounds.iter().map(ToString::to_string).collect();
        words.push(format!("--rounds {}", rounds.join(",")));
    }
    // A cut at any position but the seeded ones is planned only so.
    words.extend((settings.depth == Depth::Deep).then(|| "--deep".to_owned()));
    words.join(" ")
}

fn tally(report: &Report, fail_on: FailOn) -> Tally {
    let totals = report.totals();
    // What is in doubt was not judged to its end; whoever wants to hear of doubts hears of them all the same.
    let doubtful = if fail_on == FailOn::Suspect { totals.suspect + totals.unstable } else { 0 };
    Tally {
        judged: totals.cases,
        exercised: totals.passed + totals.failed + doubtful,
        skipped: totals.skipped,
        errors: report.of_verdict(Verdict::Error).count(),
        counted: usize::from(report.fails(fail_on)),
        stale: report.stale.len(),
        aborted: report.aborted.is_some(),
    }
}

fn told(settings: &CheckSettings, report: &Report, exit: Exit) -> io::Result<()> {
    report::json::write(&settings.report, report)?;
    let mut out = io::BufWriter::new(output());
    match settings.format {
        MessageFormat::Json => io::Write::write_all(&mut out, report::json::text(report)?.as_bytes()),
        MessageFormat::Text => text::print(&mut out, report, &printing(settings, exit)),
    }?;
    io::Write::flush(&mut out)
}

fn printing(settings: &CheckSettings, exit: Exit) -> text::Printing<'_> {
    text::Printing {
        volume: if settings.noise == Noise::Quiet { text::Volume::Quiet } else { text::Volume::Full },
        show: settings.show,
        folder: folder(&settings.report),
        folder_of: store::folder_name,
        files: &[report::json::FILE],
        exit: (exit.status(), exit.why()),
    }
}

fn folder(report: &Path) -> &str {
    report.to_str().unwrap_or("the report's folder")
}
