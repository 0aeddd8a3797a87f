//! Many entries side by side, told in one order.
//!
//! In: a [`Job`]. Out: run events and the bytes of what did not pass, through a [`Sink`], in the order of the plan whatever
//! finished first. A run of errors that are all alike stops the run: the server is gone, and each further one says so.

use super::{
    Judged, Verdict,
    ask::ask,
    event::{RunEvent, Upstream},
    judge::{Terms, judge, skipped},
};
use crate::{
    exchange::{Exchange, Sender, clock::Clock},
    plan::{Entry, Planned, Target, exchanges},
};
use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{sync::mpsc, task::JoinSet};

/// Cases in a row without a usable answer, all for the same reason, that stop a run.
pub const MAX_ALIKE: usize = 5;

/// Why a run stopped that the user stopped.
pub const INTERRUPTED: &str = "interrupted";

/// What there is to do, and how.
#[derive(Debug)]
pub struct Job {
    /// Who is asked.
    pub upstream: Upstream,
    /// What is asked.
    pub entries: Vec<Entry>,
    /// Of whom, at which rounds.
    pub target: Target,
    /// Through what.
    pub sender: Sender,
    /// How it is judged.
    pub terms: Terms,
    /// Entries under way at once.
    pub jobs: usize,
    /// How often a busy server is asked again.
    pub retries: u32,
    /// How often an entry that fails is asked again; if it passes once, it is unstable.
    pub again: u32,
    /// Requests at most, retries aside.
    pub max_requests: Option<usize>,
}

/// Where a run tells what happens.
pub trait Sink {
    /// Something happened.
    fn event(&mut self, event: RunEvent);
    /// An entry was asked; its exchanges are dropped after this.
    fn exchanges(&mut self, judged: &Judged, entry: &Entry, exchanges: &[Exchange]);
}

/// An entry that is done.
struct Done {
    index: usize,
    judged: Judged,
    exchanges: Vec<Exchange>,
    retried: usize,
}

/// What workers share.
struct Bench {
    entries: Vec<(Entry, Result<Vec<Planned>, String>)>,
    next: AtomicUsize,
    sender: Sender,
    terms: Terms,
    retries: u32,
    again: u32,
}

/// What is known of the run so far.
#[derive(Default)]
struct Progress {
    sent: usize,
    retried: usize,
    alike: Option<Alike>,
}

/// Errors in a row that say the same.
struct Alike {
    /// What they say, without figures.
    words: String,
    /// How many cases; the variants of a case count once.
    cases: usize,
    /// The last of them.
    last: String,
}

/// Runs a job to its end, to its abortion, or until `stop` is ready.
pub async fn run(job: Job, sink: &mut impl Sink, stop: impl Future<Output = ()>) {
    let clock = Clock::start();
    sink.event(RunEvent::Started { upstream: job.upstream.clone(), planned: job.entries.len() });
    let bench = Arc::new(Bench {
        entries: planned(job.entries, &job.target, job.max_requests),
        next: AtomicUsize::new(0),
        sender: job.sender,
        terms: job.terms,
        retries: job.retries,
        again: job.again,
    });
    let (told, mut heard) = mpsc::channel(job.jobs.max(1));
    let mut workers = JoinSet::new();
    for _ in 0..job.jobs.max(1) {
        workers.spawn(work(Arc::clone(&bench), told.clone()));
    }
    drop(told);
    let mut progress = Progress::default();
    tokio::select! {
        () = stop => sink.event(RunEvent::Aborted(INTERRUPTED.to_owned())),
        aborted = collect(&mut heard, &bench, &mut progress, sink) => {
            if let Some(why) = aborted {
                sink.event(RunEvent::Aborted(why));
            }
        }
    }
    workers.shutdown().await;
    let (exchanges, retried) = (progress.sent, progress.retried);
    sink.event(RunEvent::Finished { seconds: clock.seconds(), exchanges, retried });
}

/// The exchanges of each entry, as long as there are requests left to send.
fn planned(
    entries: Vec<Entry>,
    target: &Target,
    max_requests: Option<usize>,
) -> Vec<(Entry, Result<Vec<Planned>, String>)> {
    let mut left = max_requests.unwrap_or(usize::MAX);
    let each = entries.into_iter().map(|entry| {
        let planned = exchanges(&entry, target).and_then(|all| match left.checked_sub(all.len()) {
            Some(rest) => {
                left = rest;
                Ok(all)
            }
            None => Err("over --max-requests".to_owned()),
        });
        (entry, planned)
    });
    each.collect()
}

