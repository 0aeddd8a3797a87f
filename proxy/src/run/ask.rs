//! Makes the exchanges of one entry: in order, with patience for a busy server, and no further once transport fails.

use crate::{
    exchange::{Exchange, Sender},
    plan::Planned,
};
use std::time::Duration;

/// Transport failures after which an entry is given up: one in each mode.
const MAX_BROKEN: usize = 2;

/// The wait before the first retry; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait that a server's `Retry-After` is granted.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

/// What came of an entry's exchanges.
#[derive(Debug, Default)]
pub struct Asked {
    /// Those that count, in the order sent.
    pub exchanges: Vec<Exchange>,
    /// How many were sent again.
    pub retried: usize,
}

/// Makes the exchanges.
pub async fn ask(sender: &Sender, planned: &[Planned], retries: u32) -> Asked {
    let mut asked = Asked::default();
    for one in planned {
        let exchange = patiently(sender, one, retries, &mut asked.retried).await;
        asked.exchanges.push(exchange);
        if asked.exchanges.iter().filter(|e| !e.end.is_clean()).count() >= MAX_BROKEN {
            break;
        }
    }
    asked
}

async fn patiently(sender: &Sender, planned: &Planned, retries: u32, retried: &mut usize) -> Exchange {
    let mut exchange = sender.exchange(planned).await;
    for attempt in 0..retries {
        if !is_busy(exchange.status()) {
            break;
        }
        tokio::time::sleep(wait(&exchange, attempt)).await;
        *retried += 1;
        exchange = sender.exchange(planned).await;
    }
    exchange
}

/// Whether a status says "later": too many requests, unavailable, overloaded.
pub fn is_busy(status: Option<u16>) -> bool {
    matches!(status, Some(429 | 503 | 529))
}

/// How long to wait before the next attempt: as the server says, within reason, else twice as long each time.
fn wait(exchange: &Exchange, attempt: u32) -> Duration {
    let said = exchange.head.as_ref().and_then(|head| head.header("retry-after")?.trim().parse().ok());
    let own = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt));
    said.map_or(own, Duration::from_secs).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{End, Head, Took};
    use crate::request::{Dialect, Mode, Request};

    fn busy(retry_after: Option<&str>) -> Exchange {
        let headers = retry_after.map(|v| ("retry-after".to_owned(), v.to_owned())).into_iter().collect();
        Exchange {
            mode: Mode::Whole,
            rounds: None,
            request: Request {
                dialect: Dialect::OpenaiChat,
                path: String::new(),
                headers: Vec::new(),
                body: "".into(),
            },
            head: Some(Head { status: 429, headers }),
            slices: Vec::new(),
            end: End::Complete,
            took: Took::default(),
        }
    }

    #[test]
    fn the_server_says_how_long_within_reason() {
        for (said, attempt, millis) in [
            (None, 0, 500),
            (None, 1, 1_000),
            (None, 40, 30_000),
            (Some("2"), 0, 2_000),
            (Some("0"), 3, 0),
            (Some("9999"), 0, 30_000),
            (Some("Wed, 21 Oct 2015 07:28:00 GMT"), 1, 1_000),
        ] {
            assert_eq!(wait(&busy(said), attempt), Duration::from_millis(millis), "{said:?} {attempt}");
        }
    }

    #[test]
    fn three_statuses_say_later() {
        assert_eq!([429, 503, 529, 500, 200].map(|s| is_busy(Some(s))), [true, true, true, false, false]);
        assert!(!is_busy(None));
    }
}
