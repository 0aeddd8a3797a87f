//! What workers do side by side, against servers that answer when they are told to.

use super::*;
use crate::{
    exchange::{Credentials, Limits},
    plan::{Cadence, Model},
    request::Dialect,
    rules::Profile,
    run::upstream::Kind,
};
use serde_json::Map;
use std::{sync::Mutex, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// How long a test waits for what has to happen before it says that it does not.
const PATIENCE: Duration = Duration::from_secs(30);

/// Exchanges of one entry: whole, streamed, streamed, whole.
const EACH: usize = 4;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// What a run told: ids in their order, kept ids with their number of exchanges, and the rest in words.
#[derive(Default)]
struct Heard {
    done: Vec<(String, Verdict)>,
    kept: Vec<(String, usize)>,
    aborted: Option<String>,
    sent: usize,
}

impl Sink for Heard {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Done(judged) => self.done.push((judged.id, judged.verdict)),
            RunEvent::Aborted(why) => self.aborted = Some(why),
            RunEvent::Finished { exchanges, .. } => self.sent = exchanges,
            RunEvent::Started { .. } | RunEvent::Dropped(_) => {}
        }
    }

    fn wants(&self, judged: &Judged) -> bool {
        judged.verdict != Verdict::Pass
    }

    async fn keep(&mut self, entry: &Entry, exchanges: Vec<Exchange>) {
        self.kept.push((entry.id.clone(), exchanges.len()));
    }
}

fn id(index: usize) -> String {
    format!("a/{index}")
}

/// So many entries for a server; only as many requests as are allowed.
fn bench(listener: &TcpListener, entries: usize, max_requests: Option<usize>, judge: Judge) -> Arc<Bench> {
    let root = format!("http://{}", listener.local_addr().unwrap());
    let sender = Sender::new(root.parse().unwrap(), Credentials::default(), Limits::of(PATIENCE)).unwrap();
    let entry = |index| Entry::of_request(&id(index), Dialect::OpenaiChat, Map::new());
    let job = Job {
        upstream: Upstream::default(),
        entries: (0..entries).map(entry).collect(),
        target: Target {
            model: Model::Named("m".to_owned()),
            cadence: Cadence::Server,
            plant: None,
            fields: Vec::new(),
            repeat: 1,
        },
        sender,
        terms: Terms {
            profile: Profile::openai(),
            kind: Kind::Foreign,
            puppet: crate::run::judge::Puppet::None,
            repeat: String::new(),
        },
        jobs: 2,
        retries: 0,
        again: 0,
        max_requests,
    };
    Arc::new(Bench::of(job, judge))
}

fn verdict(entry: &Entry, verdict: Verdict) -> Judged {
    Judged { verdict, ..skipped(entry, "as told".to_owned()) }
}

