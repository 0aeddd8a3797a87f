//! The checks against their own examples, read by a splitter that is only good enough for them; the public door is
//! tried by the integration test.

use super::*;
use crate::{
    decode::{Anomaly, AnomalyKind, Event, Framing, Payload},
    request::case::ExpectCall,
};
use serde_json::{Value, json};

/// Rules whose examples need anomalies, which the splitter does not report.
const BY_ANOMALY: &[(AnomalyKind, &str)] = &[
    (AnomalyKind::InvalidUtf8, "sse/invalid-utf8"),
    (AnomalyKind::SplitCharacter, "sse/utf8-boundary"),
    (AnomalyKind::LeadingBom, "sse/bom-leading"),
    (AnomalyKind::InnerBom, "sse/bom-inner"),
    (AnomalyKind::CarriageReturn, "sse/cr-line-ends"),
    (AnomalyKind::MixedLineEnds, "sse/mixed-line-ends"),
    (AnomalyKind::UnterminatedEvent, "sse/unterminated-event"),
    (AnomalyKind::DataWithoutSpace, "sse/data-no-space"),
    (AnomalyKind::MultilineData, "sse/data-multiline"),
    (AnomalyKind::EventWithoutData, "sse/event-without-data"),
    (AnomalyKind::EmptyData, "sse/empty-data"),
    (AnomalyKind::IdField, "sse/id-used"),
    (AnomalyKind::IdWithNul, "sse/id-nul"),
    (AnomalyKind::RetryField, "sse/retry-used"),
    (AnomalyKind::RetryNotDigits, "sse/retry-not-digits"),
    (AnomalyKind::Comment, "sse/comment"),
    (AnomalyKind::NulByte, "sse/nul-byte"),
    (AnomalyKind::OversizeEvent, "sse/event-size"),
    (AnomalyKind::GluedJson, "sse/missing-blank-line"),
    (AnomalyKind::NonFiniteNumber, "sse/json-nonfinite"),
    (AnomalyKind::LoneSurrogate, "sse/json-lone-surrogate"),
    (AnomalyKind::RawLineSeparator, "sse/json-raw-line-separator"),
    (AnomalyKind::TooDeep, "sse/json-too-deep"),
    (AnomalyKind::ShortenedList, "sse/json-list-size"),
    (AnomalyKind::InexactDone, "openai-chat/done-exact"),
];

fn split(exchange: &Exchange) -> Decoded {
    let body = exchange.body();
    let text = String::from_utf8_lossy(&body).replace("\r\n", "\n");
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let event = Event {
            span: Span { start: 0, end: body.len() },
            arrived: exchange.took.end,
            name: None,
            data: text.into(),
            payload: Payload::Json(value.into()),
        };
        return Decoded { framing: Framing::Json, events: vec![event], ..Decoded::default() };
    }
    let events: Vec<_> =
        text.split_inclusive("\n\n").scan(0, |at, block| Some(split_event(exchange, at, block))).collect();
    let events: Vec<_> = events.into_iter().flatten().collect();
    let sse = !events.is_empty() || text.starts_with(':');
    Decoded { framing: if sse { Framing::Sse } else { Framing::Other }, events, ..Decoded::default() }
}

fn split_event(exchange: &Exchange, at: &mut usize, block: &str) -> Option<Event> {
    let start = *at;
    *at += block.len();
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let data = field("data: ").filter(|_| block.ends_with("\n\n"))?;
    let mut before = 0;
    let slice = exchange.slices.iter().find(|slice| {
        before += slice.bytes.len();
        before >= *at
    });
    Some(Event {
        span: Span { start, end: *at },
        arrived: slice.map_or(0, |slice| slice.at),
        name: field("event: ").map(Into::into),
        payload: match serde_json::from_str(&data) {
            _ if data == "[DONE]" => Payload::Done,
            Ok(value) => Payload::Json(std::sync::Arc::new(value)),
            Err(_) => Payload::Other,
        },
        data: data.into(),
    })
}

