//! Every plant does what its sentence says, in the mode it names and in no other; every decoy says the same as without.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test dies of what it did not expect"
)]

mod support;

use std::fmt::Write as _;

use serde_json::Value;
use support::{Answer, Engine, puppet};
use tfengine::{PlantKind, Switch, plants};

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"lookup","parameters":{"type":"object","properties":{"q":{"type":"string"},"tags":{"type":"array"}}}}}]"#;
/// Prose, a call with a string and a list, prose, a second call.
const TWO: &str = "A.\n<tool_call>{\"name\":\"lookup\",\"arguments\":{\"q\":\"caf\u{e9} noir\",\"tags\":[1,2]}}</tool_call> B \
    <tool_call>{\"name\":\"lookup\",\"arguments\":{}}</tool_call>";
/// A call, an envelope that is rejected, a call.
const REJECTED: &str = "<tool_call>{\"name\":\"lookup\",\"arguments\":{\"q\":\"a\"}}</tool_call>\n\
    <tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>\n\
    <tool_call>{\"name\":\"lookup\",\"arguments\":{\"q\":\"c\"}}</tool_call>";
/// Envelopes that are text, in two spellings.
const SPELLINGS: &str = "A <tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call> B \
    <foo:tool_call>x <y</foo:tool_call> C < d <e:f> g\n";
/// A call without arguments.
const EMPTY: &str = "<tool_call>{\"name\":\"lookup\",\"arguments\":{}}</tool_call>";
/// A call with a number.
const NUMBER: &str = "<tool_call>{\"name\":\"lookup\",\"arguments\":{\"n\":12 }}</tool_call>";
const ONE_CALL: &str = r#""parallel_tool_calls":false"#;

/// What a reply says, in one line.
fn summary(answer: &Answer) -> String {
    assert_eq!(answer.status(), 200, "{}", answer.body);
    if answer.head.contains("text/event-stream") { streamed(answer) } else { whole(answer) }
}

fn whole(answer: &Answer) -> String {
    let body = answer.json();
    let message = &body["choices"][0]["message"];
    let mut line = format!("{} | {} |", text(&message["content"]), text(&message["reasoning_content"]));
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        write!(line, " {}({})", text(&function["name"]), text(&function["arguments"])).unwrap();
    }
    let finish = text(&body["choices"][0]["finish_reason"]);
    write!(line, " | {finish} {}", body["usage"]["completion_tokens"]).unwrap();
    line
}

fn text(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_default()
}

/// Joined by index, as clients do it; what has no index or is no text is left out.
fn streamed(answer: &Answer) -> String {
    let (mut content, mut reasoning, mut finish, mut usage) =
        (String::new(), String::new(), String::new(), Value::Null);
    let mut calls: Vec<(String, String)> = Vec::new();
    for chunk in answer.chunks().0 {
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        content += &text(&delta["content"]);
        reasoning += &text(&delta["reasoning_content"]);
        finish = choice["finish_reason"].as_str().map_or(finish, str::to_owned);
        usage = chunk["usage"].as_object().map_or(usage, |usage| usage["completion_tokens"].clone());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = call["index"].as_u64().map_or(calls.len(), |at| usize::try_from(at).unwrap());
            calls.resize_with(calls.len().max(at + 1), Default::default);
            calls[at].0 += &text(&call["function"]["name"]);
            calls[at].1 += &text(&call["function"]["arguments"]);
        }
    }
    let mut line = format!("{content} | {reasoning} |");
    for (name, arguments) in calls {
        write!(line, " {name}({arguments})").unwrap();
    }
    write!(line, " | {finish} {usage}").unwrap();
    line
}

/// One engine for all cases of a test.
struct Bench(Engine);

impl Bench {
    fn start() -> Self {
        Self(Engine::start(Switch::On))
    }

    fn ask(&self, plant: &str, mode: Mode, rounds: &str, says: &str, keys: &str) -> Answer {
        let comma = if keys.is_empty() { "" } else { "," };
        let mode = match mode {
            Mode::Whole => "",
            Mode::Stream => r#","stream":true,"stream_options":{"include_usage":true}"#,
        };
        let plant = if plant.is_empty() { String::new() } else { format!("x-tfproxy-plant: {plant}\r\n") };
        let headers = format!("x-tfproxy-rounds: {rounds}\r\n{plant}");
        self.0.chat(&headers, &puppet("puppet-hermes", says, &format!("{TOOLS}{comma}{keys}{mode}")))
    }

