//! Replay: recordings are found, sent again as they were, and judged: fixed, still failing, cannot.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tfproxy::{
    exchange::{End, Exchange, Head, Root, Slice, Took},
    finding::Finding,
    mode::{
        proxy::{Running, Wiring},
        replay::{Options, replay},
    },
    plan::Rounds,
    request::{Dialect, Mode, Request},
    rules::Severity,
    run::{Expected, FailOn, Judged, Verdict},
    serve::Ask,
    store::{self, Recording, redact::REDACTED},
};

/// What the server says today.
#[derive(Clone)]
enum Today {
    Says(&'static str),
    Status(u16),
    Refuses,
}

struct Stage {
    folder: TempDir,
    today: Today,
    upstream: Option<&'static str>,
    given: &'static [&'static str],
    asks: Arc<Mutex<Vec<(String, Ask)>>>,
}

fn stage(today: Today) -> Stage {
    Stage { folder: tempfile::tempdir().unwrap(), today, upstream: None, given: &[], asks: Arc::default() }
}

fn request(stream: bool) -> Request {
    Request {
        dialect: Dialect::OpenaiChat,
        path: "/v1/chat/completions".to_owned(),
        headers: vec![("x-a".to_owned(), "b".to_owned()), ("authorization".to_owned(), REDACTED.to_owned())],
        body: json!({ "model": "m", "stream": stream }).to_string().into(),
    }
}

fn exchange(mode: Mode, rounds: Option<Rounds>, body: &'static str) -> Exchange {
    Exchange {
        mode,
        rounds,
        request: request(mode == Mode::Stream),
        head: Some(Head { status: 200, headers: Vec::new() }),
        slices: vec![Slice { at: 0, bytes: Bytes::from_static(body.as_bytes()) }],
        end: End::Complete,
        took: Took::default(),
    }
}

fn recording(id: &str, upstream: Option<&str>, stream: &'static str) -> Recording {
    Recording {
        id: id.to_owned(),
        upstream: upstream.map(ToOwned::to_owned),
        request: request(false),
        exchanges: vec![
            exchange(Mode::Whole, None, "good"),
            exchange(Mode::Stream, Some(Rounds::Every(3)), stream),
        ],
        case: Some(json!({ "id": id })),
    }
}

/// A body of `wrong` is a finding; of `busy` no verdict; `suspect` a difference without proof.
fn judge(request: &Request, exchanges: &[Exchange], case: Option<&Value>) -> Judged {
    assert!(case.is_some(), "what was expected goes with it");
    let says = |word: &str| exchanges.iter().any(|e| e.body() == word);
    let finding = |rule: &str, path: &str| Finding {
        rule: rule.to_owned(),
        severity: Severity::Error,
        rounds: vec!["3".to_owned()],
        path: path.to_owned(),
        whole: Some("good".to_owned()),
        stream: Some("wr\x1bong".to_owned()),
        kind: None,
        because_of: None,
        event: None,
        span: None,
        at: None,
        diff: None,
        repeat: String::new(),
        side: tfproxy::finding::Side::Stream,
        clients: Vec::new(),
        known: None,
    };
    let found = [
        says("wrong").then(|| finding("parity/tool-arguments", "tool_calls[0].arguments")),
        says("wrong elsewhere").then(|| finding("parity/tool-arguments", "tool_calls[2].arguments")),
        says("other").then(|| finding("parity/content", "content")),
        says("suspect").then(|| finding("parity/content", "content")),
    ];
    let findings: Vec<_> = found.into_iter().flatten().collect();
    let verdict = match findings.len() {
        _ if says("busy") => Verdict::Inconclusive,
        _ if says("suspect") => Verdict::Suspect,
        0 => Verdict::Pass,
        _ => Verdict::Fail,
    };
    Judged {
        id: String::new(),
        case: String::new(),
        about: String::new(),
        dialect: request.dialect,
        format: None,
        says: None,
        verdict,
        reason: says("busy").then(|| "429".to_owned()),
        expected: Expected::None,
        exchanges: Vec::new(),
        reply: Value::Null,
        findings,
        tokens: tfproxy::run::Tokens::default(),
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }
}

impl Stage {
    fn wiring(&self) -> Wiring {
        let (today, asks) = (self.today.clone(), self.asks.clone());
        Wiring {
            judge: Arc::new(judge),
            twin: Arc::new(|_, _| None),
            clock: Arc::new(|| 0),
            connect: Arc::new(move |upstream| {
                let (today, asks, url) = (today.clone(), asks.clone(), upstream.at(""));
                Ok(Arc::new(move |ask: Ask| {
                    asks.lock().unwrap().push((url.clone(), ask.clone()));
                    let today = today.clone();
                    Box::pin(async move { answer(&today, ask) })
                }))
            }),
            bundled: Arc::new(|| {
                let root = "http://127.0.0.1:9".parse::<Root>().unwrap().called("bundled");
                let running = Running { root, keep: Box::new(()) };
                Box::pin(async { Ok(running) })
            }),
        }
    }

