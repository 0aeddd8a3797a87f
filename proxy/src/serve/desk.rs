//! What serving and replaying need from elsewhere: judging, sending, twins, time.

use crate::{
    exchange::Exchange,
    plan::Rounds,
    request::{Mode, Request},
    run::Judged,
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

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk(..)")
    }
}
