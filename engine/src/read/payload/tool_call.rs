//! `<tool_call>`: the first character that is not blank decides what is in the envelope.
//!
//! In: the text after the opener. Out: what the JSON, the XML or the GLM grammar makes of it.

use super::glm::GlmCall;
use super::json::JsonCall;
use super::xml::{Outer, XmlCall};
use super::{FUNCTION, Payload, Step};
use crate::read::reading::Reading;
use crate::read::source::NeedMore;

/// What stands in a `<tool_call>` envelope.
#[derive(Debug)]
pub(super) enum ToolCall {
    Choosing,
    Json(Box<JsonCall>),
    Xml(XmlCall),
    Glm(GlmCall),
}

// === impl ToolCall ===

impl ToolCall {
    fn choose(reading: &mut Reading) -> Result<Self, NeedMore> {
        match reading.source.peek()? {
            Some('{') => Ok(Self::Json(Box::default())),
            _ if reading.source.looking_at(0, [FUNCTION])?.is_some() => {
                reading.advance(FUNCTION.len());
                Ok(Self::Xml(XmlCall::new(Outer::Present)))
            }
            _ => Ok(Self::Glm(GlmCall::default())),
        }
    }
}

impl Payload for ToolCall {
    fn step(&mut self, reading: &mut Reading) -> Result<Step, NeedMore> {
        match self {
            Self::Choosing => match reading.source.peek()? {
                Some(c) if c.is_whitespace() => reading.advance(c.len_utf8()),
                _ => *self = Self::choose(reading)?,
            },
            Self::Json(call) => return call.step(reading),
            Self::Xml(call) => return call.step(reading),
            Self::Glm(call) => return call.step(reading),
        }
        Ok(Step::Goes)
    }
}
