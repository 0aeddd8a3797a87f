//! Makes the exchanges of one entry: in order, with patience for a busy server, and no further once transport fails. A field
//! that the server refuses and the question does not need is left out.

use super::dropped::{Dropped, Refusals, is_wrong, refused};
use crate::{
    exchange::{Exchange, Sender},
    plan::{Entry, Planned},
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

/// Makes the exchanges of an entry, without what the server is known to refuse. Where it refuses one more field that the
/// question does not need, all is asked again without it; if that helps, the field is not sent again in this run.
pub async fn ask(
    sender: &Sender,
    entry: &Entry,
    planned: &[Planned],
    retries: u32,
    refusals: &Refusals,
) -> Asked {
    // What should be refused may be so for any reason.
    if entry.wants_error() {
        return exchanges(sender, planned, retries, |_| false).await;
    }
    let mut planned = refusals.without(planned);
    let mut asked = exchanges(sender, &planned, retries, |made| unneeded(entry, made).is_some()).await;
    while let Some(dropped) = unneeded(entry, &asked.exchanges) {
        let fewer = dropped.strip(&planned);
        let mut again = exchanges(sender, &fewer, retries, |made| unneeded(entry, made).is_some()).await;
        again.retried += asked.retried + asked.exchanges.len();
        if is_refused_still(entry, &asked, &again) {
            let mut all = exchanges(sender, &planned, retries, |_| false).await;
            all.retried += again.retried + again.exchanges.len();
            return all;
        }
        refusals.note(dropped);
        (planned, asked) = (fewer, again);
    }
    asked
}

/// Makes the exchanges, as long as there are not enough.
async fn exchanges(
    sender: &Sender,
    planned: &[Planned],
    retries: u32,
    is_enough: impl Fn(&[Exchange]) -> bool,
) -> Asked {
    let mut asked = Asked::default();
    for one in planned {
        let exchange = patiently(sender, one, retries, &mut asked.retried).await;
        asked.exchanges.push(exchange);
        let is_broken = asked.exchanges.iter().filter(|e| !e.end.is_clean()).count() >= MAX_BROKEN;
        if is_broken || is_enough(&asked.exchanges) {
            break;
        }
    }
    asked
}

/// The field for which the last exchange was refused, if the question does not need it. A field of the case's own has to be
/// refused in both modes: taken in one, that is what there is to be found.
fn unneeded(entry: &Entry, made: &[Exchange]) -> Option<Dropped> {
    let dropped = refused(made.last()?)?;
    if !entry.body.contains_key(dropped.field) {
        return Some(dropped);
    }
    let is_alike =
        made.iter().all(|exchange| refused(exchange).is_some_and(|other| other.field == dropped.field));
    let [first, .., last] = made else { return None };
    (dropped.is_of_sampling() && is_alike && first.mode != last.mode).then_some(dropped)
}

/// Whether the exchange at which the first attempt ended is refused again, for something else or for nothing that is named: the
/// field was not it, or not it alone.
fn is_refused_still(entry: &Entry, first: &Asked, second: &Asked) -> bool {
    let same = second.exchanges.get(first.exchanges.len().saturating_sub(1));
    same.is_some_and(is_wrong) && unneeded(entry, &second.exchanges).is_none()
}

/// Makes an exchange, and again while the server is busy.
pub async fn patiently(sender: &Sender, planned: &Planned, retries: u32, retried: &mut usize) -> Exchange {
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
