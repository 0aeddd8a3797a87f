//! Streams and whole bodies as data in, replies as data out; streams are cut at every byte.

use super::{
    reply::{ArgumentsKind, Call, Failure, Part, Presence},
    *,
};
use crate::decode::{
    self,
    tests::{every_split, exchange},
};
use proptest::prelude::*;

const CHAT: Dialect = Dialect::OpenaiChat;

/// A stream of these chunks, with the sentinel.
fn chunks(chunks: &[&str]) -> String {
    let events = chunks.iter().chain(&["[DONE]"]).flat_map(|chunk| ["data: ", *chunk, "\n\n"]);
    events.collect()
}

/// A stream of these deltas of choice 0, then a finish.
fn deltas(all: &[&str]) -> String {
    let chunk = |delta: &&str| format!(r#"{{"id":"r1","choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let mut list: Vec<String> = all.iter().map(chunk).collect();
    list.push(r#"{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    chunks(&list.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The one reply that every way to cut the stream gives.
fn folded(stream: &str) -> Reply {
    let once = fold(
        CHAT,
        Some(200),
        &decode::recut(stream.as_bytes(), decode::Cut::Every(usize::MAX)),
        &Lens::STRICT,
    );
    every_split(stream.as_bytes(), |decoded| {
        assert_eq!(fold(CHAT, Some(200), decoded, &Lens::STRICT), once, "{stream}");
    });
    once
}

fn whole(status: u16, body: &str) -> Reply {
    let decoded = decode::decode(&exchange("application/json", &[body.as_bytes()]));
    fold(CHAT, Some(status), &decoded, &Lens::STRICT)
}

/// A reply in one line: `R` reasoning, `T` text, `X` refusal, `name#id@index(arguments)` calls, finish.
fn shown(reply: &Reply) -> String {
    let call = |c: &Call| {
        let id = c.id.as_deref().unwrap_or("-");
        let index = c.index.map_or("-".to_owned(), |i| i.to_string());
        format!("{}#{id}@{index}({})", c.name, c.arguments.value)
    };
    let mut parts: Vec<String> = reply
        .parts
        .iter()
        .map(|part| match part {
            Part::Reasoning(text) => format!("R:{}", text.value),
            Part::Text(text) => format!("T:{}", text.value),
            Part::Refusal(text) => format!("X:{}", text.value),
            Part::Call(c) => call(c),
        })
        .collect();
    parts.extend(reply.finish_reason().map(|reason| format!("={reason}")));
    parts.join(" ")
}

fn check_deltas(all: &[&str], expect: &str) {
    assert_eq!(shown(&folded(&deltas(all))), format!("{expect} =stop").trim(), "{all:?}");
}

#[test]
fn text_is_joined_and_knows_its_events() {
    let reply = folded(&deltas(&[
        r#"{"role":"assistant","content":null}"#,
        r#"{"content":"Hé"}"#,
        r#"{"content":""}"#,
        r#"{"content":"llo"}"#,
    ]));
    assert_eq!(shown(&reply), "T:Héllo =stop");
    let text = reply.content();
    assert_eq!([0, 2, 3, 5, 99].map(|at| text.event_at(at)), [1, 1, 3, 3, 3].map(Some));
    assert_eq!(reply.finish, Some(("stop".to_owned(), 4)));
    assert_eq!((reply.terminated, reply.choices, reply.id.as_deref()), (true, 1, Some("r1")));
    assert_eq!(reply.content_presence, Presence::Text);
}

#[test]
fn presence_is_the_strongest_seen() {
    for (delta, expect) in [
        ("{}", Presence::Absent),
        (r#"{"content":null}"#, Presence::Null),
        (r#"{"content":""}"#, Presence::Empty),
        (r#"{"content":"a"}"#, Presence::Text),
    ] {
        assert_eq!(folded(&deltas(&[delta, "{}"])).content_presence, expect, "{delta}");
        let body = format!(r#"{{"choices":[{{"message":{delta}}}]}}"#);
        assert_eq!(whole(200, &body).content_presence, expect, "{delta}");
    }
}

#[test]
fn parts_keep_their_order() {
    check_deltas(
        &[
            r#"{"reasoning_content":"th"}"#,
            r#"{"reasoning_content":"ink","content":"a"}"#,
            r#"{"content":"b","tool_calls":[{"index":0,"id":"i","type":"function","function":{"name":"f","arguments":"{"}}]}"#,
            r#"{"content":"c"}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#,
            r#"{"refusal":"no"}"#,
        ],
        "R:think T:ab f#i@0({}) T:c X:no",
    );
    check_deltas(&[r#"{"reasoning":"a","reasoning_content":"a"}"#, r#"{"reasoning":"b"}"#], "R:ab");
    assert_eq!(folded(&deltas(&[r#"{"reasoning":"a"}"#])).reasoning_field.as_deref(), Some("reasoning"));
}

#[test]
fn wrong_kinds_lose_as_little_as_possible() {
    check_deltas(&[r#"{"content":7}"#, r#"{"content":[{"type":"text","text":"a"},"b",1]}"#], "T:7ab1");
    check_deltas(&["null", "[]", "3", r#"{"tool_calls":{}}"#, r#"{"tool_calls":[null,1,"x"]}"#], "#-@-()");
    check_deltas(&[r#"{"reasoning_content":{"a":1},"refusal":false}"#], "X:false");
    let reply =
        folded(&chunks(&["null", "[1]", "\"x\"", "7", r#"{"choices":5,"usage":7,"id":9,"model":null}"#]));
    assert_eq!(reply, Reply { terminated: true, ..Reply::default() });
    let message = r#"{"choices":[{"message":{"content":"a"},"finish_reason":7}]}"#;
    assert_eq!(shown(&folded(&chunks(&[message]))), "T:a");
    assert_eq!(shown(&folded("data: {\"choices\"\n\ndata: x\n\n")), "");
}

#[test]
fn strict_calls_lose_nothing() {
    let f = |index: &str, id: &str, name: &str, arguments: &str| {
        let index = if index.is_empty() { String::new() } else { format!("\"index\":{index},") };
        let id = if id.is_empty() { String::new() } else { format!("\"id\":\"{id}\",") };
        let name = if name.is_empty() { String::new() } else { format!("\"name\":\"{name}\",") };
        format!(r#"{{"tool_calls":[{{{index}{id}"function":{{{name}"arguments":{arguments}}}}}]}}"#)
    };
    let check = |fragments: &[String], expect: &str| {
        check_deltas(&fragments.iter().map(String::as_str).collect::<Vec<_>>(), expect);
    };
    let (open, close) = (r#""{""#, r#""}""#);
    check(
        &[f("0", "a", "f", open), f("1", "b", "g", open), f("0", "", "", close), f("1", "", "", close)],
        "f#a@0({}) g#b@1({})",
    );
    check(&[f("0", "a", "f", open), f("0", "b", "g", open), f("0", "", "", close)], "f#a@0({) g#b@0({})");
    check(&[f("0", "", "f", open), f("0", "", "g", open)], "f#-@0({) g#-@0({)");
    check(&[f("0", "a", "f", open), f("0", "a", "f", close)], "f#a@0({})");
    check(&[f("0", "a", "f", open), f("0", "b", "", close)], "f#a@0({})");
    check(&[f("0", "a", "get_", "\"\""), f("0", "", "weather", open)], "get_weather#a@0({)");
    check(
        &[f("", "a", "f", open), f("", "b", "g", open), f("", "a", "", close), f("", "b", "", close)],
        "f#a@-({}) g#b@-({})",
    );
    check(&[f("", "", "f", open), f("null", "", "", close), f("", "", "g", open)], "f#-@-({}) g#-@-({)");
    check(&[f("1", "a", "f", open), f("0", "b", "g", open)], "g#b@0({) f#a@1({)");
    check(&[f("3", "a", "f", open)], "f#a@3({)");
    check(&[f("-1", "a", "f", open), f("-1", "", "", close)], "f#a@-1({})");
    check(&[f("\"0\"", "a", "f", open), f("0", "", "", close)], "f#a@0({})");
    check(&[f("0", "a", "f", r#"{"b":[1.0],"a":null}"#)], r#"f#a@0({"b":[1.0],"a":null})"#);
}

#[test]
fn calls_know_kind_deltas_and_event() {
    let reply = folded(&deltas(&[
        "{}",
        r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":null}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#,
    ]));
    let call = reply.calls().next().unwrap();
    assert_eq!((call.kind.as_deref(), call.deltas, call.event), (Some("function"), 2, 1));
    assert_eq!([0, 4, 6].map(|at| call.arguments.event_at(at)), [2, 4, 4].map(Some));
    for (arguments, kind) in [
        (r#""""#, ArgumentsKind::Text),
        ("null", ArgumentsKind::Null),
        ("{}", ArgumentsKind::Object),
        ("[]", ArgumentsKind::Other),
    ] {
        let delta =
            format!(r#"{{"tool_calls":[{{"index":0,"function":{{"name":"f","arguments":{arguments}}}}}]}}"#);
        let stream = folded(&deltas(&[&delta]));
        let body = whole(200, &format!(r#"{{"choices":[{{"message":{delta}}}]}}"#));
        assert_eq!(stream.calls().next().map(|c| c.arguments_kind), Some(kind));
        assert_eq!(body.calls().next().map(|c| c.arguments_kind), Some(kind));
    }
}

#[test]
fn what_stands_beside_the_text_is_joined_like_the_text() {
    let one = whole(
        200,
        r#"{"choices":[{"index":0,"message":{"function_call":{"name":"f","arguments":"{\"a\":1}"},
        "audio":{"id":"x","data":"AAAA","transcript":"One two"},"annotations":[{"n":1},{"n":2}],
        "reasoning_content":"ab","reasoning":"cd"}}]}"#,
    );
    let two = folded(&chunks(&[
        r#"{"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":""},"audio":{"id":"x"},"reasoning_content":"a","reasoning":"c"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"a\""},"audio":{"transcript":"One "},"annotations":[{"n":1}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"function_call":{"arguments":":1}"},"audio":{"data":"AA==","transcript":"two"},"annotations":[{"n":2}],"reasoning_content":"b","reasoning":"d"}}]}"#,
    ]));
    let texts = |reply: &Reply| {
        let (beside, call) = (&reply.beside, reply.beside.function_call.as_ref().unwrap());
        [&call.name, &call.arguments.value, &beside.transcript.value, &beside.reasoning.value]
            .map(Clone::clone)
    };
    assert_eq!(texts(&one), ["f", "{\"a\":1}", "One two", "cd"]);
    assert_eq!(texts(&two), texts(&one));
    assert_eq!((two.beside.has_audio, &two.beside.annotations), (true, &one.beside.annotations));
    assert_eq!(one.reasoning().value, "ab");
}

#[test]
fn a_whole_body_and_its_stream_give_the_same() {
    let body = r#"{"id":"r1","model":"m","system_fingerprint":"fp","tfengine":{"token_sha":"ab"},
        "usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4,
        "prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}},
        "choices":[{"index":0,"finish_reason":"tool_calls","token_ids":[1,2,3],"message":{"role":"assistant",
        "content":"a","reasoning_content":"r","refusal":null,"tool_calls":[
        {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let one = whole(200, body);
    let two = folded(&chunks(&[
        r#"{"id":"r1","model":"m","choices":[{"index":0,"token_ids":[1],"delta":{"reasoning_content":"r"}}]}"#,
        r#"{"id":"r1","model":"m","choices":[{"index":0,"token_ids":[2,3],"delta":{"content":"a"}}]}"#,
        r#"{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        r#"{"id":"r1","system_fingerprint":"fp","choices":[],"tfengine":{"token_sha":"ab"},"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
    ]));
    assert_eq!(shown(&one), "R:r T:a f#c@0({}) =tool_calls");
    assert_eq!(shown(&one), shown(&two));
    assert_eq!(one.proof, two.proof);
    assert_eq!(one.proof.token_ids.as_ref().map(|ids| ids.list.as_str()), Some("1,2,3"));
    assert_eq!(one.proof.same_tokens(&two.proof), Some(true));
    let counts =
        |reply: &Reply| reply.usage.clone().map(|u| (u.prompt, u.completion, u.total, u.cached, u.reasoning));
    assert_eq!(counts(&one), Some((Some(1), Some(3), Some(4), Some(1), Some(2))));
    assert_eq!((counts(&one), two.usage.as_ref().map(|u| u.event)), (counts(&two), Some(3)));
    assert_eq!((one.id, one.model, one.fingerprint), (two.id, two.model, two.fingerprint));
    assert!(one.terminated && two.terminated && one.choices == 1 && two.choices == 1);
}

#[test]
fn only_choice_zero_is_folded_but_all_are_counted() {
    let stream = chunks(&[
        r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#,
    ]);
    assert_eq!((shown(&folded(&stream)).as_str(), folded(&stream).choices), ("T:a", 2));
    let body = r#"{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}]}"#;
    assert_eq!((shown(&whole(200, body)).as_str(), whole(200, body).choices), ("T:a", 2));
}

#[test]
fn nothing_after_the_sentinel_counts_and_a_cut_stream_has_no_end() {
    let late = deltas(&[r#"{"content":"a"}"#]) + "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n";
    assert_eq!(shown(&folded(&late)), "T:a =stop");
    let cut = folded("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
    assert_eq!((shown(&cut).as_str(), cut.terminated), ("T:a", false));
    assert!(!whole(200, "{\"choices\":[").terminated);
}

#[test]
fn halves_of_a_character_are_joined_across_events() {
    let reply = folded(&deltas(&[
        r#"{"content":"a\ud83d"}"#,
        r#"{"content":"\ude00b"}"#,
        r#"{"content":"\ud83d"}"#,
        r#"{"content":"c"}"#,
    ]));
    assert_eq!(shown(&reply), "T:a😀b\u{FFFD}c =stop");
    let text = reply.content();
    assert_eq!([1, 5, 6, 9].map(|at| text.event_at(at)), [0, 1, 2, 3].map(Some));
    let private = "{\"content\":\"\u{10D83D}\"}";
    assert_eq!(shown(&folded(&deltas(&[private]))), "T:\u{10D83D} =stop");
}

#[test]
fn calls_beyond_the_cap_are_not_opened() {
    let entry =
        |at: usize| format!(r#"{{"index":{at},"id":"c{at}","function":{{"name":"f","arguments":"x"}}}}"#);
    let entries = |count: usize| (0..count).map(entry).collect::<Vec<_>>().join(",");
    for (count, expect) in [(20, 20), (MAX_CALLS + 9, MAX_CALLS)] {
        let stream = deltas(&[&format!(r#"{{"tool_calls":[{}]}}"#, entries(count))]);
        let stream = fold(
            CHAT,
            Some(200),
            &decode::recut(stream.as_bytes(), decode::Cut::Every(9_999)),
            &Lens::STRICT,
        );
        let body =
            whole(200, &format!(r#"{{"choices":[{{"message":{{"tool_calls":[{}]}}}}]}}"#, entries(count)));
        assert_eq!([stream.calls().count(), body.calls().count()], [expect; 2]);
    }
}

fn failure(reply: &Reply) -> (u16, &str, &str, Option<&str>, Option<&str>, Option<usize>) {
    let Some(Failure { status, envelope, message, code, kind, event, .. }) = &reply.error else {
        return (0, "", "", None, None, None);
    };
    (*status, envelope, message, code.as_deref(), kind.as_deref(), *event)
}

#[test]
fn errors_of_every_envelope() {
    let object = r#"{"error":{"message":"m","type":"t","param":"p","code":5}}"#;
    let flat = r#"{"object":"error","message":"m","type":"t","code":"c"}"#;
    let check = |status, body, expect| assert_eq!(failure(&whole(status, body)), expect, "{body}");
    check(400, object, (400, "error object", "m", Some("5"), Some("t"), None));
    assert_eq!(whole(400, object).error.and_then(|e| e.param).as_deref(), Some("p"));
    check(200, object, (200, "error object", "m", Some("5"), Some("t"), None));
    check(422, flat, (422, "flat", "m", Some("c"), Some("t"), None));
    check(422, r#"{"detail":"m"}"#, (422, "flat", "m", None, None, None));
    check(422, r#"{"error":"m","error_type":"t"}"#, (422, "error text", "m", None, Some("t"), None));
    check(500, "Internal error\n", (500, "text", "Internal error", None, None, None));
    check(502, "<html>x</html>", (502, "html", "<html>x</html>", None, None, None));
    check(503, "", (503, "empty", "", None, None, None));
    check(200, "<html>", (200, "html", "<html>", None, None, None));
    check(500, "{\"error\":", (500, "text", "{\"error\":", None, None, None));
    check(200, r#"{"choices":[],"error":null}"#, (0, "", "", None, None, None));
    let late = |error: &str| folded(&chunks(&[r#"{"choices":[{"delta":{"content":"a"}}]}"#, error, "{}"]));
    assert_eq!(failure(&late(object)), (200, "error object", "m", Some("5"), Some("t"), Some(1)));
    assert_eq!(failure(&late(flat)), (200, "flat", "m", Some("c"), Some("t"), Some(1)));
    assert_eq!(shown(&late(object)), "T:a");
    let named = folded("event: error\ndata: {\"message\":\"m\"}\n\n");
    assert_eq!(failure(&named), (200, "flat", "m", None, None, Some(0)));
    let decoded = decode::recut(format!("data: {object}\n\n").as_bytes(), decode::Cut::Every(9));
    let refused = fold(CHAT, Some(400), &decoded, &Lens::STRICT);
    assert_eq!(failure(&refused), (400, "error object", "m", Some("5"), Some("t"), None));
    assert_eq!(fold(CHAT, None, &decode::Decoded::default(), &Lens::STRICT).error, None);
}

mod clients;

proptest! {
    #[test]
    fn arbitrary_json_never_panics(text in "[\\[\\]{}\",:0-9a-z_ -]{0,80}") {
        let stream = format!("data: {{\"choices\":[{{\"delta\":{text}}}]}}\n\ndata: {text}\n\n");
        let decoded = decode::recut(stream.as_bytes(), decode::Cut::Every(11));
        for lens in Lens::CLIENTS.iter().chain([&Lens::STRICT]) {
            let _ = read_as(lens, CHAT, Some(200), &decoded);
        }
        let _ = whole(200, &text);
    }

    #[test]
    fn any_fragments_never_panic(list in prop::collection::vec((-2i64..4, 0..3usize, 0..3usize, 0..4usize), 0..12)) {
        let ids = ["", r#""id":"a","#, r#""id":"b","#];
        let names = ["", r#""name":"f","#, r#""name":"g","#];
        let arguments = [r#""x""#, "null", "{}", "[1]"];
        let all: Vec<String> = list.iter().map(|(index, id, name, argument)| format!(
            r#"{{"tool_calls":[{{"index":{index},{}"function":{{{}"arguments":{}}}}}]}}"#,
            ids[*id], names[*name], arguments[*argument],
        )).collect();
        let stream = deltas(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let decoded = decode::recut(stream.as_bytes(), decode::Cut::Every(64));
        for lens in Lens::CLIENTS {
            let _ = read_as(lens, CHAT, Some(200), &decoded);
        }
        let strict = read_as(&Lens::STRICT, CHAT, Some(200), &decoded).unwrap();
        let length: usize = strict.calls().map(|c| c.arguments.value.len()).sum();
        let sent = list.iter().map(|(_, _, _, argument)| [1, 0, 2, 3][*argument]).sum::<usize>();
        prop_assert_eq!(length, sent);
    }
}

#[test]
fn role_and_fields_of_the_vendor() {
    let stream = chunks(&[
        r#"{"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"stop_reason":null,"seen":1}]}"#,
        r#"{"id":"a","choices":[{"index":0,"delta":{"role":"user","hint":2},"finish_reason":"stop"}],"trace":"t"}"#,
    ]);
    let streamed = folded(&stream);
    let body = whole(
        200,
        r#"{"id":"a","object":"chat.completion","choices":[{"index":0,"seen":[],"message":{"role":"assistant","content":"x","hint":1,"audio":null}}],"trace":0}"#,
    );
    assert_eq!(body.role.as_deref(), Some("assistant"));
    assert_eq!(streamed.role, body.role);
    assert_eq!(streamed.extras, ["choices[0].seen", "trace", "choices[0].message.hint"]);
    assert_eq!(body.extras, ["trace", "choices[0].seen", "choices[0].message.hint"]);
    let many = (0..100).map(|n| format!("\"x{n}\":1,")).collect::<Vec<_>>().concat();
    assert!(whole(200, &format!("{{{many}\"choices\":[]}}")).extras.len() < 50);
}
