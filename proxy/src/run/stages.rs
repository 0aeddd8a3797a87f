//! The stages, called in one place: bytes to events, events to a reply, the reply to breaches.
//!
//! In: an [`Exchange`]. Out: a [`Reading`] with all that later steps look at.

use super::{ask::is_busy, clients, reread, verdict::Outcome};
use crate::{
    decode::{Decoded, Framing, MAX_EVENT, MAX_HELD, Span, decode},
    exchange::{End, Exchange, Head, budget::MAX_CASE, send::most},
    fold::{Lens, MAX_CALLS, Reply, fold},
    plan::{Entry, Variant},
    request::{Asked, Mode, case::Expect},
    rules::{self, Breach, Facts, Profile},
};

/// One exchange, read.
#[derive(Debug)]
pub struct Reading<'a> {
    /// What was read.
    pub exchange: &'a Exchange,
    /// Its schedule as reports name it.
    pub rounds: String,
    /// What its request asked for.
    pub asked: Asked,
    /// Where each of its events lies, and when it came. What they hold is read again where it is needed, so that the
    /// replies of an entry do not all lie in memory as JSON values.
    pub events: Vec<(Span, u64)>,
    /// The reply they make.
    pub reply: Reply,
    /// The rules it breaks.
    pub breaches: Vec<Breach>,
    /// What it came to.
    pub outcome: Outcome,
}

/// What is known of the right answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// To what was asked.
    pub expect: Option<&'a Expect>,
    /// To all of a text, where a part of it was asked for.
    pub whole: Option<&'a Expect>,
}

// === impl Known ===

impl<'a> Known<'a> {
    /// What is known of an entry.
    pub fn of(entry: &'a Entry) -> Self {
        let whole = entry.case.expect.as_ref().filter(|_| entry.variant != Variant::Base);
        Self { expect: entry.expect.as_ref(), whole }
    }
}

// === impl Reading ===

impl<'a> Reading<'a> {
    /// Reads an exchange, as strictly as the profile says.
    pub fn of(exchange: &'a Exchange, known: Known<'_>, profile: &Profile) -> Self {
        let asked = exchange.request.asked();
        let decoded = decode(exchange);
        let reply = fold(exchange.request.dialect, exchange.status(), &decoded, &Lens::STRICT);
        let Known { expect, whole } = known;
        let facts = Facts { exchange, asked: &asked, decoded: &decoded, reply: &reply, expect, whole };
        let mut breaches = rules::check(&facts, profile);
        breaches.extend(reread::check(exchange, &decoded, profile));
        breaches.extend(
            transport_rule(exchange, &reply)
                .and_then(|rule| reread::breach(rule, transport(exchange), profile)),
        );
        breaches.extend(clients::check(exchange, &decoded, &reply, &breaches, profile));
        let outcome = outcome(exchange, &decoded, &reply);
        let rounds = exchange.rounds_name();
        let events = decoded.events.iter().map(|event| (event.span, event.arrived)).collect();
        Self { exchange, rounds, asked, events, reply, breaches, outcome }
    }

    /// Whether it was answered, be it with an error.
    pub fn is_answer(&self) -> bool {
        matches!(self.outcome, Outcome::Answered | Outcome::Refused(_))
    }

    /// Whether it is a whole reply.
    pub fn is_whole(&self) -> bool {
        self.exchange.mode == Mode::Whole
    }

    /// Generated tokens, as the reply says.
    pub fn tokens(&self) -> Option<u64> {
        self.reply.usage.as_ref().and_then(|u| u.completion)
    }
}

fn outcome(exchange: &Exchange, decoded: &Decoded, reply: &Reply) -> Outcome {
    let status = exchange.status();
    if let Some(status) = status.filter(|s| is_busy(Some(*s))) {
        return Outcome::Busy(status);
    }
    // Once the terminal event came the answer is complete, however the connection ends after it.
    let is_all = exchange.end.is_clean() || (reply.terminated && exchange.mode == Mode::Stream);
    if !is_all {
        return Outcome::Broken(transport(exchange));
    }
    if decoded.is_partial() {
        return Outcome::Broken(format!(
            "too large to be judged: {} bytes, over {} MiB in an event or {} MiB once read",
            exchange.received(),
            MAX_EVENT >> 20,
            MAX_HELD >> 20
        ));
    }
    if reply.calls().count() >= MAX_CALLS {
        return Outcome::Broken(format!("too large to be judged: {MAX_CALLS} calls or more"));
    }
    match (status, &reply.error) {
        _ if exchange.succeeded() && is_unread(exchange, decoded) => Outcome::Broken(unusable(exchange)),
        (Some(status), error) if !exchange.succeeded() => {
            let message = error.as_ref().map(|e| e.message.as_str()).unwrap_or_default();
            let message = short(message);
            let colon = if message.is_empty() { "" } else { ": " };
            Outcome::Refused(format!("status {status}{colon}{message}"))
        }
        (_, Some(error)) => Outcome::Refused(format!("an error in the answer: {}", short(&error.message))),
        _ => Outcome::Answered,
    }
}

/// The rule that a failed transport breaks. Of an end after the terminal event a rule of its own speaks.
fn transport_rule(exchange: &Exchange, reply: &Reply) -> Option<&'static str> {
    match exchange.end {
        End::Refused(_) => Some("exchange/refused"),
        End::TimedOut => Some("exchange/timeout"),
        End::Cut(_) if exchange.mode == Mode::Stream && reply.terminated => None,
        End::Cut(_) => Some("exchange/cut"),
        End::TooLarge => Some("exchange/too-large"),
        End::Malformed(_) => Some("exchange/malformed"),
        End::Complete | End::CloseDelimited | End::Cancelled => None,
    }
}

/// How a transport failed, in words.
fn transport(exchange: &Exchange) -> String {
    let after = exchange.received();
    match &exchange.end {
        End::Refused(why) => format!("no connection: {why}"),
        End::TimedOut if exchange.trickled() => {
            format!("does not end: {after} bytes in {} s, and still coming", exchange.took.end / 1_000_000)
        }
        End::TimedOut => format!("hangs: nothing more came after {after} bytes"),
        End::Cut(why) => format!("cut off after {after} bytes: {why}"),
        End::TooLarge => format!(
            "longer than {} MiB, or than {} MiB with the other replies of the case",
            most(exchange.mode) >> 20,
            MAX_CASE >> 20
        ),
        End::Malformed(why) => format!("breaks HTTP: {why}"),
        End::Cancelled => "cancelled".to_owned(),
        End::Complete | End::CloseDelimited => "complete".to_owned(),
    }
}

/// Whether a body is none that can be read: compressed events hold none, whatever their type says.
fn is_unread(exchange: &Exchange, decoded: &Decoded) -> bool {
    let is_coded = exchange.head.as_ref().is_some_and(|head| head.coding().is_some());
    decoded.framing == Framing::Other || (is_coded && decoded.events.is_empty())
}

fn unusable(exchange: &Exchange) -> String {
    let kind = exchange.head.as_ref().map(Head::media_type).unwrap_or_default();
    let kind = if kind.is_empty() { "a body without content-type".to_owned() } else { kind };
    let coding = exchange.head.as_ref().and_then(Head::coding);
    let coding = coding.map(|coding| format!(" with content-encoding {}", short(coding))).unwrap_or_default();
    format!("no usable answer: {kind}{coding}, {} bytes", exchange.received())
}

fn short(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(120).collect()
}
