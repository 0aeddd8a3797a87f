//! Servers that lie, as a user meets them: each gets the verdict that is true of it, and chance is blamed on nobody.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

mod support;

use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use support::{Folder, Play, Ran, Stage, not_found, response, stage};

/// What a server says once.
#[derive(Clone)]
struct Said {
    content: String,
    id: String,
    model: &'static str,
    tokens: usize,
    fingerprint: Option<&'static str>,
    sha: Option<&'static str>,
}

/// What a puppet is told at first.
const HANDSHAKE: [&str; 2] = ["The puppet says what it is told.", "Grüße, 漢字 and 🎉.\n- a second line"];

/// One question: how many came before it, and what it is.
struct Question {
    number: usize,
    body: Value,
}

impl Question {
    fn is_stream(&self) -> bool {
        self.body["stream"] == true
    }

    /// The text that a puppet is told.
    fn told(&self) -> &str {
        self.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
    }

    fn is_handshake(&self) -> bool {
        HANDSHAKE.contains(&self.told())
    }

    /// What an honest puppet says: a byte a token, and the end.
    fn honest(&self) -> Said {
        let content = self.told().to_owned();
        Said { tokens: content.len() + 1, ..said(&content, self.number) }
    }
}

fn said(content: &str, number: usize) -> Said {
    let (content, id) = (content.to_owned(), format!("chatcmpl-{number}"));
    Said { content, id, model: "m", tokens: 3, fingerprint: None, sha: None }
}

/// The members that a whole reply and a chunk share.
fn envelope(said: &Said, object: &str, choices: &Value) -> Value {
    let mut envelope =
        json!({"id": said.id, "object": object, "created": 1, "model": said.model, "choices": choices});
    if let Some(fingerprint) = said.fingerprint {
        envelope["system_fingerprint"] = fingerprint.into();
    }
    envelope
}

/// As the dialect has it, with usage and, where it is given, the hash of the tokens at the end.
fn told(said: &Said, is_stream: bool) -> Vec<Play> {
    let end = |mut last: Value| {
        last["usage"] =
            json!({"prompt_tokens": 1, "completion_tokens": said.tokens, "total_tokens": said.tokens + 1});
        if let Some(sha) = said.sha {
            last["tfengine"] = json!({ "token_sha": sha });
        }
        last
    };
    if !is_stream {
        let message = json!({"role": "assistant", "content": said.content});
        let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
        let body = end(envelope(said, "chat.completion", &choices)).to_string();
        return response("200 OK", "application/json", body.as_bytes());
    }
    let chunk = |choices: Value| envelope(said, "chat.completion.chunk", &choices);
    let delta =
        |delta: Value, finish: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let events = [
        delta(json!({"role": "assistant", "content": ""}), Value::Null),
        delta(json!({"content": said.content}), Value::Null),
        delta(json!({}), "stop".into()),
        end(chunk(json!([]))),
    ];
    let body = events.map(|event| format!("data: {event}\n\n")).concat() + "data: [DONE]\n\n";
    response("200 OK", "text/event-stream", body.as_bytes())
}

/// A server with these models whose answers are chosen by the question; `None` is a model that is not there.
fn liar(
    models: &'static [&str],
    answer: impl Fn(&Question) -> Option<Said> + Send + Sync + 'static,
) -> Stage {
    let asked = Arc::new(AtomicUsize::new(0));
    stage(move |request| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        if head.starts_with("GET /v1/models ") {
            let list: Vec<Value> = models.iter().map(|id| json!({"id": id, "owned_by": "openai"})).collect();
            return response("200 OK", "application/json", json!({ "data": list }).to_string().as_bytes());
        }
        if !head.starts_with("POST ") {
            return not_found();
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let question = Question { number, body: serde_json::from_str(body).unwrap() };
        match answer(&question) {
            Some(said) => told(&said, question.is_stream()),
            None => response(
                "404 Not Found",
                "application/json",
                br#"{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
            ),
        }
    })
}