async fn work(bench: Arc<Bench>, told: mpsc::Sender<Done>) {
    loop {
        let index = bench.next.fetch_add(1, Ordering::Relaxed);
        let Some((entry, planned)) = bench.entries.get(index) else { return };
        let done = match planned {
            Err(why) => {
                Done { index, judged: skipped(entry, why.clone()), exchanges: Vec::new(), retried: 0 }
            }
            Ok(planned) => {
                let asked = ask(&bench.sender, planned, bench.retries).await;
                let judged = judge(entry, &asked.exchanges, &bench.terms);
                let done = Done { index, judged, exchanges: asked.exchanges, retried: asked.retried };
                bench.again(entry, planned, done).await
            }
        };
        if told.send(done).await.is_err() {
            return;
        }
    }
}

/// Tells what is done in the order of the plan. Says why, where the run should stop.
async fn collect(
    heard: &mut mpsc::Receiver<Done>,
    bench: &Bench,
    progress: &mut Progress,
    sink: &mut impl Sink,
) -> Option<String> {
    let mut early = BTreeMap::new();
    let mut turn = 0;
    while let Some(done) = heard.recv().await {
        early.insert(done.index, done);
        while let Some(done) = early.remove(&turn) {
            turn += 1;
            progress.sent += done.exchanges.len() + done.retried;
            progress.retried += done.retried;
            if let Some((entry, _)) = bench.entries.get(done.index).filter(|_| !done.exchanges.is_empty()) {
                sink.exchanges(&done.judged, entry, &done.exchanges);
            }
            let aborted = progress.note(&done.judged);
            sink.event(RunEvent::Done(Box::new(done.judged)));
            if aborted.is_some() {
                return aborted;
            }
        }
    }
    None
}

// === impl Bench ===

impl Bench {
    /// Asks an entry that fails again. What was found stands, with its bytes; if it is not found each time, the entry is
    /// unstable.
    async fn again(&self, entry: &Entry, planned: &[Planned], mut done: Done) -> Done {
        for attempt in 1..=self.again {
            if !matches!(done.judged.verdict, Verdict::Fail | Verdict::Suspect | Verdict::Error) {
                break;
            }
            let asked = ask(&self.sender, planned, self.retries).await;
            done.retried += asked.exchanges.len() + asked.retried;
            if judge(entry, &asked.exchanges, &self.terms).verdict == Verdict::Pass {
                done.judged.reason = Some(vanished(&done.judged, attempt));
                done.judged.verdict = Verdict::Unstable;
            }
        }
        done
    }
}

/// What was found at first and was not there when asked again.
fn vanished(judged: &Judged, attempt: u32) -> String {
    let found = judged.findings.first().map(|f| format!("{} {}", f.rule, f.path).trim_end().to_owned());
    let what = judged.reason.clone().or(found).unwrap_or_else(|| judged.verdict.name().to_owned());
    let again = if attempt == 1 { "once".to_owned() } else { format!("{attempt} times") };
    format!("{what}; passed when asked again {again}")
}

// === impl Progress ===

impl Progress {
    /// Counts errors that are alike; says why the run should stop once there are too many in a row.
    fn note(&mut self, judged: &Judged) -> Option<String> {
        let why = judged.reason.as_ref().filter(|_| judged.verdict == Verdict::Error);
        let Some(why) = why else {
            // What was never sent says nothing about the server.
            if judged.verdict != Verdict::Skipped {
                self.alike = None;
            }
            return None;
        };
        let words: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        match &mut self.alike {
            Some(alike) if alike.words == words => alike.count(&judged.case),
            other => *other = Some(Alike { words, cases: 1, last: judged.case.clone() }),
        }
        let cases = self.alike.as_ref().map(|a| a.cases).filter(|cases| *cases >= MAX_ALIKE)?;
        Some(format!("{cases} cases in a row without a usable answer, all alike: {why}"))
    }
}

// === impl Alike ===

impl Alike {
    fn count(&mut self, case: &str) {
        if self.last != case {
            self.cases += 1;
            case.clone_into(&mut self.last);
        }
    }
}
