//! Rejudge: recordings and pairs of files become exchanges without any network, and the status follows the verdict.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tfproxy::{
    decode::Span,
    exchange::{End, Exchange},
    finding::Finding,
    mode::rejudge::{Pair, Source, rejudge},
    request::{Mode, Request},
    rules::Severity,
    run::{Expected, FailOn, Judged, Verdict},
    serve::Judge,
    store::{self, Recording},
};

/// Exchanges, and what was expected of them.
type Heard = (Vec<Exchange>, Option<Value>);

type Given = Arc<Mutex<Vec<Vec<Exchange>>>>;

fn judge(verdict: Verdict, severity: Option<Severity>) -> (Judge, Given) {
    let given: Given = Arc::default();
    let seen = given.clone();
    let judge = move |request: &Request, exchanges: &[Exchange], _: Option<&Value>| {
        seen.lock().unwrap().push(exchanges.to_vec());
        judged(request, verdict, severity)
    };
    (Arc::new(judge), given)
}

fn judged(request: &Request, verdict: Verdict, severity: Option<Severity>) -> Judged {
    let finding = severity.map(|severity| Finding {
        rule: "parity/content".to_owned(),
        severity,
        rounds: Vec::new(),
        path: "content".to_owned(),
        whole: Some("a".to_owned()),
        stream: Some("b\n".to_owned()),
        kind: None,
        because_of: Some("parity/finish finish".to_owned()),
        event: Some(3),
        span: Some(Span { start: 5, end: 9 }),
        at: Some(1_234),
        diff: Some("- a\n+ b\x07".to_owned()),
        repeat: String::new(),
        side: tfproxy::finding::Side::Stream,
        clients: Vec::new(),
        known: None,
    });
    Judged {
        id: String::new(),
        case: String::new(),
        about: String::new(),
        dialect: request.dialect,
        format: None,
        says: None,
        verdict,
        reason: Some("no token evidence".to_owned()),
        expected: Expected::None,
        exchanges: Vec::new(),
        reply: Value::Null,
        findings: finding.into_iter().collect(),
        tokens: tfproxy::run::Tokens::default(),
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }
}

