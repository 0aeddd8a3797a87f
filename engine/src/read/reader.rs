//! The reader: model text in pieces to reply events.
//!
//! In: pieces of text, cut anywhere, then how generation ended. Out: events, each as early as it can never be
//! taken back, and the reason why the reply is finished. The reader takes steps; a step either reads on or waits
//! for more text, and none looks at where a piece ends. So every way to cut the text gives the same reply.

use std::sync::Arc;

use super::formats::{Format, Grammar, Opener};
use super::marker::Marker;
use super::offer::{Offer, Offered};
use super::payload::{Payload, Step};
use super::reading::Reading;
use super::source::NeedMore;
use super::speech::{Separators, Speech, Stage};
use super::{End, Origin, ReplyEvent};

/// So many newlines after a thinking block belong to it.
const NEWLINES_AFTER_THINKING: u8 = 2;

/// What the prompt says about thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// The prompt has opened the block.
    Open,
    /// Thinking is off.
    Closed,
    /// The model may open a block.
    MayOpen,
}

/// Why a reply is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model, or a stop string, ended it.
    Stop,
    /// `max_tokens` was reached.
    Length,
    /// At least one call is complete.
    ToolCalls,
}

/// Reads one reply.
#[derive(Debug)]
pub struct Reader {
    grammar: &'static Grammar,
    reading: Reading,
    place: Place,
}

