//! Recordings on disk: what is written reads back, what was cut still reads, what is secret never arrives there.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

use bytes::Bytes;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tfproxy::{
    exchange::{End, Exchange, Head, Slice, Took},
    plan::Rounds,
    request::{Dialect, Mode, Request},
    store::{
        self, Live, Recording, StoreError,
        live::{MAX_WAITING, Order, Scribe, Told},
    },
};

const SECRET: &str = "s3cr3t-0123456789";

fn request(body: &str) -> Request {
    Request {
        dialect: Dialect::OpenaiChat,
        path: "/v1/chat/completions?v=1".to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_owned().into(),
    }
}

fn exchange(mode: Mode, rounds: Option<Rounds>, slices: &[(u64, &[u8])], end: End) -> Exchange {
    let head = Head { status: 200, headers: vec![("x-note".to_owned(), "ü \"quoted\"".to_owned())] };
    Exchange {
        mode,
        rounds,
        request: request("{\"model\":\"m\",\"stream\":true}"),
        head: Some(head),
        slices: slices.iter().map(|(at, b)| Slice { at: *at, bytes: Bytes::copy_from_slice(b) }).collect(),
        end,
        took: Took { head: 10, end: 99 },
    }
}

fn recording() -> Recording {
    let own = request("{\"model\":\"m\"}");
    let whole = Exchange {
        request: own.clone(),
        ..exchange(Mode::Whole, None, &[(12, b"{\"a\":"), (13, b"1}")], End::Complete)
    };
    let three = Some(Rounds::Every(3));
    let odd = Some(Rounds::Rand { seed: 1, max: 8 });
    let refused = Exchange {
        head: None,
        took: Took::default(),
        ..exchange(Mode::Stream, Some(Rounds::Whole), &[], End::Refused("no route".to_owned()))
    };
    let exchanges = vec![
        whole.clone(),
        whole,
        exchange(Mode::Stream, None, &[(1, b"data: \xff\r\n\r\n")], End::CloseDelimited),
        exchange(
            Mode::Stream,
            three,
            &[(1, b"data: 1\n"), (2, b""), (2, b"\ndata")],
            End::Cut("reset".into()),
        ),
        exchange(Mode::Stream, three, &[(1, b"data: 1\n\n")], End::Complete),
        exchange(Mode::Stream, odd, &[], End::TimedOut),
        refused,
    ];
    Recording {
        id: "glm/two calls".to_owned(),
        upstream: Some("http://127.0.0.1:8000".to_owned()),
        request: own,
        exchanges,
        case: Some(json!({ "id": "glm/two calls", "expect": { "content": "x" } })),
    }
}

fn written() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let folder = store::write(parent.path(), &recording()).unwrap();
    (parent, folder)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_written_reads_back() {
    let (_parent, folder) = written();
    assert_eq!(store::read(&folder).unwrap(), recording());
    assert_eq!(
        names(&folder),
        [
            "case.json",
            "curl.sh",
            "exchanges.json",
            "request.json",
            "stream-3.2.sse",
            "stream-3.sse",
            "stream-rand-1-8.sse",
            "stream-whole.sse",
            "stream.sse",
            "whole-2.json",
            "whole.json"
        ]
    );
    assert_eq!(fs::read(folder.join("stream.sse")).unwrap(), b"data: \xff\r\n\r\n");
}

#[test]
fn writing_again_replaces_what_was_there() {
    let (parent, folder) = written();
    let shorter = Recording {
        exchanges: recording().exchanges.into_iter().take(1).collect(),
        case: None,
        ..recording()
    };
    assert_eq!(store::write(parent.path(), &shorter).unwrap(), folder);
    assert_eq!(store::read(&folder).unwrap(), shorter);
    assert_eq!(names(&folder), ["curl.sh", "exchanges.json", "request.json", "whole.json"]);
}

fn shorter() -> Recording {
    Recording { exchanges: recording().exchanges.into_iter().take(1).collect(), case: None, ..recording() }
}

