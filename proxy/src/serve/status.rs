//! The counters behind `GET /tfproxy/status`, the only path that is not forwarded.

use crate::{
    exchange::Root,
    finding::{Finding, Severity},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The path of the counters.
pub(super) const PATH: &str = "/tfproxy/status";

#[derive(Debug, Default)]
pub(super) struct Status {
    pub forwarded: AtomicU64,
    pub judged: AtomicU64,
    pub cancelled: AtomicU64,
    pub unreachable: AtomicU64,
    pub twins: AtomicU64,
    pub twins_dropped: AtomicU64,
    /// Exchanges that should have been recorded and were given up.
    pub not_recorded: AtomicU64,
    findings: [AtomicU64; 3],
    failed: Mutex<Failed>,
}

#[derive(Debug, Default)]
struct Failed {
    /// Folders below the report's `failed/`, in the order they came.
    ids: Vec<String>,
    /// How often each request failed.
    counts: HashMap<String, u64>,
    /// Failing exchanges beyond those that are kept.
    not_kept: u64,
}

// === impl Status ===

impl Status {
    /// Counts what was found in one exchange.
    pub fn judged(&self, findings: &[Finding]) {
        self.judged.fetch_add(1, Relaxed);
        for finding in findings {
            self.of(finding.severity).fetch_add(1, Relaxed);
        }
    }

    fn of(&self, severity: Severity) -> &AtomicU64 {
        let [error, warn, info] = &self.findings;
        match severity {
            Severity::Error => error,
            Severity::Warn => warn,
            Severity::Info => info,
        }
    }

    /// The id of another failing exchange of the request with that stem; `None` where enough are kept.
    pub fn failed(&self, stem: &str, id: Option<&str>) -> Option<String> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.ids.len() >= super::MAX_FAILED {
            failed.not_kept += 1;
            return None;
        }
        let count = failed.counts.entry(stem.to_owned()).or_default();
        *count += 1;
        let id = id.map_or_else(|| format!("{stem}-{count}"), ToOwned::to_owned);
        failed.ids.push(id.clone());
        Some(id)
    }

    /// All of it as JSON.
    pub fn value(&self, upstream: &Root) -> Value {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let [error, warn, info] = self.findings.each_ref().map(|count| count.load(Relaxed));
        json!({
            "schema": "tfproxy.status/1",
            "upstream": upstream.to_string(),
            "exchanges": self.forwarded.load(Relaxed),
            "judged": self.judged.load(Relaxed),
            "cancelled": self.cancelled.load(Relaxed),
            "unreachable": self.unreachable.load(Relaxed),
            "twins": { "sent": self.twins.load(Relaxed), "dropped": self.twins_dropped.load(Relaxed) },
            "not_recorded": self.not_recorded.load(Relaxed),
            "findings": { "error": error, "warn": warn, "info": info },
            "failed": failed.ids,
            "failed_not_kept": failed.not_kept,
        })
    }
}
