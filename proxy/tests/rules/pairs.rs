//! Examples of the ids that no rule of one exchange makes: replies held against each other, against the right answer,
//! through the clients' ways of folding, and transports that break. Each has replies that keep it and replies that break it.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use tfproxy::{
    exchange::{End, Exchange, Head, Slice, Took},
    plan::{Entry, Rounds},
    request::{
        Dialect, Mode, Request,
        case::{Basis, Case, Expect, ExpectCall, ExpectError},
        twin::twin,
    },
    rules::Profile,
    run::{
        judge::{Puppet, Terms, judge},
        upstream::Kind,
    },
};

/// What keeps an id and what breaks it.
pub struct Pair {
    pub id: &'static str,
    /// Replies that keep it: nothing is found in them.
    pub good: Vec<Exchange>,
    /// Replies that break it.
    pub bad: Vec<Exchange>,
    /// All that is found in those, beside the id, in alphabetical order.
    pub also: &'static [&'static str],
    /// The right answer, where it is known.
    pub right: Option<Right>,
}

/// The right answer, and whose replies are held against it.
pub struct Right {
    pub expect: Expect,
    pub basis: Basis,
    pub kind: Kind,
}

// === replies ===

/// Counts of a reply, as every reply here gives them.
fn usage(completion: u64) -> Value {
    json!({"prompt_tokens": 5, "completion_tokens": completion, "total_tokens": 5 + completion})
}

/// What a reply says: a message in openai-chat shape, a finish reason, members of the choice and of the body.
#[derive(Clone)]
struct Said {
    message: Value,
    finish: &'static str,
    choice: Value,
    body: Value,
}

fn said(message: Value, finish: &'static str) -> Said {
    Said { message, finish, choice: json!({}), body: json!({"usage": usage(9)}) }
}

fn says(content: &str) -> Said {
    said(json!({"role": "assistant", "content": content}), "stop")
}

