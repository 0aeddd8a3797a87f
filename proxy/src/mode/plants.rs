//! `tfproxy plants`: every plant has to be caught, every decoy met with silence.
//!
//! In: the engine's plants, and all puppet cases. Out: two tables, and the matrix of plants and rules, which is committed: a
//! plant that changes its catcher is noticed. No times, nothing that changes from run to run.

use super::{
    bundled::{self, Plant, PlantKind, Plants},
    check, complain, interrupted,
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
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
    time::Duration,
};

mod matrix;

/// The schedules at which plants are tried unless others are named: the ends and the middle.
const ROUNDS: [Rounds; 3] = [Rounds::Whole, Rounds::Every(1), Rounds::Every(3)];

/// A puppet answers at once; what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a decoy's liberty leaves without meaning in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Liberty {
    /// It sends arguments in pieces of its own, so their number says nothing.
    Pieces,
    /// It spells arguments in its own way, so their text says nothing; their value does.
    Spelling,
}

/// The decoys that take one.
const LIBERTIES: [(&str, Liberty); 2] =
    [("one-huge-delta", Liberty::Pieces), ("respaced-arguments", Liberty::Spelling)];

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

/// Tries them all.
pub async fn run(args: &PlantsArgs) -> Exit {
    // Minutes are lost where this is told at the end.
    let before = match matrix::before(args) {
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
    let known = check::built_in_known()?;
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
            let tried = one(plant, &ready, &cases, &known, args).await;
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

async fn one(plant: Plant, ready: &Ready, cases: &[Arc<Case>], known: &Known, args: &PlantsArgs) -> Tried {
    let rounds = if args.rounds.is_empty() { &ROUNDS[..] } else { &args.rounds };
    let mut target = ready.target(rounds, 1, None);
    target.plant = Some(plant.name.to_owned());
    let job = Job {
        upstream: ready.found.upstream.clone(),
        entries: entries(cases, plant.name),
        target,
        sender: ready.sender.clone(),
        terms: ready.terms(String::new()),
        jobs: ready.jobs(args.jobs),
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

/// What is asked, less what the decoy of this name has the liberty to do otherwise.
fn entries(cases: &[Arc<Case>], name: &str) -> Vec<Entry> {
    let mut entries = plan(cases, &Dialect::ALL, Depth::Once, &Selection::default());
    let liberty = LIBERTIES.iter().find(|(decoy, _)| *decoy == name).map(|(_, liberty)| *liberty);
    for expect in entries.iter_mut().filter_map(|entry| entry.expect.as_mut()) {
        match liberty {
            Some(Liberty::Pieces) => expect.argument_deltas_at_least = None,
            Some(Liberty::Spelling) => {
                _ = expect.tool_calls.take_if(|calls| calls.iter().any(|call| call.arguments.is_string()));
            }
            None => {}
        }
    }
    entries
}

fn concluded(args: &PlantsArgs, tried: &[Tried], before: Option<&Value>) -> Exit {
    if let Err(exit) = tell(&tables(tried)) {
        return exit;
    }
    let now = matrix::matrix(tried);
    if let Some(differs) = before.and_then(|before| matrix::differs(before, &now, &args.matrix)) {
        complain(differs);
        return Exit::Findings;
    }
    let written = if args.update && !is_part(args) { matrix::write(&args.matrix, &now) } else { Ok(()) };
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
            RunEvent::Started { .. } | RunEvent::Dropped(_) | RunEvent::Finished { .. } => {}
        }
    }

    fn wants(&self, _: &Judged) -> bool {
        false
    }

    async fn keep(&mut self, _: &Entry, _: Vec<Exchange>) {}
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
        if self.tried.plant.kind == PlantKind::Decoy && judged.verdict != Verdict::Pass && !known {
            let verdict = format!("verdict {}", judged.verdict.name());
            self.tried.fired.entry(verdict).or_default().insert(judged.case.clone());
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
        let fired: Vec<&String> = self.fired.keys().collect();
        json!({
            "kind": if self.plant.kind == PlantKind::Plant { "plant" } else { "decoy" },
            "catcher": self.plant.catchers.first(),
            "fired": fired,
        })
    }
}

/// Whether only some are tried, or at rounds other than the matrix was made with. A part says nothing about the whole.
fn is_part(args: &PlantsArgs) -> bool {
    !args.run.is_empty() || !args.rounds.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

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
    fn only_the_decoy_that_takes_a_liberty_is_spared_what_it_changes() {
        let text = r#"{"id": "t/one", "about": "x", "source": "own", "format": "hermes", "says": "x", "request": {},
            "basis": "fact", "expect": {"argument_deltas_at_least": ["1", 3],
            "tool_calls": [{"name": "f", "arguments": "{}"}]}}"#;
        let (cases, mistakes) = crate::request::case::read_cases("t.json", text);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
        let kept = |name: &str| {
            let entries = entries(&cases, name);
            let expect = entries.into_iter().find_map(|entry| entry.expect).unwrap();
            (expect.argument_deltas_at_least.is_some(), expect.tool_calls.is_some())
        };
        assert_eq!(kept("comments"), (true, true));
        assert_eq!(kept("one-huge-delta"), (false, true));
        assert_eq!(kept("respaced-arguments"), (true, false));
        let named = |name: &str| bundled::plants().iter().any(|plant| plant.name == name);
        assert!(LIBERTIES.iter().all(|(decoy, _)| named(decoy)), "of decoys that are there");
    }

    #[test]
    fn a_decoy_is_met_with_silence() {
        assert_eq!(tried(PlantKind::Decoy, &[], &[]).wrong(), None);
        assert_eq!(tried(PlantKind::Decoy, &[("sse/comment", &["a/1"])], &[]).wrong(), Some(Wrong::Noisy));
    }

    #[test]
    fn a_changed_catcher_is_noticed() {
        let one = matrix::matrix(&[tried(PlantKind::Plant, &[("parity/content", &["a/1"])], &[])]);
        let two = matrix::matrix(&[tried(PlantKind::Plant, &[("parity/finish-reason", &["a/1"])], &[])]);
        assert_eq!(matrix::differs(&one, &one, Path::new("m")), None);
        assert!(matrix::differs(&one, &two, Path::new("m")).unwrap().contains("otherwise of: p"));
        assert!(matrix::differs(&json!({}), &one, Path::new("m")).is_some());
    }
}