    fn keep(&self, place: &str, recording: &Recording) {
        store::write(&self.folder.path().join(place), recording).unwrap();
    }

    async fn replay(&self, names: &[&str]) -> (u8, String) {
        let options = Options {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            report: self.folder.path().join("report"),
            recorded: self.folder.path().join("recorded"),
            upstream: self.upstream.map(|url| url.parse().unwrap()),
            given: self.given.iter().map(|name| (*name).to_owned()).collect(),
            fail_on: FailOn::Error,
        };
        let mut out = Vec::new();
        let status = replay(&options, &self.wiring(), &mut out).await.unwrap();
        (status, String::from_utf8(out).unwrap())
    }
}

fn answer(today: &Today, ask: Ask) -> Exchange {
    let says = |body| exchange(ask.mode, ask.rounds, body);
    let mut exchange = match today {
        Today::Says(body) => says(if ask.mode == Mode::Whole { "good" } else { body }),
        Today::Status(status) => {
            Exchange { head: Some(Head { status: *status, headers: Vec::new() }), ..says("") }
        }
        Today::Refuses => {
            Exchange { head: None, slices: Vec::new(), end: End::Refused("no route".to_owned()), ..says("") }
        }
    };
    exchange.request = ask.request;
    exchange
}

async fn check(recorded: &'static str, today: Today, status: u8, expect: &[&str]) {
    let stage = stage(today);
    stage.keep("report/failed", &recording("glm/a", Some("http://h:1"), recorded));
    let (got, text) = stage.replay(&["glm/a"]).await;
    assert_eq!(got, status, "{text}");
    for part in expect {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains('\x1b'), "{text}");
}

#[tokio::test]
async fn fixed() {
    check("wrong", Today::Says("good"), 0, &["fixed          glm/a  none of 1 findings remains"]).await;
    check("good", Today::Says("good"), 0, &["fixed          glm/a  nothing was wrong when recorded"]).await;
}

#[tokio::test]
async fn still_failing_says_what_remains_and_what_is_new() {
    let same = [
        "still failing  glm/a",
        "error parity/tool-arguments  tool_calls[0].arguments  rounds 3\n",
        "wr\\u{1b}ong",
    ];
    check("wrong", Today::Says("wrong"), 1, &same).await;
    check("wrong", Today::Says("wrong elsewhere"), 1, &["tool_calls[2].arguments  rounds 3\n"]).await;
    check("wrong", Today::Says("other"), 1, &["still failing", "parity/content  content  rounds 3  (new)"])
        .await;
}

#[tokio::test]
async fn cannot_says_why() {
    check("wrong", Today::Refuses, 3, &["cannot         glm/a  http://h:1: unreachable: no route"]).await;
    check("wrong", Today::Status(401), 3, &["it wants a key (status 401)"]).await;
    check(
        "wrong",
        Today::Status(400),
        3,
        &["cannot         glm/a  every request is refused now: status 400"],
    )
    .await;
    check("wrong", Today::Says("busy"), 3, &["cannot         glm/a  inconclusive: 429"]).await;
}

#[tokio::test]
async fn a_difference_without_proof_fails_nothing() {
    check("good", Today::Says("suspect"), 0, &["fixed"]).await;
    check("wrong", Today::Says("suspect"), 0, &["fixed"]).await;
    // The same difference as before is none that was mended.
    check("suspect", Today::Says("suspect"), 1, &["still failing", "parity/content"]).await;
}

#[tokio::test]
async fn what_was_sent_is_sent_again() {
    let stage = stage(Today::Says("good"));
    let recording = recording("glm/a", Some("http://h:1/v1"), "wrong");
    stage.keep("report/failed", &recording);
    stage.replay(&["glm/a"]).await;
    let asks = stage.asks.lock().unwrap();
    let sent: Vec<_> = asks.iter().map(|(_, ask)| (ask.mode, ask.rounds, ask.request.body.clone())).collect();
    let recorded: Vec<_> =
        recording.exchanges.iter().map(|e| (e.mode, e.rounds, e.request.body.clone())).collect();
    assert_eq!(sent, recorded);
    for (url, ask) in &*asks {
        assert_eq!(ask.request.headers, [("x-a".to_owned(), "b".to_owned())], "nothing redacted is sent");
        assert_eq!(url, "http://h:1");
    }
}

#[tokio::test]
async fn what_is_sent_without_its_secrets_says_so() {
    let said = "sent without authorization: secrets are not kept";
    for (upstream, given, is_told) in [
        ("http://h:1", &[][..], true),
        ("http://h:1", &["x-other"], true),
        ("http://h:1", &["authorization"], false),
        ("bundled", &[], false),
    ] {
        let stage = Stage { given, ..stage(Today::Says("good")) };
        stage.keep("report/failed", &recording("glm/a", Some(upstream), "wrong"));
        let (status, text) = stage.replay(&["glm/a"]).await;
        assert_eq!((status, text.contains(said)), (0, is_told), "{text}");
    }
}

