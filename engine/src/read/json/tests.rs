//! The JSON machine by example: what goes out after each character.

use super::{Json, Step, compact};

/// What went out after each character, joined by `|`, and the last step.
fn flow(text: &str) -> (String, Step) {
    let (mut json, mut out, mut step) = (Json::default(), String::new(), Step::More);
    for (at, c) in text.char_indices() {
        if at > 0 {
            out.push('|');
        }
        step = json.step(c, at..at + c.len_utf8(), &mut out);
    }
    (out, step)
}

fn check(text: &str, expected: &str, last: Step) {
    assert_eq!(flow(text), (expected.to_owned(), last), "{text}");
}

#[test]
fn a_key_goes_out_when_its_value_begins_and_a_number_when_it_is_complete() {
    check(r#"{"a":1}"#, r#"{|||||"a":|1}"#, Step::Last);
    check(r#"{"a":"b"}"#, r#"{|||||"a":"|b|"|}"#, Step::Last);
    check("[1, 2]", "[||1||,|2]", Step::Last);
    check("12 ", "||12", Step::Past);
    check(r#""\u0041""#, r#""||||||A|""#, Step::Last);
}

#[test]
fn what_cannot_stand_there_breaks() {
    for text in [
        "}",
        "]",
        "x",
        "01",
        "1x",
        "[,",
        "[1}",
        "{]",
        "{1",
        "{\"a\"1",
        "{\"a\":}",
        "{\"a\":1]",
        "{,",
        "[1 2",
        "-a",
    ] {
        assert_eq!(flow(text).1, Step::Broken, "{text}");
    }
}

#[test]
fn whole_values_only() {
    assert_eq!(compact(" [ 1 ] ").as_deref(), Some("[1]"));
    assert_eq!(compact("12\n").as_deref(), Some("12"));
    assert_eq!(compact("1.50").as_deref(), Some("1.50"));
    for text in ["", " ", "[", "[1", "[1]x", "1 2", "12}", "\"a", "tru"] {
        assert_eq!(compact(text), None, "{text}");
    }
}

#[test]
fn missing_brackets_close_what_is_said() {
    let brackets = |text: &str| {
        let mut json = Json::default();
        let mut out = String::new();
        for (at, c) in text.char_indices() {
            json.step(c, at..at + c.len_utf8(), &mut out);
        }
        json.missing_brackets()
    };
    assert_eq!(brackets(r#"{"a":[{"b":"#).as_deref(), Some("}]}"));
    assert_eq!(brackets(r#"{"a":1,"a":[{"#).as_deref(), Some("}"));
    assert_eq!(brackets(r#"{"a":[tru"#).as_deref(), Some("]}"));
    assert_eq!(brackets("{}").as_deref(), Some(""));
}

#[test]
fn a_key_or_comma_that_waits_for_its_value_cannot_be_closed() {
    let brackets = |text: &str| {
        let mut json = Json::default();
        let mut out = String::new();
        for (at, c) in text.char_indices() {
            json.step(c, at..at + c.len_utf8(), &mut out);
        }
        (out, json.missing_brackets())
    };
    assert_eq!(brackets(r#"{"a":1, "b": tru"#), (r#"{"a":1,"b":"#.to_owned(), None));
    assert_eq!(brackets(r#"{"a":[1, -"#), (r#"{"a":[1,"#.to_owned(), None));
}
