//! `tfproxy plants`: every plant has to be caught, every decoy met with silence.
//!
//! In: the engine's plants, and all puppet cases. Out: two tables, and the matrix of plants and rules, which is committed: a
//! plant that changes its catcher is noticed. No times, nothing that changes from run to run.

use super::{
    bundled::{self, Plant, PlantKind, Plants},
    complain, interrupted,
    ready::Ready,
    sources, tell,
};
use crate::{
    cli::PlantsArgs,
    exchange::{Credentials, Exchange, Limits},
    exit::Exit,
    finding::Known,
    plan::{Depth, Entry, Rounds, plan},
    request::{
        Dialect,
        case::Case,
        select::{Pattern, Selection},
    },
    rules::Severity,
    run::{
        Judged, Verdict,
        event::RunEvent,
        workers::{INTERRUPTED, Job, Sink, run as run_job},
    },
    settings::Access,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The schedules at which plants are tried: the ends and the middle.
const ROUNDS: [Rounds; 3] = [Rounds::Whole, Rounds::Every(1), Rounds::Every(3)];

/// A puppet answers at once; what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// The matrix's format.
const SCHEMA: &str = "tfproxy.plants/1";

/// Which cases showed a rule, by the rule.
type Fired = BTreeMap<String, BTreeSet<String>>;

/// What a plant or decoy came to.
struct Tried {
    plant: Plant,
    /// Cases that were asked.
    cases: BTreeSet<String>,
    /// Rules that fired, as warnings or errors; of a decoy also verdicts other than pass.
    fired: Fired,
    /// Cases in which the catcher is what is wrong, and no consequence of it.
    caught: BTreeSet<String>,
    /// Cases written for this plant.
    own: BTreeSet<String>,
    /// Why the run was aborted, if it was.
    aborted: Option<String>,
}

/// Collects what fires.
struct Collector<'a> {
    known: &'a Known,
    tag: String,
    tried: Tried,
}

/// What is wrong with a plant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    /// The rule that should catch it did not fire.
    Missed,
    /// It fired, but everywhere as the consequence of another rule.
    Consequence,
    /// It fired in cases only that were written for it.
    OnlyOwn,
    /// A decoy was not met with silence.
    Noisy,
    /// The run did not end.
    Aborted(String),
}

/// A matrix that cannot be held against what was found.
#[derive(Debug, thiserror::Error)]
enum BadMatrix {
    /// There is none yet.
    #[error("{}: there is no committed matrix; tfproxy plants --update writes it", .0.display())]
    Absent(PathBuf),
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Not JSON.
    #[error("{}: {source}", path.display())]
    NoJson { path: PathBuf, source: serde_json::Error },
}

/// Tries them all.
pub async fn run(args: &PlantsArgs) -> Exit {
    // Minutes are lost where this is told at the end.
    let before = match before(args) {
        Ok(before) => before,
        Err(error) => {
            complain(error);
            return Exit::Usage;
        }
    };
    match tried(args).await {
        Ok(tried) => concluded(args, &tried, before.as_ref()),
        Err(exit) => exit,
    }
}

async fn tried(args: &PlantsArgs) -> Result<Vec<Tried>, Exit> {
    let cases = sources::cases(&[]).map_err(|mistakes| {
        mistakes.iter().for_each(complain);
        Exit::Usage
    })?;
    let known = Known::read(super::check::KNOWN_FAILING).map_err(|bad| {
        bad.iter().for_each(complain);
        Exit::Usage
    })?;
    let access = Access {
        root: None,
        credentials: Credentials::default(),
        limits: Limits::of(PATIENCE),
        words: Vec::new(),
    };
    let ready = Ready::new(&access, Plants::Allowed, None, None).await.map_err(|error| {
        complain(error);
        Exit::NotRun
    })?;
    let cases: Vec<Arc<Case>> = cases.into_iter().filter(|case| case.says.is_some()).collect();
    let patterns: Vec<Pattern> = args.run.iter().map(|text| Pattern::new(text)).collect();
    let mut all = Vec::new();
    for plant in bundled::plants() {
        if patterns.is_empty() || patterns.iter().any(|p| p.matches(plant.name)) {
            let tried = one(plant, &ready, &cases, &known, args.jobs).await;
            if tried.aborted.as_deref() == Some(INTERRUPTED) {
                complain(INTERRUPTED);
                return Err(Exit::NotRun);
            }
            all.push(tried);
        }
    }
    ready.end().await;
    if all.is_empty() {
        complain(format_args!("no plant or decoy is called {}", args.run.join(" or ")));
        return Err(Exit::Usage);
    }
    Ok(all)
}

async fn one(plant: Plant, ready: &Ready, cases: &[Arc<Case>], known: &Known, jobs: Option<usize>) -> Tried {
    let mut target = ready.target(&ROUNDS, 1, None);
    target.plant = Some(plant.name.to_owned());
    let job = Job {
        upstream: ready.found.upstream.clone(),
        entries: entries(cases, plant.kind),
        target,
        sender: ready.sender.clone(),
        terms: ready.terms(String::new()),
        jobs: ready.jobs(jobs),
        retries: 0,
        again: 0,
        max_requests: None,
    };
    let tag = format!("plant:{}", plant.name);
    let tried = Tried {
        plant,
        cases: BTreeSet::new(),
        fired: Fired::new(),
        caught: BTreeSet::new(),
        own: BTreeSet::new(),
        aborted: None,
    };
    let mut collector = Collector { known, tag, tried };
    run_job(job, &mut collector, interrupted()).await;
    collector.tried
}

