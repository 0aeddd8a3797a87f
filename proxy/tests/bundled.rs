//! The whole program as a user runs it: checks of the bundled engine and of one in another process, faults that are
//! planted and found, their bytes sent again and judged again, and every exit status.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

mod support;

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Command};
use support::{Folder, Ran, asking::Asking, running::Running};
use tfproxy::exchange::Exchange;

const PARITY: &str = "reports/latest/parity.json";

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read(PARITY)).unwrap()
}

fn cases(report: &Value) -> &[Value] {
    report["cases"].as_array().unwrap()
}

fn ids(report: &Value) -> Vec<String> {
    cases(report).iter().map(|case| case["id"].as_str().unwrap().to_owned()).collect()
}

/// Severity and rule of each finding of an entry.
fn found(report: &Value, id: &str) -> Vec<(String, String)> {
    let case = cases(report).iter().find(|case| case["id"] == id).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let found = case["findings"].as_array().unwrap().iter();
    found.map(|one| (word(&one["severity"]), word(&one["rule"]))).collect()
}

/// The same of what `rejudge` or `replay` print.
fn printed(ran: &Ran) -> Vec<(String, String)> {
    let words = ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let heads = words.filter(
        |words| matches!(words.as_slice(), ["error" | "warn" | "info", rule, ..] if rule.contains('/')),
    );
    heads.map(|words| (words[0].to_owned(), words[1].to_owned())).collect()
}

/// The text of a body.
fn text(exchange: &Exchange) -> String {
    String::from_utf8(exchange.body().to_vec()).unwrap()
}

// === without faults ===

#[test]
fn a_suite_of_the_bundled_engine_passes() {
    let folder = Folder::new();
    folder.run(&["--check", "--run", "hermes/one-call", "--run", "glm/**"]).expect(0, &["PASS", "exit 0"]);
    let report = report(&folder);
    let totals = &report["totals"];
    assert_eq!(totals["passed"], totals["cases"]);
    assert_eq!(totals["findings"], json!({ "error": 0, "warn": 0, "info": 0 }));
    assert_eq!(fs::read_dir(folder.at("reports/latest/failed")).unwrap().count(), 0);
}

/// What two runs of the same must have in common, whoever answers.
fn comparable(report: &Value) -> Value {
    let mut report = report.clone();
    strip(&mut report);
    json!({ "totals": report["totals"], "faults": report["faults"], "cases": report["cases"] })
}

/// Takes out what is measured, and the command that names the upstream.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !["seconds", "at", "repeat"].contains(&key.as_str()));
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The suite of what is not read yet has findings, so more than silence is compared.
#[test]
fn an_engine_in_another_process_is_judged_as_the_bundled_one_is() {
    let folder = Folder::new();
    folder.write("known", "");
    let engine = Running::engine(&folder, &[]);
    let selected =
        ["--suite", "hermes", "--suite", "later", "--rounds", "whole,1,3", "--known-failing", "known"];
    folder.run(&[&["--check"], &selected[..]].concat()).expect(1, &["expect/"]);
    let bundled = report(&folder);
    folder.run(&[&["--check", "--upstream", &engine.url], &selected[..]].concat()).expect(1, &["expect/"]);
    let other = report(&folder);
    assert_eq!(
        (&bundled["upstream"]["url"], &other["upstream"]["url"]),
        (&json!("bundled"), &json!(engine.url))
    );
    assert!(bundled["totals"]["cases"].as_u64().unwrap() > 200);
    assert_eq!(comparable(&bundled), comparable(&other));
}

/// What comes with the built-in cases holds for our engine wherever it runs.
#[test]
fn what_is_known_of_our_engine_is_known_in_another_process_too() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    folder
        .run(&["--check", "--upstream", &engine.url, "--suite", "later", "--rounds", "whole,1"])
        .expect(0, &["known findings"]);
    let known = report(&folder)["cases"][0]["findings"][0].clone();
    assert!(known["known"].as_str().is_some_and(|why| !why.is_empty()), "{known}");
    assert!(known["right"].is_string() || known["whole"].is_null(), "{known}");
    folder.write("none.txt", "");
    let own = ["--check", "--suite", "later", "--rounds", "1", "--known-failing", "none.txt"];
    folder.run(&own).expect(1, &["FAIL"]);
}

