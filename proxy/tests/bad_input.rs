//! Bad input from every side: files, and upstreams that are not there, hang, break off, or answer what is no answer.
//! Each ends with words that say what is wrong: never a panic, never a hang, never much memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

mod support;

use std::time::Duration;
use support::{Folder, Play, Ran, Stage, response, stage, stage_of};
use tfproxy::exchange::clock::Clock;

/// One case that any server can be asked.
const CASE: &str = r#"{"id": "bad/one", "request": {"messages": [{"role": "user", "content": "Hello."}]}}"#;

/// The most memory a run may have resident, in KiB.
const MAX_RESIDENT: u64 = 150 * 1024;

const SSE: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";

const WHOLE: &[u8] = br#"{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

fn check(upstream: &str) -> Ran {
    check_in(&Folder::new(), upstream)
}

/// Why the one case was not judged.
fn reason(upstream: &str) -> String {
    let folder = Folder::new();
    check_in(&folder, upstream).expect(3, &[]);
    let report: serde_json::Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    report.pointer("/cases/0/reason").and_then(serde_json::Value::as_str).unwrap().to_owned()
}

fn check_in(folder: &Folder, upstream: &str) -> Ran {
    folder.write("c.json", CASE);
    folder.run(&[
        "--check",
        "--upstream",
        upstream,
        "--cases",
        "c.json",
        "--timeout",
        "0.5",
        "--retries",
        "0",
    ])
}

/// What a run said, which may take no more memory than is granted.
fn frugally_at(upstream: &str) -> Ran {
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let (ran, resident) =
        folder.run_measured(&["--check", "--upstream", upstream, "--cases", "c.json", "--timeout", "30"]);
    assert!(resident > 0 && resident < MAX_RESIDENT, "{resident} KiB");
    ran
}

/// The same against a stream.
fn frugally(stream: Vec<Play>) -> Ran {
    frugally_at(&streams(stream).url)
}

/// A server that answers the whole request well and the streamed one with `stream`.
fn streams(stream: Vec<Play>) -> Stage {
    stage(move |request| {
        if !request.starts_with("POST") {
            support::not_found()
        } else if request.contains("\"stream\":true") {
            stream.clone()
        } else {
            response("200 OK", "application/json", WHOLE)
        }
    })
}

fn chunk(bytes: &[u8]) -> Play {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    Play::Say(chunk)
}

fn say(bytes: &[u8]) -> Play {
    Play::Say(bytes.to_vec())
}

#[test]
fn all_mistakes_of_all_case_files_are_told_and_nothing_is_sent() {
    let folder = Folder::new();
    folder.write("cases/a.json", "{\"id\": \"x\",\n \"colour\": 1,\n \"says\": 2}");
    folder.write("cases/b.json", "{\"id\": \"x/y\",");
    folder.write("cases/c.json", b"\xff\xfe{}");
    folder.write("cases/d.jsonl", "{\"id\": \"x/z\"}\n");
    let ran = folder.run(&["--check", "--cases", "cases"]);
    ran.expect(
        2,
        &[
            "a.json:1: id:",
            "a.json:2: colour: unknown key",
            "a.json:3: says:",
            "b.json:1: not JSON",
            "c.json: not UTF-8",
            "d.jsonl:1: lacks the key",
        ],
    );
    assert_eq!(ran.out, "");
}

#[test]
fn a_file_without_end_is_no_file_of_cases() {
    let folder = Folder::new();
    folder.run(&["--check", "--cases", "/dev/zero"]).expect(2, &["/dev/zero: more than"]);
    folder
        .run(&["rejudge", "--request", "/dev/zero", "--whole", "x", "--stream", "x"])
        .expect(2, &["/dev/zero"]);
    std::fs::create_dir(folder.at("empty")).unwrap();
    folder.run(&["rejudge", "empty"]).expect(2, &["empty: holds no recording, request.json is not there"]);
}

