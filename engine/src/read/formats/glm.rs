//! glm: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`.

use super::{Grammar, THINK};
use crate::read::payload::TOOL_CALL;

pub(super) static GRAMMAR: Grammar = Grammar {
    name: "glm",
    specials: &[
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
    ],
    end_token: "<|user|>",
    thinking: THINK,
    openers: &[TOOL_CALL],
};