/// Answers every request, each once `ready` says so.
async fn serve<F: Future<Output = ()>>(listener: TcpListener, ready: impl Fn() -> F) {
    loop {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        _ = socket.read(&mut request).await.unwrap();
        ready().await;
        _ = socket.write_all(ANSWER).await;
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// One thread for all that is no judging: whatever held it would hold everybody.
#[tokio::test]
async fn judging_holds_nobody_up() {
    let listener = listener().await;
    // The first that is judged is not done before every request of all three entries was received. The third is asked
    // by a worker that has one of the first two behind it.
    let (seen, all) = std::sync::mpsc::channel();
    let first = Mutex::new(Some(all));
    let judge = move |entry: &Entry, _: &[Exchange]| {
        let first = first.lock().unwrap().take();
        let is_all = first.is_none_or(|all| (0..3 * EACH).all(|_| all.recv_timeout(PATIENCE).is_ok()));
        verdict(entry, if is_all { Verdict::Pass } else { Verdict::Fail })
    };
    let bench = bench(&listener, 3, None, Box::new(judge));
    let server = tokio::spawn(serve(listener, move || {
        _ = seen.send(());
        async {}
    }));
    let mut heard = Heard::default();
    work_off(&bench, 2, &mut heard, std::future::pending()).await;
    server.abort();
    assert_eq!(heard.done, [0, 1, 2].map(|index| (id(index), Verdict::Pass)));
    assert_eq!((heard.sent, heard.kept), (3 * EACH, Vec::new()), "and what passed is not kept");
}

#[tokio::test]
async fn workers_do_not_run_further_ahead_than_there_is_room() {
    let listener = listener().await;
    let count = 2 * MAX_EARLY + 10;
    // Only the first is asked, the others are over the number of requests and done at once.
    let bench = bench(&listener, count, Some(EACH), Box::new(|entry, _| verdict(entry, Verdict::Pass)));
    let taken = {
        let bench = Arc::clone(&bench);
        move || bench.next.load(Ordering::Relaxed)
    };
    let most = Arc::new(AtomicUsize::new(0));
    let server = tokio::spawn(serve(listener, {
        let (taken, most) = (taken.clone(), Arc::clone(&most));
        move || {
            let (taken, most) = (taken.clone(), Arc::clone(&most));
            async move {
                // Everybody else has a turn as often as this has: in the end all wait for the first.
                for _ in 0..20 * count {
                    tokio::task::yield_now().await;
                }
                most.fetch_max(taken(), Ordering::Relaxed);
            }
        }
    }));
    let mut heard = Heard::default();
    work_off(&bench, 2, &mut heard, std::future::pending()).await;
    server.abort();
    assert_eq!(most.load(Ordering::Relaxed), MAX_EARLY);
    let ids: Vec<String> = heard.done.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (0..count).map(id).collect::<Vec<_>>(), "each told, in its turn");
}

#[tokio::test]
async fn an_entry_whose_judging_breaks_is_told_and_kept() {
    let listener = listener().await;
    let judge = |entry: &Entry, _: &[Exchange]| {
        assert_ne!(entry.id, id(1), "breaks here, on purpose");
        verdict(entry, Verdict::Pass)
    };
    let bench = bench(&listener, 3, None, Box::new(judge));
    let server = tokio::spawn(serve(listener, || async {}));
    let mut heard = Heard::default();
    work_off(&bench, 2, &mut heard, std::future::pending()).await;
    server.abort();
    let expect = [Verdict::Pass, Verdict::Error, Verdict::Pass];
    assert_eq!(heard.done, [0, 1, 2].map(|index| (id(index), expect[index])));
    assert_eq!(heard.kept, [(id(1), EACH)]);
}

/// Every entry but one of the first two is done when the user stops the run; that one hangs.
#[tokio::test]
async fn what_is_done_behind_one_that_hangs_is_told_and_kept_when_the_run_is_stopped() {
    let listener = listener().await;
    let count = 10;
    let judge = |entry: &Entry, _: &[Exchange]| {
        verdict(entry, if entry.id == id(3) { Verdict::Fail } else { Verdict::Pass })
    };
    let bench = bench(&listener, count, None, Box::new(judge));
    let first = AtomicUsize::new(0);
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let hangs = first.fetch_add(1, Ordering::Relaxed) == 0;
            tokio::spawn(async move {
                let mut request = [0; 4096];
                _ = socket.read(&mut request).await.unwrap();
                if hangs {
                    std::future::pending::<()>().await;
                }
                _ = socket.write_all(ANSWER).await;
            });
        }
    });
    let stop = async {
        // A worker that finds nothing more has told all that it did.
        while bench.next.load(Ordering::Relaxed) <= count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut heard = Heard::default();
    tokio::time::timeout(PATIENCE, work_off(&bench, 2, &mut heard, stop)).await.unwrap();
    server.abort();
    assert_eq!(heard.aborted.as_deref(), Some(INTERRUPTED));
    let ids: Vec<String> = heard.done.iter().map(|(id, _)| id.clone()).collect();
    let hanging = (0..count).map(id).find(|id| !ids.contains(id)).expect("one hangs");
    assert_eq!(ids, (0..count).map(id).filter(|id| *id != hanging).collect::<Vec<_>>(), "in their order");
    assert_eq!(heard.kept, [(id(3), EACH)]);
    assert_eq!(heard.sent, (count - 1) * EACH);
}

/// The first entries fail alike; what was done when that was enough is told all the same, and nobody asks further.
#[tokio::test]
async fn what_is_done_when_errors_that_are_alike_stop_a_run_is_told() {
    let listener = listener().await;
    let count = 4 * MAX_EARLY;
    let judge = |entry: &Entry, _: &[Exchange]| verdict(entry, Verdict::Error);
    let bench = bench(&listener, count, None, Box::new(judge));
    // Answered one after the other, so that many more entries are left to ask.
    let server = tokio::spawn(serve(listener, || async {}));
    let mut heard = Heard::default();
    work_off(&bench, 2, &mut heard, std::future::pending()).await;
    server.abort();
    let told = heard.done.len();
    assert!(heard.aborted.is_some() && (MAX_ALIKE..count / 2).contains(&told), "{told}");
    let ids: Vec<String> = heard.done.into_iter().map(|(id, _)| id).collect();
    assert!(ids.is_sorted_by_key(|id| id.split('/').nth(1).unwrap().parse::<usize>().unwrap()), "{ids:?}");
    assert_eq!(heard.kept.len(), told, "each with its bytes");
}