fn breaches(example: &Example, expect: Option<&Expect>, profile: &Profile) -> Vec<Breach> {
    breaches_of_part(example, expect, None, profile)
}

fn breaches_of_part(
    example: &Example,
    expect: Option<&Expect>,
    whole: Option<&Expect>,
    profile: &Profile,
) -> Vec<Breach> {
    let exchange = example.exchange();
    let (asked, decoded, reply) = (exchange.request.asked(), split(&exchange), Reply::default());
    check(
        &Facts { exchange: &exchange, asked: &asked, decoded: &decoded, reply: &reply, expect, whole },
        profile,
    )
}

fn ids(example: &Example, profile: &Profile) -> Vec<&'static str> {
    breaches(example, None, profile).into_iter().map(|breach| breach.rule).collect()
}

#[test]
fn examples_of_rules_that_need_no_anomaly() {
    let by_anomaly = |id: &str| {
        BY_ANOMALY.iter().any(|(_, rule)| *rule == id)
            || ["sse/unknown-field", "sse/data-not-json", "sse/json-duplicate-key"].contains(&id)
    };
    let mut wrong = Vec::new();
    for rule in catalogue::all() {
        for (at, example) in rule.good.iter().enumerate() {
            let found = breaches(example, None, Profile::strict());
            wrong.extend(found.iter().filter(|b| b.rule == rule.id).map(|b| format!("good {at} {b:?}")));
        }
        for (at, example) in rule.bad.iter().enumerate().filter(|_| !by_anomaly(rule.id)) {
            let found = breaches(example, None, Profile::strict());
            let said = found.iter().find(|b| b.rule == rule.id && b.severity == rule.severity);
            if said.is_none_or(|breach| breach.found.is_empty()) {
                wrong.push(format!("bad {at} of {} said nothing, but {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_examples_of_both_kinds() {
    for rule in catalogue::all() {
        let shown_here = ["sse/event-size", "sse/json-too-deep", "sse/json-list-size"].contains(&rule.id);
        assert!(!rule.good.is_empty() && (shown_here || !rule.bad.is_empty()), "{}", rule.id);
    }
}

#[test]
fn anomalies_become_breaches_with_their_bytes() {
    let exchange = stream!(finish!("stop"), done!()).exchange();
    let (asked, reply) = (exchange.request.asked(), Reply::default());
    let more = [
        (AnomalyKind::UnknownField("error".into()), "sse/unknown-field"),
        (AnomalyKind::NotJson("expected value".into()), "sse/data-not-json"),
        (AnomalyKind::DuplicateKey("/a".into()), "sse/json-duplicate-key"),
    ];
    for (kind, rule) in BY_ANOMALY.iter().chain(&more) {
        let mut decoded = split(&exchange);
        let span = Span { start: 3, end: 4 };
        decoded.anomalies.push(Anomaly { span, event: Some(1), kind: kind.clone() });
        let facts = Facts {
            exchange: &exchange,
            asked: &asked,
            decoded: &decoded,
            reply: &reply,
            expect: None,
            whole: None,
        };
        let found = check(&facts, Profile::strict());
        assert_eq!(found.iter().map(|b| b.rule).collect::<Vec<_>>(), [*rule]);
        assert_eq!((found[0].span, found[0].event), (Some(span), Some(1)));
    }
}

/// What the bundled engine sends, in both modes: nothing is wrong with it, and nothing is worth recording.
const ENGINE: &[Example] = &[
    stream!(
        delta!(r#"{"reasoning_content":"Let me see."}"#),
        delta!(r#"{"content":"Hi "}"#),
        call!(r#"{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}"#),
        call!(r#"{"index":0,"function":{"arguments":"{\"a\""}}"#),
        call!(r#"{"index":0,"function":{"arguments":":1}"}}"#),
        call!(r#"{"index":1,"id":"call_2","type":"function","function":{"name":"f","arguments":""}}"#),
        call!(r#"{"index":1,"function":{"arguments":"{}"}}"#),
        delta!(r#"{"content":" bye"}"#),
        finish!("tool_calls"),
        usage!(10, 70, 80),
        done!()
    )
    .asking(r#"{"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"f"}}]}"#),
    stream!(delta!(r#"{"content":""}"#), finish!("length"), done!()).asking(r#"{"stream":true,"max_tokens":1}"#),
    stream!(delta!(r#"{"content":""}"#), finish!("stop"), usage!(10, 70, 80), done!())
        .asking(r#"{"stream":true,"stop":"END","stream_options":{"include_usage":true}}"#),
    // A call that the model broke off: what was sent stays, the rest is content.
    stream!(
        call!(r#"{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}"#),
        call!(r#"{"index":0,"function":{"arguments":"{\"a\""}}"#),
        delta!(r#"{"content":" oops"}"#),
        finish!("stop"),
        done!()
    )
    .asking(r#"{"stream":true,"stop":["x"],"tools":[{"type":"function","function":{"name":"f"}}]}"#),
    whole!(
        r#"{"role":"assistant","content":null,"reasoning_content":"a","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
        "tool_calls",
        r#""usage":{"prompt_tokens":10,"completion_tokens":70,"total_tokens":80},"tfengine":{"token_sha":"0123456789ab"}"#
    )
    .asking(r#"{"tools":[{"type":"function","function":{"name":"f"}}]}"#),
    Example::whole(r#"{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#).status(404),
    Example::whole(r#"{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#)
        .status(404)
        .asking(r#"{"stream":true}"#),
];

#[test]
fn the_bundled_engine_breaks_nothing() {
    for (at, example) in ENGINE.iter().enumerate() {
        assert_eq!(breaches(example, None, Profile::tfengine()), [], "example {at}");
        assert_eq!(breaches(example, None, Profile::openai()), [], "example {at}");
    }
}

/// Legal oddities: nothing above info, whoever sends them.
#[test]
fn decoys_are_met_with_silence() {
    let odd = [
        stream!(
            chunk!(
                r#"{"index":0,"delta":{},"finish_reason":"stop"}"#,
                r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#
            ),
            done!()
        )
        .asking(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
        stream!(
            delta!(r#"{"role":null,"content":"Hi","tool_calls":null,"function_call":null,"refusal":null}"#),
            delta!("{}"),
            delta!(r#"{"content":""}"#),
            chunk!(r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}"#, r#""usage":null,"system_fingerprint":null"#),
            done!()
        ),
        stream!(
            call!(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1 }"}}"#),
            call!(r#"{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":""}}"#),
            finish!("tool_calls"),
            done!()
        )
        .asking(r#"{"stream":true,"tools":[{"type":"function","function":{"name":"f"}}]}"#),
    ];
    for (at, example) in odd.iter().enumerate() {
        let found = breaches(example, None, Profile::tfengine());
        assert!(found.iter().all(|breach| breach.severity == Severity::Info), "{at}: {found:?}");
    }
}

#[test]
fn what_is_expected_is_no_breach() {
    let leak = stream!(delta!(r#"{"content":"<tool_call>no</tool_call>"}"#), finish!("stop"), done!());
    assert_eq!(ids(&leak, Profile::openai()), ["openai-chat/markup-leak"; 2]);
    let right = Expect { content: Some(Some("<tool_call>no</tool_call>".into())), ..Expect::default() };
    assert_eq!(breaches(&leak, Some(&right), Profile::openai()), []);
    let accepted = Expect { accept: vec![right], ..Expect::default() };
    assert_eq!(breaches(&leak, Some(&accepted), Profile::openai()), []);
    let other = Expect { content: Some(Some("no".into())), ..Expect::default() };
    assert_eq!(breaches(&leak, Some(&other), Profile::openai()).len(), 2);

    let broken = stream!(
        call!(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"a"}}"#),
        finish!("tool_calls"),
        done!()
    )
    .asking(r#"{"stream":true,"tools":[{"type":"function","function":{"name":"f"}}]}"#);
    assert_eq!(ids(&broken, Profile::openai()), ["openai-chat/tool-arguments-json"]);
    let call = ExpectCall { name: "f".into(), arguments: json!("{\"a") };
    let right = Expect { tool_calls: Some(vec![call]), ..Expect::default() };
    assert_eq!(breaches(&broken, Some(&right), Profile::openai()), []);
}

#[test]
fn a_part_of_what_is_expected_of_the_whole_is_no_breach() {
    let cut = stream!(delta!(r#"{"content":"Use <tool_call> in"}"#), finish!("length"), done!());
    let right = |text: &str| Expect { content: Some(Some(text.into())), ..Expect::default() };
    let count = |whole: &Expect| breaches_of_part(&cut, None, Some(whole), Profile::openai()).len();
    assert_eq!(count(&right("Use <tool_call> in prose.")), 0);
    let accepted = Expect { accept: vec![right("Use <tool_call> in it.")], ..Expect::default() };
    assert_eq!(count(&accepted), 0);
    // The same marker elsewhere, or an answer that is not known, excuses nothing.
    for other in [right("In prose, use <tool_call>."), right("Use "), Expect::default()] {
        assert_eq!(count(&other), 1, "{other:?}");
    }
}

#[test]
fn one_fault_is_one_rule() {
    let tools = r#"{"stream":true,"tools":[{"type":"function","function":{"name":"f"}}]}"#;
    let cases: &[(Example, &[&str])] = &[
        (
            stream!(
                call!(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#),
                call!(r#"{"index":0,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}"#),
                finish!("tool_calls"),
                done!()
            ),
            &["openai-chat/tool-index-reused"],
        ),
        (
            stream!(
                call!(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#),
                call!(r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#),
                finish!("tool_calls"),
                done!()
            ),
            &["openai-chat/tool-id-repeated"],
        ),
        (
            stream!(delta!(r#"{"role":"assistant","content":"Hi"}"#), finish!("stop"), done!()),
            &["openai-chat/role-repeated"],
        ),
        (stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop")), &["openai-chat/done-missing"]),
        (
            stream!(finish!("length"), done!(), delta!(r#"{"content":"Hi"}"#), usage!(1, 2, 3)),
            &["sse/after-terminal"; 2],
        ),
        (
            stream!(
                call!(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#),
                finish!("stop"),
                done!()
            ),
            &["openai-chat/tool-finish-mismatch"],
        ),
    ];
    for (example, expected) in cases {
        assert_eq!(ids(&example.asking(tools), Profile::openai()), *expected);
    }
}

#[test]
fn breaches_over_the_cap_are_counted() {
    let many = stream!(
        delta!(r#"{"content":1}"#),
        delta!(r#"{"content":2}"#),
        delta!(r#"{"content":3}"#),
        delta!(r#"{"content":4}"#),
        delta!(r#"{"content":5}"#),
        delta!(r#"{"content":6}"#),
        finish!("stop"),
        done!()
    );
    let found = breaches(&many, None, Profile::openai());
    assert_eq!(found.len(), found::MAX_BREACHES);
    assert_eq!(found[0].path, "choices[0].delta.content");
    assert_eq!((found[0].found.as_str(), found[0].event), ("1", Some(1)));
    assert_eq!(found[3].found, "4 (6 in all)");
    assert!(found[3].span.is_some());
}

#[test]
fn nonsense_is_read_without_a_panic() {
    let bodies = [
        "data: {\"choices\":[1,null,[],{\"index\":9e99,\"delta\":[],\"logprobs\":3}]}\n\n",
        "data: {\"choices\":[{\"index\":-9223372036854775808,\"delta\":{\"tool_calls\":[3,{\"index\":9223372036854775807},{\"index\":1e400}]}}],\"usage\":[]}\n\n",
        "data: {\"error\":[]}\n\ndata: 3\n\ndata: null\n\ndata: \"x\"\n\n",
        "data: {\"choices\":{\"a\":1},\"usage\":{\"completion_tokens\":18446744073709551615,\"prompt_tokens\":18446744073709551615,\"total_tokens\":1}}\n\n",
    ];
    for body in bodies {
        assert!(!breaches(&Example::stream(body), None, Profile::strict()).is_empty());
    }
}