#[test]
fn settings_that_cannot_be_are_usage() {
    let folder = Folder::new();
    folder.run(&["--check", "--cases", "none.json"]).expect(2, &["none.json", "No such file"]);
    folder.run(&["--check", "--rounds", "0"]).expect(2, &["rounds"]);
    folder.run(&["--check", "--profile", "none"]).expect(2, &["none"]);
    folder.run(&["--check", "--api-key-env", "NO_SUCH_KEY"]).expect(2, &["NO_SUCH_KEY"]);
    folder.write("known", "a/b\n");
    folder.run(&["--check", "--known-failing", "known"]).expect(2, &["known: line 1"]);
    folder.run(&["--check", "--run", "no/such"]).expect(4, &["nothing is selected"]);
    folder.run(&["--check", "--run", &"*".repeat(5_000), "--max-requests", "0"]).expect(4, &["NOTHING"]);
    folder.run(&["plants", "--run", "no-such"]).expect(2, &["no plant or decoy is called no-such"]);
    folder.run(&["--check", "--upstream", "http://me:s3cret@127.0.0.1:1"]).expect(2, &["password"]);
}

#[test]
fn an_upstream_that_is_not_there_is_told_at_once() {
    check("http://127.0.0.1:1").expect(3, &["cannot be reached"]);
}

#[test]
fn an_upstream_that_hangs_is_an_error_and_ends() {
    let clock = Clock::start();
    let stage = stage_of(vec![Play::Wait(Duration::from_secs(30))]);
    check(&stage.url).expect(3, &["hangs"]);
    assert!(clock.seconds() < 20.0, "{} s", clock.seconds());
    let halfway = streams(vec![say(SSE), chunk(b"data: {}\n\n"), Play::Wait(Duration::from_secs(30))]);
    check(&halfway.url).expect(3, &["hangs"]);
}

#[test]
fn a_stream_that_breaks_off_is_told_with_what_came() {
    let stage = streams(vec![say(SSE), chunk(b"data: {\"choices\":[]}\n\n"), say(b"ff\r\nda")]);
    check(&stage.url).expect(3, &["http/chunked-truncated", "a body that breaks off"]);
    let at_once = stage_of(Vec::new());
    check(&at_once.url).expect(3, &["cut off after 0 bytes"]);
}

#[test]
fn html_and_500_are_no_answers() {
    let html = stage_of(response("200 OK", "text/html", b"<html>hello</html>"));
    check(&html.url).expect(3, &["http/whole-content-type", "text/html"]);
    assert_eq!(reason(&html.url), "no usable answer: text/html, 18 bytes");
    let failing = stage_of(response("500 Internal Server Error", "text/html", b"<h1>oops</h1>"));
    assert!(reason(&failing.url).starts_with("refused alike in both modes: status 500"));
    let stream_only = streams(response(
        "500 Internal Server Error",
        "application/json",
        b"{\"error\":{\"message\":\"x\"}}",
    ));
    check(&stream_only.url).expect(1, &["parity/error"]);
}

#[test]
fn bytes_that_are_no_text_are_findings() {
    let events = |bad: &[u8]| {
        let mut event = br#"data: {"id":"b","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""#.to_vec();
        event.extend_from_slice(bad);
        event.extend_from_slice(b"\"},\"finish_reason\":null}]}\n\n");
        vec![say(SSE), chunk(&event), chunk(b"data: [DONE]\n\n"), say(b"0\r\n\r\n")]
    };
    let invalid = streams(events(b"Hi\xff"));
    check(&invalid.url).expect(1, &["sse/invalid-utf8"]);
    let mut marked = events(b"Hi");
    marked.insert(1, chunk(b"\xef\xbb\xbf"));
    let stage = streams(marked);
    let ran = check(&stage.url);
    assert!(ran.status <= 1 && !ran.err.contains("panicked"), "{ran:#?}");
}

#[test]
fn a_busy_server_is_asked_again_and_never_blamed() {
    let stage = stage(|request| {
        if request.starts_with("POST") {
            let mut script = response("429 Too Many Requests", "application/json", b"{}");
            script.insert(0, say(b""));
            script
        } else {
            support::not_found()
        }
    });
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let ran = folder.run(&["--check", "--upstream", &stage.url, "--cases", "c.json", "--retries", "1"]);
    assert_eq!(ran.status, 4, "{ran:#?}");
    assert!(stage.asked.load(std::sync::atomic::Ordering::SeqCst) > 4);
}

