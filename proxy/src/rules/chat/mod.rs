//! Rules of openai-chat, by topic. What they say of chunks and deltas holds for streams; what they say of finish
//! reasons, calls, usage and errors holds for whole replies too.

pub mod choice;
pub mod chunk;
pub mod delta;
pub mod error;
pub mod finish;
pub mod leak;
pub mod logprobs;
pub mod order;
pub mod tool_arguments;
pub mod tool_call;
pub mod tool_finish;
pub mod tool_index;
pub mod usage;
pub mod usage_type;
pub mod whole;
