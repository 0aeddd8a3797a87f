//! A list of reply events in which neighbours that say more of the same are one.
//!
//! In: stretches of text and what they say. Out: [`ReplyEvent`]s. Within one feed a reply says each thing in as
//! few events as possible; across feeds nothing is joined, because what was handed out is gone.

use std::ops::Range;

use super::{Origin, ReplyEvent, Said};

/// What a piece of text is said as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Reasoning,
    Content,
    Arguments(usize),
}

/// Events in the order in which they are said.
#[derive(Debug, Default)]
pub(super) struct Events(Vec<ReplyEvent>);

// === impl Channel ===

impl Channel {
    fn said(self, text: &str) -> Said {
        match self {
            Self::Reasoning => Said::Reasoning(text.to_owned()),
            Self::Content => Said::Content(text.to_owned()),
            Self::Arguments(call) => Said::Arguments { call, piece: text.to_owned() },
        }
    }

    fn text_of(self, said: &mut Said) -> Option<&mut String> {
        match (self, said) {
            (Self::Reasoning, Said::Reasoning(text)) | (Self::Content, Said::Content(text)) => Some(text),
            (Self::Arguments(call), Said::Arguments { call: other, piece }) if call == *other => Some(piece),
            _ => None,
        }
    }
}

// === impl Events ===

impl Events {
    /// Says a piece of text.
    pub(super) fn speak(&mut self, span: Range<usize>, origin: Origin, channel: Channel, text: &str) {
        if span.is_empty() && text.is_empty() {
            return;
        }
        if let Some(last) = self.last_before(&span, origin)
            && let Some(said) = channel.text_of(&mut last.said)
        {
            said.push_str(text);
            last.span.end = span.end;
            return;
        }
        self.push(ReplyEvent { span, origin, said: channel.said(text) });
    }

    /// Says nothing for a stretch of text.
    pub(super) fn nothing(&mut self, span: Range<usize>, origin: Origin) {
        if span.is_empty() {
            return;
        }
        match self.last_before(&span, origin) {
            Some(last) if last.said == Said::Nothing => last.span.end = span.end,
            _ => self.push(ReplyEvent { span, origin, said: Said::Nothing }),
        }
    }

    /// Adds an event as it is.
    pub(super) fn push(&mut self, event: ReplyEvent) {
        self.0.push(event);
    }

    /// Moves all events to the end of `out`.
    pub(super) fn hand_out(&mut self, out: &mut Vec<ReplyEvent>) {
        out.append(&mut self.0);
    }

    /// Moves all events of another list to the end of this one.
    pub(super) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    fn last_before(&mut self, span: &Range<usize>, origin: Origin) -> Option<&mut ReplyEvent> {
        self.0.last_mut().filter(|last| last.origin == origin && last.span.end == span.start)
    }
}
