//! The proxy in the path, as a user runs it: in front of the bundled engine and of one in another process.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

mod support;

use serde_json::{Value, json};
use std::fs;
use support::{Folder, asking::Asking, running::Running};
use tfproxy::exchange::Exchange;

const CALL: &str = "Let me see.\n<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"x\"}}</tool_call>";

/// A request with one tool, `look`.
fn request(model: &str, says: &str, stream: bool) -> Value {
    let parameters = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let mut request = json!({
        "model": model,
        "messages": [{ "role": "user", "content": says }],
        "tools": [{ "type": "function", "function": { "name": "look", "parameters": parameters } }],
    });
    if stream {
        request["stream"] = true.into();
        request["stream_options"] = json!({ "include_usage": true });
    }
    request
}

/// The text of a body.
fn text(exchange: &Exchange) -> String {
    String::from_utf8(exchange.body().to_vec()).unwrap()
}

/// A body without what each reply has of its own: ids and the time.
fn anonymous(body: &str) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = ["chatcmpl-", "call_", "\"created\":"]
        .iter()
        .filter_map(|mark| Some(rest.find(mark)? + mark.len()))
        .min()
    {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}

#[test]
fn bodies_pass_byte_for_byte() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let proxy = Running::proxy(&folder, &["--upstream", &engine.url]);
    let (direct, through) = (Asking::of(&engine.url), Asking::of(&proxy.url));
    assert_eq!(direct.get("/v1/models"), through.get("/v1/models"));
    for (stream, rounds) in
        [(false, "whole"), (true, "whole"), (true, "1"), (true, "special"), (true, "rand:3:9")]
    {
        let request = request("puppet-hermes", CALL, stream);
        let headers = [("x-tfproxy-rounds", rounds)];
        let (straight, passed) = (direct.chat(&request, &headers), through.chat(&request, &headers));
        assert_eq!(anonymous(&text(&straight)), anonymous(&text(&passed)), "rounds {rounds}");
        assert!(text(&passed).contains(if stream { "data: [DONE]" } else { "\"chat.completion\"" }));
        let (straight, passed) = (straight.head.unwrap(), passed.head.unwrap());
        assert_eq!(straight.header("content-type"), passed.header("content-type"));
        let mode = if stream { " stream 200 puppet-hermes" } else { " whole 200 puppet-hermes" };
        let line = proxy.line(&["POST /v1/chat/completions", mode]);
        assert!(line.ends_with("  ok") && line.contains("1 call look  finish tool_calls"), "{line}");
    }
    assert!(!folder.at("reports/latest/failed").exists());
}

#[test]
fn twins_are_sent_to_the_bundled_engine_at_every_schedule() {
    let folder = Folder::new();
    let proxy = Running::proxy(&folder, &[]);
    let asking = Asking::of(&proxy.url);
    asking.chat(&request("puppet-glm", CALL, false), &[]);
    proxy.line(&["whole 200 puppet-glm", "ok, as its 11 twins"]);
    asking.chat(&request("puppet-glm", CALL, true), &[]);
    proxy.line(&["stream 200 puppet-glm", "ok, as its 12 twins"]);
    let status: Value = serde_json::from_str(&asking.get("/tfproxy/status")).unwrap();
    assert_eq!(status["findings"], json!({ "error": 0, "warn": 0, "info": 0 }));
    assert_eq!(
        (&status["judged"], &status["twins"]["sent"], &status["failed"]),
        (&json!(2), &json!(23), &json!([]))
    );
}

#[test]
fn a_twin_goes_to_another_server_only_where_that_is_wanted() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let proxy = Running::proxy(&folder, &["--upstream", &engine.url, "--shadow"]);
    Asking::of(&proxy.url).chat(&request("puppet-hermes", CALL, true), &[]);
    proxy.line(&["stream 200 puppet-hermes", "ok, as its twin"]);
}

/// The fault is in the request, so that whoever sends it again meets it again.
#[test]
fn a_failing_exchange_is_told_kept_and_sent_again() {
    let folder = Folder::new();
    let proxy = Running::proxy(&folder, &["--plants"]);
    let says = CALL.split('\n').next_back().unwrap();
    Asking::of(&proxy.url).chat(&request("puppet-hermes+plant-call-dropped", says, true), &[]);
    let line = proxy.line(&["stream empty, 44 tokens billed", "parity/tool-count tool_calls"]);
    let name = line.rsplit("failed/").next().unwrap().to_owned();
    assert!(name.starts_with("live-") && line.contains("finish stop"), "{line}");
    assert_eq!(proxy.stop(), 0);
    let kept = format!("reports/latest/failed/{name}");
    let files: Vec<_> =
        fs::read_dir(folder.at(&kept)).unwrap().map(|file| file.unwrap().file_name()).collect();
    for file in
        ["request.json", "exchanges.json", "curl.sh", "whole.json", "stream.sse", "stream-special.sse"]
    {
        assert!(files.iter().any(|name| name == file), "{file} among {files:?}");
    }
    let id = name.replacen('-', "/", 1);
    for named in [&id, &name, &kept] {
        let ran = folder.run(&["replay", named]);
        ran.expect(1, &[&format!("still failing  {id}"), "error parity/tool-count  tool_calls"]);
    }
    folder.run(&["rejudge", &kept]).expect(1, &[&format!("fail          {id}"), "parity/tool-count"]);
    let clean = Running::engine(&folder, &[]);
    let refused = folder.run(&["replay", &id, "--upstream", &clean.url]);
    refused.expect(3, &[&format!("cannot         {id}"), "status 400"]);
}

#[test]
fn exchanges_are_recorded_where_that_is_wanted() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let proxy = Running::proxy(&folder, &["--upstream", &engine.url, "--record", "kept"]);
    let asking = Asking::of(&proxy.url);
    let body =
        text(&asking.chat(&request("puppet-qwen3-xml", CALL, true), &[("authorization", "Bearer s3cret")]));
    let line = proxy.line(&["stream 200 puppet-qwen3-xml"]);
    assert!(!line.contains("s3cret"));
    assert_eq!(proxy.stop(), 0);
    let kept: Vec<_> = fs::read_dir(folder.at("kept")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(fs::read_to_string(kept[0].join("stream.sse")).unwrap(), body);
    for file in fs::read_dir(&kept[0]).unwrap() {
        assert!(!fs::read_to_string(file.unwrap().path()).unwrap().contains("s3cret"));
    }
    folder.run(&["replay", kept[0].to_str().unwrap()]).expect(0, &["fixed"]);
}
