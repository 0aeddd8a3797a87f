//! What serving and replaying need from elsewhere: judging, sending, twins, time. And what counts as failing.

use crate::{
    exchange::Exchange,
    finding::Finding,
    plan::Rounds,
    request::{Mode, Request},
    rules::Severity,
    run::{Judged, Verdict},
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::{fmt, sync::Arc};

/// Judges all exchanges of one request. The value is what was expected, as its case file says it.
pub type Judge = Arc<dyn Fn(&Request, &[Exchange], Option<&Value>) -> Judged + Send + Sync>;

/// Sends one request. An exchange comes back whatever happens.
pub type Sender = Arc<dyn Fn(Ask) -> BoxFuture<'static, Exchange> + Send + Sync>;

/// The request that asks the same in a mode; `None` where there is none (the body is no JSON object).
pub type TwinOf = Arc<dyn Fn(&Request, Mode) -> Option<Request> + Send + Sync>;

/// Microseconds since some fixed moment.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A request to be sent.
#[derive(Clone)]
pub struct Ask {
    /// Byte for byte; `x-tfproxy-rounds` is among its headers where a schedule is asked for.
    pub request: Request,
    /// How it asks.
    pub mode: Mode,
    /// The schedule it asks for.
    pub rounds: Option<Rounds>,
    /// Headers that hold secrets: to be sent, never to be kept.
    pub credentials: Vec<(String, String)>,
}

/// All of it together.
#[derive(Clone)]
pub struct Desk {
    /// Judges.
    pub judge: Judge,
    /// Sends twins to the same upstream.
    pub sender: Sender,
    /// Makes twins.
    pub twin: TwinOf,
    /// Tells the time.
    pub clock: Clock,
}

/// From where on a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailOn {
    /// Errors.
    #[default]
    Error,
    /// Warnings too.
    Warn,
    /// Warnings, and differences without proof.
    Suspect,
}

/// Whether what was judged counts as failing. A difference without proof of equal tokens counts only where asked.
pub fn fails(judged: &Judged, fail_on: FailOn) -> bool {
    let least = if fail_on == FailOn::Error { Severity::Error } else { Severity::Warn };
    match judged.verdict {
        Verdict::Suspect | Verdict::Unstable if fail_on == FailOn::Suspect => true,
        verdict => judged.findings.iter().any(|f| f.severity >= least && is_proven(verdict, f)),
    }
}

/// Without proof of equal tokens a difference blames nobody; a broken rule needs no proof.
fn is_proven(verdict: Verdict, finding: &Finding) -> bool {
    let is_difference = finding.rule.starts_with("parity/");
    !(is_difference && matches!(verdict, Verdict::Suspect | Verdict::Unstable))
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk(..)")
    }
}
