//! The program's face: what a user reads on a terminal, and what becomes of options that are wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

mod support;

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use support::{Folder, Play, Stage, not_found, response, stage, stage_of};

/// One case that any server can be asked.
const CASE: &str = r#"{"id": "own/one", "request": {"messages": [{"role": "user", "content": "Hello."}]}}"#;

/// An engine with its plants, in another process.
struct Engine(Child, String);

impl Engine {
    fn start(folder: &Folder) -> Self {
        let mut child = folder.start(&["engine", "--plants", "--listen", "127.0.0.1:0"]);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.split_whitespace().last().unwrap().to_owned())
    }

    fn planted(&self, folder: &Folder, plant: &str, more: &[&str]) -> support::Ran {
        let header = format!("x-tfproxy-plant: {plant}");
        let mut arguments =
            vec!["--check", "--upstream", &self.1, "--header", &header, "--rounds", "whole,1,3"];
        arguments.extend_from_slice(more);
        folder.run(&arguments)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A server that answers whole and streamed alike, or in a chosen number of streams otherwise.
fn flaky(bad: usize) -> Stage {
    let streams = AtomicUsize::new(0);
    stage(move |request| {
        if !request.starts_with("POST") {
            return not_found();
        }
        if !request.contains("\"stream\":true") {
            return response("200 OK", "application/json", WHOLE);
        }
        let is_bad = streams.fetch_add(1, Ordering::SeqCst) < bad;
        let done = if is_bad { "" } else { "data: [DONE]\n\n" };
        response("200 OK", "text/event-stream", format!("{STREAM}{done}").as_bytes())
    })
}

const WHOLE: &[u8] = br#"{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

const STREAM: &str = concat!(
    r#"data: {"id":"b","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"b","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\n",
    r#"data: {"id":"b","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
    "\n\n",
);

#[test]
fn proof_comes_from_the_replies() {
    let folder = Folder::new();
    folder.run(&["--check", "--run", "glm/value*", "--rounds", "whole,1"]).expect(
        0,
        &[
            "proof   token_sha equal in both modes of ",
            "deltas varied by the engine (rounds whole 1)",
            "PASS    ",
        ],
    );
    folder.write("c.json", CASE);
    let stage = flaky(0);
    folder
        .run(&["--check", "--upstream", &stage.url, "--cases", "c.json"])
        .expect(0, &["proof   none: token ids were not given; a difference is suspect", "profile openai"]);
}

#[test]
fn a_fault_says_what_when_and_how_to_see_it_again() {
    let folder = Folder::new();
    let engine = Engine::start(&folder);
    let suite = ["--run", "qwen3-xml/**"];
    let ran = engine.planted(&folder, "index-zero", &suite);
    ran.expect(
        1,
        &[
            "1 error openai-chat/tool-index-reused  qwen3-xml: in the stream, at choices[].delta.tool_calls[].index  ",
            "\n  rule      ",
            "\n  when      every rounds; not with one call at most\n",
            "\n  smallest  qwen3-xml/",
            "\n  found     index 0 for another call",
            " tokens\n",
            &format!("\n  repeat    tfproxy --check --upstream {} --header 'x-tfproxy-plant: index-zero' --rounds whole,1,3 --run qwen3-xml/", engine.1),
            "exit 1",
        ],
    );
    // The folder that is named is there, and the command shows the same.
    let line =
        |what: &str| ran.out.lines().find_map(|l| l.trim().strip_prefix(what)).unwrap().trim().to_owned();
    let bytes = line("bytes");
    assert!(folder.at(bytes.split_whitespace().next().unwrap()).join("exchanges.json").is_file(), "{bytes}");
    let (_, id) = line("repeat").rsplit_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let cut = engine.planted(&folder, "truncated-clean", &["--run", &id]);
    cut.expect(
        1,
        &["proof   none in the replies: token ids were not given; our puppets say what they are told"],
    );
    engine.planted(&folder, "index-zero", &["--run", &id]).expect(1, &["tool-index-reused"]);
    engine
        .planted(&folder, "index-zero", &["--run", &id, "--show", "1"])
        .expect(1, &["\n  case      ", "\n  finding   error "]);
    engine
        .planted(&folder, "index-zero", &["--run", &id, "--show", "99"])
        .expect(1, &["there is no fault 99; there are "]);
    let quiet = engine.planted(&folder, "index-zero", &["--run", &id, "--quiet"]);
    assert_eq!(quiet.out.lines().count(), 2, "{quiet:#?}");
    assert_eq!(quiet.err, "");
}

/// A fault that only shows with a header is sent again with it, by us and by curl.
#[test]
fn what_a_header_did_is_repeated_with_the_header() {
    let folder = Folder::new();
    let engine = Engine::start(&folder);
    let one = ["--run", "qwen3-xml/**", "--header", "x-api-key: s3cret-1"];
    engine.planted(&folder, "index-zero", &one).expect(1, &["tool-index-reused"]);
    let kept = fs::read_dir(folder.at("reports/latest/failed")).unwrap().next().unwrap().unwrap().path();
    let script = fs::read_to_string(kept.join("curl.sh")).unwrap();
    assert!(
        script.contains("--header 'x-tfproxy-plant: index-zero'") && !script.contains("s3cret"),
        "{script}"
    );
    let request = fs::read_to_string(kept.join("request.json")).unwrap();
    assert!(request.contains("x-api-key") && !request.contains("s3cret"), "{request}");
    let ran = folder.run(&["replay", kept.to_str().unwrap()]);
    ran.expect(1, &["still failing", "tool-index-reused", "sent without x-api-key: secrets are not kept"]);
    let ran = folder.run(&["replay", kept.to_str().unwrap(), "--header", "x-api-key: other"]);
    ran.expect(1, &["still failing", "tool-index-reused"]);
    assert!(!ran.out.contains("sent without"), "{ran:#?}");
}

/// A server that repeats the key wherever it can.
#[test]
fn a_key_that_a_server_repeats_reaches_no_file_and_no_output() {
    const KEY: &str = "s3cret+key/0123456789";
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let echo = |key: &str| STREAM.replace("\"Hi\"", &format!("\"key {key}\""));
    let escaped = KEY.replace('/', "\\/").replace('+', "\\u002b");
    let body = echo(&format!("{KEY} {escaped}"));
    let stage = stage(move |request| {
        if !request.starts_with("POST") {
            return response("404 Not Found", "text/plain", format!("no {KEY}").as_bytes());
        }
        assert!(request.contains(&format!("authorization: Bearer {KEY}")), "{request}");
        if !request.contains("\"stream\":true") {
            let body = format!(
                r#"{{"error":{{"message":"bad key {KEY}","type":"{KEY}","param":null,"code":null}}}}"#
            );
            return response(&format!("401 Bad\r\nx-key: {KEY}"), "application/json", body.as_bytes());
        }
        let (one, two) = body.split_at(body.find("ey s3cr").unwrap() + 6);
        vec![
            Play::Say(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
            ),
            Play::Say(one.as_bytes().to_vec()),
            Play::Wait(Duration::from_millis(50)),
            Play::Say(two.as_bytes().to_vec()),
        ]
    });
    let check =
        ["--check", "--upstream", &stage.url, "--cases", "c.json", "--api-key-env", "THE_KEY", "--show", "1"];
    let ran = support::Ran::of(&folder.command(&check).env("THE_KEY", KEY).output().unwrap());
    assert!(ran.status == 1 || ran.status == 3, "{ran:#?}");
    assert!(folder.at("reports/latest/failed/own-one/stream.sse").is_file(), "{ran:#?}");
    let mut texts = vec![ran.out, ran.err, folder.read("reports/latest/parity.json")];
    for file in fs::read_dir(folder.at("reports/latest/failed/own-one")).unwrap() {
        texts.push(String::from_utf8(fs::read(file.unwrap().path()).unwrap()).unwrap());
    }
    assert!(texts.len() > 6, "request, index, script, bodies");
    assert!(texts.iter().any(|text| text.contains("\"key *****")), "{texts:#?}");
    for text in texts {
        assert!(!text.contains("0123456789") && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn an_unexpected_answer_is_told_in_words() {
    let folder = Folder::new();
    let expects = r#"}, "basis": "fact", "expect": {"error": {"status": 400}}}"#;
    folder.write("c.json", CASE.replace("}}", expects));
    let stage = flaky(0);
    folder.run(&["--check", "--upstream", &stage.url, "--cases", "c.json"]).expect(
        1,
        &[
            "both modes answered where status 400 is expected",
            "\n  when      the whole reply, and every stream\n",
            "\n  expected  status 400\n",
            "\n  both      status 200, no error ",
        ],
    );
}

#[test]
fn a_refusal_names_its_reason_whatever_else_is_found() {
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let stage = stage_of(response("404 Not Found", "text/html", b"<html>no such path</html>"));
    folder.run(&["--check", "--upstream", &stage.url, "--cases", "c.json"]).expect(
        3,
        &[
            "no usable answer in 1  (",
            "\n  own/one  refused alike in both modes: status 404",
            "exit 3: no exchange worked",
        ],
    );
}

#[test]
fn what_vanishes_when_asked_again_is_unstable_and_told() {
    let folder = Folder::new();
    folder.write("c.json", CASE);
    let check = |bad: usize, more: &[&str]| {
        let stage = flaky(bad);
        let mut arguments = vec!["--check", "--upstream", &stage.url, "--cases", "c.json"];
        arguments.extend_from_slice(more);
        folder.run(&arguments)
    };
    check(1, &[]).expect(1, &["openai-chat/done-missing", "FAIL"]);
    let retried = ["--retries", "2", "--show", "unstable"];
    // The one case was not judged to its end, so nothing was.
    check(1, &retried).expect(
        4,
        &["4 retried", "own/one  openai-chat/done-missing; passed when asked again once", "finding   error"],
    );
    let report: Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    assert_eq!((&report["totals"]["unstable"], &report["totals"]["exchanges"]), (&1.into(), &8.into()));
    assert_eq!(report["cases"][0]["findings"][0]["rule"], "openai-chat/done-missing");
    check(1, &["--retries", "1", "--fail-on", "suspect"]).expect(1, &[]);
    check(9, &["--retries", "2"]).expect(1, &["8 retried", "FAIL"]);
}

#[test]
fn an_interrupted_run_reports_what_is_there() {
    let folder = Folder::new();
    folder.write("c.json", format!("[{CASE}, {}]", CASE.replace("own/one", "own/two")));
    let first = AtomicUsize::new(0);
    let stage = stage(move |request| {
        if !request.starts_with("POST") {
            not_found()
        } else if first.fetch_add(1, Ordering::SeqCst) < 4 {
            let (media, body) = if request.contains("\"stream\":true") {
                ("text/event-stream", format!("{STREAM}data: [DONE]\n\n").into_bytes())
            } else {
                ("application/json", WHOLE.to_vec())
            };
            response("200 OK", media, &body)
        } else {
            vec![Play::Wait(Duration::from_secs(30))]
        }
    });
    let mut child = folder.start(&["--check", "--upstream", &stage.url, "--cases", "c.json"]);
    while stage.asked.load(Ordering::SeqCst) < 5 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{out}");
    assert!(out.contains("ABORTED interrupted  (1 of 2 cases were judged)"), "{out}");
    let report: Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    assert_eq!((&report["cases"][0]["id"], &report["totals"]["passed"]), (&"own/one".into(), &1.into()));
}

#[test]
fn every_wrong_option_is_named_with_its_value() {
    let folder = Folder::new();
    fs::write(folder.at("taken"), "a file").unwrap();
    fs::write(folder.at("known"), "\u{feff}# why\nglm/a parity/contents # why\n").unwrap();
    for (line, expect) in [
        ("--check --show x", "'x' for '--show"),
        ("--check --show 0", "write the number of a fault"),
        ("--check --rounds 0", "'0' for '--rounds"),
        ("--check --shard 3/2", "'3/2' for '--shard"),
        ("--check --dialect klingon", "'klingon' for '--dialect"),
        ("--check --fail-on never", "'never' for '--fail-on"),
        ("--check --upstream ftp://x", "--upstream: \"ftp://x\" is neither http nor https"),
        ("--check --timeout 0", "--timeout 0: write"),
        ("--check --header foo", "--header \"foo\": write NAME:VALUE"),
        ("--check --jobs 0", "--jobs 0: write a number from 1"),
        ("--check --jobs 100000", "--jobs 100000: write a number from 1, at most 256"),
        ("--check --repeat 4000000000", "--repeat 4000000000: write a number from 1, at most 1000"),
        ("--check --retries 4000000000", "--retries 4000000000: write a number of at most 1000"),
        ("--check --report taken/reports", "--report taken/reports: "),
        ("--check --known-failing known", "known: line 2: no rule is called so"),
        ("--check --profile klingon", "--profile \"klingon\": write one of"),
        ("--check --known-failing none", "--known-failing none: No such file"),
        ("--check --api-key-env NO_SUCH", "--api-key-env NO_SUCH: the environment variable is not set"),
        ("rules parity/contents", "no rule is called \"parity/contents\""),
        ("rules role-repeated", "did you mean openai-chat/role-repeated"),
        ("replay nope", "nope: neither a failing case in reports/latest/failed nor a folder"),
        ("rejudge nope", "nope"),
        ("plants --run nope", "no plant or decoy is called nope"),
    ] {
        folder.run(&line.split(' ').collect::<Vec<_>>()).expect(2, &[expect]);
    }
    let ran = folder.run(&["--check", "--upstream", "http://me:s3cret@x"]);
    ran.expect(2, &["--upstream: the address holds a user name or password"]);
    assert!(!format!("{ran:?}").contains("s3cret"));
    folder
        .run(&["--check", "--run", "no/such", "--suite", "a b"])
        .expect(4, &["nothing is selected by --run no/such --suite 'a b'"]);
    folder
        .run(&["--check", "--list", "--run", "no/such"])
        .expect(4, &["nothing is selected by --run no/such"]);
}

#[test]
fn a_list_is_a_table_or_json() {
    let folder = Folder::new();
    let list = ["--check", "--list", "--run", "glm/end-empty-value"];
    let ran = folder.run(&list);
    ran.expect(0, &["  openai-chat  12 exchanges\n", "cases would be asked"]);
    let columns: Vec<_> = ran.out.lines().map(|line| line.find("  openai-chat")).collect();
    assert!(columns.iter().all(|column| *column == columns[0]), "{ran:#?}");
    let ran = folder.run(&[&list[..], &["--message-format", "json"]].concat());
    let listed: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["exchanges"]), (&"glm/end-empty-value".into(), &12.into()));
    assert_eq!(ran.err, "");
}

#[test]
fn rules_are_a_table_and_one_is_explained() {
    let folder = Folder::new();
    folder.run(&["rules"]).expect(
        0,
        &["\nopenai-chat\n  openai-chat/", "\nparity\n  parity/", "rules; tfproxy rules ID explains one"],
    );
    folder.run(&["rules", "openai-chat/role-repeated"]).expect(
        0,
        &[
            "  severity  error\n",
            "\nkeeps it\n  asked     streamed  {",
            "\nbreaks it\n",
            "  answered  200  content-type: text/event-stream\n  | data: {",
        ],
    );
    folder.run(&["rules", "parity/content"]).expect(0, &["  examples  none"]);
}

/// Runs the binary with its output on a device that is always full.
fn into_a_full_disk(folder: &Folder, arguments: &[&str]) -> support::Ran {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    support::Ran::of(&folder.command(arguments).stdout(full).output().unwrap())
}

#[test]
fn what_cannot_be_printed_is_told_and_no_success() {
    let folder = Folder::new();
    let list = ["--check", "--list", "--quiet"];
    let json = ["--check", "--list", "--quiet", "--message-format", "json"];
    let check = ["--check", "--run", "glm/end-empty-value", "--rounds", "whole"];
    let one = ["rules", "parity/content"];
    let serve = ["--listen", "127.0.0.1:0"];
    let engine = ["engine", "--listen", "127.0.0.1:0"];
    for arguments in [
        &["rules"][..],
        &one,
        &list,
        &json,
        &check,
        &["--help"],
        &["--version"],
        &["replay", "nope"],
        &["rejudge", "nope"],
        &serve,
        &engine,
    ] {
        into_a_full_disk(&folder, arguments).expect(3, &["No space left on device"]);
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let folder = Folder::new();
    for (arguments, status) in [
        (&["rules"][..], 0),
        (&["--check", "--list", "--quiet"], 0),
        (&["--help"], 0),
        (&["--check", "--run", "glm/end-empty-value", "--rounds", "whole"], 0),
        (&["replay", "nope"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = support::Ran::of(&folder.command(arguments).stdout(writer).output().unwrap());
        assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{arguments:?}");
    }
}

#[test]
fn help_says_what_happens_without_options() {
    let folder = Folder::new();
    folder.run(&["--help"]).expect(
        0,
        &[
            "stands in front of a server as a proxy",
            "Examples:\n",
            "Options of --check:",
            "Options of serving:",
            "Exit status: 0 clean",
        ],
    );
    for mode in ["replay", "rejudge", "plants", "rules", "engine"] {
        folder.run(&[mode, "--help"]).expect(0, &["Usage: tfproxy "]);
    }
}

#[test]
fn plants_without_a_committed_matrix_say_so() {
    let folder = Folder::new();
    folder
        .run(&["plants"])
        .expect(2, &["reports/plants.json: there is no committed matrix; tfproxy plants --update writes it"]);
}
