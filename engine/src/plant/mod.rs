//! Plants and decoys: deliberate faults and legal oddities, switched on for one request.
//!
//! A checker must see every plant and stay silent at every decoy. They are filters at three seams: the tokens of a round,
//! the reply events with their origin, the bytes of the wire. The rest of the engine calls the seams and knows no more;
//! without a plant they cost a branch.

mod calls;
mod catalogue;
mod decoys;
mod frames;
mod prose;
mod rejected;
mod shape;
mod tokens;
mod values;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{
    chat::{Ended, Mode, Request},
    plant::frames::Frame,
    read::ReplyEvent,
    text::TokenId,
};

/// Whether plants and decoys may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    #[default]
    Off,
}

/// A plant or a decoy, as it is listed.
#[derive(Debug)]
pub struct PlantSpec {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Whether it must be seen.
    pub kind: PlantKind,
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// The rules that catch it, the first before all; none for a decoy.
    pub catchers: &'static [&'static str],
    /// Where it sits.
    pub seams: &'static [Seam],
    touches: Touches,
    build: fn(Setting) -> Box<dyn Filter>,
}

/// Whether it must be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlantKind {
    /// A fault: it must be caught.
    Plant,
    /// A legal oddity: it must be met with silence.
    Decoy,
}

/// Where a plant sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seam {
    /// The tokens of a round, after they were counted.
    Tokens,
    /// The reply events of a round.
    Events,
    /// The chunks of a stream, or the whole body.
    Wire,
}

/// Which replies a plant changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touches {
    Stream,
    OneCallStream,
    Whole,
    Both,
}

/// What a plant may know of a request.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    reply: Reply,
    calls: Calls,
}

/// How the reply is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Whole,
    Stream,
}

/// How many calls were asked for at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    One,
    Many,
}

/// Where in a stream its bytes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// More follows.
    Between,
    /// These are the last.
    Last,
}

/// The filters of one reply.
pub struct Seams(Option<Planted>);

struct Planted {
    spec: &'static PlantSpec,
    filter: Box<dyn Filter>,
}

/// What a plant does; each does something at one seam or two.
trait Filter: Send {
    /// The tokens of a round.
    fn tokens(&mut self, _ids: &mut Vec<TokenId>) {}

    /// The events of a round; with the last ones comes how the reply ended.
    fn events(&mut self, _events: &mut Vec<ReplyEvent>, _ended: Option<&mut Ended>) {}

    /// The chunks of a round.
    fn frames(&mut self, _frames: &mut Vec<Frame>, _moment: Moment) {}

    /// The whole body.
    fn whole(&mut self, _body: &mut Value) {}
}

/// All plants and decoys.
pub fn plants() -> &'static [PlantSpec] {
    catalogue::ALL
}

/// The plant or decoy of that name.
pub fn named(name: &str) -> Option<&'static PlantSpec> {
    plants().iter().find(|spec| spec.name == name)
}

// === impl PlantSpec ===

impl PlantSpec {
    fn applies(&self, setting: Setting) -> bool {
        match self.touches {
            Touches::Stream => setting.reply == Reply::Stream,
            Touches::OneCallStream => setting.reply == Reply::Stream && setting.calls == Calls::One,
            Touches::Whole => setting.reply == Reply::Whole,
            Touches::Both => true,
        }
    }
}

// === impl Setting ===

impl Setting {
    /// What a plant may know of this request.
    pub fn of(request: &Request, mode: Mode) -> Self {
        Self {
            reply: if mode == Mode::Whole { Reply::Whole } else { Reply::Stream },
            calls: if request.offer.one_call { Calls::One } else { Calls::Many },
        }
    }
}

// === impl Seams ===

impl Seams {
    /// The filters of a plant, none if it does not touch this kind of reply.
    pub fn new(spec: Option<&'static PlantSpec>, setting: Setting) -> Self {
        let spec = spec.filter(|spec| spec.applies(setting));
        Self(spec.map(|spec| Planted { spec, filter: (spec.build)(setting) }))
    }

    /// The first seam: tokens on their way to text.
    pub fn tokens(&mut self, ids: &mut Vec<TokenId>) {
        if let Some(filter) = self.at(Seam::Tokens) {
            filter.tokens(ids);
        }
    }

    /// The second seam: what a round says.
    pub fn events(&mut self, events: &mut Vec<ReplyEvent>) {
        if let Some(filter) = self.at(Seam::Events) {
            filter.events(events, None);
        }
    }

    /// The second seam, at the last round.
    pub fn last_events(&mut self, events: &mut Vec<ReplyEvent>, ended: &mut Ended) {
        if let Some(filter) = self.at(Seam::Events) {
            filter.events(events, Some(ended));
        }
    }

    /// The third seam, of a stream: the events of a round, as they would be sent.
    pub fn stream(&mut self, bytes: &mut Vec<u8>, moment: Moment) {
        if let Some(filter) = self.at(Seam::Wire) {
            let mut frames = frames::read(bytes);
            filter.frames(&mut frames, moment);
            *bytes = frames::write(&frames);
        }
    }

    /// The third seam, of a whole reply: its body.
    pub fn whole(&mut self, body: &mut Vec<u8>) {
        if let Some(filter) = self.at(Seam::Wire)
            && let Ok(mut value) = serde_json::from_slice(body)
        {
            filter.whole(&mut value);
            *body = value.to_string().into_bytes();
        }
    }

    fn at(&mut self, seam: Seam) -> Option<&mut dyn Filter> {
        let planted = self.0.as_mut().filter(|planted| planted.spec.seams.contains(&seam))?;
        Some(planted.filter.as_mut())
    }
}
