//! Many entries side by side, told in one order.
//!
//! In: a [`Job`]. Out: run events and the bytes of what did not pass, through a [`Sink`], in the order of the plan whatever
//! finished first; large ones at once. A run of errors that are all alike stops the run: the server is gone, and each further one says so.
//!
//! Workers send and receive and do nothing else: what they got is judged beside them, so that a body that takes
//! long to judge holds up nobody's bytes. None runs further ahead of the entry whose turn it is than [`MAX_EARLY`].

use super::{
    Judged, Verdict,
    ask::ask,
    dropped::Refusals,
    event::{RunEvent, Upstream},
    judge::{Terms, judge, skipped},
    judging::Judging,
};
use crate::{
    exchange::{Budget, Exchange, Sender, budget::MAX_FREE, clock::Clock, largest_body},
    plan::{Entry, Planned, Target, exchanges},
};
use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};

/// Cases in a row without a usable answer, all for the same reason, that stop a run.
pub const MAX_ALIKE: usize = 5;

/// Entries that may be under way or wait for their turn to be told, while one before them hangs. Until their turn comes
/// they lie in memory, and those that fail with all their bytes.
pub const MAX_EARLY: usize = 256;

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
    /// Whether the bytes of an entry are wanted once its turn comes; those that are not are let go at once.
    fn wants(&self, judged: &Judged) -> bool;
    /// Keeps the bytes of an entry. Nothing more is told until that is done.
    fn keep(&mut self, entry: &Entry, exchanges: Vec<Exchange>) -> impl Future<Output = ()>;
}

/// An entry that is done.
struct Done {
    index: usize,
    judged: Judged,
    exchanges: Vec<Exchange>,
    /// How many exchanges there were, also once they are let go.
    sent: usize,
    retried: usize,
    /// Given back when it was told.
    _room: OwnedSemaphorePermit,
}

/// Says what became of an entry.
type Judge = Box<dyn Fn(&Entry, &[Exchange]) -> Judged + Send + Sync>;

/// What workers share.
struct Bench {
    /// Each with the reason why it is not asked, if there is one.
    entries: Vec<(Entry, Option<String>)>,
    target: Target,
    next: AtomicUsize,
    sender: Sender,
    /// What all bodies may hold.
    budget: Budget,
    judge: Judge,
    retries: u32,
    again: u32,
    /// Fields that the upstream refuses.
    refusals: Refusals,
    /// One permit for each entry that is under way or waits for its turn.
    room: Arc<Semaphore>,
    judging: Judging,
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
    let (terms, jobs) = (job.terms.clone(), job.jobs.max(1));
    sink.event(RunEvent::Started { upstream: job.upstream.clone(), planned: job.entries.len() });
    let bench = Bench::of(job, Box::new(move |entry, exchanges| judge(entry, exchanges, &terms)));
    work_off(&Arc::new(bench), jobs, sink, stop).await;
}

async fn work_off(bench: &Arc<Bench>, jobs: usize, sink: &mut impl Sink, stop: impl Future<Output = ()>) {
    let clock = Clock::start();
    let (told, mut heard) = mpsc::channel(jobs);
    let mut workers = JoinSet::new();
    for _ in 0..jobs {
        workers.spawn(work(Arc::clone(bench), told.clone()));
    }
    drop(told);
    let mut progress = Progress::default();
    if let Some(why) = collect(&mut heard, bench, &mut progress, sink, stop).await {
        sink.event(RunEvent::Aborted(why));
    }
    workers.shutdown().await;
    let dropped = bench.refusals.all();
    if !dropped.is_empty() {
        sink.event(RunEvent::Dropped(dropped));
    }
    let (exchanges, retried) = (progress.sent, progress.retried);
    sink.event(RunEvent::Finished { seconds: clock.seconds(), exchanges, retried });
}

/// Whether each entry is asked, as long as there are requests left to send. What is sent is planned when it is: the requests
/// of all entries would lie in memory from the start. Only where there is a limit are they counted before.
fn planned(
    entries: Vec<Entry>,
    target: &Target,
    max_requests: Option<usize>,
) -> Vec<(Entry, Option<String>)> {
    let Some(mut left) = max_requests else {
        return entries.into_iter().map(|entry| (entry, None)).collect();
    };
    let each = entries.into_iter().map(|entry| {
        let planned = exchanges(&entry, target).and_then(|all| match left.checked_sub(all.len()) {
            Some(rest) => {
                left = rest;
                Ok(())
            }
            None => Err("over --max-requests".to_owned()),
        });
        (entry, planned.err())
    });
    each.collect()
}

async fn work(bench: Arc<Bench>, told: mpsc::Sender<Done>) {
    loop {
        // Room first: then the entry whose turn it is always has some, and the others get theirs from it.
        let Ok(room) = Arc::clone(&bench.room).acquire_owned().await else { return };
        let index = bench.next.fetch_add(1, Ordering::Relaxed);
        let Some((entry, unasked)) = bench.entries.get(index) else { return };
        let planned = unasked.clone().map_or_else(|| exchanges(entry, &bench.target), Err);
        let (judged, exchanges, retried) = match planned {
            Err(why) => (skipped(entry, why), Vec::new(), 0),
            Ok(planned) => bench.answer(entry, &planned).await,
        };
        let done = Done { index, judged, sent: exchanges.len(), exchanges, retried, _room: room };
        if told.send(done).await.is_err() {
            return;
        }
    }
}

