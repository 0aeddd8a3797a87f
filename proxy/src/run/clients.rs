//! What the official clients make of a stream: which raise, and which hold something else than it says.
//!
//! In: readings, through every client's lens. Out: breaches `merge/*`, and for findings the clients that each breaks and what
//! they do. A stream that breaks no rule costs nothing: there is no oddity that clients take in different ways.

use super::{
    effect::{Effect, other_id},
    reread::breach,
    stages::Reading,
};
use crate::{
    compare::{Difference, Equality, compare},
    decode::{Decoded, Framing, decode},
    exchange::Exchange,
    finding::{Finding, client, place},
    fold::{Crash, Lens, Reply, read_as, reply::Part},
    rules::{Breach, Profile, Severity},
};
use std::collections::HashMap;

/// What is said of a reply: a difference in anything else is a client's own affair.
const SAID: [&str; 11] = [
    "parity/tool-count",
    "parity/tool-order",
    "parity/tool-name",
    "parity/tool-arguments",
    "parity/content",
    "parity/content-whitespace",
    "parity/unicode-replacement",
    "parity/refusal",
    "parity/empty-answer",
    "parity/finish-reason",
    "parity/error-swallowed",
];

/// A stream as one client holds it.
struct Held {
    client: &'static str,
    reply: Result<Reply, Crash>,
}

/// A stream as all of them hold it, and as it stands.
struct Views<'a> {
    strict: &'a Reply,
    held: Vec<Held>,
}

/// Rules of the catalogue that only clients show. `breaches` are what other rules found in the stream.
pub fn check(
    exchange: &Exchange,
    decoded: &Decoded,
    reply: &Reply,
    breaches: &[Breach],
    profile: &Profile,
) -> Vec<Breach> {
    let is_all = (exchange.end.is_clean() || reply.terminated) && !decoded.is_partial();
    let is_odd = decoded.framing == Framing::Sse && !breaches.is_empty();
    if !is_odd || !is_all || !exchange.succeeded() || reply.error.is_some() {
        return Vec::new();
    }
    let views = Views::of(exchange, decoded, reply);
    let crash = views.crashes(profile);
    crash.into_iter().chain(views.divergence(profile)).collect()
}

/// Says of each finding that counts which clients it breaks and how. What no lens shows stays as it is.
pub fn fill(findings: &mut [Finding], readings: &[Reading<'_>]) {
    let whole = readings.iter().find(|r| r.is_whole() && r.is_answer());
    let mut known: HashMap<&str, Option<Views<'_>>> = HashMap::new();
    for finding in findings.iter_mut().filter(|f| f.severity > Severity::Info) {
        let Some((reading, rounds)) = shows(finding, readings) else { continue };
        let views = known.entry(rounds).or_insert_with(|| Views::of_reading(reading));
        let Some(views) = views else { continue };
        let is_parity = finding.rule.starts_with("parity/");
        let effects = if is_parity {
            whole.map(|whole| views.against(&whole.reply, finding)).unwrap_or_default()
        } else {
            views.of_breach(finding)
        };
        if !effects.is_empty() {
            let known = Lens::CLIENTS.iter().map(|lens| lens.name);
            let others = if is_parity { Vec::new() } else { client::beside(&finding.rule, known) };
            finding.clients = grouped(&effects).into_iter().chain(others).collect();
        }
    }
}

/// The first stream that shows a finding.
fn shows<'a, 'b>(finding: &Finding, readings: &'a [Reading<'b>]) -> Option<(&'a Reading<'b>, &'a str)> {
    let streams = readings.iter().filter(|r| !r.is_whole() && r.exchange.succeeded());
    streams
        .map(|reading| (reading, reading.rounds.as_str()))
        .find(|(_, rounds)| finding.rounds.iter().any(|shown| shown == rounds))
}

