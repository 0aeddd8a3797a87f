//! What values become.

use super::*;

#[track_caller]
fn check_glm(pairs: &[(&str, &str)], arguments: &str) {
    let pair =
        |(key, value): &(&str, &str)| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>");
    let pairs: String = pairs.iter().map(pair).collect();
    many(ALL).check(&format!("<tool_call>lookup{pairs}</tool_call>"), says("").calls(arguments));
}

#[track_caller]
fn check_xml(pairs: &[(&str, &str)], arguments: &str) {
    let pair = |(key, value): &(&str, &str)| format!("<parameter={key}>{value}</parameter>\n");
    let pairs: String = pairs.iter().map(pair).collect();
    many(ALL).check(
        &format!("<tool_call>\n<function=lookup>\n{pairs}</function>\n</tool_call>"),
        says("").calls(arguments),
    );
}

#[track_caller]
fn check_json(written: &str, arguments: &str) {
    let text = format!("<tool_call>\n{{\"name\": \"lookup\", \"arguments\": {written}}}\n</tool_call>");
    many(ALL).check(&text, says("").calls(arguments));
    let quoted = serde_json::to_string(written).unwrap();
    let text = format!("<tool_call>{{\"name\": \"lookup\", \"arguments\": {quoted}}}</tool_call>");
    many(ALL).check(&text, says("").calls(arguments));
    let text = format!("<tool_call>{{\"arguments\": {written}, \"name\": \"lookup\"}}</tool_call>");
    many(ALL).check(&text, says("").calls(arguments));
}

#[test]
fn glm_strings_are_verbatim() {
    check_glm(&[("q", "  two  spaces\n")], r#"{"q":"  two  spaces\n"}"#);
    check_glm(&[("q", "5"), ("free", "5")], r#"{"q":"5","free":"5"}"#);
    check_glm(&[("q", "")], r#"{"q":""}"#);
    check_glm(&[("q", "a \"b\" \\ é 東\t\u{1}")], r#"{"q":"a \"b\" \\ é 東\t\u0001"}"#);
    check_glm(&[(" q ", "x")], r#"{"q":"x"}"#);
    check_glm(&[("a\"<b", "x")], r#"{"a\"<b":"x"}"#);
    check_glm(&[("", "x")], r#"{"":"x"}"#);
}

#[test]
fn declared_types_are_parsed_and_compact() {
    check_glm(
        &[("n", "5"), ("tags", "[\"a\", \"b\"]"), ("b", " true ")],
        r#"{"n":5,"tags":["a","b"],"b":true}"#,
    );
    check_glm(&[("o", "{ \"k\" : { \"v\" : 1.50 } }")], r#"{"o":{"k":{"v":1.50}}}"#);
    check_xml(&[("n", "\n5\n"), ("tags", "\n[\"a\",\n \"b\"]\n")], r#"{"n":5,"tags":["a","b"]}"#);
    check_glm(&[("x", "1e5"), ("n", "12345678901234567890")], r#"{"x":1e5,"n":12345678901234567890}"#);
}

#[test]
fn what_does_not_fit_its_type_stays_a_string() {
    check_glm(&[("n", "five"), ("b", "True"), ("tags", "[1")], r#"{"n":"five","b":"True","tags":"[1"}"#);
    check_xml(&[("n", "\n 5.5\n"), ("o", "\n[]\n")], r#"{"n":" 5.5","o":"[]"}"#);
    check_glm(&[("n", "")], r#"{"n":""}"#);
}

#[test]
fn one_newline_on_each_side_of_an_xml_value_is_markup() {
    check_xml(&[("q", "\nx\n")], r#"{"q":"x"}"#);
    check_xml(&[("q", "x")], r#"{"q":"x"}"#);
    check_xml(&[("q", "\n\n  x\n\n")], r#"{"q":"\n  x\n"}"#);
    check_xml(&[("q", "\n")], r#"{"q":""}"#);
    check_xml(&[("q", "\n\n")], r#"{"q":""}"#);
    check_xml(&[("q", "\n\n\n")], r#"{"q":"\n"}"#);
    check_xml(&[("q", "")], r#"{"q":""}"#);
    check_xml(&[("q", "\na\n\nb\n")], r#"{"q":"a\n\nb"}"#);
}

#[test]
fn of_a_repeated_key_the_first_stands() {
    check_glm(&[("q", "a"), ("q", "b"), ("n", "1")], r#"{"q":"a","n":1}"#);
    check_xml(&[("q", "\na\n"), ("q", "\nb\n"), ("n", "\n1\n")], r#"{"q":"a","n":1}"#);
    check_glm(&[("n", "1"), ("n", "2")], r#"{"n":1}"#);
    check_json(r#"{"a": 1, "a": [{"b": 2}], "c": 3}"#, r#"{"a":1,"c":3}"#);
    check_json(
        r#"{"a": {"b": "x", "b": "y", "d": {"b": 1}}, "\u0061": 2}"#,
        r#"{"a":{"b":"x","d":{"b":1}}}"#,
    );
    check_json(r#"{"a": 1, "a": "x"}"#, r#"{"a":1}"#);
    check_json(r#"{"a": 1, "a": 2, "a": 3, "b": [{"a": 4}]}"#, r#"{"a":1,"b":[{"a":4}]}"#);
}

#[test]
fn json_is_compacted_and_numbers_stay_as_written() {
    check_json("{ }", "{}");
    check_json(
        "{ \"a\" : [ 1 , -2.50 , 1E+2 , [ ] , { } ] ,\n\t\"b\" : null , \"c\":true,\"d\" :false }",
        r#"{"a":[1,-2.50,1E+2,[],{}],"b":null,"c":true,"d":false}"#,
    );
    check_json(r#"{"a": NaN, "b": [-Infinity, Infinity]}"#, r#"{"a":"NaN","b":["-Infinity","Infinity"]}"#);
}

#[test]
fn json_strings_are_decoded_and_encoded_again() {
    check_json("{\"q\": \"a\nb\tc\u{1}\"}", r#"{"q":"a\nb\tc\u0001"}"#);
    check_json(r#"{"q": "caf\u00e9 \ud83d\ude00 \/ \" \\"}"#, r#"{"q":"café 😀 / \" \\"}"#);
    check_json(r#"{"q": "\x \u12 \ud800 \ud83d\ud83d\ude00"}"#, r#"{"q":"\\x \\u12 \\ud800 \\ud83d😀"}"#);
    check_json(r#"{"\n\q": "é", "": 1}"#, r#"{"\n\\q":"é","":1}"#);
}
