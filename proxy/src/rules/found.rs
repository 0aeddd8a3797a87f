//! Collects the breaches of one rule: places, values, a cap, and the number of those over it.
//!
//! In: what a check saw. Out: [`Breach`]es with their bytes and the severity of the profile.

use super::{Breach, Profile, Rule};
use crate::decode::{Anomaly, AnomalyKind, Decoded};
use serde_json::Value;
use std::fmt::{self, Display};

/// Breaches of one rule in one exchange that are told apart; the last one says how many there were in all.
pub const MAX_BREACHES: usize = 4;

/// Longest value quoted in a breach, in characters.
const MAX_SHOWN: usize = 60;

/// The breaches of one rule.
pub struct Found<'a> {
    rule: &'static Rule,
    decoded: &'a Decoded,
    breaches: Vec<Breach>,
    count: usize,
}

/// A JSON value, short enough to quote.
pub struct Shown<'a>(pub &'a Value);

// === impl Found ===

impl<'a> Found<'a> {
    /// Nothing found yet.
    pub const fn new(rule: &'static Rule, decoded: &'a Decoded) -> Self {
        Self { rule, decoded, breaches: Vec::new(), count: 0 }
    }

    /// Something wrong with the exchange as a whole.
    pub fn exchange(&mut self, found: impl Display) {
        self.add(None, "", found);
    }

    /// Something wrong in one event.
    pub fn event(&mut self, event: usize, path: impl Display, found: impl Display) {
        self.add(Some(event), path, found);
    }

    /// Every anomaly that `picks` picks; `picks` says what was found.
    pub fn anomalies(&mut self, picks: impl Fn(&AnomalyKind) -> Option<String>) {
        let decoded = self.decoded;
        for anomaly in &decoded.anomalies {
            if let Some(found) = picks(&anomaly.kind) {
                self.anomaly(anomaly, found);
            }
        }
    }

    /// The breaches, with the severity the profile gives them; none if it silences the rule.
    pub fn judged(mut self, profile: &Profile) -> Vec<Breach> {
        if self.breaches.is_empty() {
            return Vec::new();
        }
        let Some(severity) = profile.severity(self.rule.id, self.rule.severity) else { return Vec::new() };
        if let Some(last) = self.breaches.last_mut().filter(|_| self.count > MAX_BREACHES) {
            last.found = format!("{} ({} in all)", last.found, self.count);
        }
        for breach in &mut self.breaches {
            breach.severity = severity;
        }
        self.breaches
    }

    fn anomaly(&mut self, anomaly: &Anomaly, found: impl Display) {
        if let Some(breach) = self.add(anomaly.event, "", found) {
            breach.span = Some(anomaly.span);
        }
    }

    fn add(&mut self, event: Option<usize>, path: impl Display, found: impl Display) -> Option<&mut Breach> {
        self.count += 1;
        if self.breaches.len() == MAX_BREACHES {
            return None;
        }
        let span = event.and_then(|at| self.decoded.events.get(at)).map(|event| event.span);
        self.breaches.push(Breach {
            rule: self.rule.id,
            severity: self.rule.severity,
            path: path.to_string(),
            found: found.to_string(),
            event,
            span,
        });
        self.breaches.last_mut()
    }
}

// === impl Shown ===

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Array(items) => write!(f, "an array of {}", items.len()),
            Value::Object(members) => write!(f, "an object of {}", members.len()),
            Value::String(text) if text.chars().nth(MAX_SHOWN).is_some() => {
                write!(f, "{:?}…", text.chars().take(MAX_SHOWN).collect::<String>())
            }
            scalar => scalar.fmt(f),
        }
    }
}
