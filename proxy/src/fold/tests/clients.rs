//! What the official clients hold of a stream, one line of the table each: python, node, go.

use super::*;

/// What each client holds, or what it raises on.
fn check_stream(stream: &str, expect: [&str; 3]) {
    let decoded = decode::recut(stream.as_bytes(), decode::Cut::Every(13));
    for (lens, expect) in Lens::CLIENTS.iter().zip(expect) {
        let seen = match read_as(lens, CHAT, Some(200), &decoded) {
            Ok(reply) => shown(&reply),
            Err(crash) => format!("! {}", crash.why),
        };
        assert_eq!(seen, expect, "{} of {stream}", lens.name);
    }
}

fn check(all: &[&str], expect: [&str; 3]) {
    check_stream(&deltas(all), expect);
}

const HEAD: &str =
    r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]}"#;
const REST: &str = r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#;
const GAP: &str = "! a gap in the tool call indexes";
const NO_JSON: &str = "! data that is no JSON document";

#[test]
fn the_safe_form_is_read_alike() {
    let two =
        r#"{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}"#;
    check(&[r#"{"content":"hi"}"#, HEAD, REST, two], ["T:hi f#a@0({}) g#b@1({}) =stop"; 3]);
}

#[test]
fn indexes() {
    let lacks = r#"{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    check(&[lacks], ["! a tool call without an index", "=stop", "f#a@0({}) =stop"]);
    let one = HEAD.replace("\"index\":0", "\"index\":1");
    check(&[&one], [GAP, GAP, "#-@0() f#a@1({) =stop"]);
    let zero = HEAD.replace("\"a\"", "\"b\"");
    check(&[&one, &zero], [GAP, "f#b@0({) f#a@1({) =stop", "f#b@0({) f#a@1({) =stop"]);
    let negative = REST.replace("\"index\":0", "\"index\":-1");
    check(&[HEAD, &negative], ["f#a@0({}) =stop", "! a negative tool call index", "f#a@0({}) =stop"]);
    let huge = |n: i64| HEAD.replace("\"index\":0", &format!("\"index\":{}", i64::MAX - 2 * n));
    let all: Vec<String> = (0..50).map(huge).collect();
    let stream = deltas(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let decoded = decode::recut(stream.as_bytes(), decode::Cut::Every(64));
    assert!(fold(CHAT, Some(200), &decoded, &Lens::OPENAI_GO).parts.len() < 200);
}

#[test]
fn ids_names_and_kinds() {
    check(&[HEAD, HEAD], ["ff#aa@0({{) =stop", "f#a@0({{) =stop", "ff#a@0({{) =stop"]);
    let other = HEAD.replace("\"a\"", "\"b\"").replace("\"f\"", "\"g\"");
    check(&[HEAD, &other], ["fg#ab@0({{) =stop", "g#b@0({{) =stop", "fg#b@0({{) =stop"]);
    let split = r#"{"tool_calls":[{"index":0,"function":{"name":"oo"}}]}"#;
    check(&[HEAD, split], ["foo#a@0({) =stop", "oo#a@0({) =stop", "foo#a@0({) =stop"]);
    let no_kind = HEAD.replace(r#""type":"function","#, "");
    check(&[&no_kind], ["f#a@0({) =stop", "! a tool call without a type", "f#a@0({) =stop"]);
    let null = r#"{"tool_calls":[{"index":0,"function":null}]}"#;
    check(&[HEAD, null], ["! a null function on a later fragment", "f#a@0({) =stop", "f#a@0({) =stop"]);
}

#[test]
fn arguments_and_content() {
    let object = HEAD.replace(r#""{""#, r#"{"x":1}"#);
    check(&[&object], [r#"f#a@0({"x":1}) =stop"#, "f#a@0([object Object]) =stop", "f#a@0() =stop"]);
    check(&[r#"{"content":7}"#], ["=stop", "T:7 =stop", "T:7 =stop"]);
    let thoughts = [r#"{"reasoning_content":"a"}"#, r#"{"reasoning_content":"b"}"#];
    check(&thoughts, ["R:ab =stop", "R:b =stop", "=stop"]);
}

#[test]
fn finish_usage_and_id() {
    let chunk = |id: &str, rest: &str| {
        format!(r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{"content":"x"}}{rest}}}]}}"#)
    };
    let finish = chunk("a", r#","finish_reason":"length""#);
    check_stream(&chunks(&[&chunk("a", "")]), ["T:x", "! a stream without a finish reason", "T:x"]);
    check_stream(
        &chunks(&[&finish, &chunk("a", r#","finish_reason":null"#)]),
        ["T:xx =length", "T:xx =length", "T:xx"],
    );
    check_stream(&chunks(&[&finish, &chunk("b", "")]), ["T:xx =length", "T:xx =length", "T:x =length"]);
    let usage = |n: u64| format!(r#"{{"id":"a","choices":[],"usage":{{"completion_tokens":{n}}}}}"#);
    let stream = chunks(&[&finish, &usage(3), &usage(4), &chunk("a", r#","finish_reason":"stop""#)]);
    let decoded = decode::recut(stream.as_bytes(), decode::Cut::Every(64));
    let counts = |lens| fold(CHAT, Some(200), &decoded, lens).usage.and_then(|u| u.completion);
    assert_eq!(
        [&Lens::OPENAI_PYTHON, &Lens::OPENAI_NODE, &Lens::OPENAI_GO].map(counts),
        [None, Some(4), Some(7)]
    );
    assert_eq!(counts(&Lens::STRICT), Some(4));
    let late = r#"{"choices":[{"index":1,"delta":{}}]}"#;
    check_stream(
        &chunks(&[late, &finish]),
        ["! a choice before those below it", "T:x =length", "T:x =length"],
    );
    let foreign = format!(r#"{{"object":"",{}"#, finish.trim_start_matches('{'));
    check_stream(&chunks(&[&finish, &foreign]), ["T:x =length", "T:xx =length", "T:xx =length"]);
}

#[test]
fn errors_inside_the_stream() {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    check_stream(&chunks(&[text, r#"{"error":{"message":"m"}}"#, text]), ["T:x =stop"; 3]);
    let null = format!(r#"{{"error":null,{}"#, text.trim_start_matches('{'));
    check_stream(&chunks(&[&null]), ["T:x =stop", "T:x =stop", "! a null error key"]);
    let flat = r#"{"object":"error","message":"m"}"#;
    check_stream(&chunks(&[text, flat]), ["T:x =stop", "! an error without the key error", "T:x =stop"]);
    let decoded = decode::recut(chunks(&[text, flat]).as_bytes(), decode::Cut::Every(64));
    assert_eq!(fold(CHAT, Some(200), &decoded, &Lens::OPENAI_PYTHON).error, None);
}

#[test]
fn bytes() {
    let one = r#"data: {"choices":[{"index":0,"delta":{"content":"x"}}]}"#;
    let end = r#"data: {"choices":[{"index":0,"delta":{"content":"y"},"finish_reason":"stop"}]}"#;
    let stream = format!("{one}\n\n{end}\n\n");
    check_stream(&format!("\u{FEFF}{stream}"), ["T:y =stop", "T:xy =stop", "T:y =stop"]);
    check_stream(&stream.replace('\n', "\r"), ["T:xy =stop", "T:xy =stop", ""]);
    check_stream(stream.strip_suffix('\n').unwrap(), ["T:x", "! a stream without a finish reason", "T:x"]);
    check_stream(&format!("{one}\n\n{end}"), ["T:x", "! a stream without a finish reason", "T:x"]);
    check_stream(
        &format!("event: ping\n\n{stream}"),
        ["! an event without data", "! an event without data", "T:xy =stop"],
    );
    check_stream(
        &format!("retry: 5\n\n{stream}"),
        ["! a block with retry alone", "T:xy =stop", "T:xy =stop"],
    );
    check_stream(&format!("data:\n\n{stream}"), [NO_JSON; 3]);
    check_stream(&format!("{one}\n{end}\n\n"), [NO_JSON; 3]);
    check_stream(
        &format!("data: {{\"a\":NaN}}\n\n{stream}"),
        ["T:xy =stop", "! NaN or Infinity", "! NaN or Infinity"],
    );
    check_stream(&format!(": hi\n\n{stream}data: [DONE]\n\ndata: junk\n\n"), ["T:xy =stop"; 3]);
    let bad = [stream.as_bytes(), b"data: {\"a\":\"\xff\"}\n\n"].concat();
    let decoded = decode::recut(&bad, decode::Cut::Every(3));
    let crash = read_as(&Lens::OPENAI_PYTHON, CHAT, Some(200), &decoded).unwrap_err();
    assert_eq!(crash.to_string(), "openai-python raises on bytes that are not UTF-8");
    assert_eq!(crash.event, Some(2));
    assert!(read_as(&Lens::OPENAI_NODE, CHAT, Some(200), &decoded).is_ok());
}