fn thinks(reasoning: &str, content: &str) -> Said {
    said(json!({"role": "assistant", "content": content, "reasoning_content": reasoning}), "stop")
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Said {
    said(json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
}

/// One call of `f`.
fn one_call(arguments: &str) -> Said {
    calls(&[call("call_1", "f", &arguments.into())])
}

/// Logprobs of these tokens.
fn logprobs(tokens: &[(&str, f64)]) -> Value {
    let entry = |(token, value): &(&str, f64)| json!({"token": token, "logprob": value, "bytes": token.as_bytes(), "top_logprobs": []});
    json!({"content": tokens.iter().map(entry).collect::<Vec<_>>(), "refusal": null})
}

impl Said {
    fn finishes(self, finish: &'static str) -> Self {
        Self { finish, ..self }
    }

    /// With a member of the choice.
    fn choice(mut self, key: &str, value: Value) -> Self {
        self.choice[key] = value;
        self
    }

    /// With a member of the body.
    fn body(mut self, key: &str, value: Value) -> Self {
        self.body[key] = value;
        self
    }

    /// Without a member of the body.
    fn without(mut self, key: &str) -> Self {
        self.body.as_object_mut().unwrap().remove(key);
        self
    }

    fn whole(&self) -> Exchange {
        let mut body = json!({"id": "w", "object": "chat.completion", "created": 1, "model": "m"});
        body["choices"] = json!([merged(
            json!({"index": 0, "message": self.message, "finish_reason": self.finish}),
            &self.choice
        )]);
        exchange(Mode::Whole, 200, "application/json", &merged(body, &self.body).to_string())
    }

    /// A role, what is said, the finish, usage if there is some, and the sentinel. Members of the body come last.
    fn stream(&self) -> Exchange {
        let said = self.message.as_object().unwrap();
        let role = json!({"role": said["role"], "content": if said["content"] == "" { "".into() } else { Value::Null }});
        let mut chunks = vec![chunk(&json!([{"index": 0, "delta": role, "finish_reason": null}]))];
        for delta in deltas(said) {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
            chunks.push(chunk(&json!([merged(choice, &self.choice)])));
        }
        chunks.push(chunk(&json!([{"index": 0, "delta": {}, "finish_reason": self.finish}])));
        chunks.push(merged(chunk(&json!([])), &self.body));
        chunks.retain(|chunk| chunk["choices"] != json!([]) || chunk.get("usage").is_some());
        streamed(&chunks)
    }

    fn both(&self) -> Vec<Exchange> {
        vec![self.whole(), self.stream()]
    }
}

fn merged(mut into: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        into[key] = value.clone();
    }
    into
}

/// The members of a message, one delta each; a call in two fragments.
fn deltas(message: &Map<String, Value>) -> Vec<Value> {
    let mut deltas = Vec::new();
    for (key, value) in message.iter().filter(|(key, _)| *key != "role") {
        match value {
            Value::Array(calls) => {
                for (at, call) in calls.iter().enumerate() {
                    let arguments = &call["function"]["arguments"];
                    let mut opening = call.clone();
                    opening["index"] = at.into();
                    if arguments.is_string() {
                        opening["function"]["arguments"] = "".into();
                        let rest = json!({"index": at, "function": {"arguments": arguments}});
                        deltas.push(json!({ "tool_calls": [opening] }));
                        deltas.push(json!({ "tool_calls": [rest] }));
                    } else {
                        deltas.push(json!({ "tool_calls": [opening] }));
                    }
                }
            }
            Value::String(text) if text.is_empty() => {}
            Value::Null => {}
            _ => {
                deltas.push(json!({ key: value }));
            }
        }
    }
    // Reasoning comes first.
    deltas.sort_by_key(|delta| delta.get("reasoning_content").or(delta.get("reasoning")).is_none());
    deltas
}

fn chunk(choices: &Value) -> Value {
    json!({"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices})
}

fn streamed(chunks: &[Value]) -> Exchange {
    let body = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<Vec<_>>().concat();
    exchange(Mode::Stream, 200, "text/event-stream", &(body + "data: [DONE]\n\n"))
}

fn exchange(mode: Mode, status: u16, media: &str, body: &str) -> Exchange {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let Value::Object(asked) = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [tool("f"), tool("g")], "stop": ["END"]})
    else {
        unreachable!("an object")
    };
    let request = Request {
        dialect: Dialect::OpenaiChat,
        path: "/v1/chat/completions".to_owned(),
        headers: Vec::new(),
        body: Value::Object(twin(&asked, mode)).to_string().into(),
    };
    let content_type = ("content-type".to_owned(), media.to_owned());
    let length = ("content-length".to_owned(), body.len().to_string());
    Exchange {
        mode,
        rounds: None,
        request,
        head: Some(Head { status, headers: vec![content_type, length] }),
        slices: vec![Slice { at: 1, bytes: body.to_owned().into() }],
        end: End::Complete,
        took: Took { head: 1, end: 2 },
    }
}

fn at(rounds: u32, mut exchange: Exchange) -> Exchange {
    exchange.rounds = Some(Rounds::Every(rounds));
    exchange
}

/// Refused by status.
fn refused(mode: Mode, status: u16, error: &Value) -> Exchange {
    exchange(mode, status, "application/json", &error.to_string())
}

fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

/// A stream that never gets further than this end.
fn broken(end: End) -> Exchange {
    let mut exchange = says("Hi").stream();
    if matches!(end, End::Refused(_)) {
        exchange.head = None;
    }
    exchange.end = end;
    exchange.slices[0].bytes.truncate(0);
    if let Some(head) = &mut exchange.head {
        head.headers.retain(|(name, _)| name != "content-length");
    }
    exchange
}

// === pairs ===

fn pair(id: &'static str, left: &Said, right: &Said, also: &'static [&'static str]) -> Pair {
    Pair { id, good: left.both(), bad: vec![left.whole(), right.stream()], also, right: None }
}

fn errors(id: &'static str, bad: [Exchange; 2], also: &'static [&'static str]) -> Pair {
    Pair { id, good: says("Hi").both(), bad: bad.into(), also, right: None }
}

fn expecting(id: &'static str, kind: Kind, expect: Expect, good: &Said, bad: &Said) -> Pair {
    let right = Right { expect, basis: Basis::Fact, kind };
    Pair { id, good: good.both(), bad: bad.both(), also: &[], right: Some(right) }
}

/// Every id that no rule of one exchange makes and that is shown by whole replies and streams.
pub fn all() -> Vec<Pair> {
    [of_errors(), of_calls(), of_texts(), of_ends(), of_tokens(), of_forms(), of_answers(), of_transport()]
        .into_iter()
        .flatten()
        .collect()
}

fn of_errors() -> Vec<Pair> {
    use Mode::{Stream, Whole};
    let bad = error("invalid_request_error", "no such model");
    let flat = json!({"object": "error", "message": "no such model", "type": "invalid_request_error", "param": null, "code": null});
    let late = |error: &Value| streamed(std::slice::from_ref(error));
    vec![
        errors("parity/error-status", [refused(Whole, 400, &bad), refused(Stream, 404, &bad)], &[]),
        errors(
            "parity/error-envelope",
            [refused(Whole, 400, &bad), refused(Stream, 400, &flat)],
            &["openai-chat/error-envelope"],
        ),
        errors(
            "parity/error-type",
            [refused(Whole, 400, &bad), refused(Stream, 400, &error("server_error", "no such model"))],
            &[],
        ),
        errors(
            "parity/error-message",
            [refused(Whole, 400, &bad), refused(Stream, 400, &error("invalid_request_error", "go away"))],
            &[],
        ),
        errors("parity/error-late", [refused(Whole, 400, &bad), late(&bad)], &[]),
        errors("parity/error-swallowed", [refused(Whole, 400, &bad), says("Hi").stream()], &[]),
    ]
}

fn of_calls() -> Vec<Pair> {
    let (f, g) = (call("call_1", "f", &"{\"a\":1}".into()), call("call_2", "g", &"{}".into()));
    let object = calls(&[call("call_1", "f", &json!({"a": 1}))]);
    vec![
        pair("parity/tool-count", &calls(&[f.clone(), g.clone()]), &calls(std::slice::from_ref(&f)), &[]),
        pair("parity/tool-order", &calls(&[f.clone(), g.clone()]), &calls(&[g, f]), &[]),
        pair("parity/tool-name", &one_call("{}"), &calls(&[call("call_1", "g", &"{}".into())]), &[]),
        pair("parity/tool-arguments", &one_call("{\"a\":1}"), &one_call("{\"a\":2}"), &[]),
        pair(
            "parity/tool-arguments-kind",
            &one_call("{\"a\":1}"),
            &object,
            &["merge/sdk-divergence", "openai-chat/tool-arguments-type"],
        ),
        pair("parity/tool-arguments-text", &one_call("{\"a\":1}"), &one_call("{\"a\": 1}"), &[]),
        pair("parity/tool-id-form", &one_call("{}"), &calls(&[call("x-77", "f", &"{}".into())]), &[]),
    ]
}

fn of_texts() -> Vec<Pair> {
    let refusal = |text: &str| said(json!({"role": "assistant", "content": null, "refusal": text}), "stop");
    let other = said(json!({"role": "assistant", "content": "Hi", "reasoning": "Hm."}), "stop");
    let spoken = |transcript: &str| {
        said(
            json!({"role": "assistant", "content": "Hi", "audio": {"id": "a", "data": "AA==", "transcript": transcript}}),
            "stop",
        )
    };
    let mut null = one_call("{}");
    null.message["content"] = Value::Null;
    let mut empty = null.clone();
    empty.message["content"] = "".into();
    vec![
        pair("parity/reasoning-split", &thinks("One. Two.", "Three."), &thinks("One.", " Two.Three."), &[]),
        pair("parity/reasoning", &thinks("Yes.", "Hi"), &thinks("No.", "Hi"), &[]),
        pair("parity/reasoning-whitespace", &thinks("Yes.\n", "Hi"), &thinks("Yes.", "Hi"), &[]),
        pair("parity/reasoning-field", &thinks("Hm.", "Hi"), &other, &[]),
        pair("parity/content", &says("Yes."), &says("No."), &[]),
        pair("parity/content-whitespace", &says("Yes.\n"), &says("Yes."), &[]),
        pair("parity/content-presence", &null, &empty, &[]),
        pair("parity/unicode-replacement", &says("é"), &says("\u{fffd}"), &[]),
        pair("parity/refusal", &refusal("No."), &refusal("Never."), &[]),
        pair("parity/message-member", &spoken("Hi."), &spoken("Ho."), &[]),
        pair(
            "parity/stop-string-leak",
            &says("Hi "),
            &says("Hi END"),
            &["openai-chat/stop-string-in-content"],
        ),
        pair("parity/empty-answer", &says("Hi"), &says(""), &["parity/content"]),
    ]
}

fn of_ends() -> Vec<Pair> {
    let stopped = |at: &str| says("Hi").choice("stop_reason", at.into());
    vec![
        pair("parity/finish-reason", &says("Hi"), &says("Hi").finishes("length"), &[]),
        pair("parity/stop-detail", &stopped("END"), &stopped("STOP"), &[]),
    ]
}

fn of_tokens() -> Vec<Pair> {
    let ids = |ids: Value, sum: u64| says("Hi").choice("token_ids", ids).body("usage", usage(sum));
    let sha = |completion: u64| {
        says("Hi").body("usage", usage(completion)).body("tfengine", json!({"token_sha": "1"}))
    };
    let probed = |tokens: &[(&str, f64)]| says("Hi").choice("logprobs", logprobs(tokens));
    let mut prompt = usage(9);
    (prompt["prompt_tokens"], prompt["total_tokens"]) = (6.into(), 15.into());
    let mut detailed = usage(9);
    detailed["completion_tokens_details"] = json!({"reasoning_tokens": 0});
    vec![
        pair("parity/usage-prompt", &says("Hi"), &says("Hi").body("usage", prompt), &[]),
        pair("parity/usage-completion", &sha(9), &sha(8), &[]),
        pair(
            "parity/usage-missing",
            &says("Hi"),
            &says("Hi").without("usage"),
            &["openai-chat/usage-missing"],
        ),
        pair("parity/usage-details", &says("Hi"), &says("Hi").body("usage", detailed), &[]),
        pair("parity/logprobs-absent", &probed(&[("Hi", -0.5)]), &says("Hi"), &[]),
        pair("parity/logprobs-tokens", &probed(&[("Hi", -0.5)]), &probed(&[("H", -0.5), ("i", -0.5)]), &[]),
        pair("parity/logprobs-values", &probed(&[("Hi", -0.5)]), &probed(&[("Hi", -0.7)]), &[]),
        pair("parity/token-ids", &ids(json!([5, 6]), 2), &ids(json!([5, 7]), 2), &[]),
    ]
}

fn of_forms() -> Vec<Pair> {
    let other = String::from_utf8(says("Hi").stream().body().to_vec()).unwrap();
    let other = other.replace(r#""model":"m""#, r#""model":"n""#);
    let other = exchange(Mode::Stream, 200, "text/event-stream", &other);
    let printed = |print: &str| says("Hi").body("system_fingerprint", print.into());
    let vendor = says("Hi").choice("vendor", 1.into());
    let mut tool = says("Hi");
    tool.message["role"] = "tool".into();
    let mut two = says("Hi").whole();
    let choice =
        json!({"index": 1, "message": {"role": "assistant", "content": "Ho"}, "finish_reason": "stop"});
    let mut body: Value = serde_json::from_slice(&two.body()).unwrap();
    body["choices"].as_array_mut().unwrap().push(choice);
    two = exchange(Mode::Whole, 200, "application/json", &body.to_string());
    let rounds = |right: &Said| vec![says("Hi").whole(), at(1, says("Hi").stream()), at(2, right.stream())];
    vec![
        errors("parity/choices-count", [two, says("Hi").stream()], &["openai-chat/choice-index-range"]),
        pair("parity/role", &says("Hi"), &tool, &["openai-chat/role-first"]),
        errors("parity/model", [says("Hi").whole(), other], &[]),
        pair("parity/fingerprint", &printed("a"), &printed("b"), &[]),
        pair("parity/extra-fields", &says("Hi"), &vendor, &[]),
        Pair {
            id: "parity/rechunk",
            good: rounds(&says("Hi")),
            bad: rounds(&says("Ho")),
            also: &["parity/content"],
            right: None,
        },
    ]
}

/// Replies that are right and wrong, at an engine of ours and alike in both modes of another server.
fn of_answers() -> Vec<Pair> {
    let text = |text: &str| Some(Some(text.to_owned()));
    let a_call =
        |name: &str, arguments: &str| ExpectCall { name: name.to_owned(), arguments: arguments.into() };
    let content = || Expect { content: text("Hi\n"), ..Expect::default() };
    let reasoning = || Expect { reasoning: text("Hm.\n"), ..Expect::default() };
    let called = || Expect { tool_calls: Some(vec![a_call("f", "{}")]), ..Expect::default() };
    let finish = || Expect { finish: Some("stop".to_owned()), ..Expect::default() };
    let (hi, hm, f) = (says("Hi\n"), thinks("Hm.\n", "Hi"), one_call("{}"));
    let g = calls(&[call("call_1", "g", &"{}".into())]);
    let rows: Vec<(&str, &str, Expect, &Said, Said)> = vec![
        ("expect/content", "truth/content", content(), &hi, says("Ho\n")),
        ("expect/content-whitespace", "truth/content-whitespace", content(), &hi, says("Hi")),
        ("expect/reasoning", "truth/reasoning", reasoning(), &hm, thinks("No.", "Hi")),
        ("expect/reasoning-whitespace", "truth/reasoning-whitespace", reasoning(), &hm, thinks("Hm.", "Hi")),
        ("expect/tool-count", "truth/tool-count", called(), &f, says("Hi")),
        ("expect/tool-name", "truth/tool-name", called(), &f, g),
        ("expect/tool-arguments", "truth/tool-arguments", called(), &f, one_call("{\"a\":1}")),
        ("expect/finish", "truth/finish", finish(), &hi, says("Hi\n").finishes("length")),
    ];
    let mut all: Vec<Pair> = Vec::new();
    for (expect, truth, right, good, bad) in rows {
        all.push(expecting(expect, Kind::Ours, right.clone(), good, &bad));
        all.push(expecting(truth, Kind::Foreign, right, good, &bad));
    }
    all.extend(
        [("expect/error", Kind::Ours), ("truth/error", Kind::Foreign)]
            .map(|(id, kind)| wrong_error(id, kind)),
    );
    let deltas = Expect { argument_deltas_at_least: Some(("1".to_owned(), 1)), ..Expect::default() };
    let right = Right { expect: deltas, basis: Basis::Fact, kind: Kind::Ours };
    let none = one_call("");
    let (good, bad) = (vec![f.whole(), at(1, f.stream())], vec![none.whole(), at(1, none.stream())]);
    all.push(Pair { id: "expect/argument-deltas", good, bad, also: &[], right: Some(right) });
    all
}

fn wrong_error(id: &'static str, kind: Kind) -> Pair {
    let body = error("invalid_request_error", "no");
    let both = |status| vec![refused(Mode::Whole, status, &body), refused(Mode::Stream, status, &body)];
    let right = Expect { error: Some(ExpectError { status: 400, code: None }), ..Expect::default() };
    let right = Some(Right { expect: right, basis: Basis::Fact, kind });
    Pair { id, good: both(400), bad: both(422), also: &[], right }
}

fn of_transport() -> Vec<Pair> {
    let row = |id, end, also| errors(id, [says("Hi").whole(), broken(end)], also);
    let no_index = json!({"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let again = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let more = json!({"tool_calls": [{"index": 0, "id": "call_1", "function": {"arguments": ""}}]});
    let calling = |deltas: &[&Value]| {
        let role = json!({"role": "assistant", "content": null});
        let delta = |delta: &Value| chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]));
        let mut chunks: Vec<Value> =
            std::iter::once(&role).chain(deltas.iter().copied()).map(delta).collect();
        chunks.push(chunk(&json!([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])));
        chunks.push(merged(chunk(&json!([])), &json!({"usage": usage(9)})));
        streamed(&chunks)
    };
    let whole = || one_call("{}").whole();
    vec![
        row("exchange/refused", End::Refused("no route".to_owned()), &[]),
        row("exchange/timeout", End::TimedOut, &["sse/no-events"]),
        row("exchange/cut", End::Cut("reset".to_owned()), &["http/h2-reset", "sse/no-events"]),
        row("exchange/too-large", End::TooLarge, &["sse/no-events"]),
        row("exchange/malformed", End::Malformed("no status line".to_owned()), &["sse/no-events"]),
        errors(
            "merge/sdk-crash",
            [whole(), calling(&[&no_index])],
            &["merge/sdk-divergence", "openai-chat/tool-index-missing"],
        ),
        errors(
            "merge/sdk-divergence",
            [whole(), calling(&[&again, &more])],
            &["openai-chat/tool-id-repeated"],
        ),
    ]
}

// === judging ===

impl Pair {
    /// The ids of all that is found in these replies, in alphabetical order.
    pub fn found(&self, exchanges: &[Exchange]) -> Vec<String> {
        let mut entry = Entry::of_request("a/b", Dialect::OpenaiChat, Map::new());
        let mut kind = Kind::Foreign;
        if let Some(right) = &self.right {
            kind = right.kind;
            entry.expect = Some(right.expect.clone());
            entry.case = Arc::new(Case { basis: right.basis, ..(*entry.case).clone() });
        }
        let profile = if kind == Kind::Ours { Profile::tfengine() } else { Profile::openai() };
        let judged =
            judge(&entry, exchanges, &Terms { profile, kind, puppet: Puppet::None, repeat: String::new() });
        let mut found: Vec<String> = judged.findings.into_iter().map(|finding| finding.rule).collect();
        found.sort();
        found
    }
}
