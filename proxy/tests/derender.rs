//! A server that is handed tokens and reads them: it is asked whole and in pieces, and judged for both.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

mod support;

use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use support::{Folder, Play, Stage, not_found, response, stage};

/// Two texts; the second is also asked for with a cut.
const CASES: &str = r#"[
  {"id": "h/text", "format": "hermes", "says": "Hello there.", "request": {}, "expect": {"content": "Hello there.", "finish": "stop"}},
  {"id": "h/stop", "format": "hermes", "says": "Hello", "ends": {"stop": ["l"]}, "request": {}}
]"#;

fn json(body: &Value) -> Vec<Play> {
    response("200 OK", "application/json", body.to_string().as_bytes())
}

/// The text of some tokens, which are bytes.
fn text(choice: &Value) -> String {
    let ids: Vec<u8> = serde_json::from_value(choice["token_ids"].clone()).unwrap();
    String::from_utf8(ids).unwrap()
}

fn tokens(text: &str) -> Vec<u8> {
    text.bytes().collect()
}

/// What a server makes of tokens. `loses` says whether the stream leaves out the text of a piece of one token that ends it.
fn read(body: &Value, loses: bool) -> Value {
    if body["stream"] == json!(true) {
        let chunk = &body["generate_chunk"];
        let seen = body["stream_state"]["seen"].as_u64().unwrap_or(0);
        let mut choices = Vec::new();
        if let Some(choice) = chunk["choices"].get(0) {
            let is_lost = loses
                && choice["finish_reason"].is_string()
                && choice["token_ids"].as_array().unwrap().len() == 1;
            let said = if is_lost { String::new() } else { text(choice) };
            let role = if seen == 0 { json!("assistant") } else { Value::Null };
            choices.push(json!({"index": 0, "delta": {"role": role, "content": said}, "finish_reason": choice["finish_reason"]}));
        }
        let chunk = json!({"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": chunk["usage"]});
        return json!({"chunk": chunk, "stream_state": {"seen": seen + 1}});
    }
    let choice = &body["generate_response"]["choices"][0];
    let count = choice["token_ids"].as_array().unwrap().len();
    let message = json!({"role": "assistant", "content": text(choice)});
    json!({"id": "w", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": choice["finish_reason"]}],
        "usage": {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": count + 3}})
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap_or_default()
}

/// A server that reads tokens; it loses some as long as the switch says so.
fn server(loses: &Arc<AtomicBool>) -> Stage {
    let loses = Arc::clone(loses);
    stage(move |request| {
        let body = body(request);
        match request.split(' ').nth(1).unwrap() {
            "/v1/models" => {
                json(&json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]}))
            }
            "/v1/chat/completions/render" => json(&json!({"token_ids": [1, 2, 3]})),
            "/tokenize" => json(&json!({"tokens": tokens(body["prompt"].as_str().unwrap())})),
            "/v1/chat/completions/derender" => json(&read(&body, loses.load(Ordering::SeqCst))),
            _ => not_found(),
        }
    })
}

fn check<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = ["--check", "--upstream", url, "--puppet", "hermes", "--via", "derender", "--cases", "c.json"];
    [base.as_slice(), more].concat()
}

#[test]
fn equal_readings_pass_and_what_has_no_tokens_is_skipped() {
    let server = server(&Arc::default());
    let folder = Folder::new();
    folder.write("c.json", CASES);
    let ran = folder.run(&check(&server.url, &["--run", "h/text*", "--fail-on", "warn"]));
    ran.expect(
        0,
        &["PASS", "the tokens handed over equal in both modes of 5 cases", "whole special 1 3 rand:1:8"],
    );
    let report: Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    assert_eq!(report["totals"]["findings"], json!({"error": 0, "warn": 0, "info": 0}), "{report:#}");
    let ran = folder.run(&check(&server.url, &["--run", "h/stop", "--show", "skipped"]));
    ran.expect(4, &["stop strings end a reply before its tokens are read"]);
}