#[test]
fn a_line_without_end_takes_little_memory() {
    let ran = frugally(vec![
        say(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: "),
        Play::Repeat(b'x', 100 << 20),
    ]);
    ran.expect(3, &["longer than"]);
}

#[test]
fn pieces_of_one_byte_take_little_memory() {
    let ran = frugally(vec![say(SSE), say(&b"1\r\n:\r\n".repeat(1_000_000))]);
    ran.expect(3, &["http/chunked-truncated"]);
}

#[test]
fn lines_of_nothing_are_read_at_once() {
    let mut stream = b"\n".repeat(5_000_000);
    stream.extend_from_slice(&b"data:\n".repeat(1_000_000));
    let length = format!("content-length: {}\r\n\r\n", stream.len());
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    frugally(vec![say(head), say(length.as_bytes()), say(&stream)]).expect(1, &["sse/"]);
}

/// The event of a delta with this content.
fn delta(content: &str) -> String {
    format!(
        r#"data: {{"id":"b","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":"{content}"}},"finish_reason":null}}]}}

"#
    )
}

/// A stream in blocks, with its head and its end.
fn stream_of<'a>(blocks: impl IntoIterator<Item = &'a str>) -> Vec<Play> {
    let blocks = blocks.into_iter().map(|block| chunk(block.as_bytes()));
    [say(SSE)].into_iter().chain(blocks).chain([chunk(b"data: [DONE]\n\n"), say(b"0\r\n\r\n")]).collect()
}

#[test]
fn what_is_too_large_to_be_judged_is_not_blamed() {
    let many: String = (0..80_000).map(|at| delta(&at.to_string())).collect();
    let stage = streams(stream_of([many.as_str()]));
    assert!(
        reason(&stage.url).starts_with(&format!("too large to be judged: {} bytes, over", many.len() + 14))
    );
    let ran = check(&stage.url);
    assert!(!ran.out.contains("missing") && !ran.out.contains("parity/"), "{ran:#?}");
    let mut whole = br#"{"choices":[{"index":0,"message":{"role":"assistant","content":""#.to_vec();
    whole.resize(10 << 20, b'x');
    whole.extend_from_slice(br#""},"finish_reason":"stop"}]}"#);
    let stage = stage_of(response("200 OK", "application/json", &whole));
    assert!(reason(&stage.url).starts_with("longer than 8 MiB"));
}

/// Streams that are as large as one may be, and larger once read. The stream is asked for twice.
#[test]
fn the_largest_streams_take_little_memory() {
    const MIB: usize = 1 << 20;
    let fill = |event: &str, size: usize| event.repeat(size / event.len());
    let zeros = format!("data: {{\"choices\":[{}0]}}\n\n", fill("0,", 7 * MIB));
    let numbered: String = (0..100_000).map(|at| delta(&at.to_string())).collect();
    let call = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"x"}}]}}]}

