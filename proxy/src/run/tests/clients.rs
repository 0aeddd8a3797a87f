//! Which official clients a finding breaks, read through their ways of folding.

use super::*;
use crate::finding::Finding;

const CALL: &str =
    r#"{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}"#;

fn calling(calls: &[&str], finish: &str) -> Exchange {
    let calls: Vec<Value> = calls.iter().map(|call| serde_json::from_str(call).unwrap()).collect();
    let body = json!({
        "id": "whole", "object": "chat.completion", "created": 1, "model": "m", "usage": usage(HI), "choices": [{
            "index": 0, "message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": finish}]});
    asking(exchange(Mode::Whole, None, 200, "application/json", body.to_string()))
}

/// A stream of these deltas; a role comes first, finish, usage and sentinel last.
fn streaming(deltas: &[&str], finish: &str) -> Exchange {
    let chunk = |id: &str, choices: &str, rest: &str| {
        format!(
            "data: {{\"id\":\"{id}\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":{choices}{rest}}}\n\n"
        )
    };
    let delta = |delta: &str, finish: &str| {
        let choices = format!(r#"[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]"#);
        chunk("s", &choices, "")
    };
    let mut body = delta(r#"{"role":"assistant","content":null}"#, "null");
    body.extend(deltas.iter().map(|one| delta(one, "null")));
    body.push_str(&delta("{}", &format!("{finish:?}")));
    body.push_str(&chunk("s", "[]", &format!(",\"usage\":{}", usage(HI))));
    asking(exchange(Mode::Stream, None, 200, "text/event-stream", body + "data: [DONE]\n\n"))
}

/// The same with the tools offered that are called.
fn asking(mut exchange: Exchange) -> Exchange {
    let mut body = exchange.request.json().unwrap();
    body["tools"] =
        ["f", "g"].map(|name| json!({"type": "function", "function": {"name": name}})).to_vec().into();
    exchange.request.body = body.to_string().into();
    exchange
}

fn calls(fragments: &[&str]) -> Vec<String> {
    fragments.iter().map(|fragment| format!(r#"{{"tool_calls":[{fragment}]}}"#)).collect()
}

/// What the finding of a rule says of clients.
#[track_caller]
fn check_clients(whole: Exchange, stream: Exchange, rule: &str, expect: &[&str]) -> Judged {
    let judged = judge(&of_request(), &[whole, stream], &terms(Kind::Ours));
    let found = judged.findings.iter().find(|f| f.rule == rule);
    let said = |f: &Finding| f.clients.iter().map(|(who, what)| format!("{who}: {what}")).collect::<Vec<_>>();
    assert_eq!(found.map(said).unwrap_or_default(), expect, "{:#?}", judged.findings);
    judged
}

fn check_stream(fragments: &[&str], rule: &str, expect: &[&str]) -> Judged {
    let fragments = calls(fragments);
    let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
    check_clients(calling(&[CALL], "tool_calls"), streaming(&fragments, "tool_calls"), rule, expect)
}

#[test]
fn a_clean_stream_says_nothing() {
    let judged = check_stream(&[CALL], "none", &[]);
    assert_eq!((judged.verdict, judged.findings), (Verdict::Pass, vec![]));
}

#[test]
fn clients_that_raise_or_lose_a_call_without_an_index() {
    let bare = CALL.replace("\"index\":0,", "");
    let judged = check_stream(
        &[&bare],
        "openai-chat/tool-index-missing",
        &["openai-python: raises on a tool call without an index", "openai-node: loses every call"],
    );
    let of = |rule: &str| judged.findings.iter().find(|f| f.rule == rule).unwrap();
    let cause = of("openai-chat/tool-index-missing");
    assert!(cause.is_primary());
    for rule in ["merge/sdk-crash", "merge/sdk-divergence"] {
        assert!(
            of(rule).because_of.as_deref().unwrap().starts_with("openai-chat/tool-index-missing"),
            "{rule}"
        );
    }
    assert_eq!(of("merge/sdk-divergence").stream.as_deref(), Some("openai-node loses every call"));
    assert!(of("merge/sdk-crash").event.is_some());
}

#[test]
fn clients_that_glue() {
    let again = r#"{"index":0,"id":"call_1","function":{"name":"f","arguments":""}}"#;
    check_stream(
        &[CALL, again],
        "openai-chat/tool-name-repeated",
        &["openai-python, openai-go: call ff instead of f"],
    );
    check_stream(
        &[CALL, again],
        "openai-chat/tool-id-repeated",
        &["openai-python: holds the id call_1call_1"],
    );
    let second = r#"{"index":0,"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}"#;
    let both = "openai-python, openai-node, openai-go: glue call 1 and the next one together";
    check_stream(&[CALL, second], "openai-chat/tool-index-reused", &[both]);
}

#[test]
fn a_breach_that_a_client_raises_on_is_an_error() {
    let bare = CALL.replace("\"type\":\"function\",", "");
    let rule = "openai-chat/tool-type-missing";
    let judged = check_stream(&[&bare], rule, &["openai-node: raises on a tool call without a type"]);
    assert_eq!(primaries(&judged), [rule]);
    assert_eq!(judged.findings[0].severity, crate::rules::Severity::Error);
}

#[test]
fn what_a_difference_between_the_modes_means() {
    let every = "openai-python, openai-node, openai-go";
    let says = |what: &str| format!("{every}: {what}");
    let cut = CALL.replace("1}", "1");
    let check = |whole: Exchange, deltas: &[&str], finish: &str, rule: &str, what: &str| {
        let fragments = calls(deltas);
        let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
        check_clients(whole, streaming(&fragments, finish), rule, &[&says(what)]);
    };
    let one = || calling(&[CALL], "tool_calls");
    check(
        one(),
        &[&cut],
        "tool_calls",
        "parity/tool-arguments",
        r#"hold arguments that are no JSON: {"a":1"#,
    );
    check(one(), &[], "tool_calls", "parity/tool-count", "lose every call");
    check(
        calling(&[], "length"),
        &[&cut],
        "length",
        "parity/tool-count",
        "run or reject a call the model did not finish",
    );
    check(one(), &[CALL], "stop", "parity/finish-reason", "see finish stop and never run the call");
    let other = CALL.replace("\"f\"", "\"g\"");
    check(one(), &[&other], "tool_calls", "parity/tool-name", "call g instead of f");
}

#[test]
fn what_no_lens_shows_is_told_from_the_table() {
    let twice = r#"{"role":"assistant"}"#;
    let judged = check_clients(
        calling(&[CALL], "tool_calls"),
        streaming(&[twice, &calls(&[CALL])[0]], "tool_calls"),
        "openai-chat/role-repeated",
        &["openai-python: reads assistantassistant…"],
    );
    assert_eq!(primaries(&judged), ["openai-chat/role-repeated"]);
}