/// Clients that do the same, together.
fn grouped(effects: &[(&'static str, Effect)]) -> Vec<(String, String)> {
    let mut groups: Vec<(Vec<&str>, &Effect)> = Vec::new();
    for (client, effect) in effects {
        match groups.iter_mut().find(|(_, known)| *known == effect) {
            Some((clients, _)) => clients.push(client),
            None => groups.push((vec![client], effect)),
        }
    }
    groups.into_iter().map(|(clients, effect)| (clients.join(", "), effect.said(clients.len()))).collect()
}

/// Everything that is said of one reply otherwise than of another. How clients show reasoning is no matter of the stream.
fn differences(left: &Reply, right: &Reply) -> Vec<Difference> {
    let mut found = compare(&aloud(left), &aloud(right), Equality::default());
    found.retain(|difference| SAID.contains(&difference.rule));
    found
}

fn aloud(reply: &Reply) -> Reply {
    let mut aloud = reply.clone();
    aloud.parts.retain(|part| !matches!(part, Part::Reasoning(_)));
    aloud
}

/// Whether a breach can be the reason why a client holds something else at a place.
fn concerns(rule: &str, path: &str) -> bool {
    let rule = rule.strip_prefix("openai-chat/").unwrap_or(rule);
    match rule.split('-').next() {
        Some("tool") if rule.starts_with("tool-finish") => path == "finish",
        Some("tool") => path.starts_with("tool_calls"),
        Some("finish") => path == "finish",
        Some("content") => path == "content",
        Some("error") => path.starts_with("error"),
        Some("id" | "chunk") => true,
        _ => rule.starts_with("sse/") || rule.starts_with("merge/"),
    }
}

// === impl Views ===

impl<'a> Views<'a> {
    fn of(exchange: &Exchange, decoded: &Decoded, strict: &'a Reply) -> Self {
        let (dialect, status) = (exchange.request.dialect, exchange.status());
        let held = Lens::CLIENTS
            .iter()
            .map(|lens| Held { client: lens.name, reply: read_as(lens, dialect, status, decoded) });
        Self { strict, held: held.collect() }
    }

    /// `None` where the answer is no stream.
    fn of_reading(reading: &'a Reading<'_>) -> Option<Self> {
        let decoded = decode(reading.exchange);
        (decoded.framing == Framing::Sse).then(|| Self::of(reading.exchange, &decoded, &reading.reply))
    }

    fn crashes(&self, profile: &Profile) -> Option<Breach> {
        let crashes = self.held.iter().filter_map(|held| {
            let crash = held.reply.as_ref().err()?;
            Some((held.client, Effect::Raises(crash.why), crash.event))
        });
        let crashes: Vec<_> = crashes.collect();
        let event = crashes.iter().find_map(|(_, _, event)| *event);
        let effects: Vec<_> = crashes.into_iter().map(|(client, effect, _)| (client, effect)).collect();
        let found = said(&effects)?;
        Some(Breach { event, ..breach("merge/sdk-crash", found, profile)? })
    }

    fn divergence(&self, profile: &Profile) -> Option<Breach> {
        let mut path = None;
        let mut effects = Vec::new();
        for (client, reply) in self.replies() {
            let found = differences(self.strict, reply);
            let first = found.iter().find_map(|d| Some((d.path.clone(), Effect::of(d, self.strict, reply)?)));
            let id = || Some(("tool_calls[0].id".to_owned(), other_id(self.strict, reply)?));
            if let Some((at, effect)) = first.or_else(id) {
                path.get_or_insert(at);
                effects.push((client, effect));
            }
        }
        let found = said(&effects)?;
        Some(Breach { path: path?, ..breach("merge/sdk-divergence", found, profile)? })
    }

    fn replies(&self) -> impl Iterator<Item = (&'static str, &Reply)> {
        self.held.iter().filter_map(|held| Some((held.client, held.reply.as_ref().ok()?)))
    }

    /// What a finding of the stream alone does to each client.
    fn of_breach(&self, finding: &Finding) -> Vec<(&'static str, Effect)> {
        let effects = self.held.iter().filter_map(|held| {
            let effect = match &held.reply {
                Err(crash) => client::raises(crash.why, &finding.rule).then_some(Effect::Raises(crash.why)),
                Ok(reply) => self.effect_on(reply, &finding.rule),
            };
            Some((held.client, effect?))
        });
        effects.collect()
    }

    /// What a client holds otherwise because of a break of `rule`.
    fn effect_on(&self, held: &Reply, rule: &str) -> Option<Effect> {
        let id = || other_id(self.strict, held).filter(|_| concerns(rule, "tool_calls"));
        let rest = || {
            let found = differences(self.strict, held);
            found.iter().filter(|d| concerns(rule, &d.path)).find_map(|d| Effect::of(d, self.strict, held))
        };
        if rule.starts_with("openai-chat/tool-id-") { id() } else { rest().or_else(id) }
    }

    /// What a difference from the whole reply means to each client.
    fn against(&self, whole: &Reply, finding: &Finding) -> Vec<(&'static str, Effect)> {
        let effects = self.held.iter().filter_map(|held| {
            let effect = match &held.reply {
                Err(crash) => Some(Effect::Raises(crash.why)),
                Ok(reply) => compare(
                    &aloud(whole),
                    &aloud(reply),
                    Equality { usage_completion: true, ..Equality::default() },
                )
                .iter()
                .find(|d| place(&d.path) == place(&finding.path))
                .and_then(|d| Effect::of(d, whole, reply)),
            };
            Some((held.client, effect?))
        });
        effects.collect()
    }
}

/// All of it in one line; `None` where there is nothing.
fn said(effects: &[(&'static str, Effect)]) -> Option<String> {
    let each: Vec<String> =
        grouped(effects).into_iter().map(|(clients, does)| format!("{clients} {does}")).collect();
    (!each.is_empty()).then(|| each.join("; "))
}
