//! Servers in which no puppet can run: what they refuse, how much they are asked, and answers that leave a model no choice.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

mod support;

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use support::{Folder, Play, Stage, not_found, response, stage};

/// Bodies in the order in which they came.
type Bodies = Arc<Mutex<Vec<Value>>>;

/// A server that says something to each chat request, and what it was asked.
fn server(answer: impl Fn(&Value) -> Vec<Play> + Send + Sync + 'static) -> (Stage, Bodies) {
    let bodies = Bodies::default();
    let seen = Arc::clone(&bodies);
    let stage = stage(move |request| {
        let Some((head, body)) = request.split_once("\r\n\r\n") else { return not_found() };
        if !head.starts_with("POST") {
            return not_found();
        }
        let body: Value = serde_json::from_str(body).unwrap();
        let play = answer(&body);
        seen.lock().unwrap().push(body);
        play
    });
    (stage, bodies)
}

/// A reply with this message, whole or streamed as the request asks.
fn says(body: &Value, message: &Value, finish: &str) -> Vec<Play> {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let of = |object: &str, choices: Value| json!({"id": format!("id-of-{object}"), "object": object, "created": 1, "model": "m", "choices": choices});
    if body["stream"] != true {
        let mut whole =
            of("chat.completion", json!([{"index": 0, "message": message, "finish_reason": finish}]));
        whole["usage"] = usage;
        return response("200 OK", "application/json", whole.to_string().as_bytes());
    }
    let mut delta = message.clone();
    for (at, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
        call["index"] = at.into();
    }
    let chunk = |choices: Value| of("chat.completion.chunk", choices);
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    let chunks = [
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}])),
        last,
    ];
    let events = chunks.map(|chunk| format!("data: {chunk}\n\n")).concat();
    response("200 OK", "text/event-stream", format!("{events}data: [DONE]\n\n").as_bytes())
}

fn hi(body: &Value) -> Vec<Play> {
    says(body, &json!({"role": "assistant", "content": "Hi"}), "stop")
}

fn refuses(message: &str, param: &Value) -> Vec<Play> {
    let error =
        json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": null}});
    response("400 Bad Request", "application/json", error.to_string().as_bytes())
}

/// Two cases that any server can be asked, with these fields besides.
fn cases(folder: &Folder, fields: &Value) {
    let case = |id: &str| {
        let mut request = fields.clone();
        request["messages"] = json!([{"role": "user", "content": "Hello."}]);
        json!({"id": id, "request": request})
    };
    folder.write("c.json", json!([case("own/one"), case("own/two")]).to_string());
}

fn check(folder: &Folder, stage: &Stage, more: &[&str]) -> support::Ran {
    folder.run(&[&["--check", "--upstream", &stage.url, "--cases", "c.json"], more].concat())
}

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap()
}

fn count(bodies: &Bodies) -> usize {
    bodies.lock().unwrap().len()
}

fn with(bodies: &Bodies, field: &str) -> usize {
    bodies.lock().unwrap().iter().filter(|body| body.get(field).is_some()).count()
}

#[test]
fn a_refused_field_is_dropped_once_and_that_is_said() {
    let folder = Folder::new();
    cases(&folder, &json!({"temperature": 0, "seed": 1}));
    let said = "Unsupported value: 'temperature' does not support 0 with this model.";
    let (stage, bodies) = server(move |body| {
        if body.get("temperature").is_some() { refuses(said, &json!("temperature")) } else { hi(body) }
    });
    check(&folder, &stage, &[]).expect(
        0,
        &[
            "PASS    2 of 2",
            "\ndropped temperature, which the server refused: Unsupported value",
            "2 retried",
        ],
    );
    let dropped = json!([{"field": "temperature", "instead": null, "said": said}]);
    assert_eq!(report(&folder)["upstream"]["dropped"], dropped);
    // The second case is not sent with it at all; what is not refused stays.
    assert_eq!((count(&bodies), with(&bodies, "temperature"), with(&bodies, "seed")), (10, 2, 10));
}

