//! Texts that made whole and streamed replies of a real server disagree, in own words, with our answers.

use super::*;

#[test]
fn rejected_envelopes_in_every_spelling() {
    for (opener, closer) in [
        ("<foo:tool_call>", "</foo:tool_call>"),
        ("<TOOL_CALL>", "</TOOL_CALL>"),
        ("<Tool_Call>", "</Tool_Call>"),
        ("<tool_call>", "</tool_call>"),
        ("<tool_call>", "</TOOL_CALL>"),
    ] {
        let text = format!("Hi {opener}{{\"name\":\"other\",\"arguments\":{{}}}}{closer} bye");
        many(ALL).check(&text, says(&text));
        one(ALL).check(&text, says(&text));
    }
}

#[test]
fn a_cut_after_a_rejected_envelope() {
    let rejected = r#"A <tool_call>{"name":"other","arguments":{}}</tool_call> B"#;
    let text = format!("{rejected} <tool_call>{{\"name\":\"lookup\",\"argum");
    one(ALL).ends(End::Length).check(&text, says(rejected));
    many(ALL).ends(End::Length).check(&text, says(rejected));
    let named = "A <foo:tool_call>x y</foo:tool_call> B <tool_call>lookup<arg_key>q";
    one(ALL).ends(End::Length).check(named, says("A <foo:tool_call>x y</foo:tool_call> B").cut("{"));
    one(ALL).ends(End::Length).check("Prose cut here\n", says("Prose cut here\n"));
    for prose in ["Looking.", "Looking.\n"] {
        let text = format!("{prose}<tool_call>{{\"name\":\"lookup\",\"argum");
        one(ALL).ends(End::Length).check(&text, says("Looking."));
        many(ALL).ends(End::Length).check(&text, says("Looking."));
    }
}

#[test]
fn a_call_after_an_envelope_that_is_text() {
    let xml = |q: &str| {
        format!("<tool_call>\n<function=lookup>\n<parameter=q>\n{q}\n</parameter>\n</function>\n</tool_call>")
    };
    let middle = "<tool_call>\n<function=other>\n</function>\n</tool_call>";
    let text = format!("{}\n{middle}\n{}", xml("a"), xml("c"));
    many(ALL).check(&text, says(middle).calls(r#"{"q":"a"}"#).calls(r#"{"q":"c"}"#));
    for middle in [
        "<tool_call>lookup<arg_key>q</arg_key><arg_value>b</arg_value></tool_call>",
        r#"<tool_call>{"name": "lookup", "arguments": {"q": "b"}}</tool_call>"#,
    ] {
        let expected =
            ["a", "b", "c"].iter().fold(says(""), |reply, q| reply.calls(&format!("{{\"q\":\"{q}\"}}")));
        many(ALL).check(&format!("{}\n{middle}\n{}", xml("a"), xml("c")), expected);
    }
}

#[test]
fn values_that_hold_the_outer_closer() {
    many(ALL).check(
        "<tool_call>lookup<arg_key>q</arg_key><arg_value>say </tool_call> now</arg_value></tool_call>",
        says("").calls(r#"{"q":"say </tool_call> now"}"#),
    );
    many(ALL).check(
        "<tool_call><function=lookup><parameter=q>\na</tool_call>b\n</parameter></function></tool_call>",
        says("").calls(r#"{"q":"a</tool_call>b"}"#),
    );
}

#[test]
fn keys_without_their_opener_are_not_repaired() {
    let text = "<tool_call>lookup q</arg_key><arg_value>x</arg_value></arg_key></tool_call>";
    many(ALL).check(text, says(text));
    let text = "<tool_call>lookup</arg_key><arg_value>x</arg_value></tool_call>";
    many(ALL).check(text, says(text));
    let text = "<tool_call>lookup<arg_key>a<arg_key>b</arg_key><arg_value>1</arg_value> w</arg_key>\
                <arg_value>2</arg_value></tool_call>";
    let value = r#"{"a<arg_key>b":"1</arg_value> w</arg_key><arg_value>2"}"#;
    many(ALL).check(text, says("").calls(value));
}

#[test]
fn mixed_case_and_mentions() {
    let call = r#"{"name":"lookup","arguments":{"q":"x"}}"#;
    let expected = || says("Hi  bye").calls(r#"{"q":"x"}"#);
    many(ALL).check(&format!("Hi <TOOL_CALL>{call}</TOOL_CALL> bye"), expected());
    many(ALL).check(&format!("Hi <tool_call>{call}</TOOL_CALL> bye"), expected());
    let mention = "Use the <tool_call> tag for that.";
    many(ALL).check(mention, says(mention));
    many(ALL).check(
        "Trying <tool_call> tags.<tool_call>{\"name\":\"lookup\"}</tool_call> ok",
        says("Trying <tool_call> tags. ok").calls("{}"),
    );
}

#[test]
fn broken_xml() {
    let text = "<tool_call><function=lookup>some words<parameter=q>a</parameter></function></tool_call>";
    many(ALL).check(text, says(text));
    one(ALL).check(text, says(text));
    let call = |inner: &str| format!("<tool_call>\n<function=lookup>\n{inner}</tool_call>");
    many(ALL).check(
        &call("<parameter=q>\na</parameter>b\n</parameter>\n</function>\n"),
        says("").calls(r#"{"q":"a</parameter>b"}"#),
    );
    many(ALL).check(
        &call("<parameter=q>\na\n</parameter>\n<parameter=q>\nb\n</parameter>\n</function>\n"),
        says("").calls(r#"{"q":"a"}"#),
    );
    many(ALL).check(&call("<parameter=q>\na\n</parameter>\n"), says("").calls(r#"{"q":"a"}"#));
    many(ALL).check("<tool_call><function=lookup ></function></tool_call>", says("").calls("{}"));
    many(ALL).ends(End::Length).check(
        "Go. <tool_call>\n<function=lookup>\n<parameter=q>\nfast cars and more",
        says("Go.").cut(r#"{"q":"fast cars and more"#),
    );
    let broken = "Launching. <tool_call><function=launch>\n<parameter=q>\nbroken</tool_call>\n";
    many(ALL).check(broken, says(broken));
}

#[test]
fn the_rest_of_the_corpus() {
    many(ALL).check(
        "<foo:tool_call><tool_call>lookup</tool_call></foo:tool_call>",
        says("<foo:tool_call></foo:tool_call>").calls("{}"),
    );
    let bare = r#"{"name":"lookup","arguments":{"q":"x"}}"#;
    many(ALL).check(bare, says(bare));
    many(ALL).thinking(Thinking::Open).check("\nPlan.\n</think>\n\nDone.", says("Done.").thinks("Plan."));
    many(ALL).check("<tool_call>lookup</tool_call>\nDone.\n", says("Done.\n").calls("{}"));
    one(ALL).check(
        r#"<tool_call>{"name":"lookup","arguments":{"x":NaN}}</tool_call>"#,
        says("").calls(r#"{"x":"NaN"}"#),
    );
    many(ALL).ends(End::Stop).check(
        r#"<tool_call>{"name":"lookup","arguments":{"q":"rm -rf build"#,
        says("").cut(r#"{"q":"rm -rf build"#),
    );
}
