//! How a reply ends: by the model, by `max_tokens`, by a stop string, by a break in a call.

use super::*;

const CUTS: [End; 2] = [End::Length, End::Stop];

#[track_caller]
fn check_cut(text: &str, expected: &Folded) {
    for end in CUTS {
        many(ALL).ends(end).check(text, expected.clone());
    }
}

#[test]
fn an_undecided_envelope_is_dropped_at_a_cut_and_text_at_the_models_end() {
    for envelope in [
        "<tool_call>",
        "<tool_call>\n",
        "<tool_call>{\"na",
        "<tool_call>{\"name\": \"lookup\"",
        "<tool_call>{\"name\": \"lookup\", \"arguments\": ",
        "<tool_call>{\"name\": \"lookup\", \"arguments\": nul",
        "<tool_call>{\"arguments\": {\"q\": \"a\", \"q\": 1}, \"name\": \"look",
        "<tool_call>lookup",
        "<tool_call>lookup\n<arg_k",
        "<tool_call><func",
        "<tool_call><function=look",
        "<tool_call><function=lookup>\n",
        "<tool_call><function=lookup>\n<param",
    ] {
        let text = format!("Hi {envelope}");
        check_cut(&text, &says("Hi"));
        many(ALL).check(&text, says(&text));
    }
}

#[test]
fn a_partial_opener_is_text() {
    for end in [End::Model, End::Length, End::Stop] {
        many(ALL).ends(end).check("Hi\n<tool_cal", says("Hi\n<tool_cal"));
        many(&[Qwen3Xml]).ends(end).check("Hi <function", says("Hi <function"));
    }
}

#[test]
fn a_rejected_envelope_is_text_at_every_end() {
    for end in [End::Model, End::Length, End::Stop] {
        for text in [
            "<tool_call>other<arg_key>q</arg_key><arg_value>a</arg_value> <arg",
            "<tool_call>{\"name\": \"other\", \"arguments\": {\"q\": \"a\\",
            "<tool_call><function=other><parameter=q>\na\n",
            "<tool_call>other ",
        ] {
            many(ALL).ends(end).check(text, says(text));
        }
    }
}

#[test]
fn arguments_stay_a_prefix_at_a_cut() {
    let json = |arguments: &str| format!("<tool_call>{{\"name\": \"lookup\", \"arguments\": {arguments}");
    for (written, prefix) in [
        ("{", "{"),
        ("{\"q", "{"),
        ("{\"q\": ", "{"),
        ("{\"q\": \"", "{\"q\":\""),
        ("{\"q\": \"a\\", "{\"q\":\"a"),
        ("{\"q\": \"a\\ud83d\\ude", "{\"q\":\"a"),
        ("{\"n\": 12", "{\"n\":"),
        ("{\"n\": 12,", "{\"n\":12"),
        ("{\"n\": [1, tru", "{\"n\":[1,"),
        ("{\"n\": [tru", "{\"n\":["),
        ("{\"n\": 1, \"n\": 2", "{\"n\":1"),
    ] {
        check_cut(&json(written), &says("").cut(prefix));
    }
    check_cut(&json("{\"q\": 1}"), &says("").calls("{\"q\":1}"));
    check_cut(&json("\"{\\\"q\\\": \\\"a"), &says("").cut("{\"q\":\"a"));
    check_cut("Go. <tool_call>lookup<arg_key>q", &says("Go.").cut("{"));
    check_cut("<tool_call>lookup<arg_key>q</arg_key><arg_value>", &says("").cut("{\"q\":\""));
    check_cut("<tool_call>lookup<arg_key>q</arg_key><arg_value>a</arg_val", &says("").cut("{\"q\":\"a"));
    check_cut(
        "<tool_call>lookup<arg_key>q</arg_key><arg_value>a</arg_value> </tool",
        &says("").cut("{\"q\":\"a"),
    );
    check_cut("<tool_call>lookup<arg_key>n</arg_key><arg_value>5", &says("").cut("{\"n\":"));
    check_cut("<tool_call><function=lookup><parameter=", &says("").cut("{"));
    check_cut("<tool_call><function=lookup><parameter=q>\na\n", &says("").cut("{\"q\":\"a"));
    check_cut("<tool_call><function=lookup></function>\n</too", &says("").calls("{}"));
}

#[test]
fn the_models_own_end_closes_a_call() {
    for (text, arguments) in [
        ("lookup<arg_key>q</arg_key>", "{}"),
        ("lookup<arg_key>q</arg", "{}"),
        ("lookup<arg_key>q</arg_key><arg_value>a", "{\"q\":\"a\"}"),
        ("lookup<arg_key>q</arg_key><arg_value>a</arg_value>\n", "{\"q\":\"a\"}"),
        ("lookup<arg_key>q</arg_key><arg_value>a</arg_va", "{\"q\":\"a</arg_va\"}"),
        ("lookup<arg_key>q</arg_key><arg_value>a</arg_value></tool", "{\"q\":\"a</arg_value></tool\"}"),
        ("lookup<arg_key>n</arg_key><arg_value>5", "{\"n\":5}"),
        ("<function=lookup><parameter=q", "{}"),
        ("<function=lookup><parameter=q>\nfast ca", "{\"q\":\"fast ca\"}"),
        ("<function=lookup><parameter=q>\na\n", "{\"q\":\"a\"}"),
        ("<function=lookup><parameter=q>\na\n</parameter>", "{\"q\":\"a\"}"),
        ("<function=lookup></function> ", "{}"),
        ("{\"name\": \"lookup\", \"arguments\": {", "{}"),
        ("{\"name\": \"lookup\", \"arguments\": {\"n\": [1, {\"a\": 12", "{\"n\":[1,{\"a\":12}]}"),
        ("{\"name\": \"lookup\", \"arguments\": {\"n\": 1,", "{\"n\":1}"),
        ("{\"name\": \"lookup\", \"arguments\": {\"n\": [tru", "{\"n\":[]}"),
        ("{\"name\": \"lookup\", \"arguments\": {\"n\": 1, \"n\": [2", "{\"n\":1}"),
        ("{\"name\": \"lookup\", \"arguments\": {}}", "{}"),
        ("{\"name\": \"lookup\", \"arguments\": {}, \"id\": \"ca", "{}"),
    ] {
        many(ALL).check(&format!("Go. <tool_call>{text}"), says("Go.").calls(arguments));
    }
}

