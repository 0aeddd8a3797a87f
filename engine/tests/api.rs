//! The engine over a socket: literal bytes in, literal bytes out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test dies of what it did not expect"
)]

mod support;

use std::{
    io::{Read, Write},
    time::Duration,
};

use support::{Engine, chat_bytes, puppet, read_answer};
use tfengine::Switch;

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"lookup","parameters":{"type":"object","properties":{"q":{"type":"string"},"tags":{"type":"array"}}}}}]"#;
const CALL: &str = r#"<tool_call>{"name":"lookup","arguments":{"q":"a b"}}</tool_call>"#;

/// Streams with usage and compares the whole body.
fn check_stream(engine: &Engine, rounds: &str, body: &str, expect: &[&str]) {
    let answer = engine.chat(&format!("x-tfproxy-rounds: {rounds}\r\n"), body);
    assert_eq!(answer.status(), 200, "{}", answer.body);
    let head =
        r#"data: {"id":"chatcmpl-#","object":"chat.completion.chunk","created":#,"model":"puppet-hermes","#;
    let events: Vec<String> = expect
        .iter()
        .map(|data| match data.strip_prefix("delta ") {
            Some(delta) => {
                format!(r#"{head}"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
            }
            None if *data == "[DONE]" => "data: [DONE]".to_owned(),
            None => format!("{head}{data}"),
        })
        .collect();
    assert_eq!(answer.masked(), events.join("\n\n") + "\n\n");
}

#[test]
fn a_stream_is_these_bytes() {
    let engine = Engine::start(Switch::Off);
    let body = puppet("puppet-hermes", "Hi", r#""stream":true,"stream_options":{"include_usage":true}"#);
    let answer = engine.chat("", &body);
    for line in ["http/1.1 200 ok", "content-type: text/event-stream", "cache-control: no-cache"] {
        assert!(answer.head.lines().any(|found| found == line), "{}", answer.head);
    }
    check_stream(
        &engine,
        "1",
        &body,
        &[
            r#"delta {"role":"assistant","content":null}"#,
            r#"delta {"content":"H"}"#,
            r#"delta {"content":"i"}"#,
            r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#""choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5},"tfengine":{"token_sha":"SHA"}}"#
                .replace("SHA", HI_SHA)
                .as_str(),
            "[DONE]",
        ],
    );
}

/// `printf 72,105,260 | sha256sum | cut -c1-12`
const HI_SHA: &str = "3ed008da4ffd";

#[test]
fn a_stream_without_usage_has_no_usage_key() {
    let engine = Engine::start(Switch::Off);
    check_stream(
        &engine,
        "whole",
        &puppet("puppet-hermes", "Hi", r#""stream":true,"stop":"i""#),
        &[
            r#"delta {"role":"assistant","content":null}"#,
            r#"delta {"content":"H"}"#,
            r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"tfengine":{"token_sha":"SHA"}}"#
                .replace("SHA", "e2069db29cbb")
                .as_str(),
            "[DONE]",
        ],
    );
}

#[test]
fn an_empty_reply_says_empty_content() {
    let engine = Engine::start(Switch::Off);
    let answer = engine.chat("", &puppet("puppet-hermes", "", r#""stream":true"#));
    let (chunks, done) = answer.chunks();
    assert!(done);
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[1]["choices"][0]["delta"].to_string(), r#"{"content":""}"#);
    assert_eq!(
        engine.chat("", &puppet("puppet-hermes", "", "")).json()["choices"][0]["message"]["content"],
        ""
    );
}

#[test]
fn a_whole_reply_is_these_bytes() {
    let engine = Engine::start(Switch::Off);
    let answer = engine.chat("", &puppet("puppet-hermes", "Hi", ""));
    let expect = r#"{"id":"chatcmpl-#","object":"chat.completion","created":#,"model":"puppet-hermes","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5},"tfengine":{"token_sha":"SHA"}}"#;
    assert_eq!(answer.masked(), expect.replace("SHA", HI_SHA));
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
}

#[test]
fn a_call_has_its_header_once_and_null_content() {
    let engine = Engine::start(Switch::Off);
    let keys = format!(r#"{TOOLS},"stream":true"#);
    let (chunks, _) =
        engine.chat("x-tfproxy-rounds: whole\r\n", &puppet("puppet-hermes", CALL, &keys)).chunks();
    let calls: Vec<_> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]).collect();
    let id = calls[1]["id"].as_str().unwrap();
    assert!(id.starts_with("call_") && id.len() == 29, "{id}");
    let header = format!(
        r#"{{"index":0,"id":"{id}","type":"function","function":{{"name":"lookup","arguments":""}}}}"#
    );
    assert_eq!(calls[1].to_string(), header);
    assert_eq!(calls[2].to_string(), r#"{"index":0,"function":{"arguments":"{\"q\":\"a b\"}"}}"#);
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "tool_calls");

    let whole = engine.chat("", &puppet("puppet-hermes", CALL, TOOLS)).masked();
    let message = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_#","type":"function","function":{"name":"lookup","arguments":"{\"q\":\"a b\"}"}}]}"#;
    assert!(whole.contains(message), "{whole}");
}

#[test]
fn reasoning_has_its_own_key() {
    let engine = Engine::start(Switch::Off);
    let says = "<think>hm</think>yes";
    let whole = engine.chat("", &puppet("puppet-hermes", says, "")).json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message.to_string(), r#"{"role":"assistant","content":"yes","reasoning_content":"hm"}"#);
    let streamed =
        engine.chat("x-tfproxy-rounds: whole\r\n", &puppet("puppet-hermes", says, r#""stream":true"#));
    let deltas: Vec<String> =
        streamed.chunks().0.iter().map(|chunk| chunk["choices"][0]["delta"].to_string()).collect();
    assert_eq!(deltas[1..], [r#"{"reasoning_content":"hm"}"#, r#"{"content":"yes"}"#, "{}"]);
}

#[test]
fn the_model_named_is_the_base_name() {
    let engine = Engine::start(Switch::Off);
    let reply = engine.chat("", &puppet("puppet-glm+rounds-rand-1-8", "x", "")).json();
    assert_eq!(reply["model"], "puppet-glm");
}

#[test]
fn models_and_health() {
    let engine = Engine::start(Switch::Off);
    let models = engine.get("/v1/models").json();
    let ids: Vec<_> = models["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
    assert_eq!(ids, ["puppet-hermes", "puppet-glm", "puppet-qwen3-xml"]);
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["owned_by"], "tfengine");
    assert_eq!(engine.get("/health").json()["status"], "ok");
}

/// Status and the body of a refusal, with the connection still in order.
fn check_refused(engine: &Engine, request: &str, status: u16, message: &str) {
    let answer = read_answer(&engine.raw(request.as_bytes()));
    let error = &answer.json()["error"];
    assert_eq!((answer.status(), error["type"].as_str()), (status, Some("invalid_request_error")));
    assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
}

#[test]
fn refusals_are_json_with_their_status() {
    let engine = Engine::start(Switch::Off);
    let close = "host: x\r\nconnection: close\r\n";
    check_refused(&engine, &format!("GET /v2 HTTP/1.1\r\n{close}\r\n"), 404, "unknown path /v2");
    check_refused(&engine, &format!("PUT /v1/models HTTP/1.1\r\n{close}\r\n"), 405, "GET only");
    check_refused(&engine, &format!("GET /v1/chat/completions HTTP/1.1\r\n{close}\r\n"), 405, "POST only");
    check_refused(&engine, &chat_bytes("", "{"), 400, "not JSON");
    check_refused(&engine, &chat_bytes("", &puppet("gpt", "x", "")), 404, "'gpt' does not exist");
    check_refused(
        &engine,
        &chat_bytes("x-tfproxy-rounds: 0\r\n", &puppet("puppet-glm", "x", "")),
        400,
        "rounds",
    );
    check_refused(
        &engine,
        &chat_bytes("x-tfproxy-plant: crlf\r\n", &puppet("puppet-glm", "x", "")),
        400,
        "--plants",
    );
}

#[test]
fn small_texts_with_large_meanings_are_refused_or_answered_at_once() {
    let engine = Engine::start(Switch::Off);
    let many = format!(r#""metadata":[{}0]"#, "0,".repeat(1 << 19));
    check_refused(
        &engine,
        &chat_bytes("", &puppet("puppet-glm", "x", &many)),
        400,
        "more than 524288 values",
    );
    let long = "m".repeat(100_000);
    let answer = read_answer(&engine.raw(chat_bytes("", &puppet(&long, "x", "")).as_bytes()));
    assert!(answer.body.len() < 400, "{}", answer.body.len());
    // Each tool held against each other, and each name against each tool, this takes minutes.
    let tool = |number: usize| format!(r#"{{"type":"function","function":{{"name":"tool-{number}"}}}}"#);
    let tools = (0..60_000).map(tool).collect::<Vec<_>>().join(",");
    let says = "<tool_call>tool-59999".repeat(50_000);
    let body = puppet("puppet-glm", &says, &format!(r#""tools":[{tools}]"#));
    assert_eq!(engine.chat("x-tfproxy-rounds: whole\r\n", &body).status(), 200);
}

#[test]
fn a_body_over_the_cap_is_refused() {
    let engine = Engine::start(Switch::Off);
    let mut stream = engine.connect();
    let length = 17 * 1024 * 1024;
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // The server may stop reading as soon as it has seen enough.
    let _ = stream.write_all(&vec![b' '; length]);
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn a_client_that_goes_away_stops_its_generation() {
    let engine = Engine::start(Switch::Off);
    let says = "x".repeat(12_000_000);
    for keys in [r#""stream":true"#, ""] {
        let before = engine.rounds();
        let mut stream = engine.connect();
        stream.write_all(chat_bytes("", &puppet("puppet-hermes", &says, keys)).as_bytes()).unwrap();
        while engine.rounds() == before {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(stream);
        let mut last = engine.rounds();
        loop {
            std::thread::sleep(Duration::from_millis(100));
            if engine.rounds() == last {
                break;
            }
            last = engine.rounds();
        }
        assert!(last - before < 12_000_000, "all of {} rounds were generated ({keys})", last - before);
    }
}

#[test]
fn a_shutdown_ends_an_idle_connection_and_frees_the_port() {
    let engine = Engine::start(Switch::Off);
    let addr = engine.addr;
    let mut idle = engine.connect();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    engine.shutdown();
    assert!(std::net::TcpStream::connect(addr).is_err());
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
}

#[test]
fn a_connection_serves_more_than_one_request() {
    let engine = Engine::start(Switch::Off);
    let body = puppet("puppet-hermes", "Hi", "");
    let again = chat_bytes("", &body);
    let first = again.replace("connection: close\r\n", "");
    let answer = String::from_utf8(engine.raw(format!("{first}{again}").as_bytes())).unwrap();
    assert_eq!(answer.matches("\"content\":\"Hi\"").count(), 2, "{answer}");
}
