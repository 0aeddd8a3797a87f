//! Plants at the second seam that lose, move or change what stands outside of calls.

use super::Filter;
use crate::{
    generate::Ended,
    read::{End, Finish, Origin, ReplyEvent, Said},
};

/// Loses the text of rejected envelopes, and of `<NAME:tool_call>` envelopes that were never more than prose.
#[derive(Default)]
pub struct RejectedLost {
    when: When,
    /// Prose from a `<` on that may start an envelope.
    pending: String,
    /// What waits for the end to be lost or kept.
    held: Vec<(Fate, String)>,
    out: Vec<ReplyEvent>,
}

/// When it is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// In any stream.
    #[default]
    Always,
    /// In a stream that was cut by its length.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
}

/// What prose starts with.
#[derive(Debug, PartialEq, Eq)]
enum Scan {
    Plain(usize),
    Envelope(usize),
    Wait,
}

/// Loses newlines at the end of prose if the stream is cut.
#[derive(Default)]
pub struct NewlineLost {
    held: String,
}

/// Loses prose that comes in the same round as a piece of a call.
pub struct ProseInCallRoundLost;

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

// === impl RejectedLost ===

impl RejectedLost {
    /// Loses them then.
    pub fn new(when: When) -> Self {
        Self { when, ..Self::default() }
    }

    fn prose(&mut self, text: &str) {
        self.pending.push_str(text);
        loop {
            let (fate, length) = match scan(&self.pending) {
                Scan::Plain(length) => (Fate::Kept, length),
                Scan::Envelope(length) => (Fate::Lost, length),
                Scan::Wait => return,
            };
            let text = self.pending.drain(..length).collect();
            self.decide(fate, text);
        }
    }

    fn decide(&mut self, fate: Fate, text: String) {
        match (self.when, fate) {
            (When::Always, Fate::Lost) => {}
            (When::Cut, Fate::Kept) if self.held.is_empty() => self.out.push(content(text)),
            (When::Cut, _) => self.held.push((fate, text)),
            (When::Always, Fate::Kept) => self.out.push(content(text)),
        }
    }

    fn end(&mut self, end: End) {
        let rest = std::mem::take(&mut self.pending);
        self.decide(Fate::Kept, rest);
        let held = std::mem::take(&mut self.held);
        let kept = held.into_iter().filter(|(fate, _)| end != End::Length || *fate == Fate::Kept);
        self.out.extend(kept.map(|(_, text)| content(text)));
    }
}

impl Filter for RejectedLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        for event in std::mem::take(events) {
            match (event.origin, &event.said) {
                (Origin::Rejected, Said::Content(text)) => {
                    let before = std::mem::take(&mut self.pending);
                    self.decide(Fate::Kept, before);
                    self.decide(Fate::Lost, text.clone());
                }
                (_, Said::Content(text)) => self.prose(text),
                _ => self.out.push(event),
            }
        }
        if let Some(ended) = ended {
            self.end(ended.end);
        }
        *events = std::mem::take(&mut self.out);
    }
}

fn scan(text: &str) -> Scan {
    match text.find('<') {
        None if text.is_empty() => Scan::Wait,
        None => Scan::Plain(text.len()),
        Some(0) => scan_opener(text),
        Some(at) => Scan::Plain(at),
    }
}

/// `<NAME:tool_call>` through `</NAME:tool_call>`.
fn scan_opener(text: &str) -> Scan {
    const OPENER: &str = ":tool_call>";
    let after = text.strip_prefix('<').unwrap_or_default();
    let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let name = after.strip_suffix(rest).unwrap_or_default();
    if !rest.starts_with(OPENER) {
        let may_come = OPENER.starts_with(rest) && (rest.is_empty() || !name.is_empty());
        return if may_come { Scan::Wait } else { Scan::Plain(1) };
    }
    let closer = format!("</{name}{OPENER}");
    text.find(&closer).map_or(Scan::Wait, |at| Scan::Envelope(at + closer.len()))
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