const PROMPT: &str = r#"{"id": "own/a", "request": {"messages": [{"role": "user", "content": "Say something."}]}, "needs": ["text"]}"#;
const PUPPET: &str =
    r#"{"id": "own/a", "format": "glm", "says": "Hi there", "expect": {"content": "Hi there"}}"#;

/// Asks one case, without what derives from it. Gives the run, the case's report, and its findings with their severity.
fn check(stage: &Stage, case: &str, more: &[&str]) -> (Ran, Value, Vec<(String, String)>) {
    let folder = Folder::new();
    folder.write("c.json", case);
    let arguments = ["--check", "--upstream", &stage.url, "--cases", "c.json", "--skip", "**~*"];
    let ran = folder.run(&[&arguments, more].concat());
    let report: Value = serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap();
    let case = report["cases"][0].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = case["findings"].as_array().unwrap();
    let found = findings.iter().map(|f| (text(&f["rule"]), text(&f["severity"]))).collect();
    (ran, case, found)
}

fn pair(rule: &str, severity: &str) -> (String, String) {
    (rule.to_owned(), severity.to_owned())
}

const PUPPETS: &[&str] = &["puppet-glm"];

#[test]
fn an_honest_gateway_passes() {
    let honest = liar(PUPPETS, |question| Some(question.honest()));
    let (ran, case, found) = check(&honest, PUPPET, &["--rounds", "1,3"]);
    ran.expect(0, &["token counts equal in both modes of 1 case", "rounds 1 3"]);
    assert_eq!((case["verdict"].as_str(), found), (Some("pass"), vec![]));
}

#[test]
fn a_gateway_that_lists_a_puppet_and_does_not_pass_it_on_is_told_so() {
    let to = |stage: &Stage| Folder::new().run(&["--check", "--upstream", &stage.url]);
    let other = liar(PUPPETS, |question| Some(said("Hello!", question.number)));
    to(&other).expect(3, &["puppet-glm is listed, and told", "it said \"Hello!\"", "--model"]);
    let bare = liar(PUPPETS, |question| (question.body["model"] == "puppet-glm").then(|| question.honest()));
    to(&bare).expect(3, &["with +rounds-1 after its name it answered no such model", "puppet-"]);
}

/// A lie of as many tokens as the truth: the count says that the model wrote its text, and the gateway changed it.
#[test]
fn what_a_gateway_changes_is_a_fault_and_what_it_bills_otherwise_a_doubt() {
    let of = |lies: fn(&Question) -> bool, tokens: usize| {
        let stage = liar(PUPPETS, move |question| {
            let honest = question.honest();
            let lie = Said { content: "Hi thera".to_owned(), tokens, ..honest.clone() };
            Some(if lies(question) && !question.is_handshake() { lie } else { honest })
        });
        let (ran, case, found) = check(&stage, PUPPET, &["--rounds", "1"]);
        (ran.status, case["verdict"].as_str().unwrap().to_owned(), found)
    };
    let (status, verdict, found) = of(Question::is_stream, 9);
    assert_eq!((status, verdict.as_str(), &found[0]), (1, "fail", &pair("parity/content", "error")));
    let (status, verdict, found) = of(|_| true, 9);
    assert_eq!((status, verdict.as_str(), found), (1, "fail", vec![pair("expect/content", "error")]));
    let (status, verdict, _) = of(Question::is_stream, 12);
    assert_ne!(status, 1);
    assert_eq!(verdict, "suspect");
}

/// Of a puppet checkpoint that lies after the handshake the same holds as of a gateway.
#[test]
fn a_checkpoint_that_lies_after_the_handshake_is_caught_by_its_count() {
    let stage = liar(&["m"], move |question| {
        let shown = HANDSHAKE.iter().find(|text| question.told().starts_with(*text));
        let content = shown.copied().unwrap_or(if question.is_stream() { "Hi thera" } else { "Hi there" });
        Some(Said { tokens: content.len() + 1, ..said(content, question.number) })
    });
    let (ran, case, found) = check(&stage, PUPPET, &["--puppet", "glm"]);
    assert_eq!((ran.status, case["verdict"].as_str()), (1, Some("fail")), "{ran:#?}");
    assert_eq!(found[0], pair("parity/content", "error"));
}