/// Copies a folder as it stands.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// Every state in which a writer that is killed can leave things: some files of the new one beside the old, the old one
/// out of the way, the new one in place.
#[test]
fn a_writer_that_is_killed_leaves_the_old_or_the_new() {
    let (parent, folder) = written();
    let other = tempfile::tempdir().unwrap();
    let complete = store::write(other.path(), &shorter()).unwrap();
    let base = folder.file_name().unwrap().to_str().unwrap();
    let (fresh, old) =
        (parent.path().join(format!(".{base}.new")), parent.path().join(format!(".{base}.old")));
    let reads = || store::read(&folder).unwrap();
    fs::create_dir(&fresh).unwrap();
    for name in names(&complete) {
        let bytes = fs::read(complete.join(&name)).unwrap();
        fs::write(fresh.join(&name), &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(reads(), recording(), "{name} half");
        fs::write(fresh.join(&name), &bytes).unwrap();
        assert_eq!(reads(), recording(), "{name}");
    }
    fs::rename(&folder, &old).unwrap();
    assert_eq!(reads(), shorter(), "between the two");
    fs::rename(&fresh, &folder).unwrap();
    assert_eq!(reads(), shorter(), "before the old one is removed");
    // And the next writer minds none of it.
    for state in [&[][..], &[&fresh], &[&old], &[&fresh, &old]] {
        for leftover in state {
            copy(&complete, leftover);
        }
        store::write(parent.path(), &recording()).unwrap();
        assert_eq!((reads(), names(parent.path())), (recording(), vec![base.to_owned()]));
        if state.len() == 2 {
            copy(&complete, &fresh);
            fs::rename(&folder, &old).unwrap();
            store::write(parent.path(), &recording()).unwrap();
            assert_eq!((reads(), names(parent.path())), (recording(), vec![base.to_owned()]));
        }
    }
}

#[test]
fn a_recording_that_cannot_be_written_leaves_the_old_one() {
    let (parent, folder) = written();
    // A name that is taken by a folder cannot be a file.
    let fresh = parent.path().join(format!(".{}.new", folder.file_name().unwrap().to_str().unwrap()));
    fs::write(&fresh, "in the way").unwrap();
    let error = store::write(parent.path(), &shorter()).unwrap_err().to_string();
    assert!(error.contains(".new"), "{error}");
    assert_eq!(store::read(&folder).unwrap(), recording());
}

/// Where the child of the next test writes: its working folder.
#[test]
#[ignore = "run by a_folder_that_is_written_again_and_again_survives_kill_9 in a process of its own"]
fn child_that_writes_one_folder_until_it_is_killed() {
    for _ in 0..100_000 {
        store::write(Path::new("."), &recording()).unwrap();
        store::write(Path::new("."), &shorter()).unwrap();
    }
}

#[test]
fn a_folder_that_is_written_again_and_again_survives_kill_9() {
    for pause in 0..20 {
        let (parent, folder) = written();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child_that_writes_one_folder_until_it_is_killed"])
            .current_dir(parent.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + pause));
        child.kill().unwrap();
        child.wait().unwrap();
        let read = store::read(&folder).unwrap();
        assert!(read == recording() || read == shorter(), "{read:?}");
    }
}

#[test]
fn a_file_cut_at_any_byte_is_an_error_that_names_it() {
    let (_parent, folder) = written();
    for name in ["exchanges.json", "request.json", "case.json"] {
        let file = folder.join(name);
        let all = fs::read(&file).unwrap();
        for cut in 0..all.len() - 2 {
            fs::write(&file, &all[..cut]).unwrap();
            let error = store::read(&folder).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("line "), "{cut}: {error}");
        }
        fs::write(&file, &all).unwrap();
    }
    assert_eq!(store::read(&folder).unwrap(), recording());
}

