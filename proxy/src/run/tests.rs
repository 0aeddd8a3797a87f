//! Bytes in, verdicts out: what a server answered, whole and streamed, and what is said of it.

use super::{
    Expected, FailOn, Judged, Tokens, Verdict, fails,
    judge::{Puppet, Terms, judge, skipped},
    upstream::Kind,
};
use crate::{
    exchange::{End, Exchange, Head, Slice, Took},
    plan::{Depth, Entry, Rounds, entry::entries},
    request::{Dialect, Mode, Request, case::read_cases, twin::twin},
    rules::{Profile, Severity},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

mod clients;

/// What one reply says.
#[derive(Clone, Copy)]
struct Says {
    content: &'static str,
    sha: Option<&'static str>,
    tokens: u64,
    id: &'static str,
}

const HI: Says = Says { content: "Hi", sha: None, tokens: 3, id: "a" };

fn exchange(mode: Mode, rounds: Option<Rounds>, status: u16, media: &str, body: String) -> Exchange {
    let question: Map<String, Value> =
        serde_json::from_value(json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}))
            .unwrap();
    let request = Request {
        dialect: Dialect::OpenaiChat,
        path: "/v1/chat/completions".to_owned(),
        headers: Vec::new(),
        body: Value::Object(twin(&question, mode)).to_string().into(),
    };
    Exchange {
        mode,
        rounds,
        request,
        head: Some(Head { status, headers: vec![("content-type".to_owned(), media.to_owned())] }),
        slices: vec![Slice { at: 1, bytes: body.into() }],
        end: End::Complete,
        took: Took { head: 1, end: 2 },
    }
}

fn usage(says: Says) -> Value {
    json!({"prompt_tokens": 1, "completion_tokens": says.tokens, "total_tokens": says.tokens + 1})
}