#[test]
fn a_server_that_samples_never_fails() {
    let samples = liar(&["m"], |question| Some(said(&format!("word {}", question.number), question.number)));
    let (ran, case, _) = check(&samples, PROMPT, &[]);
    assert_eq!(case["verdict"], "unstable", "{ran:#?}");
    assert_ne!(ran.status, 1);
    let by_mode = liar(&["m"], |question| {
        Some(said(if question.is_stream() { "streamed" } else { "whole" }, question.number))
    });
    let (ran, case, _) = check(&by_mode, PROMPT, &[]);
    assert_eq!(case["verdict"], "suspect", "{ran:#?}");
    assert_ne!(ran.status, 1);
}

/// The tokens are equal; what made text of them may not be the same server.
#[test]
fn two_backends_weaken_an_error_to_a_warning() {
    let of = |fingerprints: [&'static str; 2]| {
        let stage = liar(&["m"], move |question| {
            let is_stream = question.is_stream();
            let [whole, stream] = fingerprints;
            let (content, fingerprint) = if is_stream { ("Ho", stream) } else { ("Hi", whole) };
            let one = said(content, question.number);
            Some(Said { fingerprint: Some(fingerprint), sha: Some("0123456789ab"), ..one })
        });
        let (ran, case, found) = check(&stage, PROMPT, &[]);
        (ran.status, case["verdict"].as_str().unwrap().to_owned(), found)
    };
    let (status, verdict, found) = of(["fp_a", "fp_a"]);
    assert_eq!((status, verdict.as_str(), found), (1, "fail", vec![pair("parity/content", "error")]));
    let (status, verdict, found) = of(["fp_a", "fp_b"]);
    assert_eq!((status, verdict.as_str()), (0, "fail"));
    assert_eq!(found, [pair("parity/content", "warn"), pair("parity/fingerprint", "info")]);
}

/// One fingerprint in each mode, changing from reply to reply: what two replies of one backend show stays an error.
#[test]
fn what_one_backend_shows_stays_an_error() {
    let stage = liar(&["m"], |question| {
        let content = if question.is_stream() { "Ho" } else { "Hi" };
        let fingerprint = if question.number % 3 == 2 { "fp_b" } else { "fp_a" };
        let one = said(content, question.number);
        Some(Said { fingerprint: Some(fingerprint), sha: Some("0123456789ab"), ..one })
    });
    let (ran, case, found) = check(&stage, PROMPT, &[]);
    assert_eq!((ran.status, case["verdict"].as_str()), (1, Some("fail")));
    assert!(found.contains(&pair("parity/content", "error")), "{found:?}");
}

#[test]
fn a_cache_is_no_second_answer() {
    let cached = liar(&["m"], |_| Some(said("Hi", 7)));
    let (ran, case, _) = check(&cached, PROMPT, &[]);
    assert_eq!(case["verdict"], "suspect", "{ran:#?}");
    assert!(case["reason"].as_str().unwrap().contains("share the response id chatcmpl-7: a cache answered"));
    assert_ne!(ran.status, 0);
}

#[test]
fn a_model_that_is_not_there_never_passes() {
    let (ran, case, _) = check(&liar(&["m"], |_| None), PROMPT, &["--model", "gone"]);
    assert_eq!(case["verdict"], "error", "{ran:#?}");
    assert_eq!(case["reason"], "refused alike in both modes: status 404: no such model");
    assert_ne!(ran.status, 0);
}

#[test]
fn a_model_of_another_name_in_one_mode_is_told() {
    let stage = liar(&["m"], |question| {
        Some(Said { model: if question.is_stream() { "n" } else { "m" }, ..said("Hi", question.number) })
    });
    let (ran, case, found) = check(&stage, PROMPT, &[]);
    assert_eq!((ran.status, case["verdict"].as_str()), (0, Some("fail")), "{ran:#?}");
    assert_eq!(found, [pair("parity/model", "warn")]);
}
