//! Plants and decoys at the second seam that change calls.

use serde_json::Value;

use super::{
    Filter, Moment,
    frames::{self, Frame},
    prose::{content, is_call},
};
use crate::{
    chat::Ended,
    read::{Finish, Origin, ReplyEvent, Said},
};

/// Sends the arguments of a call in one piece at its end.
#[derive(Default)]
pub struct ArgumentsInOnePiece(Collected);

/// The same, and as a JSON object instead of text.
#[derive(Default)]
pub struct ArgumentsAsObject(ArgumentsInOnePiece);

/// Sends all arguments of a call a second time at its end.
#[derive(Default)]
pub struct ArgumentsResent(Collected);

/// Loses every call that starts after an envelope was rejected that itself came after a call.
#[derive(Default)]
pub struct CallsAfterRejectedLost {
    called: bool,
    rejected: bool,
    lost_from: Option<usize>,
}

/// Sends the text of a call as content.
#[derive(Default)]
pub struct MarkupLeak {
    name: String,
    arguments: String,
    open: bool,
}

/// Completes the arguments of a call that was cut.
pub struct CutCallCompleted;

/// Sends the closer of a call as the end of its arguments.
pub struct CloserInArguments;

/// Loses calls.
pub struct CallLost;

/// Loses the first character of each name.
pub struct NameDamaged;

/// Loses the arguments of a call without arguments.
#[derive(Default)]
pub struct EmptyArgumentsLost {
    held: String,
    /// Whether the open call has arguments.
    passing: bool,
}

/// Holds all events until the reply ends.
#[derive(Default)]
pub struct AllAtOnce {
    held: Vec<ReplyEvent>,
}

/// The arguments of the call that is open.
#[derive(Default)]
struct Collected {
    call: usize,
    text: String,
}

fn arguments(call: usize, piece: String) -> ReplyEvent {
    ReplyEvent { span: 0..0, origin: Origin::Syntax, said: Said::Arguments { call, piece } }
}

/// Replaces each event by what is made of it.
fn each_event(events: &mut Vec<ReplyEvent>, mut each: impl FnMut(ReplyEvent, &mut Vec<ReplyEvent>)) {
    let mut out = Vec::with_capacity(events.len());
    events.drain(..).for_each(|event| each(event, &mut out));
    *events = out;
}

/// A reply whose calls were lost does not know that it had any.
fn forget_calls(ended: Option<&mut Ended>) {
    if let Some(ended) = ended.filter(|ended| ended.finish == Finish::ToolCalls) {
        ended.finish = Finish::Stop;
    }
}

// === impl Collected ===

impl Collected {
    fn push(&mut self, call: usize, piece: &str) {
        self.call = call;
        self.text.push_str(piece);
    }

    /// What was collected, as one event.
    fn take(&mut self) -> Option<ReplyEvent> {
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then(|| arguments(self.call, text))
    }
}

// === impl ArgumentsInOnePiece ===

impl Filter for ArgumentsInOnePiece {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        each_event(events, |event, out| match &event.said {
            Said::Arguments { call, piece } => self.0.push(*call, piece),
            Said::CallEnd { .. } => {
                out.extend(self.0.take());
                out.push(event);
            }
            _ => out.push(event),
        });
        if ended.is_some() {
            events.extend(self.0.take());
        }
    }
}

// === impl ArgumentsAsObject ===

impl Filter for ArgumentsAsObject {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        self.0.events(events, ended);
    }

    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            for call in frames::calls(frames::delta(chunk)) {
                let arguments = call.get_mut("function").and_then(|function| function.get_mut("arguments"));
                if let Some(arguments) = arguments
                    && let Some(object) = arguments.as_str().and_then(|text| serde_json::from_str(text).ok())
                {
                    *arguments = object;
                }
            }
        }
    }
}

// === impl ArgumentsResent ===

impl Filter for ArgumentsResent {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        each_event(events, |event, out| {
            match &event.said {
                Said::Arguments { call, piece } => self.0.push(*call, piece),
                Said::CallEnd { .. } => out.extend(self.0.take()),
                _ => {}
            }
            out.push(event);
        });
    }
}

// === impl CallsAfterRejectedLost ===

impl CallsAfterRejectedLost {
    fn keeps(&mut self, event: &ReplyEvent) -> bool {
        match &event.said {
            Said::CallStart { call, .. } => {
                self.called = true;
                if self.rejected && self.lost_from.is_none() {
                    self.lost_from = Some(*call);
                }
                self.is_kept(*call)
            }
            Said::Arguments { call, .. } | Said::CallEnd { call, .. } => self.is_kept(*call),
            Said::Content(_) => {
                self.rejected |= self.called && event.origin == Origin::Rejected;
                true
            }
            Said::Reasoning(_) | Said::Nothing => true,
        }
    }

    fn is_kept(&self, call: usize) -> bool {
        self.lost_from.is_none_or(|from| call < from)
    }
}

impl Filter for CallsAfterRejectedLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        events.retain(|event| self.keeps(event));
    }
}

// === impl MarkupLeak ===

impl MarkupLeak {
    fn take(&mut self) -> Option<ReplyEvent> {
        let arguments = std::mem::take(&mut self.arguments);
        let name = Value::from(std::mem::take(&mut self.name));
        std::mem::take(&mut self.open).then(|| {
            content(format!("<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>"))
        })
    }
}

impl Filter for MarkupLeak {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        each_event(events, |event, out| match event.said {
            Said::CallStart { name, .. } => {
                self.open = true;
                self.name = name;
            }
            Said::Arguments { piece, .. } => self.arguments.push_str(&piece),
            Said::CallEnd { .. } => out.extend(self.take()),
            _ => out.push(event),
        });
        if ended.is_some() {
            events.extend(self.take());
        }
        forget_calls(ended);
    }
}

// === impl CutCallCompleted ===

impl Filter for CutCallCompleted {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        each_event(events, |event, out| {
            if let Said::CallEnd { call, complete: false } = event.said {
                out.push(arguments(call, "}".to_owned()));
            }
            out.push(event);
        });
    }
}

// === impl CloserInArguments ===

impl Filter for CloserInArguments {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        each_event(events, |event, out| {
            if let Said::CallEnd { call, .. } = event.said {
                out.push(arguments(call, "\n</tool_call>".to_owned()));
            }
            out.push(event);
        });
    }
}

// === impl CallLost ===

impl Filter for CallLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        events.retain(|event| !is_call(event));
        forget_calls(ended);
    }
}

// === impl NameDamaged ===

impl Filter for NameDamaged {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            if let Said::CallStart { name, .. } = &mut event.said {
                *name = name.chars().skip(1).collect();
            }
        }
    }
}

// === impl EmptyArgumentsLost ===

impl EmptyArgumentsLost {
    fn pass(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.passing |= !"{}".starts_with(&self.held);
        if self.passing { std::mem::take(&mut self.held) } else { String::new() }
    }
}

impl Filter for EmptyArgumentsLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            match &mut event.said {
                Said::CallStart { .. } => *self = Self::default(),
                Said::Arguments { piece, .. } => *piece = self.pass(piece),
                _ => {}
            }
        }
    }
}

// === impl AllAtOnce ===

impl Filter for AllAtOnce {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        self.held.append(events);
        if ended.is_some() {
            *events = std::mem::take(&mut self.held);
        }
    }
}
