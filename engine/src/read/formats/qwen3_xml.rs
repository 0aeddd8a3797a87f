//! qwen3-xml: `<function=NAME><parameter=KEY>VALUE</parameter></function>` in `<tool_call>` tags, which Qwen3-Coder
//! sometimes leaves out.

use super::{Grammar, THINK};
use crate::read::payload::{BARE_FUNCTION, TOOL_CALL};

pub(super) static GRAMMAR: Grammar = Grammar {
    name: "qwen3-xml",
    specials: &["<think>", "</think>", "<tool_call>", "</tool_call>"],
    end_token: "<|im_end|>",
    thinking: THINK,
    openers: &[TOOL_CALL, BARE_FUNCTION],
};
