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
        Judged,
        event::RunEvent,
        workers::{Job, Sink, run as run_job},
    },
    settings::Access,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs, io,
    path::Path,
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
    /// Rules that fired, as warnings or errors.
    fired: Fired,
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
    /// It fired in cases only that were written for it.
    OnlyOwn,
    /// A decoy was not met with silence.
    Noisy,
    /// The run did not end.
    Aborted(String),
}

/// Tries them all.
pub async fn run(args: &PlantsArgs) -> Exit {
    match tried(args).await {
        Ok(tried) => concluded(args, &tried),
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
    let access = Access { root: None, credentials: Credentials::default(), limits: Limits::of(PATIENCE) };
    let ready = Ready::new(&access, Plants::Allowed, None, None).await.map_err(|error| {
        complain(error);
        Exit::NotRun
    })?;
    let cases: Vec<Arc<Case>> = cases.into_iter().filter(|case| case.says.is_some()).collect();
    let patterns: Vec<Pattern> = args.run.iter().map(|text| Pattern::new(text)).collect();
    let mut all = Vec::new();
    for plant in bundled::plants() {
        if patterns.is_empty() || patterns.iter().any(|p| p.matches(plant.name)) {
            all.push(one(plant, &ready, &cases, &known, args.jobs).await);
        }
    }
    ready.end().await;
    if all.is_empty() {
        complain("no plant and no decoy matches");
        return Err(Exit::NotExercised);
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
        max_requests: None,
    };
    let tag = format!("plant:{}", plant.name);
    let tried =
        Tried { plant, cases: BTreeSet::new(), fired: Fired::new(), own: BTreeSet::new(), aborted: None };
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

fn concluded(args: &PlantsArgs, tried: &[Tried]) -> Exit {
    tell(&tables(tried));
    let mut exit = if tried.iter().any(|t| t.wrong().is_some()) { Exit::Findings } else { Exit::Clean };
    // A part says nothing about the whole.
    if args.run.is_empty() {
        match settled(args, &matrix(tried)) {
            Ok(None) => {}
            Ok(Some(differs)) => {
                complain(differs);
                exit = Exit::Findings;
            }
            Err(error) => {
                complain(format_args!("{}: {error}", args.matrix.display()));
                exit = Exit::Usage;
            }
        }
    }
    exit
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
        for finding in judged.findings.iter().filter(|f| f.severity > Severity::Info && f.known.is_none()) {
            self.tried.fired.entry(finding.rule.clone()).or_default().insert(judged.case.clone());
        }
        self.tried.cases.insert(judged.case);
    }
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
                let cases = self.plant.catchers.first().and_then(|catcher| self.fired.get(*catcher));
                match cases {
                    None => Some(Wrong::Missed),
                    Some(cases) if cases.is_subset(&self.own) => Some(Wrong::OnlyOwn),
                    Some(_) => None,
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

/// Writes the matrix, or says how it differs from the one that is there.
fn settled(args: &PlantsArgs, now: &Value) -> io::Result<Option<String>> {
    if args.update {
        if let Some(folder) = args.matrix.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&args.matrix, format!("{now:#}\n"))?;
        return Ok(None);
    }
    let before: Value = serde_json::from_slice(&fs::read(&args.matrix)?)?;
    Ok(differs(&before, now, &args.matrix))
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
            own: set(own),
            aborted: None,
        }
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