/// Where in the reply the next character stands.
#[derive(Debug)]
enum Place {
    /// Before anything but blanks.
    Start(Thinking),
    /// After the opener of the thinking block.
    Opened,
    /// In the thinking block or in the content.
    Text,
    /// After the closer of the thinking block and before so many newlines.
    AfterThinking(u8),
    Envelope(&'static Opener, Box<dyn Payload>),
    /// In what follows a break in a call, up to one of these.
    Rest(&'static [Marker]),
}

// === impl Reader ===

impl Reader {
    /// A reader of replies to one request.
    pub fn new(format: Format, offer: impl Into<Arc<Offer>>, thinking: Thinking) -> Self {
        let grammar = format.grammar();
        let offered = Offered::new(offer.into());
        let separators = if offered.any() { Separators::Possible } else { Separators::None };
        let (stage, place) = match thinking {
            Thinking::Open => (Stage::Reasoning, Place::Start(thinking)),
            Thinking::MayOpen => (Stage::Content, Place::Start(thinking)),
            Thinking::Closed => (Stage::Content, Place::Text),
        };
        let reading = Reading::new(Speech::new(stage, separators), offered, grammar.openers);
        Self { grammar, reading, place }
    }

    /// Takes the next piece of text and appends what it says to `out`.
    pub fn feed(&mut self, text: &str, out: &mut Vec<ReplyEvent>) {
        self.reading.source.feed(text);
        self.run();
        self.reading.speech.hand_out(out);
    }

    /// Takes how generation ended, appends the rest to `out` and says why the reply is finished.
    pub fn finish(mut self, end: End, out: &mut Vec<ReplyEvent>) -> Finish {
        if !self.is_decided_by(end) {
            self.leave_envelope(end);
        }
        self.reading.source.end();
        self.run();
        self.reading.speech.end();
        self.reading.speech.hand_out(out);
        match end {
            End::Length => Finish::Length,
            End::Model | End::Stop if self.reading.completed() > 0 => Finish::ToolCalls,
            End::Model | End::Stop => Finish::Stop,
        }
    }

    /// Whether the end leaves no envelope open, or closes it by being the model's own.
    fn is_decided_by(&self, end: End) -> bool {
        let in_envelope = matches!(self.place, Place::Envelope(..));
        !in_envelope || (end == End::Model && self.reading.is_call())
    }

    /// The reply ends inside an envelope that its end does not close.
    fn leave_envelope(&mut self, end: End) {
        match end {
            End::Model => self.reading.keep_envelope(),
            End::Length | End::Stop => self.reading.cut_envelope(),
        }
        self.place = Place::Text;
    }

    fn run(&mut self) {
        while self.step().is_ok() {}
    }

    fn step(&mut self) -> Result<(), NeedMore> {
        match &mut self.place {
            Place::Start(thinking) => {
                let thinking = *thinking;
                self.start(thinking)
            }
            Place::Opened => self.newline(Place::Text, Place::Text),
            Place::Text => self.text(),
            Place::AfterThinking(0) => {
                self.place = Place::Text;
                Ok(())
            }
            Place::AfterThinking(left) => {
                let more = Place::AfterThinking(*left - 1);
                self.newline(more, Place::Text)
            }
            Place::Envelope(..) => self.envelope(),
            Place::Rest(closers) => {
                let closers = *closers;
                self.rest(closers)
            }
        }
    }

    /// The opener of a thinking block may stand here, after blanks. One that the prompt wrote may be repeated.
    fn start(&mut self, thinking: Thinking) -> Result<(), NeedMore> {
        let [opener, _] = self.grammar.thinking;
        let blanks = self.reading.source.after_blanks(0)?;
        let found = self.reading.source.looking_at(blanks, [opener])?.is_some();
        if found {
            self.reading.frame(blanks + opener.len());
            self.reading.speech.think();
        }
        self.place = if found || thinking == Thinking::Open { Place::Opened } else { Place::Text };
        Ok(())
    }

    /// A newline here is markup.
    fn newline(&mut self, with: Place, without: Place) -> Result<(), NeedMore> {
        let found = self.reading.source.peek()? == Some('\n');
        if found {
            self.reading.frame(1);
        }
        self.place = if found { with } else { without };
        Ok(())
    }

    fn text(&mut self) -> Result<(), NeedMore> {
        let rest = self.reading.source.rest();
        let plain = rest.find('<').unwrap_or(rest.len());
        if plain > 0 {
            self.reading.text(plain, self.origin());
            return Ok(());
        }
        self.reading.source.peek()?.ok_or(NeedMore)?;
        self.tag()
    }

    fn origin(&self) -> Origin {
        match self.reading.speech.stage() {
            Stage::Reasoning => Origin::Thinking,
            Stage::Content => Origin::Prose,
        }
    }

    /// A `<` outside of envelopes.
    fn tag(&mut self) -> Result<(), NeedMore> {
        let openers = self.reading.openers;
        let [_, closer] = self.grammar.thinking;
        let thinking = self.reading.speech.stage() == Stage::Reasoning;
        let closers = (thinking || self.reading.speech.closer_awaited()).then_some(closer);
        let markers = openers.iter().map(|opener| opener.marker).chain(closers);
        let Some(found) = self.reading.source.looking_at(0, markers)? else {
            self.reading.text(1, self.origin());
            return Ok(());
        };
        match openers.iter().find(|opener| opener.marker == found) {
            Some(opener) => self.open(opener),
            None if thinking => self.close_thinking(closer),
            None => {
                self.reading.speech.late_closer(self.reading.here(), closer.len());
                self.reading.source.take(closer.len());
            }
        }
        Ok(())
    }

    fn open(&mut self, opener: &'static Opener) {
        self.reading.begin_envelope();
        self.reading.advance(opener.marker.len());
        self.place = Place::Envelope(opener, (opener.payload)());
    }

    fn close_thinking(&mut self, closer: Marker) {
        self.reading.speech.close_thinking(self.reading.here(), closer.len());
        self.reading.source.take(closer.len());
        self.place = Place::AfterThinking(NEWLINES_AFTER_THINKING);
    }

    fn envelope(&mut self) -> Result<(), NeedMore> {
        let Place::Envelope(opener, payload) = &mut self.place else { return Ok(()) };
        match payload.step(&mut self.reading)? {
            Step::Goes => return Ok(()),
            Step::Closed => {
                self.reading.close_envelope();
                self.place = Place::Text;
            }
            Step::Broken(at) => {
                let closers = opener.closers;
                self.reading.break_envelope(at);
                self.place = if self.reading.is_call() { Place::Rest(closers) } else { Place::Text };
            }
        }
        Ok(())
    }

    /// What follows a break in a call is content, its closer included.
    fn rest(&mut self, closers: &'static [Marker]) -> Result<(), NeedMore> {
        let rest = self.reading.source.rest();
        let plain = rest.find('<').unwrap_or(rest.len());
        if plain > 0 {
            self.reading.text(plain, Origin::Rejected);
            return Ok(());
        }
        self.reading.source.peek()?.ok_or(NeedMore)?;
        match self.reading.source.looking_at(0, closers.iter().copied())? {
            Some(found) => {
                self.reading.text(found.len(), Origin::Rejected);
                self.place = Place::Text;
            }
            None => self.reading.text(1, Origin::Rejected),
        }
        Ok(())
    }
}