/// What is asked. A decoy may spell arguments in its own way and send them in any number of pieces, so nothing is
/// expected of that.
fn entries(cases: &[Arc<Case>], kind: PlantKind) -> Vec<Entry> {
    let mut entries = plan(cases, &Dialect::ALL, Depth::Once, &Selection::default());
    if kind == PlantKind::Decoy {
        for expect in entries.iter_mut().filter_map(|entry| entry.expect.as_mut()) {
            expect.argument_deltas_at_least = None;
            expect.tool_calls.take_if(|calls| calls.iter().any(|call| call.arguments.is_string()));
        }
    }
    entries
}

fn concluded(args: &PlantsArgs, tried: &[Tried], before: Option<&Value>) -> Exit {
    tell(&tables(tried));
    let now = matrix(tried);
    if let Some(differs) = before.and_then(|before| differs(before, &now, &args.matrix)) {
        complain(differs);
        return Exit::Findings;
    }
    // A part says nothing about the whole.
    let written = if args.update && args.run.is_empty() { write(&args.matrix, &now) } else { Ok(()) };
    if let Err(error) = written {
        complain(error);
        return Exit::Usage;
    }
    if tried.iter().any(|t| t.wrong().is_some()) { Exit::Findings } else { Exit::Clean }
}

// === impl Collector ===

impl Sink for Collector<'_> {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Done(judged) => self.take(*judged),
            RunEvent::Aborted(why) => self.tried.aborted = Some(why),
            RunEvent::Started { .. } | RunEvent::Finished { .. } => {}
        }
    }

    fn exchanges(&mut self, _: &Judged, _: &Entry, _: &[Exchange]) {}
}

impl Collector<'_> {
    fn take(&mut self, mut judged: Judged) {
        self.known.mark(&judged.id, &mut judged.findings);
        if judged.tags.contains(&self.tag) {
            self.tried.own.insert(judged.case.clone());
        }
        let catcher = self.tried.plant.catchers.first().copied();
        for finding in judged.findings.iter().filter(|f| f.severity > Severity::Info && f.known.is_none()) {
            self.tried.fired.entry(finding.rule.clone()).or_default().insert(judged.case.clone());
            if catcher == Some(finding.rule.as_str()) && finding.is_primary() {
                self.tried.caught.insert(judged.case.clone());
            }
        }
        let known = judged.findings.iter().any(|f| f.known.is_some());
        if self.tried.plant.kind == PlantKind::Decoy && is_doubt(judged.verdict) && !known {
            let verdict = format!("verdict {}", judged.verdict.name());
            self.tried.fired.entry(verdict).or_default().insert(judged.case.clone());
        }
        self.tried.cases.insert(judged.case);
    }
}

/// Whether a decoy raised doubt. An answer that is too large to be judged raises none.
fn is_doubt(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Suspect | Verdict::Unstable)
}

// === impl Tried ===

impl Tried {
    fn wrong(&self) -> Option<Wrong> {
        if let Some(why) = &self.aborted {
            return Some(Wrong::Aborted(why.clone()));
        }
        match self.plant.kind {
            PlantKind::Decoy => (!self.fired.is_empty()).then_some(Wrong::Noisy),
            PlantKind::Plant => {
                let fired = self.plant.catchers.first().is_some_and(|c| self.fired.contains_key(*c));
                match (fired, self.caught.is_empty()) {
                    (false, _) => Some(Wrong::Missed),
                    (true, true) => Some(Wrong::Consequence),
                    (true, false) => self.caught.is_subset(&self.own).then_some(Wrong::OnlyOwn),
                }
            }
        }
    }

    fn line(&self) -> String {
        let catcher = self.plant.catchers.first().copied().unwrap_or_default();
        let count = self.fired.get(catcher).map_or(0, BTreeSet::len);
        let result = match self.wrong() {
            None if self.plant.kind == PlantKind::Decoy => format!("silent in {} cases", self.cases.len()),
            None => format!("{catcher} in {count} of {} cases", self.cases.len()),
            Some(Wrong::Missed) => format!("MISSED: {catcher} did not fire; fired: {}", self.fired_list()),
            Some(Wrong::Consequence) => {
                format!("NEVER FIRST: {catcher} fired as a consequence only; fired: {}", self.fired_list())
            }
            Some(Wrong::OnlyOwn) => {
                format!("ONLY OWN: {catcher} fired in cases only that were written for it")
            }
            Some(Wrong::Noisy) => format!("NOISY: {}", self.fired_list()),
            Some(Wrong::Aborted(why)) => format!("ABORTED: {why}"),
        };
        format!("  {:<32}  {result}\n", self.plant.name)
    }