/// What the live proxy kept was seen once; a check removes what checks left.
#[test]
fn a_check_leaves_what_the_live_proxy_kept() {
    let (folder, _engine) = planted();
    let kept = |name: &str| folder.at("reports/latest/failed").join(name).join("request.json").is_file();
    assert!(kept("hermes-one-call"));
    fs::rename(
        folder.at("reports/latest/failed/hermes-one-call"),
        folder.at("reports/latest/failed/live-0a1b2c3d4e5f-1"),
    )
    .unwrap();
    folder.run(&["--check", "--run", "glm/one-call", "--rounds", "1"]).expect(0, &[]);
    assert!(kept("live-0a1b2c3d4e5f-1"));
    let (folder, _engine) = planted();
    folder.run(&["--check", "--run", "glm/one-call", "--rounds", "1"]).expect(0, &[]);
    assert!(!folder.at("reports/latest/failed/hermes-one-call").exists());
}

/// The request of a recording is an envelope; its body is what counts.
#[test]
fn a_recordings_request_is_a_request_of_a_pair() {
    let (folder, _engine) = planted();
    let at = |name: &str| format!("reports/latest/failed/hermes-one-call/{name}");
    let body: Value = serde_json::from_str(&folder.read(&at("request.json"))).unwrap();
    folder.write("bare.json", body["body"].to_string());
    let judged = |request: &str| {
        let files = ["--whole", &at("whole.json"), "--stream", &at("stream-1.sse")];
        let ran = folder.run(&[&["rejudge", "--request", request], &files[..]].concat());
        (ran.status, ran.out.replace(request, "REQUEST"))
    };
    let (status, told) = judged("bare.json");
    assert!(status == 1 && told.contains("parity/tool-count") && !told.contains("was not offered"), "{told}");
    assert_eq!(judged(&at("request.json")), (status, told));
    folder.write("odd.json", r#"{"schema": "tfproxy.recording/1", "body": 1}"#);
    folder
        .run(&[
            "rejudge",
            "--request",
            "odd.json",
            "--whole",
            &at("whole.json"),
            "--stream",
            &at("stream-1.sse"),
        ])
        .expect(2, &["odd.json: a recording's request without a JSON object as its body"]);
}

#[test]
fn the_rounds_that_are_named_are_asked() {
    let folder = Folder::new();
    let rounds = ["whole", "special", "1", "5", "rand:9:4"];
    folder.run(&["--check", "--run", "glm/one-call", "--rounds", &rounds.join(",")]).expect(0, &[]);
    for case in cases(&report(&folder)) {
        let sent = case["exchanges"].as_array().unwrap();
        assert_eq!(sent[0]["mode"], "whole");
        let streams: Vec<&str> = sent[1..].iter().map(|one| one["rounds"].as_str().unwrap()).collect();
        assert_eq!(streams, rounds);
        assert!(sent[1..].iter().all(|one| one["mode"] == "stream" && one["status"] == 200));
    }
}

#[test]
fn deep_cuts_a_case_everywhere() {
    let folder = Folder::new();
    folder
        .run(&["--check", "--deep", "--run", "hermes/one-call", "--rounds", "1,special"])
        .expect(0, &["PASS"]);
    let report = report(&folder);
    // The end token is billed, and nothing can be cut after it.
    let tokens = cases(&report)[0]["reply"]["usage"]["completion_tokens"].as_u64().unwrap();
    let cuts = (1..tokens).map(|at| format!("hermes/one-call~cut-{at}"));
    let expected =
        ["hermes/one-call", "hermes/one-call~one-call"].map(ToOwned::to_owned).into_iter().chain(cuts);
    assert_eq!(ids(&report), expected.collect::<Vec<_>>());
}

#[test]
fn shards_ask_everything_once() {
    let folder = Folder::new();
    let asked = |shard: &[&str]| {
        folder
            .run(&[&["--check", "--suite", "qwen3-xml", "--rounds", "special"], shard].concat())
            .expect(0, &[]);
        ids(&report(&folder))
    };
    let all = asked(&[]);
    let shards: Vec<_> = ["1/3", "2/3", "3/3"].map(|shard| asked(&["--shard", shard])).into();
    assert!(shards.iter().all(|shard| !shard.is_empty()));
    let mut together = shards.concat();
    assert_eq!(together.len(), together.iter().collect::<BTreeSet<_>>().len(), "no entry twice");
    together.sort();
    let mut all = all;
    all.sort();
    assert_eq!(together, all);
}

// === planted faults ===

const CALL_DROPPED: &str = "x-tfproxy-plant:call-dropped";

/// One check of a case by an engine whose streams lose calls.
fn planted() -> (Folder, Running) {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &["--plants"]);
    let ran = folder.run(&[
        "--check",
        "--upstream",
        &engine.url,
        "--header",
        CALL_DROPPED,
        "--run",
        "hermes/one-call",
    ]);
    ran.expect(1, &["1 error parity/tool-count", "smallest  hermes/one-call", "hermes-one-call/", "exit 1"]);
    (folder, engine)
}

