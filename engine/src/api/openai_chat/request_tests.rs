//! Requests as bytes in, what is asked or the refusal out.

use super::*;
use crate::generate::Rounds;

fn read_text(body: &str) -> Result<Asked, Refusal> {
    read(body.as_bytes(), &HeaderMap::new(), Switch::Off)
}

/// A body with one user message and the keys given.
fn with(keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { "," };
    format!(r#"{{"model":"puppet-hermes","messages":[{{"role":"user","content":"say"}}]{comma}{keys}}}"#)
}

fn asked(keys: &str) -> Asked {
    read_text(&with(keys)).unwrap_or_else(|refusal| panic!("{keys}: {refusal}"))
}

/// Refused with that status, param and code, alike whole and streamed.
fn check_refused(body: &str, status: u16, param: Option<&str>, code: Option<&str>) {
    let whole = read_text(body).expect_err(body);
    assert_eq!((whole.status.as_u16(), whole.param.as_deref(), whole.code), (status, param, code), "{body}");
    if let Some(rest) = body.strip_prefix("{\"model\"").filter(|rest| !rest.contains("\"stream")) {
        let streamed = read_text(&format!(r#"{{"stream":true,"model"{rest}"#)).expect_err(body);
        assert_eq!(streamed, whole);
    }
}

fn check_key(keys: &str, param: &str, code: Option<&str>) {
    check_refused(&with(keys), 400, Some(param), code);
}

#[test]
fn a_plain_request_has_its_defaults() {
    let plain = asked("");
    assert_eq!(plain.mode, Mode::Whole);
    assert_eq!(plain.steering.rounds, Rounds::Every(1));
    assert!(plain.steering.plant.is_none());
    let request = plain.request;
    assert_eq!(
        (request.model.name, request.says.as_str(), request.prompt_tokens),
        ("puppet-hermes", "say", 3)
    );
    assert_eq!((request.max_tokens, request.stop.len(), request.thinking), (None, 0, Thinking::MayOpen));
    assert!(request.offer.tools.is_empty() && !request.offer.one_call);
}

#[test]
fn keys_without_use_are_accepted() {
    for keys in [
        r#""user":"u","metadata":{"a":"b"},"store":true,"seed":1,"temperature":0.5,"top_p":1,"service_tier":"auto""#,
        r#""presence_penalty":1,"frequency_penalty":1,"reasoning_effort":"low","unheard_of":[1]"#,
        r#""tools":null,"tool_choice":null,"parallel_tool_calls":null,"max_tokens":null,"stop":null,"n":null"#,
        r#""stream":null,"stream_options":null,"chat_template_kwargs":null,"logprobs":null,"response_format":null"#,
        r#""logprobs":false,"top_logprobs":0,"response_format":{"type":"text"},"modalities":["text"],"logit_bias":{}"#,
        r#""n":1,"functions":[],"function_call":"none","tools":[],"stop":[],"chat_template_kwargs":{"enable_thinking":null}"#,
    ] {
        assert_eq!(asked(keys).mode, Mode::Whole, "{keys}");
    }
}

#[test]
fn keys_that_cannot_be_honoured_are_named() {
    let code = Some("unsupported_parameter");
    for (keys, param) in [
        (r#""logprobs":true"#, "logprobs"),
        (r#""top_logprobs":3"#, "top_logprobs"),
        (r#""response_format":{"type":"json_object"}"#, "response_format"),
        (r#""functions":[{"name":"f"}]"#, "functions"),
        (r#""function_call":"auto""#, "function_call"),
        (r#""audio":{}"#, "audio"),
        (r#""modalities":["text","audio"]"#, "modalities"),
        (r#""prediction":{"type":"content"}"#, "prediction"),
        (r#""logit_bias":{"1":1}"#, "logit_bias"),
        (r#""ignore_eos":true"#, "ignore_eos"),
        (r#""n":2"#, "n"),
        (r#""tools":[{"type":"custom"}]"#, "tools[0].type"),
        (r#""tool_choice":{"type":"allowed_tools"}"#, "tool_choice.type"),
    ] {
        check_key(keys, param, code);
    }
    check_key(
        r#""stream":true,"stream_options":{"continuous_usage_stats":true}"#,
        "stream_options.continuous_usage_stats",
        code,
    );
}

#[test]
fn wrong_values_are_named() {
    for (keys, param) in [
        (r#""n":0"#, "n"),
        (r#""n":"1""#, "n"),
        (r#""max_tokens":0"#, "max_tokens"),
        (r#""max_tokens":-1"#, "max_tokens"),
        (r#""max_tokens":1.5"#, "max_tokens"),
        (r#""max_tokens":"5""#, "max_tokens"),
        (r#""max_tokens":0,"max_completion_tokens":5"#, "max_tokens"),
        (r#""max_completion_tokens":true"#, "max_completion_tokens"),
        (r#""stop":"""#, "stop"),
        (r#""stop":["a",""]"#, "stop"),
        (r#""stop":[1]"#, "stop"),
        (r#""stop":{}"#, "stop"),
        (r#""stop":["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"]"#, "stop"),
        (r#""stream":"yes""#, "stream"),
        (r#""stream_options":{}"#, "stream_options"),
        (r#""stream":true,"stream_options":[]"#, "stream_options"),
        (r#""stream":true,"stream_options":{"include_usage":1}"#, "stream_options.include_usage"),
        (r#""parallel_tool_calls":1"#, "parallel_tool_calls"),
        (r#""chat_template_kwargs":[]"#, "chat_template_kwargs"),
        (r#""chat_template_kwargs":{"enable_thinking":"no"}"#, "chat_template_kwargs.enable_thinking"),
        (r#""tools":{}"#, "tools"),
        (r#""tools":[1]"#, "tools[0]"),
        (r#""tools":[{}]"#, "tools[0].type"),
        (r#""tools":[{"type":"function"}]"#, "tools[0].function"),
        (r#""tools":[{"type":"function","function":{}}]"#, "tools[0].function.name"),
        (r#""tools":[{"type":"function","function":{"name":" "}}]"#, "tools[0].function.name"),
        (
            r#""tools":[{"type":"function","function":{"name":"f","parameters":[]}}]"#,
            "tools[0].function.parameters",
        ),
        (r#""tool_choice":"some""#, "tool_choice"),
        (r#""tool_choice":1"#, "tool_choice"),
        (r#""tool_choice":"required""#, "tool_choice"),
        (r#""tool_choice":{"type":"function"}"#, "tool_choice.function"),
        (r#""tool_choice":{"type":"function","function":{"name":"f"}}"#, "tool_choice.function.name"),
    ] {
        check_key(keys, param, None);
    }
    let twice = r#""tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]"#;
    check_key(twice, "tools[1].function.name", None);
}

#[test]
fn bodies_that_are_no_request_are_refused() {
    for body in ["", "{", "[]", "1", "\"model\"", "{\"model\":\"puppet-glm\"}x", "\u{feff}{}", "{\"a\":1"] {
        check_refused(body, 400, None, None);
    }
    let deep = "[".repeat(100_000);
    check_refused(&deep, 400, None, None);
    assert_eq!(read(b"{\"model\":\"\xff\"}", &HeaderMap::new(), Switch::Off).unwrap_err().status, 400);
    check_refused("{}", 400, Some("model"), None);
    check_refused(r#"{"model":1}"#, 400, Some("model"), None);
    check_refused(r#"{"model":"gpt-4"}"#, 404, Some("model"), Some("model_not_found"));
}

#[test]
fn messages_are_checked_one_by_one() {
    for (messages, param) in [
        ("null", "messages"),
        ("[]", "messages"),
        ("{}", "messages"),
        ("[1]", "messages[0]"),
        ("[{}]", "messages[0].role"),
        (r#"[{"role":"robot","content":"x"}]"#, "messages[0].role"),
        (r#"[{"role":"user"}]"#, "messages[0].content"),
        (r#"[{"role":"user","content":1}]"#, "messages[0].content"),
        (r#"[{"role":"user","content":["x"]}]"#, "messages[0].content[0]"),
        (r#"[{"role":"user","content":[{"type":"text"}]}]"#, "messages[0].content[0].text"),
        (r#"[{"role":"system","content":"x"},{"role":"assistant"}]"#, "messages"),
    ] {
        let body = format!(r#"{{"model":"puppet-glm","messages":{messages}}}"#);
        check_refused(&body, 400, Some(param), None);
    }
    let image = r#"{"model":"puppet-glm","messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#;
    check_refused(image, 400, Some("messages[0].content[0].type"), Some("unsupported_parameter"));
}

#[test]
fn the_last_user_message_is_what_is_said() {
    let messages = r#"[{"role":"developer","content":"dd"},{"role":"user","content":"first"},
        {"role":"user","content":[{"type":"text","text":"a<think>"},{"type":"text","text":"b"}]},
        {"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"t","tool_call_id":"x"}]"#;
    let request = read_text(&format!(r#"{{"model":"puppet-glm","messages":{messages}}}"#)).unwrap().request;
    assert_eq!(request.says, "a<think>b");
    assert_eq!(request.prompt_tokens, 2 + 5 + 3 + 1);
}

#[test]
fn limits_stops_and_thinking_are_read() {
    let request = asked(r#""max_tokens":9,"max_completion_tokens":7,"stop":["a","b"]"#).request;
    assert_eq!((request.max_tokens, request.stop), (Some(7), vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(asked(r#""stop":"a""#).request.stop, ["a"]);
    assert_eq!(asked(r#""chat_template_kwargs":{"enable_thinking":true}"#).request.thinking, Thinking::Open);
    assert_eq!(
        asked(r#""chat_template_kwargs":{"enable_thinking":false}"#).request.thinking,
        Thinking::Closed
    );
}

#[test]
fn modes_are_read() {
    let check = |keys: &str, mode| assert_eq!(asked(keys).mode, mode);
    check(r#""stream":true"#, Mode::Stream(UsageChunk::LeftOut));
    check(r#""stream":true,"stream_options":{}"#, Mode::Stream(UsageChunk::LeftOut));
    check(r#""stream":true,"stream_options":{"include_usage":true}"#, Mode::Stream(UsageChunk::Included));
}

#[test]
fn the_choice_says_what_is_offered() {
    let tools = r#""tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},
        {"type":"function","function":{"name":"g","parameters":null,"strict":true}}]"#;
    let check = |choice: &str, names: &[&str]| {
        let offer = asked(&format!(r#"{tools},"tool_choice":{choice}"#)).request.offer;
        assert_eq!(offer.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), names);
    };
    check("null", &["f", "g"]);
    check(r#""auto""#, &["f", "g"]);
    check(r#""required""#, &["f", "g"]);
    check(r#""none""#, &[]);
    check(r#"{"type":"function","function":{"name":"g"}}"#, &["g"]);
    assert!(asked(&format!(r#"{tools},"parallel_tool_calls":false"#)).request.offer.one_call);
    let compact = r#"[{"type":"function","function":{"name":"f"}}]"#;
    assert_eq!(asked(&format!(r#""tools":{compact}"#)).request.prompt_tokens, 3 + compact.len() as u64);
}

proptest::proptest! {
    /// Values of every type under every key, and bytes of any kind: an answer or a refusal, never a panic.
    #[test]
    fn no_body_is_fatal(key in 0..KEYS.len(), value in 0..VALUES.len(), inner in 0..VALUES.len(), bytes: Vec<u8>) {
        let value = VALUES[value].replace('@', VALUES[inner]);
        let _ = read_text(&with(&format!("\"{}\":{value}", KEYS[key])));
        let _ = read_text(&format!(r#"{{"model":"puppet-glm","messages":{value}}}"#));
        let _ = read(&bytes, &HeaderMap::new(), Switch::On);
    }
}

const KEYS: [&str; 14] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "n",
    "stream",
    "stream_options",
    "chat_template_kwargs",
    "response_format",
    "logit_bias",
];
const VALUES: [&str; 16] = [
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "99999999999999999999999",
    "\"\"",
    "\"\\u0000\\ud83d\\ude00\"",
    "[]",
    "{}",
    "[@]",
    "[@,@]",
    "{\"type\":@}",
    "{\"type\":\"function\",\"function\":{\"name\":@,\"parameters\":@}}",
    "[{\"role\":\"user\",\"content\":@}]",
    "{\"include_usage\":@,\"enable_thinking\":@}",
];