    fn fired_list(&self) -> String {
        let each = self.fired.iter().map(|(rule, cases)| format!("{rule} ({})", cases.len()));
        let list = each.collect::<Vec<_>>().join(", ");
        if list.is_empty() { "nothing".to_owned() } else { list }
    }

    fn matrix(&self) -> Value {
        let fired: Map<String, Value> =
            self.fired.iter().map(|(rule, cases)| (rule.clone(), cases.len().into())).collect();
        json!({
            "kind": if self.plant.kind == PlantKind::Plant { "plant" } else { "decoy" },
            "catcher": self.plant.catchers.first(),
            "fired": fired,
        })
    }
}

fn tables(tried: &[Tried]) -> String {
    let mut text = String::new();
    for (kind, title) in [(PlantKind::Plant, "plants"), (PlantKind::Decoy, "decoys")] {
        let of_kind: Vec<&Tried> = tried.iter().filter(|t| t.plant.kind == kind).collect();
        let fine = of_kind.iter().filter(|t| t.wrong().is_none()).count();
        _ = writeln!(text, "{title}  {fine} of {} as they should be", of_kind.len());
        text.extend(of_kind.iter().map(|t| t.line()));
    }
    text
}

fn matrix(tried: &[Tried]) -> Value {
    let mut sorted: Vec<&Tried> = tried.iter().collect();
    sorted.sort_by_key(|t| t.plant.name);
    let plants: Map<String, Value> = sorted.iter().map(|t| (t.plant.name.to_owned(), t.matrix())).collect();
    json!({ "schema": SCHEMA, "plants": plants })
}

/// The committed matrix, where what is found will be held against one.
fn before(args: &PlantsArgs) -> Result<Option<Value>, BadMatrix> {
    if args.update || !args.run.is_empty() {
        return Ok(None);
    }
    let path = || args.matrix.clone();
    let bytes = fs::read(&args.matrix).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => BadMatrix::Absent(path()),
        _ => BadMatrix::Io { path: path(), source },
    })?;
    serde_json::from_slice(&bytes).map(Some).map_err(|source| BadMatrix::NoJson { path: path(), source })
}

fn write(file: &Path, now: &Value) -> Result<(), BadMatrix> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(file, format!("{now:#}\n")));
    written.map_err(|source| BadMatrix::Io { path: file.to_owned(), source })
}

fn differs(before: &Value, now: &Value, file: &Path) -> Option<String> {
    let of = |matrix: &Value| matrix.get("plants").and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, now) = (of(before), of(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let changed: Vec<&str> =
        names.into_iter().filter(|name| before.get(*name) != now.get(*name)).map(String::as_str).collect();
    (!changed.is_empty()).then(|| {
        format!(
            "{} says otherwise of: {} (tfproxy plants --update writes it)",
            file.display(),
            changed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(kind: PlantKind, fired: &[(&str, &[&str])], own: &[&str]) -> Tried {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
        Tried {
            plant: Plant { name: "p", kind, sentence: "", catchers: &["parity/content"] },
            cases: set(&["a/1", "a/2"]),
            fired: fired.iter().map(|(rule, cases)| ((*rule).to_owned(), set(cases))).collect(),
            caught: fired
                .iter()
                .filter(|(rule, _)| *rule == "parity/content")
                .flat_map(|(_, cases)| set(cases))
                .collect(),
            own: set(own),
            aborted: None,
        }
    }

    #[test]
    fn a_catcher_that_is_a_consequence_everywhere_catches_nothing() {
        let mut tried = tried(PlantKind::Plant, &[("parity/content", &["a/1", "a/2"])], &[]);
        tried.caught.clear();
        assert_eq!(tried.wrong(), Some(Wrong::Consequence));
    }

    #[test]
    fn a_plant_is_caught_by_its_rule_in_a_foreign_case_too() {
        let plant = |fired: &[(&str, &[&str])], own: &[&str]| tried(PlantKind::Plant, fired, own).wrong();
        assert_eq!(plant(&[("parity/content", &["a/1", "a/2"])], &["a/1"]), None);
        assert_eq!(plant(&[("parity/content", &["a/1"])], &["a/1"]), Some(Wrong::OnlyOwn));
        assert_eq!(plant(&[("parity/finish-reason", &["a/2"])], &[]), Some(Wrong::Missed));
    }

    #[test]
    fn a_decoy_is_met_with_silence() {
        assert_eq!(tried(PlantKind::Decoy, &[], &[]).wrong(), None);
        assert_eq!(tried(PlantKind::Decoy, &[("sse/comment", &["a/1"])], &[]).wrong(), Some(Wrong::Noisy));
    }

    #[test]
    fn a_changed_catcher_is_noticed() {
        let one = matrix(&[tried(PlantKind::Plant, &[("parity/content", &["a/1"])], &[])]);
        let two = matrix(&[tried(PlantKind::Plant, &[("parity/finish-reason", &["a/1"])], &[])]);
        assert_eq!(differs(&one, &one, Path::new("m")), None);
        assert!(differs(&one, &two, Path::new("m")).unwrap().contains("otherwise of: p"));
        assert!(differs(&json!({}), &one, Path::new("m")).is_some());
    }
}
