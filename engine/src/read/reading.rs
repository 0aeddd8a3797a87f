//! What all grammars share while a reply is read: the text, the offer, what is said, and the envelope at hand.
//!
//! In: a grammar's word on how the text is to be taken. Out: events. The same words serve an envelope whatever
//! becomes of it: before it is decided they are kept, in a call they are said, in a rejected envelope the text
//! itself is said, and of a later call in one-call mode nothing is.

use super::events::{Channel, Events};
use super::formats::Opener;
use super::offer::{NameSoFar, Offered, Tool};
use super::source::Source;
use super::speech::Speech;
use super::{Origin, ReplyEvent, Said};

/// What all grammars share.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) source: Source,
    pub(super) speech: Speech,
    pub(super) offered: Offered,
    /// The openers of the format, none if no tools are offered.
    pub(super) openers: &'static [Opener],
    envelope: Envelope,
    accepted: usize,
    started: usize,
    completed: usize,
}

/// What became of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Verdict {
    /// Not known yet.
    #[default]
    Undecided,
    /// It is a call.
    Call,
    /// It is a later call in one-call mode.
    Surplus,
    /// It is text.
    Text,
}

/// Whether a call got the last bracket of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    Whole,
    Cut,
}

/// The envelope at hand.
#[derive(Debug, Default)]
struct Envelope {
    verdict: Verdict,
    tool: Option<usize>,
    /// Text read and not accounted for yet; before the verdict, all of its text.
    raw: String,
    raw_start: usize,
    /// Up to where an event accounts for the text.
    told: usize,
    /// What would have been said, were it decided.
    draft: Events,
    arguments: Option<Arguments>,
}

/// Where a grammar's output goes.
pub(super) trait Sink {
    /// The text up to there says this piece of a call's arguments.
    fn arguments(&mut self, upto: usize, origin: Origin, piece: &str);
    /// The text up to there is a named loss.
    fn lose(&mut self, upto: usize);
}

// === impl Reading ===

impl Reading {
    pub(super) fn new(speech: Speech, offered: Offered, openers: &'static [Opener]) -> Self {
        let openers = if offered.any() { openers } else { &[] };
        Self {
            source: Source::default(),
            speech,
            offered,
            openers,
            envelope: Envelope::default(),
            accepted: 0,
            started: 0,
            completed: 0,
        }
    }

    /// The offset of the next unread byte.
    pub(super) fn here(&self) -> usize {
        self.source.offset()
    }

    /// How many calls are complete.
    pub(super) fn completed(&self) -> usize {
        self.completed
    }

    /// Reads that many bytes as text outside any envelope.
    pub(super) fn text(&mut self, bytes: usize, origin: Origin) {
        let start = self.here();
        self.speech.text(start, self.source.take(bytes), origin);
    }

    /// Reads that many bytes as markup outside any envelope.
    pub(super) fn frame(&mut self, bytes: usize) {
        self.speech.markup(self.here(), bytes);
        self.source.take(bytes);
    }

    // --- the envelope at hand ---

    /// An envelope starts here.
    pub(super) fn begin_envelope(&mut self) {
        let here = self.here();
        self.envelope = Envelope { raw_start: here, told: here, ..Envelope::default() };
    }

    /// Whether it is not known yet what the envelope is.
    pub(super) fn undecided(&self) -> bool {
        self.envelope.verdict == Verdict::Undecided
    }