#[test]
fn each_planted_fault_is_found_by_its_rule() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &["--plants"]);
    for (plant, run, rule) in [
        ("rejected-lost", "corpus/rejected-*", "parity/content"),
        ("newline-lost-cut", "shared/**", "parity/content-whitespace"),
        ("value-tail-lost", "glm/one-call", "parity/tool-arguments"),
        ("finish-stop", "qwen3-xml/one-call", "parity/finish-reason"),
        ("usage-missing", "hermes/one-call", "openai-chat/usage-missing"),
        ("done-missing", "hermes/one-call", "openai-chat/done-missing"),
    ] {
        let header = format!("x-tfproxy-plant:{plant}");
        let check = ["--check", "--upstream", &engine.url, "--rounds", "1,special", "--run", run];
        folder.run(&[&check[..], &["--header", &header]].concat()).expect(1, &["FAIL", rule]);
        let report = report(&folder);
        let faults = report["faults"].as_array().unwrap();
        assert!(faults.iter().any(|fault| fault["rule"] == rule), "{plant}: {faults:#?}");
        folder.run(&check).expect(0, &["PASS"]);
    }
}

#[test]
fn the_bytes_of_a_failure_are_kept_until_it_is_gone() {
    let (folder, engine) = planted();
    let kept = "reports/latest/failed/hermes-one-call";
    let files: BTreeSet<_> = fs::read_dir(folder.at(kept))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let streams = ["whole", "special", "1", "2", "3", "7"].map(|rounds| format!("stream-{rounds}.sse"));
    let drawn = (1..=5).map(|seed| format!("stream-rand-{seed}-8.sse"));
    let others =
        ["request.json", "whole.json", "case.json", "exchanges.json", "curl.sh"].map(ToOwned::to_owned);
    assert_eq!(files, streams.into_iter().chain(drawn).chain(others).collect());
    let whole: Value = serde_json::from_str(&folder.read(&format!("{kept}/whole.json"))).unwrap();
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert!(folder.read(&format!("{kept}/stream-1.sse")).ends_with("data: [DONE]\n\n"));
    folder.run(&["--check", "--upstream", &engine.url, "--run", "hermes/one-call"]).expect(0, &["PASS"]);
    assert_eq!(fs::read_dir(folder.at("reports/latest/failed")).unwrap().count(), 0);
}

#[test]
fn a_replay_tells_what_still_fails_and_what_is_fixed() {
    let (folder, planted) = planted();
    let clean = Running::engine(&folder, &[]);
    let again = folder.run(&["replay", "hermes/one-call"]);
    again.expect(1, &["still failing  hermes/one-call", "parity/tool-count  tool_calls"]);
    let mut recorded = found(&report(&folder), "hermes/one-call");
    recorded.retain(|(severity, _)| severity != "info");
    assert_eq!(printed(&again), recorded);
    let refused = folder.run(&["replay", "hermes/one-call", "--upstream", &clean.url]);
    refused.expect(3, &["cannot         hermes/one-call", "status 400"]);
    let fixed = folder.run(&["replay", "hermes/one-call", "--header", "x-tfproxy-plant: comments"]);
    fixed.expect(0, &["fixed          hermes/one-call  none of 7 findings remains"]);
    drop(planted);
    folder.run(&["replay", "hermes/one-call"]).expect(3, &["cannot         hermes/one-call", "unreachable"]);
}

#[test]
fn recorded_bytes_are_judged_again_without_a_network() {
    let (folder, engine) = planted();
    drop(engine);
    let report = report(&folder);
    let failed: Vec<_> = ids(&report).into_iter().filter(|id| !found(&report, id).is_empty()).collect();
    assert!(failed.len() > 3);
    for id in failed {
        let kept = format!("reports/latest/failed/{}", id.replace('/', "-"));
        let ran = folder.run(&["rejudge", &kept]);
        ran.expect(1, &[&format!("fail          {id}\n")]);
        assert_eq!(printed(&ran), found(&report, &id), "{id}");
    }
}

#[test]
fn a_pair_from_anywhere_is_judged() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &["--plants"]);
    let asking = Asking::of(&engine.url);
    let mut request =
        call("puppet-hermes", "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"x\"}}</tool_call>");
    folder.write("whole.json", text(&asking.chat(&request, &[])));
    folder.write("request.json", request.to_string());
    request["stream"] = true.into();
    folder.write("clean.sse", text(&asking.chat(&request, &[("x-tfproxy-rounds", "3")])));
    folder.write("wrong.sse", text(&asking.chat(&request, &[("x-tfproxy-plant", "call-dropped")])));
    let judged = |stream: &str| {
        folder.run(&["rejudge", "--request", "request.json", "--whole", "whole.json", "--stream", stream])
    };
    judged("clean.sse").expect(0, &["pass"]);
    judged("wrong.sse").expect(1, &["fail", "parity/tool-count"]);
}

