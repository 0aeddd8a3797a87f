//! Which envelopes are calls, which are text, and where text ends.

use super::*;

#[test]
fn the_three_payloads_are_read_in_every_format() {
    for text in [
        r#"<tool_call>{"name": "lookup", "arguments": {"q": "x"}}</tool_call>"#,
        "<tool_call>\nlookup\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
        "<tool_call> <function=lookup>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>",
    ] {
        many(ALL).check(text, says("").calls(r#"{"q":"x"}"#));
        one(ALL).check(text, says("").calls(r#"{"q":"x"}"#));
    }
}

#[test]
fn tags_in_any_case_and_names_in_any_case() {
    many(ALL).check(r#"<Tool_Call>{"name": " LookUp ", "arguments": {}}</TOOL_CALL>"#, says("").calls("{}"));
    many(ALL).check("<TOOL_CALL> LOOKUP </tool_call>", says("").calls("{}"));
    many(ALL).check("<tool_call><function= LOOKUP ></function></tool_call>", says("").calls("{}"));
}

#[test]
fn a_call_without_arguments() {
    many(ALL).check("<tool_call>get_time</tool_call>", says("").call("get_time", "{}", true));
    many(ALL).check("<tool_call><function=lookup>\n</function></tool_call>", says("").calls("{}"));
    many(ALL).check("<tool_call><function=lookup></tool_call>", says("").calls("{}"));
    many(ALL).check(r#"<tool_call>{"name": "lookup"}</tool_call>"#, says("").calls("{}"));
    many(ALL).check(r#"<tool_call>{"name": "lookup"</tool_call>"#, says("").calls("{}"));
    many(ALL).check(r#"<tool_call>{"name": "lookup", "arguments": null}</tool_call>"#, says("").calls("{}"));
    many(ALL).check(r#"<tool_call>{"name": "lookup", "arguments": null</tool_call>"#, says("").calls("{}"));
}

#[test]
fn members_in_any_order_and_under_any_name() {
    for members in [
        r#""arguments": {"q": "x"}, "name": "lookup""#,
        r#""id": [1, {"name": "other"}], "name": "lookup", "x": "}", "args": {"q": "x"}"#,
        r#""name": "lookup", "parameters": {"q": "x"}, "arguments": {"q": "later"}"#,
        r#""name": "lookup", "name": "other", "args": {"q": "x"}"#,
        r#""name": "lookup", "arguments": "{\"q\": \"x\"}""#,
        r#""arguments": " {\"q\": \"x\"} ", "name": "lookup""#,
        r#""n\u0061me": "l\u006fokup", "arguments": {"q": "x"}"#,
    ] {
        many(ALL).check(&format!("<tool_call>{{{members}}}</tool_call>"), says("").calls(r#"{"q":"x"}"#));
    }
    many(ALL).check(r#"<tool_call>{"name": "lookup", "args": " null "}</tool_call>"#, says("").calls("{}"));
    many(ALL).check(r#"<tool_call>{"args": "null", "name": "lookup"}</tool_call>"#, says("").calls("{}"));
}

#[test]
fn an_unoffered_name_makes_the_envelope_text_through_its_closer() {
    for text in [
        r#"Hi <tool_call>{"name": "other", "arguments": {"q": "a</tool_call>b"}}</tool_call> bye"#,
        r#"Hi <tool_call>{"arguments": {"q": "a"}, "name": "other"}</tool_call> bye"#,
        r#"Hi <tool_call>{"arguments": {"q": "a"}}</tool_call> bye"#,
        r#"Hi <tool_call>{"name": 5}</tool_call> bye"#,
        "Hi <tool_call>{}</tool_call> bye",
        "Hi <tool_call>other<arg_key>q</arg_key><arg_value>say </tool_call> now</arg_value></tool_call> bye",
        "Hi <tool_call>look</tool_call> bye",
        "Hi <tool_call></tool_call> bye",
        "Hi <tool_call> <arg_key>q</arg_key><arg_value>1</arg_value></tool_call> bye",
        "Hi <tool_call><function=other><parameter=q>a</tool_call>b</parameter></function></tool_call> bye",
    ] {
        many(ALL).check(text, says(text));
        one(ALL).check(text, says(text));
    }
}

#[test]
fn the_text_of_a_rejected_envelope_hides_openers_in_its_values() {
    let text = "<tool_call>other<arg_key>q</arg_key><arg_value>a <tool_call>lookup</tool_call> b</arg_value></tool_call>";
    many(ALL).check(text, says(text));
}

#[test]
fn markup_broken_before_the_verdict_is_text_up_to_the_break() {
    for (broken, rest) in [
        ("Use the <tool_call> tag. ", "<tool_call>lookup</tool_call>"),
        ("<tool_call>lookup ", "<tool_call>lookup</tool_call>"),
        ("<tool_call>{\"name\" ", "<tool_call>lookup</tool_call>"),
        ("<tool_call>{\"name\": \"lookup\" ", "<tool_call>lookup</tool_call>"),
        ("<tool_call><function=lookup> ", "<tool_call>lookup</tool_call>"),
        ("<tool_call>lookup<b>", "<tool_call>lookup</tool_call>"),
        (r#"<tool_call>{"name": "lookup", "arguments": ""#, "<tool_call>lookup</tool_call>"),
    ] {
        let text = broken.trim_end();
        many(ALL).check(&format!("{broken}{rest}"), says(text).calls("{}"));
    }
    let prose = "<tool_call><function=lookup>hello<parameter=q>\nx\n</parameter></function></tool_call>";
    many(ALL).check(prose, says(prose));
    let prose = r#"<tool_call>{"name": "lookup", "arguments": [1]}</tool_call>"#;
    many(ALL).check(prose, says(prose));
}

#[test]
fn a_bare_function_is_an_envelope_in_qwen3_xml_only() {
    let call = "Go. <function=lookup>\n<parameter=q>\nx\n</parameter>\n</function>";
    many(&[Qwen3Xml]).check(call, says("Go.").calls(r#"{"q":"x"}"#));
    many(&[Hermes, Glm]).check(call, says(call));
    many(&[Qwen3Xml]).check(&format!("{call}\n</tool_call> ok"), says("Go.  ok").calls(r#"{"q":"x"}"#));
    many(&[Qwen3Xml]).check(&format!("{call}\nok"), says("Go. \nok").calls(r#"{"q":"x"}"#));
    many(&[Qwen3Xml]).check(&format!("{call}\n</tool"), says("Go. \n</tool").calls(r#"{"q":"x"}"#));
    let twice = "<function=lookup></function>\n<function=get_time></function>";
    many(&[Qwen3Xml]).check(twice, says("").calls("{}").call("get_time", "{}", true));
    let text = "Write <function=name> or <function=other>x</function> like this.";
    many(&[Qwen3Xml]).check(text, says(text));
}

#[test]
fn later_calls_are_dropped_in_one_call_mode() {
    let text = "A <tool_call>lookup</tool_call> B <tool_call>other</tool_call> C <tool_call>{\"name\": \"lookup\", \
                \"arguments\": {\"q\": 1}}</tool_call> D <tool_call>{\"args\": {\"a\": 1, \"a\": 2}, \"name\": \
                \"lookup\"}</tool_call>\n";
    let content = "A  B <tool_call>other</tool_call> C  D";
    one(ALL).check(text, says(content).calls("{}"));
    many(ALL).check(text, says(content).calls("{}").calls(r#"{"q":1}"#).calls(r#"{"a":1}"#));
}

#[test]
fn a_named_envelope_is_prose_as_written() {
    let text = r#"Hi <foo:tool_call>{"name":"lookup","arguments":{}}</foo:tool_call> bye"#;
    many(ALL).check(text, says(text));
}

#[test]
fn without_tools_all_is_content() {
    let text = "\n Hi\n<tool_call>lookup</tool_call>\n<function=lookup></function>\n";
    for end in [End::Model, End::Length, End::Stop] {
        many(ALL).no_tools().ends(end).check(text, says(text));
    }
    let text = "<think>\na <tool_call>lookup</tool_call>\n\n</think>\n\n\n b ";
    many(ALL).no_tools().check(text, says("\n b ").thinks("a <tool_call>lookup</tool_call>\n"));
}