#[test]
fn an_unfinished_number_or_literal_whose_key_is_out_leaves_a_prefix() {
    let json = |rest: &str| format!("Go. <tool_call>{{\"name\": \"lookup\", \"arguments\": {rest}");
    for (written, prefix) in [("{\"n\": 1.", "{\"n\":"), ("{\"n\": [1, tru", "{\"n\":[1,")] {
        many(ALL).check(&json(written), says("Go.").cut(prefix));
        many(ALL).check(&json(&format!("{written}</tool_call>")), says("Go.").cut(prefix));
    }
}

#[test]
fn the_models_own_end_in_a_json_string_is_a_break() {
    let json = |rest: &str| format!("<tool_call>{{\"name\": \"lookup\", \"arguments\": {rest}");
    many(ALL).check(&json("{\"q\": \"a"), says("").cut("{\"q\":\"a"));
    many(ALL).check(&json("{\"q"), says("").cut("{"));
    many(ALL).check(&json("{\"q\": \"a\\u00"), says("\\u00").cut("{\"q\":\"a"));
    many(ALL).check(&json("{\"q\": \"\\ud83d\\ud83d"), says("\\ud83d").cut("{\"q\":\"\\\\ud83d"));
    many(ALL).check(&json("\"{\\\"q\\\": [1"), says("1").cut("{\"q\":["));
}

#[test]
fn a_break_keeps_what_was_sent_and_the_rest_is_content() {
    let json =
        |rest: &str| format!("Go. <tool_call>{{\"name\": \"lookup\", \"arguments\": {rest}</tool_call> ok");
    for (written, prefix, content) in [
        ("{\"q\": True}}", "{", "True}}"),
        ("{\"n\": 12x}}", "{\"n\":", "12x}}"),
        ("{\"n\": 1,}}", "{\"n\":1", "}}"),
        ("{\"n\" 1}}", "{", "1}}"),
        ("{q: 1}}", "{", "q: 1}}"),
        ("{\"n\": 1, \"n\": 2 3}}", "{\"n\":1", "3}}"),
    ] {
        let content = format!("Go. {content}</tool_call> ok");
        many(ALL).check(&json(written), says(&content).cut(prefix));
        one(ALL).check(&json(written), says(&content).cut(prefix));
    }
    many(ALL).check(&json("{\"n\": 1}}}"), says("Go. }</tool_call> ok").calls("{\"n\":1}"));
    many(ALL).check(&json("\"{} x\"}"), says("Go. x\"}</tool_call> ok").calls("{}"));
    many(ALL).check(&json("\"{\\\"q\\\": 1\"}"), says("Go. 1\"}</tool_call> ok").cut("{\"q\":"));
    let glm = "<tool_call>lookup<arg_key>q</arg_key>x<tool_call>get_time</tool_call><tool_call>get_time</tool_call>";
    many(ALL).check(glm, says("x<tool_call>get_time</tool_call>").cut("{").call("get_time", "{}", true));
    let xml = "<tool_call><function=lookup><parameter=a\nb>c</parameter></function></tool_call>.";
    many(ALL).check(xml, says("\nb>c</parameter></function></tool_call>.").cut("{"));
    let bare = "<function=lookup><parameter=a\nb></parameter></function> <function=get_time></function>";
    many(&[Qwen3Xml]).check(bare, says("\nb></parameter></function>").cut("{").call("get_time", "{}", true));
}

#[test]
fn a_break_in_a_later_call_is_content_in_one_call_mode_too() {
    let text = "<tool_call>lookup</tool_call>\n<tool_call>lookup<arg_key>q</arg_key>x</tool_call>";
    one(ALL).check(text, says("x</tool_call>").calls("{}"));
    many(ALL).check(text, says("x</tool_call>").calls("{}").cut("{"));
}

#[test]
fn arguments_nest_as_deep_as_the_model_writes() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    let text = format!("<tool_call>{{\"name\": \"lookup\", \"arguments\": {deep}}}</tool_call>");
    let (reply, finish) = many(&[Hermes]).read(Hermes, &[&text]);
    assert_eq!((reply, finish), (says("").calls(&deep), Finish::ToolCalls));
}

#[test]
fn a_name_alone_is_a_call_once_its_closer_came() {
    let text = "Hi <tool_call>{\"name\": \"lookup\"}";
    many(ALL).check(&format!("{text}</tool_call>"), says("Hi").calls("{}"));
    many(ALL).check(text, says(text));
    check_cut(text, &says("Hi"));
    many(ALL).check(&format!("{text} junk</tool_call>"), says(&format!("{text} junk</tool_call>")));
}

#[test]
fn finish_needs_one_complete_call_that_counts() {
    let cut = "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"q\": x}}</tool_call>";
    let text = format!("{cut}<tool_call>lookup</tool_call>");
    one(ALL).check(&text, says("x}}</tool_call>").cut("{"));
    many(ALL).check(&text, says("x}}</tool_call>").cut("{").calls("{}"));
}
