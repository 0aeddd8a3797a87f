//! What the reply says outside calls: reasoning, then content, and which blanks between them count.
//!
//! In: text with its place, and the news that an envelope became a call, that one was dropped, that the thinking
//! block closed. Out: reasoning and content events. Blanks that touch an envelope are content only between prose
//! and prose; elsewhere they are markup. So blanks are held until what follows them is known.

use super::events::{Channel, Events};
use super::{Origin, ReplyEvent};

/// What is said so far, and the blanks that are held.
#[derive(Debug)]
pub(super) struct Speech {
    events: Events,
    stage: Stage,
    blanks: Vec<Blank>,
    /// How many of them are known to touch an envelope, from the first on.
    touching: usize,
    /// Whether blanks can turn out to be separators.
    separators: Separators,
    prose_said: bool,
    after_envelope: bool,
    /// Whether a call ended the reasoning, and neither prose nor the thinking block's closer came since.
    closer_awaited: bool,
}

/// What text is said as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Reasoning,
    Content,
}

/// Whether envelopes are read, so that blanks may separate them from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separators {
    Possible,
    None,
}

/// A stretch of blanks that is held.
#[derive(Debug)]
struct Blank {
    start: usize,
    text: String,
    origin: Origin,
    touches_envelope: bool,
}

// === impl Speech ===

impl Speech {
    pub(super) fn new(stage: Stage, separators: Separators) -> Self {
        Self {
            events: Events::default(),
            stage,
            blanks: Vec::new(),
            touching: 0,
            separators,
            prose_said: false,
            after_envelope: false,
            closer_awaited: false,
        }
    }

    /// Whether text is reasoning or content now.
    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether a closer of the thinking block is still due although a call ended the reasoning.
    pub(super) fn closer_awaited(&self) -> bool {
        self.closer_awaited
    }

    /// Moves all events to the end of `out`.
    pub(super) fn hand_out(&mut self, out: &mut Vec<ReplyEvent>) {
        self.events.hand_out(out);
    }

    /// The events, for what is said of calls.
    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Says nothing for `bytes` bytes of markup.
    pub(super) fn markup(&mut self, start: usize, bytes: usize) {
        self.events.nothing(start..start + bytes, Origin::Markup);
    }

    /// Says a piece of text.
    pub(super) fn text(&mut self, start: usize, text: &str, origin: Origin) {
        let firm = self.firm_part(text);
        let (body, tail) = text.split_at_checked(firm.end).unwrap_or((text, ""));
        let (lead, body) = body.split_at_checked(firm.start).unwrap_or(("", body));
        self.hold(start, lead, origin);
        if !body.is_empty() {
            self.release();
            self.put(start + lead.len(), body, origin);
            self.prose_said |= self.stage == Stage::Content;
            self.after_envelope = false;
            self.closer_awaited = false;
        }
        self.hold(start + firm.end, tail, origin);
    }

    /// The part of a text that can only be said; blanks before and after it may not be.
    fn firm_part(&self, text: &str) -> std::ops::Range<usize> {
        match (self.separators, self.stage) {
            (Separators::Possible, _) => {
                let end = text.trim_end().len();
                let start = text.len() - text.trim_start().len();
                start.min(end)..end
            }
            (Separators::None, Stage::Reasoning) => 0..text.strip_suffix('\n').unwrap_or(text).len(),
            (Separators::None, Stage::Content) => 0..text.len(),
        }
    }

    fn hold(&mut self, start: usize, text: &str, origin: Origin) {
        if text.is_empty() {
            return;
        }
        if self.after_envelope && !self.prose_said {
            self.markup(start, text.len());
            return;
        }
        if self.separators == Separators::None {
            self.release();
        }
        let touches_envelope = self.after_envelope;
        match self.blanks.last_mut() {
            Some(last) if last.continues_at(start, origin, touches_envelope) => last.text.push_str(text),
            _ => self.blanks.push(Blank { start, text: text.to_owned(), origin, touches_envelope }),
        }
    }

    /// Prose, or the end of a reply without it, follows the blanks that are held.
    fn release(&mut self) {
        for blank in self.take_blanks() {
            let origin = if blank.touches_envelope { Origin::Separator } else { blank.origin };
            self.put(blank.start, &blank.text, origin);
        }
    }

    fn take_blanks(&mut self) -> Vec<Blank> {
        self.touching = 0;
        std::mem::take(&mut self.blanks)
    }

    fn put(&mut self, start: usize, text: &str, origin: Origin) {
        let channel = match self.stage {
            Stage::Reasoning => Channel::Reasoning,
            Stage::Content => Channel::Content,
        };
        self.events.speak(start..start + text.len(), origin, channel, text);
    }

    /// An envelope that starts here became a call, or is dropped. Inside a thinking block that ends the reasoning.
    pub(super) fn envelope(&mut self) {
        for blank in self.blanks.iter_mut().skip(self.touching) {
            blank.touches_envelope = true;
        }
        self.touching = self.blanks.len();
        if !self.prose_said {
            self.forget_blanks();
        }
        self.closer_awaited |= self.stage == Stage::Reasoning;
        self.stage = Stage::Content;
        self.after_envelope = true;
    }

    /// What follows stands in the envelope still: its blanks are content as written.
    pub(super) fn break_envelope(&mut self) {
        self.after_envelope = false;
    }

    fn forget_blanks(&mut self) {
        for blank in self.take_blanks() {
            self.markup(blank.start, blank.text.len());
        }
    }

    /// The thinking block is open from here on.
    pub(super) fn think(&mut self) {
        self.stage = Stage::Reasoning;
    }

    /// The closer of the thinking block stands here: the newline before it belongs to it.
    pub(super) fn close_thinking(&mut self, start: usize, bytes: usize) {
        let framing = self.blanks.pop().map(|mut last| {
            let kept = last.text.strip_suffix('\n').unwrap_or(&last.text).len();
            let newline = last.text.len() - kept;
            last.text.truncate(kept);
            self.blanks.push(last);
            newline
        });
        let framing = framing.unwrap_or(0);
        self.release();
        self.markup(start - framing, framing + bytes);
        self.stage = Stage::Content;
    }

    /// The closer of a thinking block that a call has ended stands here.
    pub(super) fn late_closer(&mut self, start: usize, bytes: usize) {
        self.markup(start, bytes);
        self.closer_awaited = false;
    }

    /// The reply ends: what touches an envelope is markup, all other blanks count.
    pub(super) fn end(&mut self) {
        for blank in self.take_blanks() {
            if blank.touches_envelope {
                self.markup(blank.start, blank.text.len());
            } else {
                self.put(blank.start, &blank.text, blank.origin);
            }
        }
    }
}

// === impl Blank ===

impl Blank {
    fn continues_at(&self, start: usize, origin: Origin, touches_envelope: bool) -> bool {
        self.start + self.text.len() == start
            && self.origin == origin
            && self.touches_envelope == touches_envelope
    }
}