    /// The stream turns from `before` to `after`, and the whole reply stays as it is.
    fn check(&self, plant: &str, rounds: &str, says: &str, keys: &str, changes: &[(&str, &str)]) {
        let plain = summary(&self.ask("", Mode::Stream, rounds, says, keys));
        let expect = changes.iter().fold(plain.clone(), |line, (before, after)| {
            assert!(line.contains(before), "{plant}: no {before:?} in {line:?}");
            line.replace(before, after)
        });
        assert_ne!(expect, plain);
        assert_eq!(summary(&self.ask(plant, Mode::Stream, rounds, says, keys)), expect, "{plant}");
        let whole = self.ask(plant, Mode::Whole, rounds, says, keys).masked();
        assert_eq!(whole, self.ask("", Mode::Whole, rounds, says, keys).masked(), "{plant}");
    }

    /// The bytes of the stream hold that many of `piece`, without the plant `plain` of it.
    fn check_bytes(&self, plant: &str, says: &str, piece: &str, plain: usize, planted: usize) {
        let count =
            |plant: &str| self.ask(plant, Mode::Stream, "whole", says, "").body.matches(piece).count();
        assert_eq!((count(""), count(plant)), (plain, planted), "{plant}: {piece}");
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Whole,
    Stream,
}

#[test]
fn without_a_plant_both_modes_say_the_same() {
    let bench = Bench::start();
    for says in [TWO, REJECTED, SPELLINGS, "<think>a\nb</think>c", "", "\u{1f600}"] {
        for keys in ["", ONE_CALL, r#""max_tokens":20"#, r#""stop":"e""#] {
            for rounds in ["whole", "special", "1", "3", "rand:1:8"] {
                let whole = summary(&bench.ask("", Mode::Whole, rounds, says, keys));
                assert_eq!(
                    summary(&bench.ask("", Mode::Stream, rounds, says, keys)),
                    whole,
                    "{rounds} {keys}"
                );
            }
        }
    }
}

#[test]
fn plants_that_lose_prose() {
    let bench = Bench::start();
    let other = "<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>";
    let foo = "<foo:tool_call>x <y</foo:tool_call>";
    for rounds in ["whole", "1", "special"] {
        bench.check("rejected-lost", rounds, SPELLINGS, ONE_CALL, &[(other, ""), (foo, "")]);
        let cut = format!("{ONE_CALL},\"max_tokens\":{}", SPELLINGS.len() - 2 * 10 - 1);
        bench.check("rejected-lost-cut", rounds, SPELLINGS, &cut, &[(other, ""), (foo, "")]);
        bench.check("newline-lost-cut", rounds, "a\n\nb\n\n", r#""max_tokens":6"#, &[("b\n\n", "b")]);
        bench.check("stop-leak", rounds, "one STOP two", r#""stop":["x","STOP"]"#, &[("one ", "one STOP")]);
        bench.check("reasoning-as-content", rounds, "<think>hm</think>ok", "", &[("ok | hm |", "hmok |  |")]);
        bench.check("reasoning-lost", rounds, "<think>hm</think>ok", "", &[("| hm |", "|  |")]);
        let around = format!("A{EMPTY}B{EMPTY}C");
        bench.check("text-after-call-lost", rounds, &around, "", &[("ABC |", "A |")]);
    }
    bench.check("content-trimmed", "1", " \n a b", "", &[(" \n a b", "a b")]);
    let thinking = "<think>hm</think>ok";
    bench.check("content-after-thinking-lost", "whole", thinking, "", &[("ok", "")]);
    bench.check("utf8-split", "1", "caf\u{e9}", "", &[("\u{e9}", "\u{fffd}\u{fffd}")]);
}

#[test]
fn plants_of_the_cut_leave_other_replies_alone() {
    let bench = Bench::start();
    for (plant, says, keys) in [
        ("rejected-lost", SPELLINGS, ""),
        ("rejected-lost-cut", SPELLINGS, ONE_CALL),
        ("newline-lost-cut", "a\n\n", ""),
        ("length-hidden", TWO, ""),
        ("stop-leak", TWO, ""),
    ] {
        let planted = summary(&bench.ask(plant, Mode::Stream, "2", says, keys));
        assert_eq!(planted, summary(&bench.ask("", Mode::Stream, "2", says, keys)), "{plant}");
    }
}

#[test]
fn plants_that_change_calls() {
    let bench = Bench::start();
    for rounds in ["whole", "1", "special"] {
        bench.check("calls-after-rejected-lost", rounds, REJECTED, "", &[(" lookup({\"q\":\"c\"})", "")]);
        bench.check("typed-not-compact", rounds, TWO, "", &[("[1,2]", "[1, 2]")]);
        bench.check("value-tail-lost", rounds, TWO, "", &[("caf\u{e9} noir", "caf\u{e9} n")]);
        bench.check("empty-arguments-lost", rounds, TWO, "", &[("lookup({})", "lookup()")]);
        bench.check("closer-in-arguments", rounds, TWO, "", &[("})", "}\n</tool_call>)")]);
        bench.check("numbers-as-strings", rounds, NUMBER, "", &[("12", "\"12\"")]);
        let cut = format!("\"max_tokens\":{}", NUMBER.len() - 21 - 3);
        bench.check("cut-call-completed", rounds, NUMBER, &cut, &[("{\"n\":12", "{\"n\":12}")]);
        bench.check("name-damaged", rounds, TWO, "", &[("lookup", "ookup")]);
        bench.check("finish-stop", rounds, TWO, "", &[("tool_calls", "stop")]);
        bench.check("length-hidden", rounds, "abc", r#""max_tokens":2"#, &[("length", "stop")]);
        let resent = &[
            ("{\"q\":\"a\"}", "{\"q\":\"a\"}{\"q\":\"a\"}"),
            ("{\"q\":\"c\"}", "{\"q\":\"c\"}{\"q\":\"c\"}"),
        ];
        bench.check("arguments-resent", rounds, REJECTED, "", resent);
        let one = "<tool_call>{\"name\":\"lookup\",\"arguments\":{\"q\":\"a\"}}</tool_call>";
        let call = " lookup({\"q\":\"a\"}) | tool_calls";
        bench.check("call-dropped", rounds, one, "", &[(call, " | stop")]);
        let leaked =
            "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"q\":\"a\"}}\n</tool_call> |  | | stop";
        bench.check("markup-leak", rounds, one, "", &[(&format!(" |  |{call}"), leaked)]);
    }
}

#[test]
fn plants_that_change_the_shape() {
    let bench = Bench::start();
    let one = "<tool_call>{\"name\":\"lookup\",\"arguments\":{\"q\":\"a\"}}</tool_call> and";
    bench.check_bytes("done-missing", one, "[DONE]", 1, 0);
    bench.check_bytes("usage-missing", one, "\"usage\"", 1, 0);
    bench.check_bytes("usage-missing", one, "token_sha", 1, 1);
    bench.check_bytes("finish-missing", one, "\"tool_calls\"}]", 1, 0);
    bench.check_bytes("truncated-clean", one, "[DONE]", 1, 0);
    bench.check_bytes("truncated-clean", one, "\"role\"", 1, 1);
    bench.check_bytes("index-zero", TWO, "{\"index\":1,\"id\"", 1, 0);
    bench.check_bytes("index-missing", TWO, "\"tool_calls\":[{\"index\"", 4, 0);
    bench.check_bytes("tool-id-repeated", TWO, "\"name\":\"lookup\"", 2, 4);
    bench.check_bytes("arguments-object", TWO, "\"arguments\":{", 0, 2);
    bench.check("usage-differs", "1", "abc", "", &[("4", "5")]);
    bench.check_bytes("type-missing", TWO, "\"type\":\"function\"", 2, 0);
    bench.check_bytes("tool-id-missing", TWO, "\"id\":\"call_", 2, 0);
    let created = bench.ask("created-per-chunk", Mode::Stream, "3", one, "").chunks().0;
    assert_ne!(created[0]["created"], created[1]["created"]);
    let chunks = bench.ask("", Mode::Stream, "whole", one, "").chunks().0.len();
    bench.check_bytes("role-repeated", one, "\"role\"", 1, chunks - 1);
    bench.check_bytes("finish-every-chunk", one, "\"finish_reason\":null", chunks - 2, 0);
    let ids = bench.ask("id-per-chunk", Mode::Stream, "3", one, "").chunks().0;
    assert_ne!(ids[0]["id"], ids[1]["id"]);
}

#[test]
fn arguments_in_one_piece_are_one_delta() {
    let bench = Bench::start();
    let deltas = |plant: &str| {
        bench.ask(plant, Mode::Stream, "1", REJECTED, "").body.matches("{\"arguments\":").count()
    };
    assert_eq!(deltas("arguments-in-one-piece"), 2);
    assert!(deltas("") > 2);
    let plain = summary(&bench.ask("", Mode::Stream, "1", REJECTED, ""));
    assert_eq!(summary(&bench.ask("arguments-in-one-piece", Mode::Stream, "1", REJECTED, "")), plain);
}

#[test]
fn tag_formats_show_them_too() {
    let bench = Bench::start();
    let glm = "A<tool_call>lookup<arg_key>q</arg_key><arg_value>word</arg_value><arg_key>tags</arg_key>\
        <arg_value>[1, 2]</arg_value></tool_call>";
    let xml = "A<tool_call>\n<function=lookup>\n<parameter=q>\nword\n</parameter>\n<parameter=tags>\n[1, 2]\n</parameter>\n\
        </function>\n</tool_call>";
    for (model, says) in [("puppet-glm", glm), ("puppet-qwen3-xml", xml)] {
        let keys = format!(r#"{TOOLS},"stream":true"#);
        let said = |plant: &str| {
            let asked = format!("{model}+rounds-2{plant}");
            streamed(&bench.0.chat("", &puppet(&asked, says, &keys)))
        };
        assert!(
            said("").starts_with(r#"A |  | lookup({"q":"word","tags":[1,2]}) | tool_calls"#),
            "{}",
            said("")
        );
        assert!(said("+plant-typed-not-compact").contains(r#"{"q":"word","tags":[1, 2]}"#));
        assert!(said("+plant-value-tail-lost").contains(r#"{"q":"w","tags":[1,2]}"#));
        assert_eq!(said("+plant-arguments-in-one-piece"), said(""));
    }
}

#[test]
fn plants_in_the_whole_reply_leave_the_stream_alone() {
    let bench = Bench::start();
    let planted = summary(&bench.ask("prose-beside-call-lost", Mode::Whole, "1", TWO, ""));
    assert!(planted.starts_with(" |  | lookup("), "{planted}");
    let streamed = summary(&bench.ask("prose-beside-call-lost", Mode::Stream, "1", TWO, ""));
    assert_eq!(streamed, summary(&bench.ask("", Mode::Stream, "1", TWO, "")));
}

#[test]
fn content_is_dropped_only_beside_a_call() {
    let bench = Bench::start();
    bench.check("content-dropped", "whole", &format!("A{EMPTY}"), "", &[("A |", " |")]);
    let apart = summary(&bench.ask("content-dropped", Mode::Stream, "1", "A B", ""));
    assert!(apart.starts_with("A B |"), "{apart}");
}

#[test]
fn decoys_say_the_same() {
    let bench = Bench::start();
    for spec in plants().iter().filter(|spec| spec.kind == PlantKind::Decoy) {
        for (says, keys) in [(TWO, ""), (SPELLINGS, ONE_CALL), ("", ""), ("abc\n", r#""max_tokens":4"#)] {
            let plain = summary(&bench.ask("", Mode::Whole, "3", says, keys));
            let expect = match spec.name {
                "respaced-arguments" => {
                    plain.replace("\",\"tags\":[1,2]", "\", \"tags\": [1, 2]").replace("\"q\":", "\"q\": ")
                }
                _ => plain,
            };
            for mode in [Mode::Whole, Mode::Stream] {
                assert_eq!(summary(&bench.ask(spec.name, mode, "3", says, keys)), expect, "{}", spec.name);
            }
        }
    }
}

#[test]
fn decoys_show_on_the_wire() {
    let bench = Bench::start();
    for (decoy, piece) in [
        ("usage-on-finish", "\"finish_reason\":\"tool_calls\"}],\"usage\":{"),
        ("null-for-absent", "\"refusal\":null"),
        ("comments", ": keep-alive\n\ndata: "),
        ("crlf", "\r\n\r\ndata: "),
        ("other-ids", "\"id\":\"gen_"),
        ("other-ids", "\"id\":\"tool-"),
        ("cached-tokens", "\"cached_tokens\":"),
        ("respaced-arguments", "\\\"tags\\\": "),
        ("empty-deltas", "\"delta\":{\"content\":\"\"}"),
    ] {
        let planted = bench.ask(decoy, Mode::Stream, "special", TWO, "").body;
        assert!(planted.contains(piece), "{decoy}: {planted}");
        let plain = bench.ask("", Mode::Stream, "special", TWO, "").body;
        assert!(!plain.contains(piece), "{decoy}: {plain}");
    }
    let huge = bench.ask("one-huge-delta", Mode::Stream, "1", "abcdef", "").chunks().0;
    assert_eq!(huge[1]["choices"][0]["delta"]["content"], "abcdef");
}
