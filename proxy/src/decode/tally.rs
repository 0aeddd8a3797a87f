//! Anomalies as they are found: each kind is kept one by one up to a cap and counted after that, so that a hostile
//! body cannot fill memory with complaints. Out: anomalies by position, each with the event it lies in.

use super::{Anomaly, AnomalyKind, Event, MAX_ANOMALIES, Span};
use std::mem::{Discriminant, discriminant};

/// Anomalies found so far.
#[derive(Debug, Default)]
pub struct Tally {
    kept: Vec<Anomaly>,
    kinds: Vec<Count>,
    noted: usize,
}

#[derive(Debug)]
struct Count {
    of: Discriminant<AnomalyKind>,
    kept: usize,
    further: Option<(Span, AnomalyKind, usize)>,
}

// === impl Tally ===

impl Tally {
    /// Notes one.
    pub fn note(&mut self, span: Span, kind: AnomalyKind) {
        self.noted += 1;
        let count = count_of(&mut self.kinds, discriminant(&kind));
        if count.kept < MAX_ANOMALIES {
            count.kept += 1;
            self.kept.push(Anomaly { span, event: None, kind });
        } else {
            count.further.get_or_insert((span, kind, 0)).2 += 1;
        }
    }

    /// How many were noted so far.
    pub const fn noted(&self) -> usize {
        self.noted
    }

    /// All of them, by position, each with the event whose bytes it lies in.
    pub fn finish(self, events: &[Event]) -> Vec<Anomaly> {
        let more = self.kinds.into_iter().filter_map(|c| c.further).map(|(span, kind, count)| Anomaly {
            span,
            event: None,
            kind: AnomalyKind::More { kind: Box::new(kind), count },
        });
        let mut all: Vec<Anomaly> = self.kept.into_iter().chain(more).collect();
        all.sort_by(|a, b| (a.span, &a.kind).cmp(&(b.span, &b.kind)));
        for anomaly in &mut all {
            anomaly.event = event_at(events, anomaly.span.start);
        }
        all
    }
}

fn count_of(kinds: &mut Vec<Count>, of: Discriminant<AnomalyKind>) -> &mut Count {
    let at = kinds.iter().position(|c| c.of == of).unwrap_or(kinds.len());
    if at == kinds.len() {
        kinds.push(Count { of, kept: 0, further: None });
    }
    #[expect(clippy::indexing_slicing, reason = "at is a position that was found or has just been pushed")]
    &mut kinds[at]
}

fn event_at(events: &[Event], offset: usize) -> Option<usize> {
    let next = events.partition_point(|e| e.span.start <= offset);
    let at = next.checked_sub(1)?;
    (offset < events.get(at)?.span.end).then_some(at)
}
