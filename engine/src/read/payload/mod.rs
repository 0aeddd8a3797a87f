//! What stands in an envelope: one file a grammar, each read step by step.
//!
//! In: the text after an envelope's opener. Out: words on how it is to be taken, told to the [`Reading`]. A step
//! reads as far as it is sure; one that is not sure has read nothing and is taken again when more text is there.

mod glm;
mod json;
mod tagged;
mod tool_call;
mod xml;

use std::fmt::Debug;

use super::formats::Opener;
use super::marker::Marker;
use super::reading::Reading;
use super::source::NeedMore;

/// What reads an envelope after its opener.
pub(super) trait Payload: Debug + Send {
    /// Reads on.
    fn step(&mut self, reading: &mut Reading) -> Result<Step, NeedMore>;
}

/// How an envelope stands after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// There is more of it.
    Goes,
    /// It is over.
    Closed,
    /// Its grammar is broken. Should it be a call, its text is content from that offset on.
    Broken(usize),
}

/// The closer of a `<tool_call>` envelope.
const TOOL_CALL_END: Marker = Marker::any_case("</tool_call>");
/// The opener of a function in the XML grammar.
const FUNCTION: Marker = Marker::exact("<function=");
/// Its closer.
const FUNCTION_END: Marker = Marker::exact("</function>");

/// An envelope whose first character that is not blank decides what is in it.
pub(super) const TOOL_CALL: Opener = Opener {
    marker: Marker::any_case("<tool_call>"),
    closers: &[TOOL_CALL_END],
    payload: || Box::new(tool_call::ToolCall::Choosing),
};

/// A function outside of any envelope, which then is one itself.
pub(super) const BARE_FUNCTION: Opener = Opener {
    marker: FUNCTION,
    closers: &[FUNCTION_END, TOOL_CALL_END],
    payload: || Box::new(xml::XmlCall::new(xml::Outer::Absent)),
};

/// The markers given, and the openers of all envelopes of the format.
fn or_opener(markers: &[Marker], reading: &Reading) -> impl Iterator<Item = Marker> {
    markers.iter().copied().chain(reading.openers.iter().map(|opener| opener.marker))
}
