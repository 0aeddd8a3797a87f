//! Which closers in values are closers, and which are text.

use super::*;

fn glm(value: &str, rest: &str) -> String {
    format!("<tool_call>lookup<arg_key>q</arg_key><arg_value>{value}{rest}")
}

fn xml(value: &str, rest: &str) -> String {
    format!("<tool_call><function=lookup><parameter=q>\n{value}{rest}")
}

#[test]
fn a_closer_in_a_glm_value_is_literal_unless_the_grammar_goes_on() {
    let end = "</arg_value></tool_call>";
    for value in [
        "say </tool_call> now",
        "a</arg_value>b",
        "a</arg_value> </arg_value> b",
        "</tool_call></tool_call> x",
        "a</arg_value> </arg_key>b",
        "x</arg_value",
        "<arg_key>k</arg_key><arg_value>v",
        "a </tool_call> <tool_cal b",
    ] {
        let encoded = serde_json::to_string(value).unwrap();
        many(ALL).check(&glm(value, end), says("").calls(&format!("{{\"q\":{encoded}}}")));
    }
}

#[test]
fn a_real_outer_closer_implies_the_inner_one() {
    many(ALL).check(&glm("a", "</tool_call>"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check(&glm("a", "</tool_call> \n"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check(
        &glm("a", "</tool_call>\n<tool_call>get_time</tool_call>"),
        says("").calls(r#"{"q":"a"}"#).call("get_time", "{}", true),
    );
    many(ALL).check(&xml("a", "\n</function></tool_call>"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check(&xml("a", "\n</parameter></tool_call>"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check(&xml("a", "\n</tool_call>"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check("<tool_call>lookup<arg_key>q</tool_call>", says("").calls("{}"));
    many(ALL).check("<tool_call>lookup<arg_key>q</arg_key></tool_call>", says("").calls("{}"));
    many(ALL).check("<tool_call><function=lookup><parameter=q</function></tool_call>", says("").calls("{}"));
}

#[test]
fn an_opener_implies_the_outer_closer() {
    let second = "<TOOL_CALL>get_time</tool_call>";
    let expected = |arguments: &str| says("").calls(arguments).call("get_time", "{}", true);
    many(ALL).check(&glm("a", &format!("</arg_value>\n{second}")), expected(r#"{"q":"a"}"#));
    many(ALL).check(&xml("a", &format!("\n</parameter>{second}")), expected(r#"{"q":"a"}"#));
    many(ALL).check(&xml("a", &format!("\n</parameter></function> {second}")), expected(r#"{"q":"a"}"#));
    many(ALL).check(&format!("<tool_call>lookup<arg_key>q</arg_key>{second}"), expected("{}"));
    let json = r#"<tool_call>{"name": "lookup", "arguments": {"q": "a", "n": 5"#;
    many(ALL).check(&format!("{json}{second}"), expected(r#"{"q":"a","n":5}"#));
    many(ALL).check(&format!("{json}}}}} {second}"), expected(r#"{"q":"a","n":5}"#));
    let xml = "<tool_call><function=lookup></function><function=get_time></function></tool_call>";
    many(&[Qwen3Xml]).check(xml, expected("{}"));
    many(&[Hermes]).check(xml, says("<function=get_time></function></tool_call>").calls("{}"));
}

#[test]
fn a_closer_in_an_xml_value_is_literal_unless_the_grammar_goes_on() {
    for value in [
        "a</parameter>b",
        "a </function> b </tool_call>; c",
        "in <parameter=path> text",
        "</function>\n<parameter=q>",
        "a\n</parameter> b",
        "a\n\n</function>\nb",
        "<parameter=n>",
        "x\n <parameter=n>",
        "x\n<parameter=undeclared>",
        "x\n<parameter=q>",
        "x\n<parameter=nope",
    ] {
        let encoded = serde_json::to_string(value).unwrap();
        let text = xml(value, "\n</parameter>\n</function>\n</tool_call>");
        if value == "<parameter=n>" {
            many(ALL).check(&text, says("").calls("{\"q\":\"\",\"n\":\"\"}"));
        } else {
            many(ALL).check(&text, says("").calls(&format!("{{\"q\":{encoded}}}")));
        }
    }
}

#[test]
fn an_unclosed_xml_value_ends_at_a_line_with_a_declared_key_not_yet_used() {
    let rest = "\n<parameter=n>\n5\n</parameter>\n</function></tool_call>";
    many(ALL).check(&xml("a", rest), says("").calls(r#"{"q":"a","n":5}"#));
    many(ALL).check(&xml("a\n", rest), says("").calls(r#"{"q":"a\n","n":5}"#));
    let again = "\n</parameter><parameter=n>1</parameter><parameter=tags>[]\n<parameter=n>2</parameter></function>\
                 </tool_call>";
    many(ALL).check(&xml("a", again), says("").calls(r#"{"q":"a","n":1,"tags":"[]\n<parameter=n>2"}"#));
}

#[test]
fn closers_and_openers_in_json_strings_are_text() {
    let text = r#"<tool_call>{"name": "lookup", "arguments": {"q": "</tool_call> <tool_call> \"}", "</tool_call>": 1}}</tool_call>"#;
    many(ALL).check(text, says("").calls(r#"{"q":"</tool_call> <tool_call> \"}","</tool_call>":1}"#));
    let quoted = r#"<tool_call>{"name": "lookup", "arguments": "{\"q\": \"</tool_call>\"}"}</tool_call>"#;
    many(ALL).check(quoted, says("").calls(r#"{"q":"</tool_call>"}"#));
}

#[test]
fn outside_of_json_strings_the_outer_closer_closes_all() {
    let call = r#"<tool_call>{"name": "lookup", "arguments": {"tags": [1, {"a": 2"#;
    many(ALL).check(&format!("{call}</tool_call> ok"), says("ok").calls(r#"{"tags":[1,{"a":2}]}"#));
    many(ALL).check(&format!("{call}, \"b\": </tool_call>"), says("").calls(r#"{"tags":[1,{"a":2}]}"#));
    many(ALL)
        .check(&format!("{call}, \"a\": {{\"c\": 3</tool_call>"), says("").calls(r#"{"tags":[1,{"a":2}]}"#));
    many(ALL).check(&format!("{call}.</tool_call>"), says("").cut(r#"{"tags":[1,{"a":"#));
    many(ALL)
        .check(&format!("{call}}}]}}, \"id\": tru</tool_call>"), says("").calls(r#"{"tags":[1,{"a":2}]}"#));
}
