//! The same bytes read again: in other slices, and by another reader. A reading that depends on either is a finding.

use crate::{
    decode::{Cut, Decoded, Framing, first_difference, recut, whatwg},
    exchange::{End, Exchange},
    fold::{Lens, fold},
    request::select::stable_hash,
    rules::{Breach, Profile, catalogue},
};

/// Bodies up to this size are read again in slices of one byte and of seven; longer ones in random slices only, which
/// costs no more than the first reading.
const MAX_FINE: usize = 1 << 20;

/// Bodies up to this size are read by the other reader too, which takes a copy of all it reads.
const MAX_SECOND: usize = 4 << 20;

/// Reads an event stream again.
pub fn check(exchange: &Exchange, decoded: &Decoded, profile: &Profile) -> Vec<Breach> {
    if decoded.framing != Framing::Sse || exchange.end == End::TooLarge {
        return Vec::new();
    }
    let length = exchange.received();
    let recut = other_slices(exchange, length, decoded).map(|found| ("sse/recut", found));
    let second = other_reader(exchange, length, decoded).map(|found| ("sse/second-reading", found));
    recut.into_iter().chain(second).filter_map(|(rule, found)| breach(rule, found, profile)).collect()
}

/// Equal events make an equal reply, so only where they differ the reply is folded again.
fn other_slices(exchange: &Exchange, length: usize, decoded: &Decoded) -> Option<String> {
    let parts = || exchange.slices.iter().map(|slice| &slice.bytes[..]);
    let start: Vec<u8> = parts().flatten().copied().take(256).collect();
    let cuts = [Cut::Every(1), Cut::Every(7), Cut::Random(stable_hash(&start))];
    let cuts = if length > MAX_FINE { &cuts[2..] } else { &cuts[..] };
    cuts.iter().find_map(|&cut| {
        let at = first_difference(parts(), cut, decoded)?;
        if length > MAX_FINE {
            return Some(format!("another event {at} when cut {cut:?}"));
        }
        let folded =
            |decoded: &Decoded| fold(exchange.request.dialect, exchange.status(), decoded, &Lens::STRICT);
        let again = recut(&exchange.body(), cut);
        let reply = if folded(&again) == folded(decoded) { "the same reply" } else { "another reply" };
        Some(format!("another event {at} and {reply} when cut {cut:?}"))
    })
}

fn other_reader(exchange: &Exchange, length: usize, decoded: &Decoded) -> Option<String> {
    if decoded.is_partial() || length > MAX_SECOND {
        return None;
    }
    match whatwg::second_reading(&exchange.body()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Payload, tests::exchange};

    #[test]
    fn another_reading_is_told_with_what_it_does_to_the_reply() {
        let exchange = exchange(
            "text/event-stream",
            &[b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"],
        );
        let decoded = crate::decode::decode(&exchange);
        let said = |decoded: &Decoded| -> Vec<String> {
            check(&exchange, decoded, Profile::openai())
                .into_iter()
                .map(|b| format!("{}: {}", b.rule, b.found))
                .collect()
        };
        assert_eq!(said(&decoded), [""; 0]);
        let mut other = decoded.clone();
        other.events[0].payload = Payload::Other;
        other.events[0].data = "".into();
        let told = said(&other);
        assert_eq!(told[0], "sse/recut: another event 0 and another reply when cut Every(1)");
        assert!(told[1].starts_with("sse/second-reading: event 0 reads differently"), "{told:?}");
        other = decoded;
        other.events[1].span.end += 1;
        assert_eq!(said(&other), ["sse/recut: another event 1 and the same reply when cut Every(1)"]);
    }
}