fn whole(says: Says) -> Exchange {
    let mut body = json!({
        "id": format!("whole-{}", says.id), "object": "chat.completion", "created": 1, "model": "m", "usage": usage(says),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": says.content}, "finish_reason": "stop"}]});
    if let Some(sha) = says.sha {
        body["tfengine"] = json!({ "token_sha": sha });
    }
    exchange(Mode::Whole, None, 200, "application/json", body.to_string())
}

fn stream(says: Says, rounds: Option<Rounds>) -> Exchange {
    let chunk = |choices: Value| json!({"id": format!("stream-{}", says.id), "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
    let delta =
        |delta: Value, finish: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let mut last = chunk(json!([]));
    last["usage"] = usage(says);
    if let Some(sha) = says.sha {
        last["tfengine"] = json!({ "token_sha": sha });
    }
    let events = [
        delta(json!({"role": "assistant", "content": ""}), Value::Null),
        delta(json!({"content": says.content}), Value::Null),
        delta(json!({}), "stop".into()),
        last,
    ];
    let body = events.map(|event| format!("data: {event}\n\n")).concat();
    exchange(Mode::Stream, rounds, 200, "text/event-stream", body + "data: [DONE]\n\n")
}

fn failed(mode: Mode, status: u16) -> Exchange {
    let body =
        json!({"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": null}});
    exchange(mode, None, status, "application/json", body.to_string())
}

fn terms(kind: Kind) -> Terms {
    let profile = if kind == Kind::Ours { Profile::tfengine() } else { Profile::openai() };
    Terms { profile, kind, puppet: Puppet::None, repeat: "tfproxy --check".to_owned() }
}

fn of_request() -> Entry {
    Entry::of_request("live/x", Dialect::OpenaiChat, Map::new())
}

fn of_case(text: &str) -> Entry {
    let (mut cases, mistakes) = read_cases("t.json", text);
    assert_eq!(mistakes, []);
    entries(&Arc::new(cases.remove(0)), Dialect::OpenaiChat, Depth::Seeded).remove(0)
}

fn foreign(exchanges: &[Exchange]) -> Judged {
    judge(&of_request(), exchanges, &terms(Kind::Foreign))
}

fn check(judged: &Judged, verdict: Verdict, rules: &[&str]) {
    let found: Vec<&str> = judged.findings.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!((judged.verdict, found.as_slice()), (verdict, rules), "{judged:#?}");
}

#[test]
fn equal_replies_pass() {
    let judged = foreign(&[whole(HI), stream(HI, None), stream(HI, None), whole(HI)]);
    check(&judged, Verdict::Pass, &[]);
    assert_eq!(judged.reply["content"], "Hi");
    assert_eq!(
        (judged.exchanges.len(), judged.exchanges[1].events, judged.exchanges[1].tokens),
        (4, 5, Some(3))
    );
}

#[test]
fn a_difference_fails_on_proof_and_is_suspect_without() {
    let ho = Says { content: "Ho", ..HI };
    let judged = foreign(&[whole(HI), stream(ho, None)]);
    check(&judged, Verdict::Suspect, &["parity/content"]);
    assert_eq!(judged.findings[0].repeat, "tfproxy --check --run live/x");
    let sha = |says, sha| Says { sha: Some(sha), ..says };
    check(&foreign(&[whole(sha(HI, "1")), stream(sha(ho, "1"), None)]), Verdict::Fail, &["parity/content"]);
    check(
        &foreign(&[whole(sha(HI, "1")), stream(sha(ho, "2"), None)]),
        Verdict::Suspect,
        &["parity/content", "parity/token-ids"],
    );
}

/// Findings that count, by severity, and the verdict.
fn severities(judged: &Judged) -> (Verdict, Vec<(&str, Severity)>) {
    (judged.verdict, judged.findings.iter().map(|f| (f.rule.as_str(), f.severity)).collect())
}

#[test]
fn a_puppet_stands_in_for_evidence_that_is_missing_and_not_for_evidence_that_differs() {
    let ours = |exchanges: &[Exchange]| judge(&of_request(), exchanges, &terms(Kind::Ours));
    let (ho, sha) = (Says { content: "Ho", ..HI }, |says, sha| Says { sha: Some(sha), ..says });
    check(&ours(&[whole(HI), stream(ho, None)]), Verdict::Fail, &["parity/content"]);
    assert_eq!(ours(&[whole(sha(HI, "1")), stream(ho, None)]).verdict, Verdict::Fail);
    let differ = ours(&[whole(sha(HI, "1")), stream(sha(ho, "2"), None)]);
    let expect = vec![("parity/token-ids", Severity::Error), ("parity/content", Severity::Info)];
    assert_eq!(severities(&differ), (Verdict::Fail, expect));
    let values = (differ.findings[0].whole.as_deref(), differ.findings[0].stream.as_deref());
    assert_eq!((differ.findings[0].path.as_str(), values), ("tfengine.token_sha", (Some("1"), Some("2"))));
    // One mode that says other tokens the second time: with a puppet no chance either.
    let again = ours(&[whole(sha(HI, "1")), stream(sha(HI, "1"), None), whole(sha(HI, "2"))]);
    check(&again, Verdict::Fail, &["parity/token-ids"]);
    let foreign = foreign(&[whole(sha(HI, "1")), stream(sha(HI, "1"), None), whole(sha(ho, "2"))]);
    check(&foreign, Verdict::Unstable, &[]);
}

/// The same exchange, whose text stands in other bytes.
fn saying(mut exchange: Exchange, change: impl Fn(String) -> String) -> Exchange {
    let body = String::from_utf8(exchange.body().to_vec()).unwrap();
    exchange.slices[0].bytes = change(body).into();
    exchange
}

/// The same exchange with a list of logprobs beside what it says; the stream has all of it in the chunk that finishes.
fn with_logprobs(exchange: Exchange, tokens: &[&str]) -> Exchange {
    let entry = |token: &&str| json!({"token": token, "logprob": -0.5, "bytes": token.as_bytes(), "top_logprobs": []});
    let logprobs = json!({"content": tokens.iter().map(entry).collect::<Vec<_>>(), "refusal": null});
    let finish = r#""finish_reason":"stop""#;
    saying(exchange, |body| body.replace(finish, &format!(r#"{finish},"logprobs":{logprobs}"#)))
}

#[test]
fn logprobs_of_all_tokens_prove_what_ids_prove() {
    let ho = Says { content: "Ho", ..HI };
    let pair = |whole_tokens: &[&str], stream_tokens: &[&str]| {
        foreign(&[with_logprobs(whole(HI), whole_tokens), with_logprobs(stream(ho, None), stream_tokens)])
    };
    let equal = pair(&["H", "i", ""], &["H", "i", ""]);
    check(&equal, Verdict::Fail, &["parity/content"]);
    assert_eq!(equal.tokens, Tokens::EqualBytes);
    let differ = pair(&["H", "i", ""], &["H", "o", ""]);
    check(&differ, Verdict::Suspect, &["parity/content", "parity/logprobs-tokens"]);
    assert_eq!(differ.tokens, Tokens::Different);
    // Three tokens are billed: one may be the end of the turn, two are not accounted for.
    check(&pair(&["H", "i"], &["H", "i"]), Verdict::Fail, &["parity/content"]);
    let partial = pair(&["H"], &["H"]);
    check(&partial, Verdict::Suspect, &["parity/content"]);
    assert_eq!(partial.tokens, Tokens::NotGiven);
}

#[test]
fn ids_of_generated_tokens_prove_and_those_of_the_prompt_do_not() {
    let ho = Says { content: "Ho", ..HI };
    let with = |exchange, key: &str, ids: &str| {
        let finish = r#""finish_reason":"stop""#;
        saying(exchange, |body| body.replace(finish, &format!(r#"{finish},"{key}":{ids}"#)))
    };
    let pair = |key: &str, other: &str| {
        foreign(&[with(whole(HI), key, "[1,2,3]"), with(stream(ho, None), key, other)])
    };
    assert_eq!(pair("token_ids", "[1,2,3]").verdict, Verdict::Fail);
    assert_eq!(pair("token_ids", "[1,2,4]").verdict, Verdict::Suspect);
    // Three tokens are billed: what lists one of them is no evidence, neither for nor against.
    let partial = pair("token_ids", "[1]");
    check(&partial, Verdict::Suspect, &["parity/content", "openai-chat/usage-vs-tokens"]);
    assert_eq!(partial.tokens, Tokens::NotGiven);
    let both = foreign(&[with(whole(HI), "token_ids", "[1]"), with(stream(ho, None), "token_ids", "[1]")]);
    check(&both, Verdict::Suspect, &["parity/content", "openai-chat/usage-vs-tokens"]);
    assert_eq!(pair("prompt_token_ids", "[1,2,3]").verdict, Verdict::Suspect);
}

#[test]
fn nothing_that_a_message_brings_is_compared_by_nobody() {
    let with = |exchange, members: &str| {
        saying(exchange, |body| body.replace("\"content\":\"Hi\"", &format!("\"content\":\"Hi\",{members}")))
    };
    let pair = |whole_has: &str, stream_has: &str| {
        let whole = with(whole(Says { sha: Some("1"), ..HI }), whole_has);
        foreign(&[whole, with(stream(Says { sha: Some("1"), ..HI }, None), stream_has)])
    };
    let fails = |whole_has: &str, stream_has: &str, path: &str| {
        let judged = pair(whole_has, stream_has);
        let is_told = judged.findings.iter().any(|f| f.path == path && f.rule.starts_with("parity/"));
        assert_eq!((judged.verdict, is_told), (Verdict::Fail, true), "{whole_has} {stream_has} {judged:#?}");
    };
    let nothing = r#""x":null"#;
    let f = r#""function_call":{"name":"f","arguments":"{\"a\":1}"}"#;
    fails(f, r#""function_call":{"name":"g","arguments":"{}"}"#, "function_call.name");
    fails(f, r#""function_call":{"name":"f","arguments":"{}"}"#, "function_call.arguments");
    fails(f, nothing, "function_call");
    fails(r#""annotations":[{"type":"url_citation"}]"#, nothing, "annotations");
    fails(nothing, r#""audio":{"transcript":"a"}"#, "audio");
    fails(r#""audio":{"transcript":"a"}"#, r#""audio":{"transcript":"b"}"#, "audio.transcript");
    let two = |first: &str, second: &str| format!(r#""reasoning_content":"{first}","reasoning":"{second}""#);
    fails(&two("a", "b"), &two("a", "c"), "message.reasoning");
    fails(&two("a", "a"), r#""reasoning_content":"a""#, "message.reasoning");
    fails(&two("a", "a"), &two("b", "b"), "reasoning");
    let custom = |name: &str, input: &str| {
        format!(
            r#""tool_calls":[{{"index":0,"id":"c1","type":"custom","custom":{{"name":"{name}","input":"{input}"}}}}]"#
        )
    };
    fails(&custom("f", "ls"), &custom("g", "ls"), "tool_calls[0].name");
    fails(&custom("f", "ls"), &custom("f", "rm"), "tool_calls[0].arguments");
    // What comes alike, or says nothing, is no difference.
    for (whole_has, stream_has) in [
        (r#""annotations":[],"audio":null,"function_call":null"#, nothing),
        (f, f),
        (r#""audio":{"id":"a","data":"AAA="}"#, r#""audio":{"id":"b","data":"AA=="}"#),
        (&two("a", "a"), &two("a", "a")),
    ] {
        let judged = pair(whole_has, stream_has);
        let told = judged.findings.iter().filter(|f| f.rule.starts_with("parity/")).count();
        assert_eq!(told, 0, "{whole_has} {judged:#?}");
    }
}

#[test]
fn several_choices_never_pass() {
    let more = |exchange, key: &str| {
        let one = json!({"index": 1, key: {"role": "assistant", "content": "B"}, "finish_reason": "stop"});
        saying(exchange, |body| {
            body.replacen("\"finish_reason\":\"stop\"}]", &format!("\"finish_reason\":\"stop\"}},{one}]"), 1)
        })
    };
    let judged = foreign(&[more(whole(HI), "message"), more(stream(HI, None), "delta")]);
    assert_eq!(judged.verdict, Verdict::Fail, "nobody asked for two");
    let asking = |mut exchange: Exchange| {
        let mut body = exchange.request.json().unwrap();
        body["n"] = 2.into();
        exchange.request.body = body.to_string().into();
        exchange
    };
    let pair = [asking(more(whole(HI), "message")), asking(more(stream(HI, None), "delta"))];
    let judged = foreign(&pair);
    check(&judged, Verdict::Skipped, &[]);
    assert_eq!(judged.reason.as_deref(), Some("n > 1: only the first of 2 choices is compared"));
    assert_eq!(judged.exercised, []);
}

#[test]
fn a_mode_that_disagrees_with_itself_is_unstable_unless_the_tokens_are_equal() {
    let ho = Says { content: "Ho", ..HI };
    let all = |a, b, c, d| [whole(a), stream(b, None), stream(c, None), whole(d)];
    assert_eq!(foreign(&all(HI, HI, HI, ho)).verdict, Verdict::Unstable);
    let judged = foreign(&all(HI, HI, ho, HI));
    assert_eq!(
        judged.reason.as_deref(),
        Some(
            "two streamed replies to one request differ in content (2 of 4 pairs across modes differ, 0 of 1 whole and 1 of 1 \
             streamed; chance alone gives that more often than not)"
        )
    );
    let sha = |says| Says { sha: Some("1"), ..says };
    assert_eq!(foreign(&all(sha(HI), sha(HI), sha(ho), sha(HI))).verdict, Verdict::Fail);
}

/// Asked again and again: a mode that now and then says something else, and one that always does.
#[test]
fn modes_that_differ_far_more_often_than_each_by_itself_are_suspect_not_unstable() {
    let ho = Says { content: "Ho", ..HI };
    let he = Says { content: "He", ..HI };
    let answers = |wholes: [Says; 6], streams: [Says; 6]| {
        let each = wholes.into_iter().map(whole).zip(streams.into_iter().map(|says| stream(says, None)));
        foreign(&each.flat_map(|(whole, stream)| [whole, stream]).collect::<Vec<_>>())
    };
    let judged = answers([HI, HI, HI, he, HI, HI], [ho; 6]);
    assert_eq!(judged.verdict, Verdict::Suspect);
    assert_eq!(
        judged.reason.as_deref(),
        Some(
            "the replies differ; equal tokens are not proven (36 of 36 pairs across modes differ, 5 of 15 whole and 0 of 15 \
             streamed; chance alone gives that once in 462 times)"
        )
    );
    assert!(judged.findings.iter().any(|f| f.rule == "parity/content"));
    assert_eq!(answers([HI, ho, HI, he, HI, HI], [ho, HI, ho, he, HI, HI]).verdict, Verdict::Unstable);
    let judged = answers([ho, HI, HI, HI, HI, HI], [ho; 6]);
    assert_eq!(judged.verdict, Verdict::Unstable);
    let eight = |first: Says, rest: Says| {
        let wholes = std::iter::once(first).chain([rest; 7]).map(whole);
        let each = wholes.zip([ho; 8]).flat_map(|(whole, says)| [whole, stream(says, None)]);
        foreign(&each.collect::<Vec<_>>())
    };
    let judged = eight(ho, HI);
    assert_eq!(
        judged.verdict,
        Verdict::Suspect,
        "the first whole reply is like the streams, the others are not"
    );
    assert!(judged.findings.iter().any(|f| f.rule == "parity/content"), "{judged:#?}");
    let judged = answers([HI; 6], [HI; 6]);
    assert_eq!((judged.verdict, judged.reason), (Verdict::Pass, None));
}

#[test]
fn streams_at_different_rounds_are_held_against_each_other() {
    let ho = Says { content: "Ho", sha: Some("1"), ..HI };
    let hi = Says { sha: Some("1"), ..HI };
    let broken = failed(Mode::Whole, 429);
    let judged = foreign(&[broken, stream(hi, Some(Rounds::Every(1))), stream(ho, Some(Rounds::Every(2)))]);
    check(&judged, Verdict::Fail, &["parity/rechunk"]);
    let judged =
        foreign(&[whole(hi), stream(hi, Some(Rounds::Every(1))), stream(ho, Some(Rounds::Every(2)))]);
    check(&judged, Verdict::Fail, &["parity/content", "parity/rechunk"]);
    assert_eq!(judged.findings[0].rounds, ["2"]);
    assert_eq!(judged.findings[1].rounds, ["1", "2"]);
    assert_eq!(judged.findings[1].because_of.as_deref(), Some("parity/content content"));
}

#[test]
fn refusals_are_errors_unless_they_are_right() {
    let both = |status| [failed(Mode::Whole, status), failed(Mode::Stream, status)];
    let refused = foreign(&both(400));
    check(&refused, Verdict::Error, &[]);
    assert!(fails(&refused, FailOn::Error), "no answer counts without a finding");
    assert_eq!(foreign(&[failed(Mode::Whole, 400), stream(HI, None)]).verdict, Verdict::Fail);
    let right = r#"{"id": "a/b", "request": {}, "needs": ["error"], "expect": {"error": {"status": 400}}}"#;
    let judged = judge(&of_case(right), &both(400), &terms(Kind::Foreign));
    assert_eq!((judged.verdict, judged.expected), (Verdict::Pass, Expected::Match));
    let judged = judge(&of_case(right), &both(422), &terms(Kind::Foreign));
    assert_eq!((judged.verdict, judged.other_policy), (Verdict::Pass, true));
    let judged = judge(&of_case(right), &both(422), &terms(Kind::Ours));
    check(&judged, Verdict::Fail, &["expect/error"]);
}

#[test]
fn an_error_that_nothing_was_said_of_is_no_right_answer() {
    let both = [failed(Mode::Whole, 400), failed(Mode::Stream, 400)];
    let mut entry =
        of_case(r#"{"id": "a/b", "request": {}, "needs": ["error"], "expect": {"error": {"status": 400}}}"#);
    assert_eq!(judge(&entry, &both, &terms(Kind::Ours)).verdict, Verdict::Pass);
    entry.expect = None;
    assert_eq!(judge(&entry, &both, &terms(Kind::Ours)).verdict, Verdict::Error);
}

#[test]
fn a_broken_rule_is_told_whatever_became_of_the_comparison() {
    let odd = || saying(stream(HI, None), |body| body.replace(r#""index":0"#, r#""index":"0""#));
    let ho = Says { content: "Ho", ..HI };
    let found = |exchanges: &[Exchange]| {
        let judged = foreign(exchanges);
        let worst = judged.findings.iter().filter(|f| f.severity == Severity::Error);
        (judged.verdict, worst.map(|f| f.rule.clone()).collect::<Vec<_>>(), fails(&judged, FailOn::Error))
    };
    let (_, broken, _) = found(&[whole(HI), odd()]);
    assert_ne!(broken, [""; 0]);
    // Busy, and of two minds: the rule is broken all the same, and what lacks proof is not held against anybody.
    let told = |verdict| (verdict, broken.clone(), true);
    assert_eq!(found(&[failed(Mode::Whole, 429), odd()]), told(Verdict::Fail));
    assert_eq!(found(&[whole(HI), odd(), odd(), whole(ho)]), told(Verdict::Fail));
    assert_eq!(found(&[whole(ho), odd()]), told(Verdict::Fail));
    // Without it nothing is wrong, however a busy server says so.
    let busy = exchange(Mode::Whole, None, 429, "application/json", "{}".to_owned());
    let judged = foreign(&[busy, stream(HI, None)]);
    assert!(judged.findings.iter().any(|f| f.severity == Severity::Error), "{judged:#?}");
    assert_eq!((judged.verdict, fails(&judged, FailOn::Warn)), (Verdict::Inconclusive, false));
    assert_eq!(found(&[failed(Mode::Whole, 429), stream(HI, None)]), (Verdict::Inconclusive, vec![], false));
    assert!(!fails(&foreign(&[whole(HI), stream(HI, None), whole(ho)]), FailOn::Error));
    // What hangs stays an error.
    let mut hangs = stream(HI, None);
    hangs.end = End::TimedOut;
    hangs.slices[0].bytes.truncate(0);
    let (verdict, found, fails) = found(&[whole(HI), odd(), hangs]);
    assert_eq!((verdict, fails), (Verdict::Error, true));
    assert!(broken.iter().all(|rule| found.contains(rule)), "{found:?}");
}

#[test]
fn a_status_that_comes_and_goes_is_no_matter_of_the_mode() {
    let flaky = || failed(Mode::Whole, 500);
    assert_eq!(foreign(&[flaky(), stream(HI, None)]).verdict, Verdict::Fail);
    assert_eq!(foreign(&[flaky(), stream(HI, None), stream(HI, None), whole(HI)]).verdict, Verdict::Unstable);
    assert_eq!(foreign(&[flaky(), stream(HI, None), stream(HI, None), flaky()]).verdict, Verdict::Fail);
}

#[test]
fn one_mode_alone_is_never_a_pass() {
    assert_eq!(foreign(&[whole(HI)]).verdict, Verdict::Skipped);
    assert_eq!(foreign(&[]).verdict, Verdict::Error);
}

#[test]
fn a_broken_transport_is_an_error_and_a_finding() {
    let mut cut = stream(HI, None);
    cut.slices[0].bytes.truncate(40);
    cut.end = End::Cut("reset".to_owned());
    let judged = foreign(&[whole(HI), cut]);
    assert_eq!(judged.verdict, Verdict::Error);
    let primaries = primaries(&judged);
    assert_eq!(primaries, ["http/h2-reset"], "{judged:#?}");
    let mut late = stream(HI, None);
    late.end = End::Cut("reset".to_owned());
    assert_ne!(foreign(&[whole(HI), late]).verdict, Verdict::Error, "all of it had come");
}

fn primaries(judged: &Judged) -> Vec<&str> {
    judged.findings.iter().filter(|f| f.is_primary()).map(|f| f.rule.as_str()).collect()
}

#[test]
fn an_answer_that_breaks_off_is_one_primary() {
    for (name, value, rule) in [
        ("transfer-encoding", "chunked", "http/chunked-truncated"),
        ("content-length", "9999", "http/length-short"),
        ("x-none", "", "http/h2-reset"),
    ] {
        let mut cut = stream(HI, None);
        let body = cut.body();
        let half = body.windows(2).position(|w| w == b"\n\n").unwrap() + 2;
        cut.slices[0].bytes.truncate(half);
        cut.end = End::Cut("reset".to_owned());
        cut.head.as_mut().unwrap().headers.push((name.to_owned(), value.to_owned()));
        let judged = foreign(&[whole(HI), cut]);
        assert_eq!(primaries(&judged), [rule], "{judged:#?}");
        let cut = judged.findings.iter().find(|f| f.rule == "exchange/cut").unwrap();
        assert_eq!(cut.because_of.as_deref(), Some(rule));
    }
    let mut hangs = stream(HI, None);
    hangs.slices[0].bytes.truncate(0);
    hangs.end = End::TimedOut;
    assert_eq!(primaries(&foreign(&[whole(HI), hangs])), ["exchange/timeout"]);
    let mut late = stream(HI, None);
    late.end = End::Cut("reset".to_owned());
    check(&foreign(&[whole(HI), late]), Verdict::Pass, &["http/truncated-after-terminal"]);
}

#[test]
fn an_answer_in_the_other_mode_is_one_primary() {
    let as_whole = |body: String| exchange(Mode::Stream, None, 200, "application/json", body);
    let text = |exchange: &Exchange| String::from_utf8(exchange.body().to_vec()).unwrap();
    let judged = foreign(&[whole(HI), as_whole(text(&whole(Says { id: "b", ..HI })))]);
    check(&judged, Verdict::Fail, &["http/stream-not-streamed"]);
    let judged = foreign(&[whole(HI), as_whole(text(&whole(Says { id: "b", content: "Ho", ..HI })))]);
    assert_eq!(primaries(&judged), ["http/stream-not-streamed"], "{judged:#?}");
    let streamed = exchange(Mode::Whole, None, 200, "text/event-stream", text(&stream(HI, None)));
    let judged = foreign(&[streamed, stream(Says { id: "b", ..HI }, None)]);
    assert_eq!(primaries(&judged), ["http/whole-streamed"], "{judged:#?}");
}

/// A puppet case whose text is two tokens and the end.
fn puppet(basis: &str, content: &str) -> Entry {
    of_case(&format!(
        r#"{{"id": "a/b", "format": "glm", "says": "Hi", "basis": "{basis}", "expect": {{"content": "{content}"}}}}"#
    ))
}

#[test]
fn a_foreign_server_is_held_to_facts_and_not_to_policies() {
    let alike = [whole(HI), stream(HI, None)];
    let of = |entry: &Entry, kind| judge(entry, &alike, &terms(kind));
    check(&of(&puppet("policy", "Ho"), Kind::Ours), Verdict::Fail, &["expect/content"]);
    check(&of(&puppet("fact", "Ho"), Kind::Foreign), Verdict::Fail, &["truth/content"]);
    let policy = of(&puppet("policy", "Ho"), Kind::Foreign);
    check(&policy, Verdict::Pass, &[]);
    assert_eq!((policy.other_policy, policy.expected), (true, Expected::Mismatch));
}

#[test]
fn a_count_is_no_proof_of_a_text_where_calls_may_be_constrained() {
    let alike = [whole(HI), stream(HI, None)];
    let mut offers = puppet("fact", "Ho");
    offers.body.insert("tools".to_owned(), json!([{"type": "function", "function": {"name": "f"}}]));
    check(&judge(&offers, &alike, &terms(Kind::Foreign)), Verdict::Suspect, &["truth/content"]);
    let finish = r#""finish_reason":"stop""#;
    let ids = |exchange| {
        saying(exchange, |body| body.replace(finish, &format!(r#"{finish},"token_ids":[72,105,264]"#)))
    };
    let alike = [ids(whole(HI)), ids(stream(HI, None))];
    check(&judge(&offers, &alike, &terms(Kind::Foreign)), Verdict::Fail, &["truth/content"]);
}

#[test]
fn ids_tell_that_something_else_was_said_where_the_count_is_right_by_chance() {
    let finish = r#""finish_reason":"stop""#;
    let ids = |exchange, ids: &str| {
        saying(exchange, |body| body.replace(finish, &format!(r#"{finish},"token_ids":{ids}"#)))
    };
    let of = |whole_ids: &str, stream_ids: &str| {
        let alike = [ids(whole(HI), whole_ids), ids(stream(HI, None), stream_ids)];
        judge(&puppet("fact", "Ho"), &alike, &terms(Kind::Foreign))
    };
    let judged = of("[72,111,264]", "[72,111,264]");
    check(&judged, Verdict::Skipped, &[]);
    let reason = judged.reason.as_deref();
    assert_eq!(reason, Some("the server would not say it: token 2 of 3 is another"));
    // One mode that says it is enough to judge it.
    check(&of("[72,105,264]", "[72,105,264]"), Verdict::Fail, &["truth/content"]);
    assert_ne!(of("[72,105,264]", "[72,111,264]").verdict, Verdict::Skipped);
}

#[test]
fn a_checkpoint_that_bills_its_text_in_both_modes_is_proof() {
    let seen = Terms { puppet: Puppet::Seen, ..terms(Kind::Foreign) };
    let entry = Entry { expect: None, ..puppet("policy", "Hi") };
    let ho = Says { content: "Ho", ..HI };
    let of = |exchanges: &[Exchange], terms: &Terms| judge(&entry, exchanges, terms);
    check(&of(&[whole(HI), stream(ho, None)], &seen), Verdict::Fail, &["parity/content"]);
    check(&of(&[whole(HI), stream(ho, None)], &terms(Kind::Foreign)), Verdict::Suspect, &["parity/content"]);
    let other = Says { tokens: 4, ..ho };
    assert_eq!(of(&[whole(HI), stream(other, None)], &seen).verdict, Verdict::Suspect, "another number");
    let differ = [whole(Says { sha: Some("1"), ..HI }), stream(Says { sha: Some("2"), ..ho }, None)];
    assert_eq!(of(&differ, &seen).verdict, Verdict::Suspect, "evidence beats the count");
}

#[test]
fn behind_a_gateway_our_engine_is_held_to_every_word() {
    let relayed = Terms { puppet: Puppet::Relayed, ..terms(Kind::Foreign) };
    let of = |entry: &Entry, exchanges: &[Exchange]| judge(entry, exchanges, &relayed);
    let (alike, ho) = ([whole(HI), stream(HI, None)], Says { content: "Ho", ..HI });
    let judged = of(&puppet("policy", "Hi"), &alike);
    check(&judged, Verdict::Pass, &[]);
    assert_eq!(judged.tokens, Tokens::EqualCount);
    // Whoever wrote the text, it was not the model: a count, and no constraint, says so.
    let mut offers = puppet("policy", "Ho");
    offers.body.insert("tools".to_owned(), json!([{"type": "function", "function": {"name": "f"}}]));
    check(&of(&offers, &alike), Verdict::Fail, &["expect/content"]);
    check(
        &of(&puppet("policy", "Hi"), &[whole(HI), stream(ho, None)]),
        Verdict::Fail,
        &["parity/content", "expect/content"],
    );
    // Another count alike in both modes is the gateway's own, and no reason to skip.
    let short = Says { tokens: 2, ..HI };
    let counted = of(&puppet("policy", "Hi"), &[whole(short), stream(short, None)]);
    assert_eq!((counted.verdict, counted.tokens), (Verdict::Pass, Tokens::NotGiven));
    let differ = of(&puppet("policy", "Hi"), &[whole(short), stream(Says { tokens: 2, ..ho }, None)]);
    assert_eq!(differ.verdict, Verdict::Suspect, "nobody knows what was said");
    // A stop string decides how much is said: equal counts are equal beginnings.
    let stops = Entry { tokens: None, expect: None, ..puppet("policy", "Hi") };
    check(
        &of(&stops, &[whole(short), stream(Says { tokens: 2, ..ho }, None)]),
        Verdict::Fail,
        &["parity/content"],
    );
    assert_eq!(of(&stops, &[whole(short), stream(ho, None)]).verdict, Verdict::Suspect);
}

/// What a puppet is told may look like markup that leaks; that of anybody else does leak.
#[test]
fn what_our_engine_wrote_is_no_leak_of_a_gateway() {
    let leak = Says { content: "a <tool_call>", tokens: 15, ..HI };
    let entry = of_case(r#"{"id": "a/b", "format": "glm", "says": "a <tool_call>"}"#);
    let relayed = Terms { puppet: Puppet::Relayed, ..terms(Kind::Foreign) };
    let of = |terms: &Terms| judge(&entry, &[whole(leak), stream(leak, None)], terms).findings;
    assert!(of(&terms(Kind::Foreign)).iter().any(|finding| finding.rule == "openai-chat/markup-leak"));
    assert_eq!(of(&relayed), []);
}

#[test]
fn what_a_server_would_not_say_is_skipped_and_not_held_against_it() {
    let short = Says { tokens: 2, ..HI };
    let unknown = |exchange| {
        saying(exchange, |body| body.replace(r#""completion_tokens":3"#, r#""completion_tokens":null"#))
    };
    let silent = [unknown(whole(HI)), unknown(stream(HI, None))];
    let judged = judge(&puppet("fact", "Ho"), &silent, &terms(Kind::Foreign));
    assert_ne!(judged.verdict, Verdict::Fail, "who knows what it said");
    let judged = judge(&puppet("fact", "Ho"), &[whole(short), stream(short, None)], &terms(Kind::Foreign));
    check(&judged, Verdict::Skipped, &[]);
    assert_eq!(judged.reason.as_deref(), Some("the server would not say it: 2 tokens of 3"));
}

#[test]
fn an_unmet_need_is_skipped() {
    let entry = of_case(r#"{"id": "a/b", "request": {}, "needs": ["call"]}"#);
    let judged = judge(&entry, &[whole(HI), stream(HI, None)], &terms(Kind::Foreign));
    assert_eq!(judged.verdict, Verdict::Skipped);
    assert_eq!(skipped(&entry, "why".to_owned()).reason.as_deref(), Some("why"));
}

#[test]
fn a_shared_response_id_is_a_cache() {
    let mut body = String::from_utf8(stream(HI, None).body().to_vec()).unwrap();
    body = body.replace("stream-a", "whole-a");
    let shared = exchange(Mode::Stream, None, 200, "text/event-stream", body);
    let judged = foreign(&[whole(HI), shared]);
    assert_eq!(judged.verdict, Verdict::Suspect);
    assert!(judged.reason.unwrap().contains("a cache answered"));
}

#[test]
fn the_same_bytes_give_the_same_judgement() {
    let exchanges = [whole(HI), stream(Says { content: "Ho", ..HI }, None)];
    assert_eq!(foreign(&exchanges), foreign(&exchanges));
}

#[test]
fn a_compressed_answer_is_named_as_one() {
    let gzip = || "\u{1f}\u{8}\0\0\0\0\0\0".to_owned();
    let coded = |mode, media: &str, coding: &str| {
        let mut exchange = exchange(mode, None, 200, media, gzip());
        let headers = &mut exchange.head.as_mut().unwrap().headers;
        headers.push(("content-encoding".to_owned(), coding.to_owned()));
        exchange
    };
    let says = |exchange: &Exchange| match super::stages::Reading::of(
        exchange,
        super::stages::Known::default(),
        Profile::openai(),
    )
    .outcome
    {
        super::verdict::Outcome::Broken(why) => why,
        other => format!("{other:?}"),
    };
    for (mode, media, coding, expect) in [
        (Mode::Whole, "application/json", "gzip", "application/json with content-encoding gzip, 8 bytes"),
        (Mode::Stream, "text/event-stream", "br", "text/event-stream with content-encoding br, 8 bytes"),
        (Mode::Whole, "application/json", "Identity", "application/json, 8 bytes"),
    ] {
        assert_eq!(says(&coded(mode, media, coding)), format!("no usable answer: {expect}"));
    }
    let mut plain = whole(HI);
    plain.head.as_mut().unwrap().headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    assert_eq!(says(&plain), "Answered", "it reads, whatever the header says");
}