/// Tells what is done in the order of the plan. Says why, where the run should stop: then all that is done was told, also
/// what waited for an entry before it that is not.
async fn collect(
    heard: &mut mpsc::Receiver<Done>,
    bench: &Bench,
    progress: &mut Progress,
    sink: &mut impl Sink,
    stop: impl Future<Output = ()>,
) -> Option<String> {
    let mut stop = pin!(stop);
    let mut early = BTreeMap::new();
    let mut turn = 0;
    let mut aborted = None;
    // Nothing but the wait is given up: what is being kept is told too.
    while let Some(mut done) = next(heard, &mut aborted, stop.as_mut()).await {
        if !sink.wants(&done.judged) {
            done.exchanges = Vec::new();
        } else if done.index != turn
            && done.exchanges.iter().map(Exchange::received).sum::<usize>() > MAX_FREE
        {
            // An earlier entry may wait for the room that these take.
            let exchanges = std::mem::take(&mut done.exchanges);
            if let Some((entry, _)) = bench.entries.get(done.index) {
                sink.keep(entry, exchanges).await;
            }
        }
        early.insert(done.index, done);
        while let Some(done) = early.remove(&turn) {
            turn += 1;
            let why = tell(done, bench, progress, sink).await;
            aborted = aborted.or(why);
        }
    }
    for done in early.into_values() {
        tell(done, bench, progress, sink).await;
    }
    aborted
}

/// What is done next; once the run stops, only what is done already.
async fn next(
    heard: &mut mpsc::Receiver<Done>,
    aborted: &mut Option<String>,
    stop: impl Future<Output = ()>,
) -> Option<Done> {
    if aborted.is_none() {
        tokio::select! {
            biased;
            () = stop => *aborted = Some(INTERRUPTED.to_owned()),
            done = heard.recv() => return done,
        }
    }
    heard.close(); // whoever has not told by now is late
    heard.recv().await
}

/// Tells one entry. Says why, where the run should stop.
async fn tell(done: Done, bench: &Bench, progress: &mut Progress, sink: &mut impl Sink) -> Option<String> {
    progress.sent += done.sent + done.retried;
    progress.retried += done.retried;
    if let Some((entry, _)) = bench.entries.get(done.index).filter(|_| !done.exchanges.is_empty()) {
        sink.keep(entry, done.exchanges).await;
    }
    let aborted = progress.note(&done.judged);
    sink.event(RunEvent::Done(Box::new(done.judged)));
    aborted
}

// === impl Bench ===

impl Bench {
    fn of(job: Job, judge: Judge) -> Self {
        Self {
            entries: planned(job.entries, &job.target, job.max_requests),
            target: job.target,
            next: AtomicUsize::new(0),
            sender: job.sender,
            budget: Budget::of_run(),
            judge,
            retries: job.retries,
            again: job.again,
            refusals: Refusals::default(),
            room: Arc::new(Semaphore::new(MAX_EARLY.max(job.jobs))),
            judging: Judging::start(),
        }
    }

    /// Asks an entry, and again where it fails. What was found stands, with its bytes; if it is not found each time, the
    /// entry is unstable. Gives the exchanges that were judged and the number of further ones.
    async fn answer(self: &Arc<Self>, entry: &Entry, planned: &[Planned]) -> (Judged, Vec<Exchange>, usize) {
        let sender = self.sender.within(self.budget.of_case());
        let asked = ask(&sender, entry, planned, self.retries, &self.refusals).await;
        let mut retried = asked.retried;
        let (mut judged, exchanges) = self.judged(entry, asked.exchanges).await;
        for attempt in 1..=self.again {
            if !matches!(judged.verdict, Verdict::Fail | Verdict::Suspect | Verdict::Error) {
                break;
            }
            let asked = ask(&sender, entry, planned, self.retries, &self.refusals).await;
            retried += asked.exchanges.len() + asked.retried;
            if self.judged(entry, asked.exchanges).await.0.verdict == Verdict::Pass {
                judged.reason = Some(vanished(&judged, attempt));
                judged.verdict = Verdict::Unstable;
            }
        }
        (judged, exchanges, retried)
    }

    /// Judges beside the workers.
    async fn judged(self: &Arc<Self>, entry: &Entry, exchanges: Vec<Exchange>) -> (Judged, Vec<Exchange>) {
        let largest = largest_body(&exchanges);
        let exchanges = Arc::new(exchanges);
        let (bench, asked, seen) = (Arc::clone(self), entry.clone(), Arc::clone(&exchanges));
        let judged = self.judging.call(largest, move || (bench.judge)(&asked, &seen)).await;
        // A fault of ours, and the bytes that show it are worth keeping.
        let broken = || {
            let why = "judging it broke: a fault of tfproxy".to_owned();
            Judged { verdict: Verdict::Error, ..skipped(entry, why) }
        };
        (judged.unwrap_or_else(broken), Arc::unwrap_or_clone(exchanges))
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

#[cfg(test)]
mod tests;