#[test]
fn a_body_cut_at_any_byte_is_an_error_that_names_the_byte_or_reads_as_what_is_left() {
    let (_parent, folder) = written();
    let file = folder.join("whole.json");
    let all = fs::read(&file).unwrap();
    for cut in 0..=all.len() {
        fs::write(&file, &all[..cut]).unwrap();
        match store::read(&folder) {
            Ok(recording) => assert_eq!(recording.exchanges[0].body(), all[..cut]),
            Err(StoreError::Body { path, byte, .. }) => assert_eq!((path, byte), (file.clone(), cut as u64)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn wrong_keys_are_named() {
    let (_parent, folder) = written();
    let check = |name: &str, from: &str, to: &str, expect: &str| {
        let file = folder.join(name);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{name} lacks {from}");
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let error = store::read(&folder).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(expect), "{error}");
        fs::write(&file, text).unwrap();
    };
    check("request.json", "recording/1", "recording/2", "key schema");
    check("request.json", "\"openai-chat\"", "\"klingon\"", "key dialect");
    check("request.json", "\"path\"", "\"paths\"", "key path: missing");
    check("exchanges.json", "\"whole.json\"", "\"../request.json\"", "key exchanges[0].file");
    check("exchanges.json", "\"whole.json\"", "\"/etc/passwd\"", "key exchanges[0].file");
    check("exchanges.json", "[0,12]", "[0,-1]", "key exchanges[0].slices[0]");
    check("exchanges.json", "\"status\":200", "\"status\":70000", "key exchanges[0].status");
    check("exchanges.json", "\"status\":200", "\"status\":\"200\"", "key exchanges[0].status");
    check("exchanges.json", "\"complete\"", "\"perhaps\"", "key exchanges[0].end");
    check("exchanges.json", "rand:1:8", "rand:1:0", "key exchanges[5].rounds");
    check(
        "exchanges.json",
        "\"dialect\":\"openai-chat\"",
        "\"dialect\":1",
        "key exchanges[2].request.dialect",
    );
}

#[test]
fn no_secret_reaches_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let secret_headers = ["authorization", "Cookie", "X-API-Key", "x-goog-api-key", "Proxy-Authorization"];
    let mut secret = recording();
    secret.upstream = Some(format!("http://user:{SECRET}@127.0.0.1:8000?key={SECRET}"));
    secret.request.path = format!("/v1/chat/completions?api-key={SECRET}&v=1");
    secret.request.headers = secret_headers.map(|n| (n.to_owned(), format!("Bearer {SECRET}"))).to_vec();
    for exchange in &mut secret.exchanges {
        exchange.request.path = format!("/v1/chat/completions?Api_Key={SECRET}");
        exchange.request.headers.push(("API-KEY".to_owned(), SECRET.to_owned()));
        if let Some(head) = &mut exchange.head {
            head.headers.push(("Set-Cookie".to_owned(), format!("session={SECRET}")));
        }
    }
    let folder = store::write(parent.path(), &secret).unwrap();
    let mut live =
        Live::open(parent.path(), "live/x-1", secret.upstream.as_deref(), &secret.request, Mode::Whole)
            .unwrap();
    live.head(secret.exchanges[0].head.clone().unwrap()).unwrap();
    for folder in [folder, parent.path().join("live-x-1")] {
        for name in names(&folder) {
            let text = String::from_utf8_lossy(&fs::read(folder.join(&name)).unwrap()).into_owned();
            assert!(!text.contains(SECRET), "{name}: {text}");
        }
        let read = store::read(&folder).unwrap();
        assert_eq!(read.request.path, "/v1/chat/completions?api-key=[redacted]&v=1");
        assert!(read.request.headers.iter().all(|(_, value)| value == store::redact::REDACTED));
    }
}

#[test]
fn bodies_without_an_index_are_exchanges_that_were_cut() {
    let (_parent, folder) = written();
    fs::remove_file(folder.join("exchanges.json")).unwrap();
    let read = store::read(&folder).unwrap();
    assert_eq!(read.exchanges.len(), 7);
    assert!(read.exchanges.iter().all(|e| matches!(e.end, End::Cut(_))));
    let odd = read.exchanges.iter().find(|e| e.rounds == Some(Rounds::Every(3))).unwrap();
    assert_eq!(odd.body(), "data: 1\n\n");
}

#[test]
fn a_live_recording_reads_at_every_moment() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("live-x-1");
    let mut live = Live::open(parent.path(), "live/x-1", None, &request("{}"), Mode::Stream).unwrap();
    let bodies = |folder: &Path| -> Vec<(Option<u16>, Bytes)> {
        let read = store::read(folder).unwrap();
        assert!(read.exchanges.iter().all(|e| matches!(e.end, End::Cut(_)) && e.mode == Mode::Stream));
        read.exchanges.iter().map(|e| (e.status(), e.body())).collect()
    };
    assert_eq!(bodies(&folder), [(None, Bytes::new())]);
    live.head(Head { status: 203, headers: Vec::new() }).unwrap();
    assert_eq!(bodies(&folder), [(Some(203), Bytes::new())]);
    live.slice(b"data: 1").unwrap();
    assert_eq!(bodies(&folder), [(Some(203), Bytes::from_static(b"data: 1"))]);
    live.slice(b"\n\n").unwrap();
    assert_eq!(bodies(&folder), [(Some(203), Bytes::from_static(b"data: 1\n\n"))]);
}

/// A disk that hangs: a pipe that nobody reads lies where the first recording begins.
#[test]
fn a_disk_that_hangs_costs_recordings_and_no_memory_and_that_is_told() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("live-x-1");
    fs::create_dir(&folder).unwrap();
    let pipe = folder.join("request.json.tmp");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (said, heard) = std::sync::mpsc::channel();
    let scribe = Scribe::start(parent.path().to_owned(), move |trouble| said.send(trouble).unwrap()).unwrap();
    let open = |number, id: &str| Order::Open {
        number,
        id: id.to_owned(),
        upstream: None,
        request: request("{}"),
        mode: Mode::Stream,
    };
    assert_eq!(scribe.tell(open(1, "live/x-1")), Told::Taken);
    let big = vec![b'x'; 1 << 20];
    let told: Vec<Told> = (0..100)
        .map(|number| {
            let exchange = exchange(Mode::Stream, None, &[(1, &big)], End::Complete);
            let id = format!("live/y-{number}");
            scribe.tell(Order::Keep(Recording { id, exchanges: vec![exchange], case: None, ..recording() }))
        })
        .collect();
    let taken = told.iter().filter(|told| **told == Told::Taken).count();
    assert!(taken == MAX_WAITING / (1 << 20) - 1, "{taken}");
    assert_eq!(scribe.tell(Order::Slice(1, big.into())), Told::Dropped);
    assert_eq!(scribe.tell(Order::Close(1)), Told::Taken);
    assert!(heard.try_recv().is_err(), "it hangs");
    let reader = fs::File::open(&pipe).unwrap();
    drop(scribe);
    drop(reader);
    let heard: Vec<String> = heard.try_iter().map(|trouble| trouble.to_string()).collect();
    assert_eq!(
        heard,
        [format!("{} exchanges not recorded: the disk is slower than what passes", 100 - taken)]
    );
    assert_eq!(names(parent.path()).iter().filter(|name| name.starts_with("live-y")).count(), taken);
    for number in 0..taken {
        let read = store::read(&parent.path().join(format!("live-y-{number}"))).unwrap();
        assert_eq!(read.exchanges[0].body().len(), 1 << 20);
    }
}

