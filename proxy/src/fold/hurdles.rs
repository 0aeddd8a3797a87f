//! How far a client gets in a stream before bytes or JSON stop it.

use super::lens::{Bytes, Does};
use crate::decode::{Anomaly, AnomalyKind, Decoded, Span};

/// What a client gets to see of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// Events at the start that it loses.
    pub skipped: usize,
    /// The offset up to which it gets events at all.
    pub end: usize,
    /// Where it raises, and on what.
    hurdle: Option<(usize, &'static str)>,
}

// === impl Reach ===

impl Reach {
    pub fn of(decoded: &Decoded, bytes: Bytes) -> Self {
        let anomalies = decoded.anomalies.as_slice();
        let mark = anomalies.iter().any(|a| a.kind == AnomalyKind::LeadingBom);
        let end = readable_end(anomalies, bytes);
        let hurdle = anomalies.iter().find_map(|anomaly| {
            let (does, why) = reaction(anomaly, anomalies, bytes)?;
            (does == Does::Crashes && anomaly.span.end <= end).then_some((anomaly.span.start, why))
        });
        Self { skipped: usize::from(mark && bytes.mark.skips()), end, hurdle }
    }

    /// What it raises on before `offset`.
    pub fn raises_before(&self, offset: usize) -> Option<&'static str> {
        self.hurdle.filter(|(at, _)| *at < offset).map(|(_, why)| why)
    }
}

fn readable_end(anomalies: &[Anomaly], bytes: Bytes) -> usize {
    let lost = anomalies.iter().find(|anomaly| match anomaly.kind {
        AnomalyKind::CarriageReturn => bytes.bare_cr.skips(),
        AnomalyKind::UnterminatedEvent => bytes.unterminated.skips(),
        _ => false,
    });
    lost.map_or(usize::MAX, |anomaly| anomaly.span.start)
}

fn reaction(anomaly: &Anomaly, all: &[Anomaly], bytes: Bytes) -> Option<(Does, &'static str)> {
    match anomaly.kind {
        AnomalyKind::InvalidUtf8 => Some((bytes.invalid_utf8, "bytes that are not UTF-8")),
        AnomalyKind::NonFiniteNumber => Some((bytes.non_finite, "NaN or Infinity")),
        AnomalyKind::NotJson(_) | AnomalyKind::GluedJson | AnomalyKind::EmptyData => {
            Some((bytes.not_json, "data that is no JSON document"))
        }
        AnomalyKind::EventWithoutData if has_retry(anomaly.span, all) => {
            Some((bytes.bare_retry, "a block with retry alone"))
        }
        AnomalyKind::EventWithoutData => Some((bytes.bare_block, "an event without data")),
        _ => None,
    }
}

fn has_retry(span: Span, all: &[Anomaly]) -> bool {
    let from = all.partition_point(|a| a.span.start < span.start);
    let inside = all.iter().skip(from).take_while(|a| a.span.start < span.end);
    inside.into_iter().any(|a| a.kind == AnomalyKind::RetryField)
}