#[test]
fn a_limit_is_sent_under_the_name_that_the_server_takes() {
    let folder = Folder::new();
    cases(&folder, &json!({"max_tokens": 64, "temperature": 0}));
    let (stage, bodies) = server(|body| match (body.get("max_tokens"), body.get("temperature")) {
        (Some(_), _) => refuses(
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            &json!("max_tokens"),
        ),
        (_, Some(_)) => refuses("temperature is not supported", &Value::Null),
        _ => hi(body),
    });
    check(&folder, &stage, &[]).expect(
        0,
        &[
            "dropped max_tokens for max_completion_tokens, which the server refused: ",
            "\ndropped temperature, ",
        ],
    );
    assert_eq!(
        (with(&bodies, "max_tokens"), with(&bodies, "max_completion_tokens"), with(&bodies, "temperature")),
        (2, 10, 4)
    );
}

#[test]
fn what_dropping_does_not_help_is_not_dropped() {
    let folder = Folder::new();
    cases(&folder, &json!({"temperature": 0}));
    let (stage, bodies) = server(|_| refuses("no account, no temperature", &Value::Null));
    check(&folder, &stage, &[]).expect(3, &["refused alike in both modes: status 400: no account"]);
    assert_eq!(report(&folder)["upstream"]["dropped"], json!([]));
    assert!(with(&bodies, "temperature") >= 8, "both cases were asked as they are written");
}

/// A field of the case's own that one mode takes and the other refuses is a fault, and one that we add is none.
#[test]
fn a_field_that_one_mode_alone_refuses_is_found() {
    let folder = Folder::new();
    cases(&folder, &json!({"temperature": 0}));
    let (stage, _) = server(|body| {
        let is_refused = body["stream"] == true && body.get("temperature").is_some();
        if is_refused { refuses("no temperature", &json!("temperature")) } else { hi(body) }
    });
    check(&folder, &stage, &[]).expect(1, &["parity/error-swallowed"]);
    cases(&folder, &json!({}));
    let (stage, bodies) = server(|body| {
        let is_refused = body["stream"] == true && body.get("return_token_ids").is_some();
        if is_refused { refuses("no return_token_ids", &json!("return_token_ids")) } else { hi(body) }
    });
    check(&folder, &stage, &["--profile", "vllm"]).expect(0, &["dropped return_token_ids, ", "profile vllm"]);
    assert_eq!((count(&bodies), with(&bodies, "return_token_ids")), (10, 2));
}

#[test]
fn what_should_be_refused_keeps_its_fields() {
    let folder = Folder::new();
    let case = r#"{"id": "own/bad", "request": {"messages": "no", "temperature": 0}, "needs": ["error"], "expect": {"error": {"status": 400}}}"#;
    folder.write("c.json", case);
    let (stage, bodies) = server(|_| refuses("no temperature", &json!("temperature")));
    check(&folder, &stage, &[]).expect(0, &["PASS    1 of 1"]);
    assert_eq!((count(&bodies), with(&bodies, "temperature")), (2, 2));
    assert_eq!(report(&folder)["upstream"]["dropped"], json!([]));
}

