//! Case files in, cases and mistakes out.

use super::*;
use serde_json::json;

fn read_one(text: &str) -> Case {
    let (mut cases, mistakes) = read_cases("cases/glm/one.json", text);
    assert_eq!(mistakes, [], "{text}");
    cases.remove(0)
}

/// The mistakes of a text, as they are printed.
fn mistakes(file: &str, text: &str) -> Vec<String> {
    read_cases(file, text).1.iter().map(ToString::to_string).collect()
}

#[test]
fn a_case_is_read_field_by_field() {
    let case = read_one(
        r#"
        { "id": "glm/two", "about": "two calls", "source": "seen", "format": "glm", "says": "x",
          "ends": {"stop": ["END"]}, "request": {"tools": [], "parallel_tool_calls": true},
          "needs": ["call", "calls"], "basis": "fact",
          "expect": { "content": "Looking.", "reasoning": null,
                      "tool_calls": [{"name": "lookup", "arguments": {"q": 1.50}}, {"name": "raw", "arguments": "{ }"}],
                      "finish": "tool_calls", "argument_deltas_at_least": [3, 600] },
          "dialects": ["openai-chat"], "tags": ["parallel"] }"#,
    );
    let expect = case.expect.unwrap();
    assert_eq!((case.id.as_str(), case.line, case.basis), ("glm/two", 2, Basis::Fact));
    assert_eq!(case.ends, Ends::Stop(vec!["END".to_owned()]));
    assert_eq!(case.needs, [Need::Call, Need::Calls]);
    assert_eq!(case.request.keys().collect::<Vec<_>>(), ["tools", "parallel_tool_calls"]);
    assert_eq!((expect.content, expect.reasoning), (Some(Some("Looking.".to_owned())), Some(None)));
    assert_eq!(expect.tool_calls.unwrap()[0].arguments.to_string(), r#"{"q":1.50}"#);
    assert_eq!(expect.argument_deltas_at_least, Some(("3".to_owned(), 600)));
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_with_line_and_key() {
    let text = r#"[
  {"id": "glm/a", "format": "glm", "says": "x", "expcet": {}},
  {"id": "nosuite", "says": 5,
   "needs": ["call", "coffee"],
   "basis": "opinion"},
  {"id": "glm/b", "request": {"stream": true},
   "expect": {"tool_calls": [{"name": "f"}],
              "error": {"status": 200}},
   "ends": "early"},
  7
]"#;
    let expected = [
        "f.json:2: expcet: unknown key",
        r#"f.json:3: id: "nosuite" should be suite/name, of letters, digits, dots, hyphens and underscores, no dot or hyphen first"#,
        "f.json:3: says: should be a string, not 5",
        r#"f.json:4: needs: "coffee" is none of: call, calls, reasoning, length, text, error"#,
        r#"f.json:5: basis: "opinion" is none of: fact, policy"#,
        "f.json:6: request.stream: is chosen by the plan: each case is asked both ways",
        r#"f.json:7: expect.tool_calls.0: lacks the key "arguments""#,
        "f.json:8: expect.error.status: should be an HTTP status from 400 to 599, not 200",
        r#"f.json:9: ends: "early" is none of: model, length"#,
        "f.json:9: ends: means nothing without says",
        "f.json:10: should be an object, not a number",
    ];
    assert_eq!(mistakes("f.json", text), expected);
}

#[test]
fn text_that_is_no_json_names_line_and_column() {
    assert_eq!(
        mistakes("f.json", "{\n  \"id\": \"a/b\",\n}"),
        ["f.json:3: not JSON: trailing comma at line 3 column 1"]
    );
    assert_eq!(mistakes("f.json", "")[0], "f.json:1: not JSON: EOF while parsing a value at line 1 column 0");
}

#[test]
fn a_key_written_twice_is_a_mistake() {
    let text = "{\"id\": \"a/b\", \"format\": \"glm\", \"says\": \"x\",\n \"says\": \"y\"}";
    assert_eq!(mistakes("f.json", text), ["f.json:2: says: repeated key"]);
}

#[test]
fn what_cannot_be_meant_is_a_mistake() {
    let of = |key: &str| format!(r#"{{"id": "a/b", "format": "glm", "says": "x", {key}}}"#);
    for (text, part) in [
        (of(r#""ends": {"stop": ["a", ""]}"#), "ends.stop: an empty string stops nothing"),
        (of(r#""needs": [null]"#), "needs: should be a list of strings, not [null]"),
        (of(r#""needs": ["error"]"#), "needs: an error needs expect.error: which one is right"),
        (of(r#""needs": ["error"], "expect": {"content": ""}"#), "needs: an error needs expect.error"),
        (of(r#""expect": {"content": "", "content_json": 1}"#), "content_json: means nothing beside content"),
        (r#"{"id": "-x/y", "request": {}}"#.to_owned(), "no dot or hyphen first"),
        (r#"{"id": "x/../y", "request": {}}"#.to_owned(), "no dot or hyphen first"),
    ] {
        assert!(mistakes("f.json", &text)[0].contains(part), "{text}");
    }
}

#[test]
fn a_file_is_capped_by_values_and_not_by_the_length_of_keys() {
    let many = format!("[{}0]", "0,".repeat(1 << 21));
    assert_eq!(
        mistakes("f.json", &many),
        ["f.json: more than 2097152 values are too many for a file of cases"]
    );
    // Held once for each element below it, this key would fill all memory.
    let long =
        format!(r#"{{"id": "a/b", "request": {{"{}": [{}0]}}}}"#, "k".repeat(1 << 20), "0,".repeat(1 << 18));
    assert_eq!(read_one(&long).request.len(), 1);
}

#[test]
fn an_id_taken_by_another_file_is_a_mistake() {
    let text = r#"{"id": "a/b", "format": "glm", "says": "x"}"#;
    let (mut cases, _) = read_cases("one.json", text);
    cases.extend(read_cases("two.json", text).0);
    assert_eq!(repeated_ids(&cases)[0].to_string(), r#"two.json:1: id: "a/b" is taken by one.json:1"#);
}

#[test]
fn a_native_body_names_its_dialect() {
    let case = read_one(r#"{"id": "a/b", "body": {"x": 1}, "dialect": "openai-chat"}"#);
    assert_eq!(case.body, Some(json!({"x": 1})));
    assert_eq!(
        mistakes("f.json", r#"{"id": "a/b", "body": {}}"#),
        ["f.json:1: body: body and dialect go together"]
    );
}

fn recorded(line: &str) -> Case {
    let (mut cases, mistakes) = read_cases("outputs.jsonl", line);
    assert_eq!(mistakes, [], "{line}");
    cases.remove(0)
}

#[test]
fn a_recorded_output_is_a_puppet_case() {
    let case = recorded(
        r#"{"id": "glm/x", "family": "glm", "provenance": {"source_url": "https://example.com"}, "tools": [{"type": "function"}],
            "raw_output": "hi", "expected": {"content": null, "reasoning_content": "r", "tool_calls": [{"name": "f", "arguments": {}}]},
            "tags": ["single-call"], "unheard-of": 1}"#
            .replace('\n', " ")
            .as_str(),
    );
    let expect = case.expect.unwrap();
    assert_eq!(
        (case.id.as_str(), case.format.as_deref(), case.says.as_deref()),
        ("glm/x", Some("glm"), Some("hi"))
    );
    assert_eq!((expect.content, expect.reasoning), (Some(None), Some(Some("r".to_owned()))));
    assert_eq!((expect.tool_calls.unwrap().len(), case.needs), (1, vec![Need::Call]));
    assert_eq!((case.basis, case.source.as_str()), (Basis::Fact, "https://example.com"));
}

#[test]
fn a_cut_recording_ends_by_length_and_expects_nothing() {
    let case = recorded(
        r#"{"id": "a/b", "family": "qwen3-hermes", "raw_output": "x", "tools": [], "tags": ["truncated"], "expected": {"content": "x"}}"#,
    );
    assert_eq!((case.ends, case.expect, case.format.as_deref()), (Ends::Length, None, Some("hermes")));
}

#[test]
fn a_recorded_error_accepts_each_answer_it_names() {
    let case = recorded(
        r#"{"id": "a/b", "family": "glm", "raw_output": "x", "expected_error": {"reason": "r", "accept": ["no_tool_calls", "content_passthrough", "exception"]}}"#,
    );
    let accept = case.expect.unwrap().accept;
    assert_eq!(
        accept.iter().map(|e| e.content.clone()).collect::<Vec<_>>(),
        [None, Some(Some("x".to_owned()))]
    );
}

#[test]
fn a_family_and_its_tags_name_the_format() {
    for (family, tag, format) in [
        ("deepseek", "x-deepseek-v3", "deepseek-v3"),
        ("deepseek", "x-deepseek-v31", "deepseek-v31"),
        ("deepseek", "x-deepseek-v41", "dsml"),
        ("kimi", "x-kimi-k2", "kimi-k2"),
        ("kimi", "x-kimi-k3", "kimi-k3"),
        ("llama", "x-llama-pythonic", "llama-pythonic"),
        ("llama", "", "llama3-json"),
        ("gpt-oss", "", "harmony"),
        ("qwen3-xml", "", "qwen3-xml"),
        ("mistral", "", "mistral"),
    ] {
        let line = json!({"id": "a/b", "family": family, "raw_output": "", "tags": [tag]}).to_string();
        assert_eq!(recorded(&line).format.as_deref(), Some(format));
    }
}

#[test]
fn the_thinking_state_is_read_off_the_prompt_first() {
    for (line, on) in [
        (json!({"generation_prompt": "<|im_start|>assistant\n<think>\n"}), Some(true)),
        (json!({"generation_prompt": "<think>\n\n</think>\n\n", "thinking": false}), Some(false)),
        (json!({"generation_prompt": "<think></think>"}), Some(false)),
        (json!({"generation_prompt": "<|im_start|>assistant\n", "thinking": true}), None),
        (json!({"generation_prompt": "<|im_start|>assistant\n"}), None),
        (json!({"thinking": true}), Some(true)),
        (json!({"thinking": false}), Some(false)),
        (json!({}), None),
        (json!({"tags": ["x-think-no-open-tag"], "generation_prompt": "x"}), Some(true)),
        (json!({"generation_prompt": "<|turn>model\n<|channel>thought\n"}), Some(true)),
    ] {
        let mut whole = json!({"id": "a/b", "family": "glm", "raw_output": ""});
        whole.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
        let kwargs = recorded(&whole.to_string()).request.get("chat_template_kwargs").cloned();
        assert_eq!(kwargs, on.map(|on| json!({"enable_thinking": on})), "{line}");
    }
}

#[test]
fn a_bad_line_of_a_recording_does_not_hide_the_others() {
    let text = "{\"id\": \"a/b\", \"family\": \"glm\", \"raw_output\": \"\"}\n\n{oops\n{\"family\": \"glm\"}";
    let (cases, mistakes) = read_cases("o.jsonl", text);
    assert_eq!(cases.len(), 1);
    assert_eq!(
        mistakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "o.jsonl:3: not JSON: key must be a string at line 1 column 2",
            "o.jsonl:4: lacks the key \"id\"",
            "o.jsonl:4: lacks the key \"raw_output\""
        ]
    );
}
