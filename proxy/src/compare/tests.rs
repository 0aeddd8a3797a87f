//! One line a case: two replies in, the rules, paths and kinds of their differences out.

use super::*;
use crate::{
    fold::reply::{
        ArgumentsKind, Beside, Billed, Call, Failure, Logprobs, Part, Piece, Presence, Proof, Text, TokenIds,
        Usage,
    },
    request::case::{Expect, ExpectCall, ExpectError},
};
use serde_json::json;

fn text(value: &str) -> Text {
    let pieces = value.char_indices().map(|(start, _)| Piece { start, event: start + 1 }).collect();
    Text { value: value.to_owned(), pieces }
}

fn call(name: &str, arguments: &str) -> Call {
    let arguments_kind = ArgumentsKind::Text;
    Call {
        name: name.to_owned(),
        arguments: text(arguments),
        arguments_kind,
        event: 7,
        deltas: 1,
        ..Call::default()
    }
}

/// `content`, reasoning, calls, finish.
fn reply(content: &str, reasoning: &str, calls: &[(&str, &str)], finish: &str) -> Reply {
    let mut parts = vec![Part::Reasoning(text(reasoning)), Part::Text(text(content))];
    parts.extend(calls.iter().map(|(name, arguments)| Part::Call(call(name, arguments))));
    Reply { parts, finish: Some((finish.to_owned(), 9)), ..Reply::default() }
}

fn says(content: &str) -> Reply {
    reply(content, "", &[], "stop")
}

fn calls(calls: &[(&str, &str)]) -> Reply {
    reply("", "", calls, "tool_calls")
}

fn told(found: &[Difference]) -> Vec<String> {
    found.iter().map(|d| format!("{} {} {:?}", d.rule, d.path, d.kind)).collect()
}

const STRICT: Equality<'static> =
    Equality { arguments_text: true, usage_completion: true, usage_due: true, stop: &[] };

#[track_caller]
fn check(left: &Reply, right: &Reply, expect: &[&str]) {
    assert_eq!(told(&compare(left, right, STRICT)), expect);
    assert_eq!(compare(left, left, STRICT), [], "a reply differs from itself");
    assert_eq!(compare(right, right, STRICT), [], "a reply differs from itself");
}

#[test]
fn texts() {
    check(&says("same"), &says("same"), &[]);
    check(&says("text\n"), &says("text"), &["parity/content-whitespace content Whitespace"]);
    check(&says("abc"), &says("ab"), &["parity/content content Lost"]);
    check(&says("abc"), &says("abcd"), &["parity/content content Added"]);
    check(&says("abc"), &says("abcabc"), &["parity/content content Doubled"]);
    check(&says("yes"), &says("no"), &["parity/content content Changed"]);
    check(&says("e\u{301}"), &says("\u{e9}"), &["parity/content content Changed"]);
    check(&says("gr\u{fc}n"), &says("gr\u{fffd}\u{fffd}n"), &["parity/unicode-replacement content Changed"]);
    check(&says("abc"), &says(""), &["parity/content content Lost", "parity/empty-answer  Lost"]);
    check(
        &reply("a", "think", &[], "stop"),
        &reply("a", "thin", &[], "stop"),
        &["parity/reasoning reasoning Lost"],
    );
}

#[test]
fn text_in_another_field() {
    let whole = reply("answer", "thought", &[], "stop");
    check(&whole, &reply("", "thought\n\nanswer", &[], "stop"), &["parity/reasoning-split reasoning Moved"]);
    check(&whole, &reply("thoughtanswer", "", &[], "stop"), &["parity/reasoning-split reasoning Moved"]);
    let both = ["parity/content content Moved", "parity/reasoning reasoning Added"];
    check(&whole, &reply("", "thought </think> answer", &[], "stop"), &both);
}

#[test]
fn leaked_stop_strings() {
    let stop = ["\nEND".to_owned()];
    let check = |left: &Reply, right: &Reply, expect: &str| {
        let found = compare(left, right, Equality { stop: &stop, ..STRICT });
        assert_eq!(told(&found), [expect]);
    };
    check(&says("text"), &says("text\nEND"), "parity/stop-string-leak content Added");
    check(&says("text"), &says("text\nEN"), "parity/stop-string-leak content Added");
    check(&says("text\nEND and"), &says("text"), "parity/stop-string-leak content Lost");
    check(&says("text"), &says("text\n"), "parity/content-whitespace content Whitespace");
    check(&says("text"), &says("text more"), "parity/content content Added");
    let cut = |content| reply(content, "", &[], "length");
    check(&cut("text"), &cut("text\nE"), "parity/content content Added");
}