#[test]
fn what_one_border_loses_is_found_repeated_and_seen_again_until_it_is_mended() {
    let loses = Arc::new(AtomicBool::new(true));
    let server = server(&loses);
    let folder = Folder::new();
    folder.write("c.json", CASES);
    let ran = folder.run(&check(&server.url, &["--run", "h/text"]));
    ran.expect(1, &["parity/content", "--puppet hermes --via derender", "--run h/text"]);
    let report: Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    let findings = report["cases"][0]["findings"].as_array().unwrap();
    let lost = findings.iter().find(|finding| finding["rule"] == json!("parity/content")).unwrap();
    assert!(lost["rounds"].as_array().unwrap().contains(&json!("1")), "{lost:#}");
    assert!(!lost["rounds"].as_array().unwrap().contains(&json!("whole")), "{lost:#}");
    let request: Value =
        serde_json::from_str(&folder.read("reports/latest/failed/h-text/exchanges.json")).unwrap();
    assert!(request.to_string().contains("generate_chunk"), "where it was cut is kept");
    assert!(folder.read("reports/latest/failed/h-text/curl.sh").contains("piece '"));
    folder.run(&["rejudge", "reports/latest/failed/h-text"]).expect(1, &["fail", "parity/content"]);
    let again = ["replay", "h/text", "--upstream", &server.url];
    folder.run(&again).expect(1, &["still failing", "parity/content"]);
    loses.store(false, Ordering::SeqCst);
    folder.run(&again).expect(0, &["fixed"]);
}

/// What came before a piece that is answered with an error is kept, and the error ends the stream.
#[test]
fn an_error_in_the_middle_ends_the_stream_behind_what_came() {
    let stage = stage(|request| {
        let body = body(request);
        let is_third = body["stream_state"]["seen"] == json!(2);
        match request.split(' ').nth(1).unwrap() {
            "/v1/chat/completions/render" => json(&json!({"token_ids": [1, 2, 3]})),
            "/tokenize" => json(&json!({"tokens": tokens(body["prompt"].as_str().unwrap())})),
            "/v1/chat/completions/derender" if is_third => response(
                "500 Oh",
                "application/json",
                br#"{"error": {"message": "lost it", "type": "server_error"}}"#,
            ),
            "/v1/chat/completions/derender" => json(&read(&body, false)),
            _ => not_found(),
        }
    });
    let folder = Folder::new();
    folder.write("c.json", CASES);
    let ran = folder.run(&check(&stage.url, &["--run", "h/text", "--skip", "**~*", "--rounds", "whole,3"]));
    ran.expect(1, &["parity/", "lost it"]);
    let stream = folder.read("reports/latest/failed/h-text/stream-3.sse");
    assert!(stream.contains("Hel") && stream.contains("lo ") && stream.contains("lost it"), "{stream}");
    assert!(!stream.contains("[DONE]"));
}

#[test]
fn a_server_that_reads_no_tokens_is_told_from_one_that_reads_them_wrong() {
    let folder = Folder::new();
    folder.write("c.json", CASES);
    let none = stage(|_| not_found());
    folder.run(&check(&none.url, &[])).expect(
        3,
        &[
            "--via derender: /v1/chat/completions/render: status 404",
            "--enable-scale-out",
            "vllm launch render",
        ],
    );
    let odd = stage(|request| match request.split(' ').nth(1).unwrap() {
        "/v1/chat/completions/render" => json(&json!({"token_ids": [1, -2]})),
        _ => not_found(),
    });
    folder.run(&check(&odd.url, &[])).expect(3, &["its answer has no list of ids as token_ids"]);
    let deaf = stage(|request| {
        let body = body(request);
        match request.split(' ').nth(1).unwrap() {
            "/v1/chat/completions/render" => json(&json!({"token_ids": [1]})),
            "/tokenize" => json(&json!({"tokens": tokens(body["prompt"].as_str().unwrap())})),
            "/v1/chat/completions/derender" if body["stream"] == json!(true) => json(&json!({"chunk": {}})),
            "/v1/chat/completions/derender" => json(&read(&body, false)),
            _ => not_found(),
        }
    });
    let ran = folder.run(&check(&deaf.url, &["--run", "h/text", "--show", "error"]));
    ran.expect(3, &["breaks HTTP: the answer to piece 0: missing field `stream_state`"]);
    folder.run(&["--check", "--via", "derender"]).expect(2, &["--upstream"]);
    folder
        .run(&["--check", "--upstream", &none.url, "--puppet", "hermes", "--via", "air"])
        .expect(2, &["derender"]);
}