#[test]
fn how_much_is_asked_is_said_first_and_has_a_limit() {
    let folder = Folder::new();
    let (stage, bodies) = server(hi);
    let ran = folder.run(&["--check", "--upstream", &stage.url]);
    assert_eq!(ran.err, format!("tfproxy: 60 requests go to {}\n", stage.url));
    assert_eq!(count(&bodies), 60);
    let ids: Vec<_> = report(&folder)["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap().split('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        (
            ids.iter().filter(|id| *id == "prompted").count(),
            ids.iter().filter(|id| *id == "forced").count(),
            ids.len()
        ),
        (8, 10, 18)
    );
    let ran = folder.run(&["--check", "--upstream", &stage.url, "--max-requests", "10"]);
    assert_eq!(
        ran.err,
        format!("tfproxy: at most 10 of 60 requests go to {} (--max-requests 60 for all)\n", stage.url)
    );
    assert_eq!(count(&bodies), 70);
    let ran = folder.run(&["--check", "--upstream", &stage.url, "--repeat", "2"]);
    assert_eq!(
        ran.err,
        format!("tfproxy: at most 60 of 120 requests go to {} (--max-requests 120 for all)\n", stage.url)
    );
    assert!(
        report(&folder)["cases"].as_array().unwrap().iter().any(|c| c["reason"] == "over --max-requests")
    );
    let ran = folder.run(&[
        "--check",
        "--upstream",
        &stage.url,
        "--repeat",
        "2",
        "--max-requests",
        "500",
        "--quiet",
    ]);
    assert_eq!(ran.err, "");
    assert_eq!(count(&bodies), 70 + 60 + 120);
}

/// The one value that a schema allows.
fn only(schema: &Value) -> Value {
    if let Some(value) = schema.get("const").or_else(|| schema.pointer("/enum/0")) {
        return value.clone();
    }
    let all = schema["properties"].as_object().unwrap();
    all.iter().map(|(key, schema)| (key.clone(), only(schema))).collect::<serde_json::Map<_, _>>().into()
}

/// What a server says that does as it is told.
fn obeys(body: &Value) -> Vec<Play> {
    let unknown = body
        .pointer("/tool_choice/function/name")
        .filter(|name| body.pointer("/tools/0/function/name") != Some(name));
    let is_bad = body["messages"].as_array().is_none_or(Vec::is_empty)
        || body["messages"][0]["role"] == "king"
        || body["tools"].is_string()
        || body["max_tokens"].as_i64().is_some_and(|most| most < 1)
        || unknown.is_some();
    if is_bad {
        return refuses("no", &Value::Null);
    }
    if let Some(schema) = body.pointer("/response_format/json_schema/schema") {
        return says(
            body,
            &json!({"role": "assistant", "content": format!(" {:#}\n", only(schema))}),
            "stop",
        );
    }
    if let Some(tool) = body.get("tool_choice").and(body.pointer("/tools/0/function")) {
        return called(body, &only(&tool["parameters"]));
    }
    says(body, &json!({"role": "assistant", "content": "one"}), "length")
}

fn called(body: &Value, arguments: &Value) -> Vec<Play> {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "report", "arguments": arguments.to_string()}});
    says(body, &json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
}

#[test]
fn a_server_that_does_as_it_is_told_passes_what_is_forced() {
    let folder = Folder::new();
    let (stage, _) = server(obeys);
    folder.run(&["--check", "--upstream", &stage.url, "--suite", "forced"]).expect(0, &["PASS    10 of 10"]);
    let expected = |id: &str| {
        let report = report(&folder);
        let case = report["cases"].as_array().unwrap().iter().find(|c| c["id"] == id).cloned();
        case.unwrap()["expected"].clone()
    };
    for id in ["several-parameters", "nested-parameters", "constant-answer", "unknown-role"] {
        assert_eq!(expected(&format!("forced/{id}")), "match", "{id}");
    }
}

#[test]
fn a_schema_that_both_modes_ignore_is_a_fault_and_one_that_one_mode_ignores_a_suspicion() {
    let folder = Folder::new();
    let run =
        |stage: &Stage| folder.run(&["--check", "--upstream", &stage.url, "--run", "forced/one-parameter"]);
    let (stage, _) = server(|body| called(body, &json!({"door": "open"})));
    run(&stage).expect(1, &["1 error truth/tool-arguments"]);
    let (stage, _) =
        server(|body| called(body, &json!({"door": if body["stream"] == true { "open" } else { "shut" }})));
    run(&stage).expect(4, &["1 suspect"]);
    // Cut by the limit, a reply had no room to be right.
    let cut = |body: &Value| says(body, &json!({"role": "assistant", "content": ""}), "length");
    let (stage, _) = server(cut);
    assert_ne!(run(&stage).status, 1);
}
