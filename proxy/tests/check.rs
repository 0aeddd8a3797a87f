//! `tfproxy --check` as a user runs it, against the bundled engine in this process and in another.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

mod support;

use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::Child,
};
use support::Folder;

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap()
}

#[test]
fn one_case_runs_whole_and_at_every_rounds() {
    let folder = Folder::new();
    folder.write(
        "c.json",
        r#"{"id": "own/one", "format": "glm", "says": "Hi.\n<tool_call>look<arg_key>q</arg_key><arg_value>x</arg_value></tool_call>",
            "request": {"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}]},
            "needs": ["call"], "expect": {"content": "Hi.", "tool_calls": [{"name": "look", "arguments": {"q": "x"}}], "finish": "tool_calls"}}"#,
    );
    folder.run(&["--check", "--cases", "c.json"]).expect(0, &["tfengine", "exit 0"]);
    let report = report(&folder);
    let ids: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[1], ids.len()), ("own/one", "own/one~one-call", 6));
    assert_eq!(report["cases"][0]["verdict"], "pass");
    assert_eq!(report["cases"][0]["expected"], "match");
    assert_eq!(report["cases"][0]["exchanges"].as_array().unwrap().len(), 12);
    assert_eq!(report["cases"][0]["reply"]["tool_calls"][0]["arguments"], r#"{"q":"x"}"#);
}

#[test]
fn a_wrong_expectation_fails_and_keeps_the_bytes() {
    let folder = Folder::new();
    folder.write(
        "c.json",
        r#"{"id": "own/one", "format": "hermes", "says": "Hi", "expect": {"content": "Ho"}}"#,
    );
    folder.run(&["--check", "--cases", "c.json"]).expect(1, &["expect/content", "--run own/one", "exit 1"]);
    assert!(folder.at("reports/latest/failed/own-one/exchanges.json").is_file());
    folder.write("known", "own/one expect/* # wrong on purpose\n");
    folder.run(&["--check", "--cases", "c.json", "--known-failing", "known"]).expect(0, &[]);
    folder.write("known", "own/one expect/* # wrong on purpose\nown/one parity/* # never\n");
    folder.run(&["--check", "--cases", "c.json", "--known-failing", "known"]).expect(5, &[]);
}

#[test]
fn a_format_that_nobody_speaks_is_skipped() {
    let folder = Folder::new();
    folder.write(
        "o.jsonl",
        r#"{"id": "r/1", "family": "gpt-oss", "raw_output": "x", "expected": {"content": "x"}}"#,
    );
    folder.run(&["--check", "--cases", "o.jsonl"]).expect(4, &[]);
    assert_eq!(report(&folder)["cases"][0]["reason"], "no puppet here speaks harmony");
}

#[test]
fn a_list_sends_nothing() {
    let folder = Folder::new();
    let ran = folder.run(&["--check", "--list", "--suite", "glm", "--skip", "**~*"]);
    assert_eq!(ran.status, 0, "{ran:#?}");
    assert!(
        ran.out.lines().count() > 5 && ran.out.lines().all(|l| l.starts_with("glm/") && !l.contains('~'))
    );
    assert!(!folder.at("reports").exists());
}

#[test]
fn shards_share_the_cases_out() {
    let folder = Folder::new();
    let list = |shard: &[&str]| {
        let mut arguments = vec!["--check", "--list"];
        arguments.extend_from_slice(shard);
        folder.run(&arguments).out.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let mut parts = [list(&["--shard", "1/2"]), list(&["--shard", "2/2"])].concat();
    let mut all = list(&[]);
    parts.sort();
    all.sort();
    assert_eq!(parts, all);
}

#[test]
fn requests_are_capped() {
    let folder = Folder::new();
    let args =
        ["--check", "--suite", "glm", "--rounds", "1", "--max-requests", "11", "--message-format", "json"];
    let ran = folder.run(&args);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["totals"]["exchanges"], 10, "pairs only");
    assert_eq!(ran.status, 4);
}

/// An engine in another process.
struct Engine(Child, String);

impl Engine {
    fn start(folder: &Folder) -> Self {
        let mut child = folder.start(&["engine", "--listen", "127.0.0.1:0"]);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        Self(child, url)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn an_engine_in_another_process_is_found_out_and_checked() {
    let folder = Folder::new();
    let engine = Engine::start(&folder);
    let ran = folder.run(&["--check", "--upstream", &engine.1, "--suite", "hermes", "--rounds", "1,special"]);
    ran.expect(0, &["tfengine 0.1.0", "profile tfengine"]);
    let report = report(&folder);
    assert_eq!(report["upstream"]["profile"], "tfengine");
    assert_eq!(report["totals"]["errors"], 0);
    assert!(report["totals"]["passed"].as_u64().unwrap() > 50);
}

#[test]
fn two_runs_report_the_same() {
    let bare = || {
        let folder = Folder::new();
        folder.run(&["--check", "--suite", "qwen3-xml", "--rounds", "3", "--jobs", "4"]);
        let mut report = report(&folder);
        strip(&mut report);
        report
    };
    assert_eq!(bare(), bare());
}

/// Takes out what is measured.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !["seconds", "at"].contains(&key.as_str()));
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The engine's own law: without plants there is nothing to say, not even in passing.
#[test]
fn the_bundled_engine_gives_no_finding_at_all() {
    let folder = Folder::new();
    folder
        .run(&["--check", "--suite", "hermes", "--suite", "corpus", "--rounds", "whole,1,rand:1:8"])
        .expect(0, &["PASS", "exit 0"]);
    let totals = &report(&folder)["totals"];
    assert!(totals["cases"].as_u64() > Some(300), "{totals}");
    assert_eq!(totals["findings"], serde_json::json!({"error": 0, "warn": 0, "info": 0}));
}
