//! The same bytes read again: in other slices, and by another reader. A reading that depends on either is a finding.

use crate::{
    decode::{Cut, Decoded, Framing, recut, same_events, whatwg},
    exchange::{End, Exchange},
    request::select::stable_hash,
    rules::{Breach, Profile, catalogue},
};

/// Bodies up to this size are read again in slices of one byte and of seven; longer ones in random slices only, which
/// costs no more than the first reading.
const MAX_FINE: usize = 1 << 20;

/// Reads an event stream again.
pub fn check(exchange: &Exchange, decoded: &Decoded, profile: &Profile) -> Vec<Breach> {
    if decoded.framing != Framing::Sse || exchange.end == End::TooLarge {
        return Vec::new();
    }
    let body = exchange.body();
    let recut = other_slices(&body, decoded).map(|found| ("sse/recut", found));
    let second = other_reader(&body, decoded).map(|found| ("sse/second-reading", found));
    recut.into_iter().chain(second).filter_map(|(rule, found)| breach(rule, found, profile)).collect()
}

fn other_slices(body: &[u8], decoded: &Decoded) -> Option<String> {
    let random = Cut::Random(stable_hash(body.get(..body.len().min(256)).unwrap_or_default()));
    let cuts = [Cut::Every(1), Cut::Every(7), random];
    let cuts = if body.len() > MAX_FINE { &cuts[2..] } else { &cuts[..] };
    let differs = cuts.iter().find(|cut| !same_events(decoded, &recut(body, **cut)));
    differs.map(|cut| format!("other events when cut {cut:?}"))
}

fn other_reader(body: &[u8], decoded: &Decoded) -> Option<String> {
    match whatwg::second_reading(body) {
        Ok(second) => whatwg::disagreement(decoded, &second),
        Err(failed @ (whatwg::NotAsked::Panicked | whatwg::NotAsked::Failed(_))) => Some(failed.to_string()),
        // What it cannot be asked is told by a rule of its own.
        Err(_) => None,
    }
}

/// A broken rule of the exchange as a whole, with the severity that the catalogue and the profile give it.
pub fn breach(rule: &'static str, found: String, profile: &Profile) -> Option<Breach> {
    let severity = profile.severity(rule, catalogue::describe(rule)?.severity)?;
    Some(Breach { rule, severity, path: String::new(), found, event: None, span: None })
}