#[test]
fn claimed_folders_are_never_shared() {
    let parent = tempfile::tempdir().unwrap();
    let claim = || store::live::claim(parent.path(), "live/x").unwrap();
    assert_eq!([claim(), claim(), claim()], ["live/x-1", "live/x-2", "live/x-3"]);
}

#[test]
fn what_a_stopped_writer_left_without_an_exchange_is_known() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let put = |folder: &str, files: &[&str]| {
        fs::create_dir_all(at(folder)).unwrap();
        for file in files {
            fs::write(at(folder).join(file), "").unwrap();
        }
    };
    put("empty", &[]);
    put("begun", &["request.json.tmp"]);
    put("asked", &["request.json"]);
    put("body", &["request.json", "stream.sse"]);
    put("notes", &["notes.txt"]);
    put(".body.new", &["request.json", "stream.sse"]);
    put(".body.old", &["request.json", "stream.sse"]);
    put(".first.new", &["request.json", "stream.sse"]);
    put(".between.new", &["request.json", "stream.sse"]);
    put(".between.old", &["request.json", "stream.sse"]);
    put(".back.old", &["request.json", "stream.sse"]);
    for (name, expect) in [
        ("empty", true),
        ("begun", true),
        ("asked", true),
        ("body", false),
        ("notes", false),
        ("missing", false),
        (".missing.new", false),
        (".body.new", true),
        (".body.old", true),
        (".first.new", true),
        (".between.new", false),
        (".between.old", true),
        (".back.old", false),
    ] {
        assert_eq!(store::is_unfinished(&at(name)), expect, "{name}");
    }
}

/// Where the child of the next test writes: its working folder.
#[test]
#[ignore = "run by a_recording_survives_kill_9 in a process of its own"]
fn child_that_records_until_it_is_killed() {
    let mut live = Live::open(Path::new("."), "live/x-1", None, &request("{}"), Mode::Stream).unwrap();
    live.head(Head { status: 200, headers: Vec::new() }).unwrap();
    for number in 0..2_000 {
        live.slice(format!("data: {number}\n\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_recording_survives_kill_9() {
    let parent = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child_that_records_until_it_is_killed"])
        .current_dir(parent.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let body = parent.path().join("live-x-1/stream.sse");
    let size = || fs::metadata(&body).map_or(0, |m| m.len());
    while size() < 100 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let read = store::read(&parent.path().join("live-x-1")).unwrap();
    assert!(
        matches!(&read.exchanges[..], [one] if matches!(one.end, End::Cut(_)) && one.status() == Some(200))
    );
    assert_eq!(read.exchanges[0].body(), fs::read(&body).unwrap());
    assert!(read.exchanges[0].body().starts_with(b"data: 0\n\ndata: 1\n\n"));
}