#[test]
fn numbers_and_orders_of_calls() {
    let (a, b, c) = (("f", r#"{"x":1}"#), ("g", "{}"), ("f", r#"{"x":3}"#));
    check(&calls(&[a, b]), &calls(&[a, b]), &[]);
    check(&calls(&[a, b]), &calls(&[a]), &["parity/tool-count tool_calls Lost"]);
    check(&calls(&[a, b]), &calls(&[b]), &["parity/tool-count tool_calls Lost"]);
    check(&calls(&[a, b, c]), &calls(&[a, c]), &["parity/tool-count tool_calls Lost"]);
    check(&calls(&[a]), &calls(&[a, a]), &["parity/tool-count tool_calls Doubled"]);
    check(&calls(&[a]), &calls(&[a, b]), &["parity/tool-count tool_calls Added"]);
    check(&calls(&[a, b]), &calls(&[b, a]), &["parity/tool-order tool_calls Moved"]);
    let lost_and_changed =
        ["parity/tool-count tool_calls Lost", "parity/tool-arguments tool_calls[0].arguments Lost"];
    check(&calls(&[a, b]), &calls(&[("f", r#"{"x":"#)]), &lost_and_changed);
    let empty = [
        "parity/tool-count tool_calls Lost",
        "parity/empty-answer  Lost",
        "parity/finish-reason finish Changed",
    ];
    check(&calls(&[a]), &says(""), &empty);
}

#[test]
fn a_missing_call_that_stands_in_the_content_has_moved() {
    let whole = says("Look.<tool_call>lookup</tool_call>");
    let stream = reply("Look.", "", &[("lookup", "{}")], "tool_calls");
    let expect = [
        "parity/tool-count tool_calls Moved",
        "parity/content content Lost",
        "parity/finish-reason finish Changed",
    ];
    check(&whole, &stream, &expect);
    let found = compare(&whole, &stream, STRICT);
    assert_eq!(found[0].left, r#"no call: content "Look.<tool_call>lookup</tool_call>""#);
    assert_eq!(found[0].right, "one call: lookup {}");
    assert_eq!(found[0].events, (None, Some(7)));
    assert_eq!(found[1].events, (Some(6), Some(5)), "where they part; past the end it is the last piece");
}

#[test]
fn names_and_arguments() {
    let one = |name, arguments| calls(&[(name, arguments)]);
    check(&one("get_weather", "{}"), &one("weather", "{}"), &["parity/tool-name tool_calls[0].name Lost"]);
    check(&one("f", "{}"), &one("ff", "{}"), &["parity/tool-name tool_calls[0].name Doubled"]);
    let arguments = |kind: &str| format!("parity/tool-arguments tool_calls[0].arguments {kind}");
    check(&one("f", r#"{"a":"bcd"}"#), &one("f", r#"{"a":"bc"}"#), &[&arguments("Lost")]);
    check(&one("f", r#"{"a":"b\n"}"#), &one("f", r#"{"a":"b"}"#), &[&arguments("Lost")]);
    check(&one("f", r#"{"a":"b "}"#), &one("f", r#"{"a":"b"}"#), &[&arguments("Whitespace")]);
    check(&one("f", r#"{"a":1}"#), &one("f", r#"{"a":1}{"a":1}"#), &[&arguments("Doubled")]);
    check(&one("f", r#"{"a":"#), &one("f", r#"{"a": "#), &[&arguments("Whitespace")]);
    check(&one("f", ""), &one("f", "{}"), &[]);
    check(&one("f", "null"), &one("f", ""), &[]);
    let spaced = ["parity/tool-arguments-text tool_calls[0].arguments Whitespace"];
    check(&one("f", r#"{"a":1,"b":2}"#), &one("f", r#"{"a": 1, "b": 2}"#), &spaced);
    let loose = compare(&one("f", r#"{"a":1}"#), &one("f", r#"{"a": 1}"#), Equality::default());
    assert_eq!(loose, []);
}

#[test]
fn an_object_for_a_string_is_a_difference_of_kind() {
    let mut object = call("f", r#"{"a":1}"#);
    object.arguments_kind = ArgumentsKind::Object;
    let right = Reply { parts: vec![Part::Call(object)], ..calls(&[]) };
    let expect = ["parity/tool-arguments-kind tool_calls[0].arguments Changed"];
    check(&calls(&[("f", r#"{"a":1}"#)]), &right, &expect);
}

#[test]
fn finish_and_usage() {
    let with = |finish: Option<&str>, usage: Option<Usage>| Reply {
        finish: finish.map(|f| (f.to_owned(), 3)),
        usage,
        ..says("x")
    };
    let usage = |prompt, completion, cached, reasoning| {
        Some(Usage {
            prompt: Some(prompt),
            completion: Some(completion),
            cached,
            reasoning,
            ..Usage::default()
        })
    };
    check(&with(Some("stop"), None), &with(None, None), &["parity/finish-reason finish Lost"]);
    check(&with(Some("stop"), None), &with(Some("length"), None), &["parity/finish-reason finish Changed"]);
    let same = with(None, usage(5, 7, Some(4), None));
    check(&same, &with(None, None), &["parity/usage-missing usage Lost"]);
    check(&with(None, None), &same, &["parity/usage-missing usage Added"]);
    assert_eq!(compare(&same, &with(None, None), Equality::default()), [], "nobody asked the stream");
    check(&same, &with(None, usage(5, 7, None, None)), &[]);
    check(&same, &with(None, usage(5, 7, Some(1), None)), &[]);
    check(&same, &with(None, usage(6, 7, None, None)), &["parity/usage-prompt usage.prompt_tokens Changed"]);
    check(
        &same,
        &with(None, usage(5, 8, None, None)),
        &["parity/usage-completion usage.completion_tokens Changed"],
    );
    check(
        &same,
        &with(None, usage(5, 7, None, Some(2))),
        &["parity/usage-details usage.reasoning_tokens Added"],
    );
    let unproven = Equality::default();
    assert_eq!(compare(&same, &with(None, usage(5, 8, None, None)), unproven), []);
}

#[test]
fn what_made_it_stop() {
    let with = |detail: Option<&str>| Reply { stop_detail: detail.map(ToOwned::to_owned), ..says("x") };
    check(&with(Some("END")), &with(Some("END")), &[]);
    check(&with(Some("END")), &with(Some("STOP")), &["parity/stop-detail stop_reason Changed"]);
    check(&with(Some("END")), &with(None), &[]);
}

#[test]
fn what_stands_beside_the_text() {
    let with = |beside: Beside| Reply { beside, ..says("x") };
    let call = |name: &str, arguments: &str| {
        with(Beside { function_call: Some(call(name, arguments)), ..Beside::default() })
    };
    let none = || with(Beside::default());
    check(&call("f", "{\"a\":1}"), &call("f", "{\"a\":1}"), &[]);
    check(
        &call("f", "{\"a\":1}"),
        &call("g", "{}"),
        &[
            "parity/tool-name function_call.name Changed",
            "parity/tool-arguments function_call.arguments Lost",
        ],
    );
    check(&call("f", "{}"), &none(), &["parity/tool-count function_call Lost"]);
    check(&none(), &call("f", "{}"), &["parity/tool-count function_call Added"]);
    let annotated =
        |entries: &[serde_json::Value]| with(Beside { annotations: entries.to_vec(), ..Beside::default() });
    let (a, b) = (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}));
    check(&annotated(std::slice::from_ref(&a)), &annotated(&[b]), &[]);
    check(&annotated(std::slice::from_ref(&a)), &none(), &["parity/message-member annotations Lost"]);
    check(
        &annotated(std::slice::from_ref(&a)),
        &annotated(&[a.clone(), a]),
        &["parity/message-member annotations Changed"],
    );
    let audio = || with(Beside { has_audio: true, ..Beside::default() });
    check(&audio(), &audio(), &[]);
    check(&none(), &audio(), &["parity/message-member audio Added"]);
}

fn listed(ids: &str, billed: Billed) -> TokenIds {
    let count = ids.split(',').zip(1..).last().unwrap().1;
    TokenIds { list: ids.to_owned(), count, billed }
}

#[test]
fn ids_prove_only_where_they_are_known_to_be_all() {
    use Billed::{All, OneMore, Unknown};
    let check = |left: (&str, Billed), right: (&str, Billed), expect: Option<bool>| {
        let of = |(ids, billed)| Proof { token_ids: Some(listed(ids, billed)), ..Proof::default() };
        let (a, b) = (of(left), of(right));
        assert_eq!(a.same_tokens(&b), expect, "{left:?} {right:?}");
        assert_eq!(b.same_tokens(&a), expect, "{right:?} {left:?}");
    };
    check(("1,2", All), ("1,2", All), Some(true));
    check(("1,2", OneMore), ("1,2", OneMore), Some(true));
    check(("1,2", All), ("1,2,3", All), Some(false));
    check(("1,2", OneMore), ("1,2,3", OneMore), Some(false));
    check(("1,2,3", All), ("1,2", OneMore), None); // 3 may be the end of the turn
    check(("1,2", All), ("1,2", Unknown), Some(true));
    check(("1,2", All), ("1,3", Unknown), Some(false));
    check(("1,2,3", All), ("1", Unknown), None);
    check(("1", Unknown), ("1", Unknown), None);
}

#[test]
fn ids_of_tokens() {
    let of =
        |ids: Option<&str>| Proof { token_ids: ids.map(|ids| listed(ids, Billed::All)), ..Proof::default() };
    let found = |left: Option<&str>, right: Option<&str>| {
        let found = super::tokens::compare(&of(left), &of(right))?;
        Some(format!("{} {:?}", found.path, found.kind))
    };
    assert_eq!(found(Some("1,2"), Some("1,3")).unwrap(), "token_ids[1] Changed");
    assert_eq!(found(Some("1,2"), Some("1")).unwrap(), "token_ids[1] Lost");
    assert_eq!(found(Some("1"), Some("2")).unwrap(), "token_ids Changed");
    assert_eq!(found(Some("1,2"), Some("1,2")), None);
    assert_eq!(found(Some("1"), None), None);
}

#[test]
fn tokens() {
    let with = |tokens: Option<&[(&str, Option<f64>)]>| {
        let logprobs = tokens.map(|tokens| {
            let mut all = Logprobs::default();
            for (at, (token, value)) in tokens.iter().enumerate() {
                all.tokens.push(token, at);
                all.values.push(*value);
            }
            all
        });
        Reply { logprobs, ..says("x") }
    };
    let of = |tokens: &[(&str, Option<f64>)]| with(Some(tokens));
    let ab = of(&[("a", Some(-0.5)), ("b", Some(-1.0))]);
    check(&ab, &with(None), &["parity/logprobs-absent logprobs Lost"]);
    check(&with(None), &ab, &["parity/logprobs-absent logprobs Added"]);
    check(&ab, &of(&[("ab", Some(-0.5))]), &["parity/logprobs-tokens logprobs[0].token Changed"]);
    check(&ab, &of(&[("a", Some(-0.5))]), &["parity/logprobs-tokens logprobs[1].token Lost"]);
    check(&ab, &of(&[("a", Some(-0.5)), ("b", Some(-1.04))]), &[]);
    let apart = ["parity/logprobs-values logprobs[1].logprob Changed"];
    check(&ab, &of(&[("a", Some(-0.5)), ("b", Some(-1.06))]), &apart);
    check(&of(&[("a", Some(-9999.0))]), &of(&[("a", Some(-3.4e38))]), &[]);
    check(&of(&[("a", Some(-9999.0))]), &of(&[("a", None)]), &[]);
}

#[test]
fn forms() {
    let with = |presence, model: &str, choices| Reply {
        content_presence: presence,
        model: Some(model.to_owned()),
        choices,
        ..calls(&[])
    };
    let base = with(Presence::Null, "puppet-glm", 1);
    check(&base, &with(Presence::Absent, "puppet-glm+rounds-3", 1), &[]);
    check(&base, &with(Presence::Empty, "puppet-glm", 1), &["parity/content-presence content Changed"]);
    check(&base, &with(Presence::Null, "other", 1), &["parity/model model Changed"]);
    check(&base, &with(Presence::Null, "puppet-glm", 2), &["parity/choices-count choices Added"]);
}

#[test]
fn ids_of_calls_have_one_form() {
    let with = |id: Option<&str>| {
        let mut one = calls(&[("f", "{}")]);
        if let Some(Part::Call(call)) = one.parts.last_mut() {
            call.id = id.map(ToOwned::to_owned);
        }
        one
    };
    let check_ids = |left, right, expect: &[&str]| check(&with(left), &with(right), expect);
    let differs = ["parity/tool-id-form tool_calls[0].id Changed"];
    check_ids(Some("call_a1b2"), Some("call_c3d4"), &[]);
    check_ids(Some("call_9"), Some("call_10"), &[]);
    check_ids(Some("functions.f:0"), Some("functions.f:0"), &[]);
    check_ids(Some("call_a1b2"), Some("chatcmpl-tool-a1b2"), &differs);
    check_ids(Some("call_a1b2"), Some("call_a1"), &differs);
    check_ids(Some("call_a1b2"), None, &["parity/tool-id-form tool_calls[0].id Lost"]);
    check_ids(None, None, &[]);
}

#[test]
fn roles_and_fields_of_the_vendor() {
    let with = |role: &str, extras: &[&str]| Reply {
        role: Some(role.to_owned()),
        extras: extras.iter().map(|&e| e.to_owned()).collect(),
        ..says("a")
    };
    check(&with("assistant", &[]), &with("assistant", &[]), &[]);
    check(&with("assistant", &[]), &says("a"), &[]);
    check(&with("assistant", &[]), &with("tool", &[]), &["parity/role role Changed"]);
    check(&with("a", &["x", "choices[0].y"]), &with("a", &["choices[0].y", "x"]), &[]);
    check(&with("a", &["prompt_logprobs"]), &with("a", &["x_groq", "timings"]), &[]);
    check(
        &with("a", &["x", "both"]),
        &with("a", &["both", "choices[0].message.y"]),
        &["parity/extra-fields x Lost", "parity/extra-fields choices[0].message.y Added"],
    );
}

#[test]
fn errors() {
    let error = |status, message: &str, event| Reply {
        error: Some(Failure {
            status,
            message: message.to_owned(),
            kind: Some("invalid_request_error".to_owned()),
            envelope: "error object",
            event,
            ..Failure::default()
        }),
        ..Reply::default()
    };
    let whole = error(400, "unknown model 41", None);
    check(&whole, &error(400, "unknown model 42", None), &[]);
    check(&whole, &error(422, "unknown model 41", None), &["parity/error-status error.status Changed"]);
    check(&whole, &error(200, "unknown model 41", Some(0)), &["parity/error-late error.status Moved"]);
    check(&whole, &error(400, "no such model", None), &["parity/error-message error.message Changed"]);
    check(&whole, &says("fine"), &["parity/error-swallowed error Lost"]);
    check(&says("fine"), &whole, &["parity/error-swallowed error Added"]);
    let flat = Reply {
        error: Some(Failure { envelope: "flat", kind: None, ..whole.error.clone().unwrap() }),
        ..Reply::default()
    };
    check(&whole, &flat, &["parity/error-envelope error Changed", "parity/error-type error.type Lost"]);
}

// ------------------------------------------------------------------------------------------------ expected

fn expects(content: Option<&str>, calls: &[(&str, serde_json::Value)], finish: &str) -> Expect {
    let one = |(name, arguments): &(&str, serde_json::Value)| ExpectCall {
        name: (*name).to_owned(),
        arguments: arguments.clone(),
    };
    Expect {
        content: Some(content.map(ToOwned::to_owned)),
        tool_calls: Some(calls.iter().map(one).collect()),
        finish: Some(finish.to_owned()),
        ..Expect::default()
    }
}

#[test]
fn an_answer_that_is_json_may_be_written_in_any_way() {
    for (wanted, came, expected) in [
        (r#"{"a":1,"b":[]}"#, "{ \"b\" : [],\n \"a\" : 1.0 }", Expected::Match),
        (r#"{"a":1}"#, r#"{"a":"1"}"#, Expected::Mismatch),
        (r#"{"a":1}"#, r#"{"a":1} and more"#, Expected::Mismatch),
        ("{}", "", Expected::Mismatch),
        ("null", "null", Expected::Match),
    ] {
        let right = Expect { content_json: serde_json::from_str(wanted).ok(), ..Expect::default() };
        let (stands, found) = compare_expected(&right, &reply(came, "", &[], "stop"), "-");
        let rules: Vec<_> = found.iter().map(|d| d.rule).collect();
        let wrong = if expected == Expected::Match { &[][..] } else { &["expect/content"] };
        assert_eq!((stands, rules.as_slice()), (expected, wrong), "{wanted} {came}");
    }
}

#[track_caller]
fn check_expected(expect: &Expect, reply: &Reply, expected: Expected, rules: &[&str]) {
    let (came, found) = compare_expected(expect, reply, "-");
    assert_eq!((came, told(&found)), (expected, rules.iter().map(|&r| r.to_owned()).collect()));
}

#[test]
fn a_reply_is_held_against_the_right_answer() {
    let right = expects(None, &[("f", json!({"b": 2, "a": "x"}))], "tool_calls");
    let came = |arguments| calls(&[("f", arguments)]);
    check_expected(&right, &came(r#"{"a": "x", "b": 2.0}"#), Expected::Match, &[]);
    let arguments = ["expect/tool-arguments tool_calls[0].arguments Changed"];
    check_expected(&right, &came(r#"{"b":3,"a":"x"}"#), Expected::Mismatch, &arguments);
    let exact = expects(None, &[("f", json!("{\"b\":"))], "tool_calls");
    check_expected(&exact, &came("{\"b\":"), Expected::Match, &[]);
    let spaced = ["expect/tool-arguments tool_calls[0].arguments Whitespace"];
    check_expected(&exact, &came("{\"b\": "), Expected::Mismatch, &spaced);
    let count = ["expect/tool-count tool_calls Lost", "expect/finish finish Changed"];
    check_expected(&right, &says(""), Expected::Mismatch, &count);
    let finish = reply("", "", &[("f", r#"{"a":"x","b":2}"#)], "stop");
    check_expected(&right, &finish, Expected::Match, &["expect/finish finish Changed"]);
    let name = calls(&[("g", r#"{"a":"x","b":2}"#)]);
    check_expected(&right, &name, Expected::Mismatch, &["expect/tool-name tool_calls[0].name Changed"]);
}

#[test]
fn blanks_are_told_from_text() {
    let right = Expect { reasoning: Some(Some("th ink".to_owned())), ..expects(Some("a b"), &[], "stop") };
    check_expected(&right, &reply("a b", "th ink", &[], "stop"), Expected::Match, &[]);
    let blanks =
        ["expect/content-whitespace content Whitespace", "expect/reasoning-whitespace reasoning Whitespace"];
    check_expected(&right, &reply("ab\n", "think", &[], "stop"), Expected::Whitespace, &blanks);
    check_expected(
        &right,
        &reply("ab", "thin", &[], "stop"),
        Expected::Mismatch,
        &["expect/content-whitespace content Whitespace", "expect/reasoning reasoning Lost"],
    );
    check_expected(&Expect::default(), &says("anything"), Expected::None, &[]);
    check_expected(&expects(None, &[], "stop"), &says(""), Expected::Match, &[]);
}

#[test]
fn any_accepted_answer_will_do() {
    let accept = vec![expects(Some("one"), &[], "stop"), expects(Some("two"), &[], "stop")];
    let right = Expect { accept, ..Expect::default() };
    check_expected(&right, &says("two"), Expected::Match, &[]);
    check_expected(
        &right,
        &says("two\n"),
        Expected::Whitespace,
        &["expect/content-whitespace content Whitespace"],
    );
    check_expected(&right, &says("xyz"), Expected::Mismatch, &["expect/content content Changed"]);
}

#[test]
fn errors_can_be_the_right_answer() {
    let error = |code: Option<&str>| ExpectError { status: 400, code: code.map(ToOwned::to_owned) };
    let right = Expect { error: Some(error(Some("bad_stop"))), ..Expect::default() };
    let came = |status, code: &str| Reply {
        error: Some(Failure { status, code: Some(code.to_owned()), ..Failure::default() }),
        ..Reply::default()
    };
    check_expected(&right, &came(400, "bad_stop"), Expected::Match, &[]);
    check_expected(&right, &came(400, "other"), Expected::Mismatch, &["expect/error error Changed"]);
    check_expected(&right, &says("fine"), Expected::Mismatch, &["expect/error error Changed"]);
    let any_code = Expect { error: Some(error(None)), ..Expect::default() };
    check_expected(&any_code, &came(400, "other"), Expected::Match, &[]);
    check_expected(
        &expects(None, &[], "stop"),
        &came(400, "x"),
        Expected::Mismatch,
        &["expect/error error Changed"],
    );
}

#[test]
fn argument_deltas_are_counted_at_their_rounds_only() {
    let right = Expect { argument_deltas_at_least: Some(("3".to_owned(), 600)), ..Expect::default() };
    let came = calls(&[("f", "{}")]);
    let rules = |rounds| told(&compare_expected(&right, &came, rounds).1);
    assert_eq!(rules("3"), ["expect/argument-deltas tool_calls[].arguments Changed"]);
    assert_eq!(rules("1"), Vec::<String>::new());
    assert_eq!(compare_expected(&right, &came, "1").0, Expected::None);
}
