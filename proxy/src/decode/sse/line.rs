//! One line of a stream: what it is, and what is odd about it.

use crate::decode::{AnomalyKind, Span, tally::Tally, utf8};

/// The most of a field's name that is kept: more than the longest name that means anything, enough to show.
const MAX_NAME: usize = 64;

/// A line being read.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Offset of its first byte.
    pub start: usize,
    pub what: What,
    /// Whether a space followed the colon.
    pub space: bool,
    name: Vec<u8>,
    /// Bytes of the value so far.
    value: usize,
    nul: bool,
    not_digits: bool,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum What {
    #[default]
    Blank,
    Comment,
    Field(Field),
}

/// The fields that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Data,
    Event,
    Id,
    Retry,
    Other,
}

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lf,
    CrLf,
    Cr,
}

/// The styles of line end seen so far.
#[derive(Debug, Default)]
pub(super) struct Ends {
    first: Option<End>,
    mixed: bool,
}

// === impl Line ===

impl Line {
    /// Starts over at another line; the buffer is used again.
    pub fn restart(&mut self, start: usize, what: What) {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        *self = Self { start, what, name, ..Self::default() };
    }

    pub fn push_name(&mut self, run: &[u8]) {
        let room = (MAX_NAME + 1).saturating_sub(self.name.len());
        self.name.extend(run.iter().take(room));
    }

    /// The name is whole: which field is it?
    pub fn name_field(&mut self) {
        self.what = What::Field(match self.name.as_slice() {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Other,
        });
    }

    pub fn push_value(&mut self, run: &[u8]) {
        self.value += run.len();
        match self.what {
            What::Field(Field::Id) => self.nul |= run.contains(&0),
            What::Field(Field::Retry) => self.not_digits |= !run.iter().all(u8::is_ascii_digit),
            _ => {}
        }
    }

    /// Notes what is odd about the line, which lies at `span`.
    pub fn note(&self, span: Span, tally: &mut Tally) {
        match self.what {
            What::Comment => tally.note(span, AnomalyKind::Comment),
            What::Field(Field::Data) if !self.space && self.value > 0 => {
                tally.note(span, AnomalyKind::DataWithoutSpace);
            }
            What::Blank | What::Field(Field::Data | Field::Event) => {}
            What::Field(Field::Id) if self.nul => tally.note(span, AnomalyKind::IdWithNul),
            What::Field(Field::Id) => tally.note(span, AnomalyKind::IdField),
            What::Field(Field::Retry) => self.note_retry(span, tally),
            What::Field(Field::Other) => self.note_other(span, tally),
        }
    }

    fn note_retry(&self, span: Span, tally: &mut Tally) {
        tally.note(span, AnomalyKind::RetryField);
        if self.not_digits || self.value == 0 {
            tally.note(span, AnomalyKind::RetryNotDigits);
        }
    }

    fn note_other(&self, span: Span, tally: &mut Tally) {
        if self.name.starts_with(&super::BOM) {
            let end = span.start + super::BOM.len();
            return tally.note(Span { start: span.start, end }, AnomalyKind::InnerBom);
        }
        let kept = self.name.get(..MAX_NAME.min(self.name.len())).unwrap_or_default();
        let mut name = utf8::lossy(utf8::whole_characters(kept));
        if self.name.len() > MAX_NAME {
            name.push_str("...");
        }
        tally.note(span, AnomalyKind::UnknownField(name));
    }
}

// === impl Ends ===

impl Ends {
    /// Notes the style of a line end that stops at `end`: every bare CR, and the first change of style.
    pub fn note(&mut self, style: End, end: usize, tally: &mut Tally) {
        let len = if style == End::CrLf { 2 } else { 1 };
        let span = Span { start: end - len, end };
        if style == End::Cr {
            tally.note(span, AnomalyKind::CarriageReturn);
        }
        if *self.first.get_or_insert(style) != style && !self.mixed {
            self.mixed = true;
            tally.note(span, AnomalyKind::MixedLineEnds);
        }
    }
}
