//! Thinking blocks: where they open and close, and what frames them.

use super::*;
use Thinking::{Closed, MayOpen, Open};

const CALL: &str = "<tool_call>lookup</tool_call>";

#[test]
fn a_block_that_the_prompt_opened() {
    let case = many(ALL).thinking(Open);
    case.check("Plan.</think>Done.", says("Done.").thinks("Plan."));
    case.check("\nPlan.\n</think>\n\nDone.", says("Done.").thinks("Plan."));
    case.check("\n\n Plan.\n\n</think>\n\n\n Done.", says("\n Done.").thinks("\n Plan.\n"));
    case.check(" \n<think>\nPlan.\n</think>Done.", says("Done.").thinks("Plan."));
    case.check("<think><think>a</think>", says("").thinks("<think>a"));
    case.check(" a</think>", says("").thinks(" a"));
    case.check("</think>\n\nHi", says("Hi"));
    case.check("\n</think>Hi", says("Hi"));
}

#[test]
fn a_block_that_is_never_closed() {
    for end in [End::Model, End::Length, End::Stop] {
        let case = many(ALL).thinking(Open).ends(end);
        case.check("Plan.\n", says("").thinks("Plan.\n"));
        case.check("Plan.\n</thi", says("").thinks("Plan.\n</thi"));
        case.check("\n<thi", says("").thinks("<thi"));
        case.check("\n", says(""));
        case.check(" ", says("").thinks(" "));
        case.check("", says(""));
        let case = many(ALL).no_tools().thinking(Open).ends(end);
        case.check("\nPlan. \n", says("").thinks("Plan. \n"));
    }
}

#[test]
fn a_block_that_the_model_may_open() {
    let case = many(ALL).thinking(MayOpen);
    case.check("<think>\nPlan.\n</think>\n\nDone.", says("Done.").thinks("Plan."));
    case.check(" \n <think>\n\nPlan.</think> Done.", says(" Done.").thinks("\nPlan."));
    case.check("<think>\n\n</think>\n\nDone.", says("Done."));
    case.check("<think>a</think>b<think>c</think>", says("b<think>c</think>").thinks("a"));
    case.check("<think>a<think>b</think>c", says("c").thinks("a<think>b"));
    case.check("Hm <think>a</think>", says("Hm <think>a</think>"));
    case.check("a</think>b", says("a</think>b"));
    case.check(" \n</think>b", says(" \n</think>b"));
    case.check("\n<thi", says("\n<thi"));
    case.check(&format!("{CALL}<think>a</think>"), says("<think>a</think>").calls("{}"));
    case.check("<Think>a", says("<Think>a"));
}

#[test]
fn a_block_that_is_off() {
    let case = many(ALL).thinking(Closed);
    case.check("<think>\na\n</think>\n\nb", says("<think>\na\n</think>\n\nb"));
}

#[test]
fn a_call_in_an_open_block_ends_the_reasoning() {
    let case = many(ALL).thinking(Open);
    case.check(&format!("Plan.\n\n{CALL}"), says("").thinks("Plan.").calls("{}"));
    case.check(&format!("Plan.\n{CALL}\n</think>\n\n\n Done."), says("Done.").thinks("Plan.").calls("{}"));
    case.check(
        &format!("Plan.{CALL}\n{CALL} </think> {CALL}</think>"),
        says("</think>").thinks("Plan.").calls("{}").calls("{}").calls("{}"),
    );
    case.check(&format!("Plan.{CALL} Done. </think>"), says("Done. </think>").thinks("Plan.").calls("{}"));
    case.check(&format!("Plan.{CALL}</think><think>x"), says("<think>x").thinks("Plan.").calls("{}"));
    case.check(&format!("{CALL}\n</thi"), says("</thi").calls("{}"));
}

#[test]
fn a_rejected_envelope_in_an_open_block_stays_reasoning() {
    let case = many(ALL).thinking(Open);
    case.check(
        "Say <tool_call>other</tool_call> \n</think>\n\nHi",
        says("Hi").thinks("Say <tool_call>other</tool_call> "),
    );
    case.check("I could <tool_call> now</think>Hi", says("Hi").thinks("I could <tool_call> now"));
    case.check(
        &format!("No <tool_call>other</tool_call> {CALL} ok"),
        says("ok").thinks("No <tool_call>other</tool_call>").calls("{}"),
    );
}

#[test]
fn an_undecided_envelope_in_an_open_block() {
    let text = "Plan.\n<tool_call>look";
    many(ALL).thinking(Open).check(text, says("").thinks(text));
    many(ALL).thinking(Open).ends(End::Length).check(text, says("").thinks("Plan."));
}