fn run(source: &Source, judge: &Judge, fail_on: FailOn) -> (u8, String) {
    let mut out = Vec::new();
    let status = rejudge(source, judge, fail_on, &mut out).unwrap();
    (status, String::from_utf8(out).unwrap())
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn pair(folder: &TempDir) -> Pair {
    Pair {
        request: put(folder, "r.json", br#"{"model": "m", "messages": []}"#),
        whole: Some(put(folder, "w.json", br#"{"choices":[]}"#)),
        streams: vec![
            put(folder, "s.sse", b"data: {\"usage\":{}}\r\n\r\n\xff"),
            put(folder, "t.sse", b" {\"error\":{\"code\":503}}"),
        ],
    }
}

#[test]
fn a_pair_becomes_exchanges() {
    let folder = tempfile::tempdir().unwrap();
    let (judge, given) = judge(Verdict::Pass, None);
    assert_eq!(run(&Source::Pair(pair(&folder)), &judge, FailOn::Error).0, 0);
    let given = given.lock().unwrap();
    let [whole, stream, refused] = &given[0][..] else { panic!("{given:?}") };
    assert_eq!((whole.mode, stream.mode, refused.mode), (Mode::Whole, Mode::Stream, Mode::Stream));
    assert_eq!((whole.status(), stream.status(), refused.status()), (Some(200), Some(200), Some(503)));
    assert_eq!(stream.body(), b"data: {\"usage\":{}}\r\n\r\n\xff"[..]);
    assert!(given[0].iter().all(|e| e.end == End::Complete));
    let media = |e: &Exchange| e.head.as_ref().unwrap().media_type();
    assert_eq!(
        [whole, stream, refused].map(media),
        ["application/json", "text/event-stream", "application/json"]
    );
    assert!(!whole.request.asked().stream && stream.request.asked().include_usage);
    assert!(refused.request.asked().stream && !refused.request.asked().include_usage);
}

#[test]
fn the_status_follows_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Pair(pair(&folder));
    let (error, warn) = (Some(Severity::Error), Some(Severity::Warn));
    for (verdict, severity, fail_on, expect) in [
        (Verdict::Pass, None, FailOn::Suspect, 0),
        (Verdict::Pass, Some(Severity::Info), FailOn::Suspect, 0),
        (Verdict::Fail, error, FailOn::Error, 1),
        (Verdict::Pass, warn, FailOn::Error, 0),
        (Verdict::Pass, warn, FailOn::Warn, 1),
        (Verdict::Suspect, error, FailOn::Error, 0),
        (Verdict::Suspect, error, FailOn::Warn, 0),
        (Verdict::Suspect, error, FailOn::Suspect, 1),
        (Verdict::Unstable, error, FailOn::Suspect, 1),
        (Verdict::Error, None, FailOn::Error, 1),
        (Verdict::Error, warn, FailOn::Error, 1),
        (Verdict::Skipped, None, FailOn::Suspect, 0),
        (Verdict::Inconclusive, error, FailOn::Warn, 0),
    ] {
        let (judge, _) = judge(verdict, severity);
        assert_eq!(run(&source, &judge, fail_on).0, expect, "{verdict:?} {severity:?} {fail_on:?}");
    }
}

#[test]
fn findings_are_printed_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Pair(pair(&folder));
    let (judge, _) = judge(Verdict::Suspect, Some(Severity::Error));
    let (_, text) = run(&source, &judge, FailOn::Error);
    let expect = format!(
        "suspect       {}  no token evidence\n  error parity/content  content\n        whole   a\n        stream  b\\n\n\
         \x20       follows from parity/finish finish\n        event 3  bytes 5..9  at 1.234 ms\n        | - a\n        | + b\\u{{7}}\n",
        folder.path().join("r.json").display()
    );
    assert_eq!(text, expect);
}

#[test]
fn recordings_are_judged_by_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let (passing, given) = judge(Verdict::Pass, None);
    run(&Source::Pair(pair(&folder)), &passing, FailOn::Error);
    let exchanges = given.lock().unwrap()[0].clone();
    let recording = Recording {
        id: "glm/a".to_owned(),
        upstream: None,
        request: exchanges[0].request.clone(),
        exchanges: exchanges.clone(),
        case: Some(json!({ "id": "glm/a" })),
    };
    let kept = store::write(folder.path(), &recording).unwrap();
    let seen: Arc<Mutex<Vec<Heard>>> = Arc::default();
    let inner = seen.clone();
    let judge: Judge = Arc::new(move |request, exchanges, case| {
        inner.lock().unwrap().push((exchanges.to_vec(), case.cloned()));
        judged(request, Verdict::Fail, Some(Severity::Error))
    });
    let (status, text) = run(&Source::Recordings(vec![kept]), &judge, FailOn::Error);
    assert!(status == 1 && text.starts_with("fail          glm/a"), "{text}");
    assert_eq!(*seen.lock().unwrap(), [(exchanges, Some(json!({ "id": "glm/a" })))]);
}

#[test]
fn folders_that_a_stopped_writer_left_do_not_fail_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (judge, given) = judge(Verdict::Pass, None);
    run(&Source::Pair(pair(&folder)), &judge, FailOn::Error);
    let exchanges = given.lock().unwrap()[0].clone();
    let request = exchanges[0].request.clone();
    let recording = Recording { id: "x/1".to_owned(), upstream: None, request, exchanges, case: None };
    let kept = store::write(folder.path(), &recording).unwrap();
    let begun = folder.path().join("x-2");
    let half = folder.path().join(".x-1.new");
    for (path, file) in [(&begun, "request.json.tmp"), (&half, "request.json")] {
        fs::create_dir(path).unwrap();
        fs::copy(kept.join("request.json"), path.join(file)).unwrap();
    }
    fs::write(half.join("whole.json"), "{").unwrap();
    let empty = folder.path().join("x-3");
    fs::create_dir(&empty).unwrap();
    let judged = |folders: &[&PathBuf]| {
        let folders = folders.iter().copied().cloned().collect();
        run(&Source::Recordings(folders), &judge, FailOn::Error)
    };
    let (status, text) = judged(&[&empty, &kept, &begun, &half]);
    assert_eq!(
        (status, &*text),
        (0, "3 folders hold no exchange: skipped\npass          x/1  no token evidence\n")
    );
    let (status, text) = judged(&[&kept, &empty]);
    assert_eq!(
        (status, &*text),
        (0, "1 folder holds no exchange: skipped\npass          x/1  no token evidence\n")
    );
    for folders in [&[&empty][..], &[&empty, &begun]] {
        let (status, text) = judged(folders);
        assert!(status == 2 && text.matches("holds no recording").count() == folders.len(), "{text}");
    }
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("notes.txt"), "").unwrap();
    assert_eq!(judged(&[&kept, &other]).0, 2, "what is no folder of ours is a mistake of the caller");
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let good = pair(&folder);
    let missing = || folder.path().join("missing");
    let list = put(&folder, "list.json", b"[1]");
    let cut = put(&folder, "cut.json", b"{\"model\": ");
    let check = |source: Source, name: &str| {
        let (judge, given) = judge(Verdict::Pass, None);
        let (status, text) = run(&source, &judge, FailOn::Error);
        assert!(status == 2 && text.starts_with("error: ") && text.contains(name), "{text}");
        assert!(given.lock().unwrap().is_empty());
    };
    check(Source::Pair(Pair { request: missing(), ..good.clone() }), "missing");
    check(Source::Pair(Pair { whole: Some(missing()), ..good.clone() }), "missing");
    check(Source::Pair(Pair { streams: vec![missing()], ..good.clone() }), "missing");
    check(Source::Pair(Pair { request: list, ..good.clone() }), "list.json: the request is no JSON object");
    check(Source::Pair(Pair { request: cut, ..good }), "cut.json: the request is no JSON: ");
    check(Source::Recordings(vec![Path::new("/nowhere/at/all").to_owned()]), "/nowhere/at/all");
}