/// A request with one tool, `look`.
fn call(model: &str, says: &str) -> Value {
    let parameters = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    json!({
        "model": model,
        "messages": [{ "role": "user", "content": says }],
        "tools": [{ "type": "function", "function": { "name": "look", "parameters": parameters } }],
    })
}

#[test]
fn the_script_beside_the_bytes_asks_the_same() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("there is no curl: its script is not run");
        return;
    }
    let (folder, _planted) = planted();
    let script = folder.at("reports/latest/failed/hermes-one-call/curl.sh");
    let output = Command::new("sh").arg(script).env_remove("http_proxy").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(out.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{out}");
    let (whole, stream) = out.split_once("text/event-stream").unwrap();
    for part in [
        "content-type: application/json\r\n",
        "\"object\":\"chat.completion\"",
        "\"finish_reason\":\"tool_calls\"",
    ] {
        assert!(whole.contains(part), "{part} in {whole}");
    }
    assert!(stream.contains("\r\n\r\ndata: {") && stream.trim_end().ends_with("data: [DONE]"), "{stream}");
    // The plant goes along: it takes the call out of the stream.
    assert!(stream.contains("\"finish_reason\":\"stop\"") && !stream.contains("tool_calls"), "{stream}");
}

// === an argument that flows ===

/// Counted in the bytes, with no reader of ours: an argument of 2,000 characters, three tokens a round.
#[test]
fn a_long_argument_has_one_header_and_many_deltas() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let asking = Asking::of(&engine.url);
    let value: String = "so 1 < 2, and on it goes; ".chars().cycle().take(2000).collect();
    let json = json!({ "name": "look", "arguments": { "q": value } });
    for (model, says) in [
        ("puppet-hermes", format!("<tool_call>\n{json}\n</tool_call>")),
        (
            "puppet-glm",
            format!("<tool_call>look<arg_key>q</arg_key><arg_value>{value}</arg_value></tool_call>"),
        ),
        ("puppet-qwen3-xml", format!("<function=look>\n<parameter=q>\n{value}\n</parameter>\n</function>")),
    ] {
        for parallel in [true, false] {
            let mut request = call(model, &says);
            request["stream"] = true.into();
            request["parallel_tool_calls"] = parallel.into();
            flows(&text(&asking.chat(&request, &[("x-tfproxy-rounds", "3")])), &value);
        }
    }
}

fn flows(body: &str, value: &str) {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: {"));
    let lines: Vec<&str> = data.filter(|line| line.contains("\"arguments\":\"")).collect();
    let headers = lines.iter().filter(|line| line.contains("\"name\":\"look\"")).count();
    let deltas = lines.iter().filter(|line| !line.contains("\"arguments\":\"\"")).count();
    assert!(headers == 1 && deltas >= 600, "{headers} headers, {deltas} deltas");
    let piece = |line: &&str| {
        let chunk: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        let call = &chunk["choices"][0]["delta"]["tool_calls"][0];
        call["function"]["arguments"].as_str().unwrap().to_owned()
    };
    let arguments: String = lines.iter().map(piece).collect();
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({ "q": value }));
}

// === exit statuses ===

#[test]
fn every_exit_status_is_reached() {
    let folder = Folder::new();
    folder.write(
        "case.json",
        r#"{"id": "own/a", "format": "hermes", "says": "Hi", "expect": {"content": "Ho"}}"#,
    );
    folder.write("stale", "own/a expect/* # wrong on purpose\nown/a parity/* # long since mended\n");
    folder.write(
        "bad.json",
        r#"{"id": "own/b", "format": "hermes", "says": "Hi", "expects": {}, "request": 1}"#,
    );
    for (arguments, status, told) in [
        ("--check --cases case.json --known-failing stale", 5, "own/a parity/*"),
        ("--check --cases case.json", 1, "expect/content"),
        ("--check --run glm/nothing-of-the-kind", 4, "nothing is selected"),
        ("--check --upstream http://127.0.0.1:1 --run glm/one-call", 3, "cannot be reached"),
        ("--check --cases case.json --no-such-option", 2, "--no-such-option"),
        ("--check --rounds 0", 2, "--rounds"),
        ("--check --cases bad.json", 2, "expects"),
        ("--check --cases none.json", 2, "none.json"),
        ("replay own/never", 2, "own/never"),
        ("rejudge none", 2, "none"),
        ("engine --listen 192.0.2.1:1", 3, "does not start"),
        ("--listen 192.0.2.1:1", 3, "cannot listen"),
    ] {
        folder.run(&arguments.split(' ').collect::<Vec<_>>()).expect(status, &[told]);
    }
}