"#;
    let calls = [call, &call.replace(r#""id":"a""#, r#""id":"b""#)].concat();
    for (name, block, times) in [
        ("zeros", zeros.clone(), 1),
        ("zeros twice", zeros, 2),
        ("one delta", delta(&"x".repeat(7 * MIB)), 1),
        ("no two events alike", numbered, 1),
        ("one text many times", fill(&delta(&"x".repeat(3_900)), MIB), 15),
        ("a call and another", fill(&calls, MIB), 15),
        ("choices", fill(&format!("data: {{\"choices\":[{}0]}}\n\n", "0,".repeat(127)), MIB), 15),
        ("nesting", fill(&format!("data: {}{}\n\n", "[".repeat(120), "]".repeat(120)), MIB), 15),
        ("carriage returns", "\r".repeat(MIB), 15),
        ("bad bytes", fill("data: \u{80}\n\n", MIB), 15),
    ] {
        let ran = frugally(stream_of(std::iter::repeat_n(block.as_str(), times)));
        assert!([1, 3].contains(&ran.status) && !ran.err.contains("panicked"), "{name} {ran:#?}");
    }
}

/// Several cases at once hold no more than one, and each gets its turn.
#[test]
fn many_cases_at_once_take_little_memory() {
    let numbered = (0..100_000).map(|at| delta(&at.to_string())).collect();
    let call = |at: usize| {
        format!(
            r#"data: {{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"id":"a{at}","function":{{"name":"f","arguments":"x"}}}}]}}}}]}}

"#
        )
    };
    let calls = (0..135_000).map(call).collect();
    let short = r#"data: {"c":1,"choices":[{"index":0,"delta":{"content":"a"}}]}

"#;
    let many: [(&str, String); 3] = [
        ("no two events alike", numbered),
        ("a new call each", calls),
        ("short ones", short.repeat(200_000)),
    ];
    for (name, stream) in many {
        let stage = streams(stream_of([stream.as_str()]));
        let folder = Folder::new();
        let case = |at: usize| CASE.replace("bad/one", &format!("bad/{at}"));
        folder.write("c.json", format!("[{}]", (0..4).map(case).collect::<Vec<_>>().join(",")));
        let arguments =
            ["--check", "--upstream", &stage.url, "--cases", "c.json", "--timeout", "30", "--jobs", "4"];
        let (ran, resident) = folder.run_measured(&arguments);
        assert!(resident > 0 && resident < MAX_RESIDENT, "{name}: {resident} KiB {ran:#?}");
        ran.expect(3, &["too large to be judged"]);
    }
}

#[test]
fn headers_of_the_connection_are_refused() {
    let folder = Folder::new();
    for header in ["Content-Length: 5", "transfer-encoding: chunked", "connection: close"] {
        folder.run(&["--check", "--header", header]).expect(2, &["is set by the connection itself"]);
    }
}

#[test]
fn a_flood_of_small_events_takes_little_memory() {
    let event = format!("data: [{}0]\n\n", "0,".repeat(40));
    let block = event.repeat((1 << 20) / event.len());
    let mut flood =
        vec![say(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")];
    flood.extend(vec![say(block.as_bytes()); 40]);
    frugally(flood).expect(3, &["longer than"]);
}

#[test]
fn a_document_of_many_small_values_takes_little_memory() {
    for value in ["1,", "[],", "{},", "{\"a\":1},"] {
        let body = format!("[{}1]", value.repeat((7 << 20) / value.len()));
        let stage = stage_of(response("200 OK", "application/json", body.as_bytes()));
        let ran = frugally_at(&stage.url);
        assert!(!ran.err.contains("panicked"), "{value} {ran:#?}");
    }
}

#[test]
fn a_key_is_sent_and_reaches_no_file() {
    let stage = stage(|request| {
        let has_key = request.to_ascii_lowercase().contains("authorization: bearer s3cret");
        let (status, body) = if has_key { ("200 OK", WHOLE) } else { ("401 Unauthorized", &b"{}"[..]) };
        if request.starts_with("POST") {
            response(status, "application/json", body)
        } else {
            support::not_found()
        }
    });
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let run = |extra: &[&str]| {
        let mut arguments = vec!["--check", "--cases", "c.json", "--upstream", &stage.url];
        arguments.extend_from_slice(extra);
        folder.run(&arguments)
    };
    let ran = run(&["--header", "Authorization: Bearer s3cret"]);
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{ran:#?}");
    assert!(folder.read("reports/latest/parity.json").contains("\"status\": 200"));
    for file in files(&folder.at("reports")) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cret"), "{}", file.display());
    }
    folder
        .run(&["--check", "--upstream", "http://192.0.2.1", "--header", "Authorization: Bearer s3cret"])
        .expect(2, &["plain http"]);
}

#[test]
fn a_key_that_a_server_repeats_reaches_no_file() {
    let refusal = br#"{"error":{"message":"Incorrect key s3cret-0123","type":"x","param":null,"code":null}}"#;
    let head = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nx-you: s3cret-0123\r\ncontent-length: {}\r\n\r\n",
        refusal.len()
    );
    // A border lies within the key.
    let (first, rest) = refusal.split_at(40);
    let stage =
        stage_of(vec![say(head.as_bytes()), say(first), Play::Wait(Duration::from_millis(20)), say(rest)]);
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let header = "Authorization: Bearer s3cret-0123";
    let ran = folder.run(&["--check", "--cases", "c.json", "--upstream", &stage.url, "--header", header]);
    ran.expect(3, &["Incorrect key ***********"]);
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{ran:#?}");
    let kept = files(&folder.at("reports"));
    assert!(kept.iter().any(|file| file.ends_with("whole.json")), "{kept:?}");
    for file in kept {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cret"), "{}", file.display());
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
