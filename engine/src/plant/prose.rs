//! Plants at the second seam that lose, move or change what stands outside of calls.

use super::Filter;
use crate::{
    chat::Ended,
    read::{End, Finish, Origin, ReplyEvent, Said},
};

/// Loses newlines at the end of prose if the stream is cut.
#[derive(Default)]
pub struct NewlineLost {
    held: String,
}

/// Loses prose that comes in the same round as a piece of a call.
pub struct ProseInCallRoundLost;

/// Loses prose that comes in the same round as a piece of reasoning.
pub struct ProseInThinkingRoundLost;

/// Loses blanks at the start of the reply's prose.
#[derive(Default)]
pub struct StartTrimmed {
    begun: bool,
}

/// Loses prose after a call.
#[derive(Default)]
pub struct ProseAfterCallLost {
    called: bool,
}

/// Sends reasoning as content.
pub struct ReasoningAsContent;

/// Loses reasoning.
pub struct ReasoningLost;

/// Sends the stop string that ended the reply.
pub struct StopLeak;

/// Calls a cut reply finished.
#[derive(Default)]
pub struct LengthHidden {
    called: bool,
}

/// Makes a content event of prose.
pub fn content(text: String) -> ReplyEvent {
    ReplyEvent { span: 0..0, origin: Origin::Prose, said: Said::Content(text) }
}

/// Whether an event belongs to a call.
pub fn is_call(event: &ReplyEvent) -> bool {
    matches!(event.said, Said::CallStart { .. } | Said::Arguments { .. } | Said::CallEnd { .. })
}

fn is_content(event: &ReplyEvent) -> bool {
    matches!(event.said, Said::Content(_))
}

// === impl NewlineLost ===

impl Filter for NewlineLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        for event in events.iter_mut() {
            if let Said::Content(text) = &mut event.said {
                let mut all = std::mem::take(&mut self.held) + text;
                self.held = all.split_off(all.trim_end_matches('\n').len());
                *text = all;
            }
        }
        if ended.is_some_and(|ended| ended.end != End::Length) {
            events.push(content(std::mem::take(&mut self.held)));
        }
    }
}

// === impl ProseInCallRoundLost ===

impl Filter for ProseInCallRoundLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        if events.iter().any(is_call) {
            events.retain(|event| !is_content(event));
        }
    }
}

// === impl ProseAfterCallLost ===

impl Filter for ProseAfterCallLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        events.retain(|event| {
            self.called |= is_call(event);
            !(self.called && is_content(event))
        });
    }
}

// === impl ReasoningAsContent ===

impl Filter for ReasoningAsContent {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            if let Said::Reasoning(text) = &mut event.said {
                event.said = Said::Content(std::mem::take(text));
            }
        }
    }
}

// === impl ReasoningLost ===

impl Filter for ReasoningLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        events.retain(|event| !matches!(event.said, Said::Reasoning(_)));
    }
}

// === impl StopLeak ===

impl Filter for StopLeak {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        if let Some(stop) = ended.and_then(|ended| ended.stop.clone()) {
            events.push(content(stop));
        }
    }
}

// === impl LengthHidden ===

impl Filter for LengthHidden {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        self.called |= events.iter().any(is_call);
        if let Some(ended) = ended.filter(|ended| ended.finish == Finish::Length) {
            ended.finish = if self.called { Finish::ToolCalls } else { Finish::Stop };
        }
    }
}

// === impl ProseInThinkingRoundLost ===

impl Filter for ProseInThinkingRoundLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        if events.iter().any(|event| matches!(event.said, Said::Reasoning(_))) {
            events.retain(|event| !is_content(event));
        }
    }
}

// === impl StartTrimmed ===

impl Filter for StartTrimmed {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            if let Said::Content(text) = &mut event.said
                && !self.begun
            {
                *text = text.trim_start().to_owned();
                self.begun = !text.is_empty();
            }
        }
    }
}