    /// Whether the envelope is a call, counted or not.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.envelope.verdict, Verdict::Call | Verdict::Surplus)
    }

    /// The tool that the envelope calls.
    pub(super) fn tool(&self) -> Option<&Tool> {
        self.envelope.tool.and_then(|number| self.offered.tool(number))
    }

    /// Up to where the envelope's text is accounted for.
    pub(super) fn told(&self) -> usize {
        self.envelope.told
    }

    /// Reads that many bytes of the envelope. Unless it is text, what they say is told later.
    pub(super) fn advance(&mut self, bytes: usize) {
        let start = self.here();
        let text = self.source.take(bytes);
        match self.envelope.verdict {
            Verdict::Text => self.speech.text(start, text, Origin::Rejected),
            Verdict::Undecided => self.envelope.raw.push_str(text),
            Verdict::Call | Verdict::Surplus => {
                self.envelope.forget_told();
                self.envelope.raw.push_str(text);
            }
        }
    }

    /// Reads that many bytes that stand in the arguments as they are written.
    pub(super) fn copy(&mut self, bytes: usize, origin: Origin) {
        let piece = self.source.rest().get(..bytes).unwrap_or_default().to_owned();
        self.advance(bytes);
        self.arguments(self.here(), origin, &piece);
    }

    /// What was read up to here and not told yet is markup.
    pub(super) fn markup(&mut self) {
        self.markup_upto(self.here());
    }

    fn markup_upto(&mut self, upto: usize) {
        let span = self.envelope.told..upto;
        match self.envelope.verdict {
            Verdict::Call => self.speech.events().nothing(span, Origin::Markup),
            Verdict::Surplus => self.speech.events().nothing(span, Origin::Loss),
            Verdict::Undecided | Verdict::Text => return,
        }
        self.envelope.told = upto;
    }

    /// Takes one more character of the name; a name that no tool has makes the envelope text.
    pub(super) fn name_character(&mut self, name: &mut NameSoFar, c: char) {
        if !name.push(c, &self.offered) {
            self.reject();
        }
    }

    /// The name is complete: an offered one is noted, any other makes the envelope text.
    pub(super) fn name_complete(&mut self, name: &NameSoFar) {
        match name.tool(&self.offered) {
            Some(tool) => self.envelope.tool = Some(tool),
            None => self.reject(),
        }
    }

    /// The envelope, if its name was an offered one, becomes a call now.
    pub(super) fn accept(&mut self) {
        if !self.undecided() {
            return;
        }
        let Some(name) = self.tool().map(|tool| tool.name.clone()) else { return };
        self.speech.envelope();
        self.accepted += 1;
        let draft = std::mem::take(&mut self.envelope.draft);
        if self.offered.one_call() && self.accepted > 1 {
            self.drop_envelope();
            self.markup();
            return;
        }
        self.envelope.verdict = Verdict::Call;
        let span = self.envelope.told..self.here();
        self.envelope.told = span.end;
        let said = Said::CallStart { call: self.started, name };
        self.started += 1;
        self.speech.events().push(ReplyEvent { span, origin: Origin::Syntax, said });
        self.speech.events().append(draft);
        self.completed += usize::from(self.envelope.arguments == Some(Arguments::Whole));
    }

    /// The envelope, unless it is decided, is text.
    pub(super) fn reject(&mut self) {
        if self.undecided() {
            self.envelope.verdict = Verdict::Text;
            let raw = std::mem::take(&mut self.envelope.raw);
            self.speech.text(self.envelope.raw_start, &raw, Origin::Rejected);
        }
    }

    /// The call gets no more arguments.
    pub(super) fn end_arguments(&mut self, arguments: Arguments) {
        if self.envelope.arguments.is_some() {
            return;
        }
        self.envelope.arguments = Some(arguments);
        let call = self.current_call();
        let said = Said::CallEnd { call, complete: arguments == Arguments::Whole };
        let span = self.envelope.told..self.envelope.told;
        let event = ReplyEvent { span, origin: Origin::Syntax, said };
        match self.envelope.verdict {
            Verdict::Undecided => self.envelope.draft.push(event),
            Verdict::Call => {
                self.completed += usize::from(arguments == Arguments::Whole);
                self.speech.events().push(event);
            }
            Verdict::Surplus | Verdict::Text => {}
        }
    }

    fn current_call(&self) -> usize {
        match self.envelope.verdict {
            Verdict::Call => self.started.saturating_sub(1),
            Verdict::Undecided | Verdict::Surplus | Verdict::Text => self.started,
        }
    }

    /// The envelope is over, in good order.
    pub(super) fn close_envelope(&mut self) {
        self.reject();
        self.markup();
        self.end_arguments(Arguments::Cut);
    }

    /// The envelope's grammar is broken. Of a call, what was read from `at` on is content, and so is what follows.
    pub(super) fn break_envelope(&mut self, at: usize) {
        self.reject();
        if self.is_call() {
            self.lose(at);
            self.end_arguments(Arguments::Cut);
            self.speech.break_envelope();
            let raw = self.envelope.untold();
            self.speech.text(self.envelope.told, raw, Origin::Rejected);
        }
    }

    /// The reply is cut inside the envelope: unless it is text, what is held is dropped.
    pub(super) fn cut_envelope(&mut self) {
        if self.undecided() {
            self.speech.envelope();
            self.drop_envelope();
        }
        self.advance(self.source.rest().len());
        if self.is_call() {
            self.lose(self.here());
            self.end_arguments(Arguments::Cut);
        }
    }

    /// Nothing will be said of the envelope, nor of what was drafted.
    fn drop_envelope(&mut self) {
        self.envelope.verdict = Verdict::Surplus;
        self.envelope.told = self.envelope.raw_start;
    }

    /// The model ended inside the envelope before it was decided: it is text as written.
    pub(super) fn keep_envelope(&mut self) {
        self.reject();
        self.advance(self.source.rest().len());
    }
}

impl Sink for Reading {
    fn arguments(&mut self, upto: usize, origin: Origin, piece: &str) {
        let upto = upto.max(self.envelope.told);
        let span = self.envelope.told..upto;
        let channel = Channel::Arguments(self.current_call());
        if piece.is_empty() {
            return self.markup_upto(upto);
        }
        match self.envelope.verdict {
            Verdict::Undecided => self.envelope.draft.speak(span, origin, channel, piece),
            Verdict::Call => self.speech.events().speak(span, origin, channel, piece),
            Verdict::Surplus => self.speech.events().nothing(span, Origin::Loss),
            Verdict::Text => return,
        }
        self.envelope.told = upto;
    }

    fn lose(&mut self, upto: usize) {
        let upto = upto.max(self.envelope.told);
        let span = self.envelope.told..upto;
        match self.envelope.verdict {
            Verdict::Undecided => self.envelope.draft.nothing(span, Origin::Loss),
            Verdict::Call | Verdict::Surplus => self.speech.events().nothing(span, Origin::Loss),
            Verdict::Text => return,
        }
        self.envelope.told = upto;
    }
}

// === impl Envelope ===

impl Envelope {
    /// Throws away the text that is accounted for.
    fn forget_told(&mut self) {
        let told = (self.told - self.raw_start).min(self.raw.len());
        if told == self.raw.len() {
            self.raw.clear();
        } else {
            self.raw.drain(..told);
        }
        self.raw_start += told;
    }

    /// The text that was read and is not accounted for.
    fn untold(&self) -> &str {
        self.raw.get(self.told - self.raw_start..).unwrap_or_default()
    }
}
