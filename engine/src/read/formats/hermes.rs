//! hermes: `<tool_call>{"name": NAME, "arguments": {..}}</tool_call>`, as Qwen3 and the Hermes models write it.

use super::{Grammar, THINK};
use crate::read::payload::TOOL_CALL;

pub(super) static GRAMMAR: Grammar = Grammar {
    name: "hermes",
    specials: &["<think>", "</think>", "<tool_call>", "</tool_call>"],
    end_token: "<|im_end|>",
    thinking: THINK,
    openers: &[TOOL_CALL],
};