#[tokio::test]
async fn a_header_that_is_given_stands_for_the_recorded_one() {
    let stage = Stage { given: &["x-a"], ..stage(Today::Says("good")) };
    stage.keep("report/failed", &recording("glm/a", Some("http://h:1"), "wrong"));
    stage.replay(&["glm/a"]).await;
    assert!(stage.asks.lock().unwrap().iter().all(|(_, ask)| ask.request.headers.is_empty()));
}

#[tokio::test]
async fn where_it_goes() {
    for (recorded, named, expect) in [
        (Some("http://h:1"), None, Some("http://h:1")),
        (Some("http://h:1"), Some("http://other"), Some("http://other")),
        (Some("bundled"), None, Some("http://127.0.0.1:9")),
        (None, Some("http://other"), Some("http://other")),
        (None, None, None),
    ] {
        let stage = Stage { upstream: named, ..stage(Today::Says("good")) };
        stage.keep("report/failed", &recording("glm/a", recorded, "wrong"));
        let (status, text) = stage.replay(&["glm/a"]).await;
        let asks = stage.asks.lock().unwrap();
        assert_eq!(asks.first().map(|(url, _)| url.as_str()), expect);
        assert_eq!(status, if expect.is_some() { 0 } else { 3 }, "{text}");
        assert_eq!(text.contains("does not say where it was sent"), expect.is_none());
    }
}

#[tokio::test]
async fn recordings_are_found_by_id_by_folder_and_by_path() {
    let stage = stage(Today::Says("good"));
    stage.keep("report/failed", &recording("glm/a", Some("http://h:1"), "wrong"));
    stage.keep("recorded", &recording("live/x-1", Some("http://h:1"), "wrong"));
    stage.keep("elsewhere", &recording("a b", Some("http://h:1"), "wrong"));
    let folder = stage.folder.path().join("elsewhere").join(store::folder_name("a b"));
    let file = folder.join("request.json");
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    for name in ["glm/a", "glm-a", "live/x-1", "live-x-1", &name(&folder), &name(&file)] {
        let (status, text) = stage.replay(&[name]).await;
        assert!(status == 0 && text.starts_with("fixed"), "{name}: {text}");
    }
    for name in ["glm/b", "..", ".", "", "../../etc"] {
        let (status, text) = stage.replay(&[name]).await;
        assert!(status == 2 && text.starts_with("error: "), "{name}: {text}");
    }
}

#[tokio::test]
async fn the_worst_of_several_is_the_status() {
    let stage = stage(Today::Says("wrong"));
    stage.keep("report/failed", &recording("glm/a", Some("http://h:1"), "wrong"));
    stage.keep("report/failed", &recording("glm/b", None, "wrong"));
    for (names, expect) in [
        (&["glm/a"][..], 1),
        (&["glm/a", "glm/b"], 3),
        (&["glm/b", "glm/a"], 3),
        (&["glm/b", "glm/a", "none"], 2),
        (&[], 0),
    ] {
        assert_eq!(stage.replay(names).await.0, expect, "{names:?}");
    }
}

#[tokio::test]
async fn folders_that_a_stopped_writer_left_do_not_fail_the_others() {
    let stage = stage(Today::Says("good"));
    stage.keep("recorded", &recording("live/x-1", Some("http://h:1"), "wrong"));
    let empty = stage.folder.path().join("recorded/live-x-2");
    std::fs::create_dir(&empty).unwrap();
    for empty in ["live/x-2", empty.to_str().unwrap()] {
        let (status, text) = stage.replay(&[empty, "live/x-1"]).await;
        assert!(status == 0 && text.starts_with("1 folder holds no exchange: skipped\nfixed "), "{text}");
        let (status, text) = stage.replay(&[empty]).await;
        assert!(status == 2 && text.contains("holds no recording"), "{text}");
    }
    assert_eq!(stage.replay(&["live/x-1", "live/x-3"]).await.0, 2, "what is not there is a mistake");
}

#[tokio::test]
async fn a_key_in_the_path_was_not_kept() {
    let stage = stage(Today::Says("good"));
    let mut recording = recording("glm/a", Some("http://h:1"), "wrong");
    recording.exchanges.iter_mut().for_each(|e| e.request.path = "/v1/chat/completions?key=k".to_owned());
    stage.keep("report/failed", &recording);
    let (status, text) = stage.replay(&["glm/a"]).await;
    assert!(status == 3 && text.contains("its path held a key"), "{text}");
    assert!(stage.asks.lock().unwrap().is_empty());
}
