//! Which blanks beside envelopes are content.

use super::*;

const CALL: &str = "<tool_call>lookup</tool_call>";

#[track_caller]
fn check(template: &str, content: &str) {
    let text = template.replace("CALL", CALL).replace("BAD", "<tool_call>other</tool_call>");
    let calls = template.matches("CALL").count();
    let content = content.replace("BAD", "<tool_call>other</tool_call>");
    let expected = (0..calls).fold(says(&content), |reply, _| reply.calls("{}"));
    many(ALL).check(&text, expected);
}

#[test]
fn blanks_between_prose_and_prose_are_content() {
    check("Hi\nCALL", "Hi");
    check("Hi CALL bye", "Hi  bye");
    check("Hi\nCALL\nCALL\tbye", "Hi\n\n\tbye");
    check("CALL\nCALL", "");
    check("CALL\nDone.\n", "Done.\n");
    check(" \n CALL \n ", "");
    check("\n\nHi CALL", "\n\nHi");
    check("a CALL b CALL c", "a  b  c");
}

#[test]
fn a_rejected_envelope_is_prose() {
    check(" BAD CALL ", " BAD");
    check("CALL BAD ", "BAD ");
    check("BAD CALL BAD", "BAD  BAD");
    check(" BAD ", " BAD ");
}

#[test]
fn without_an_envelope_all_blanks_are_content() {
    for text in ["", " ", "\n\n", "Hi\n", " Hi ", "Hi \u{3000}", "a\n\n\nb"] {
        for end in [End::Model, End::Length, End::Stop] {
            many(ALL).ends(end).check(text, says(text));
        }
    }
}

#[test]
fn blanks_beside_a_dropped_envelope_are_markup() {
    many(ALL).ends(End::Length).check("Hi\n<tool_call>look", says("Hi"));
    many(ALL)
        .ends(End::Stop)
        .check("Hi CALL <tool_call>look".replace("CALL", CALL).as_str(), says("Hi").calls("{}"));
}

#[test]
fn blanks_beside_a_later_call_in_one_call_mode_are_as_in_the_other() {
    let text = format!("Hi\n{CALL}\n{CALL} bye");
    one(ALL).check(&text, says("Hi\n\n bye").calls("{}"));
}
