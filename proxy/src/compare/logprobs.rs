//! Logprobs: the tokens, and how likely each was.
//!
//! Logprobs that come in one mode only are a difference of their own;
//! values are compared where the tokens are equal, and within a tolerance: batches change floats.

use super::Difference;
use crate::fold::{Reply, reply::Logprobs};

/// Most by which the logprobs of one token differ: more than a change of batch does, less than another model.
const TOLERANCE: f64 = 5e-2;

/// What the documents send for a token that is too unlikely; servers send other numbers below it, or none.
const FLOOR: f64 = -9999.0;

/// Compares logprobs.
pub(super) fn compare(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    match (&left.logprobs, &right.logprobs) {
        (Some(a), Some(b)) => found.extend(tokens_differ(a, b).or_else(|| values_differ(a, b))),
        (None, None) => {}
        (a, b) => {
            let there = |logprobs: &Option<Logprobs>| logprobs.as_ref().map(|_| "there");
            found.push(Difference::of_values("parity/logprobs-absent", "logprobs", there(a), there(b)));
        }
    }
}

fn tokens_differ(left: &Logprobs, right: &Logprobs) -> Option<Difference> {
    let (mut a, mut b) = (left.entries(), right.entries());
    for at in 0.. {
        let (x, y) = (a.next(), b.next());
        if x.is_none() && y.is_none() {
            break;
        }
        let token = |entry: Option<(&str, usize, Option<f64>)>| entry.map(|(token, ..)| format!("{token:?}"));
        let (was, is) = (token(x), token(y));
        if was != is {
            let path = format!("logprobs[{at}].token");
            let one = Difference::of_values("parity/logprobs-tokens", &path, was.as_deref(), is.as_deref());
            return Some(one.at(x.map(|(_, event, _)| event), y.map(|(_, event, _)| event)));
        }
    }
    None
}

/// The first value out of tolerance, of equally many tokens.
fn values_differ(left: &Logprobs, right: &Logprobs) -> Option<Difference> {
    let pairs = left.entries().zip(right.entries()).enumerate();
    let mut apart = pairs.filter(|(_, ((_, _, x), (_, _, y)))| (floored(*x) - floored(*y)).abs() > TOLERANCE);
    apart.next().map(|(at, ((_, event, x), (_, other, y)))| {
        let text = |value: Option<f64>| value.map(|v| v.to_string());
        let path = format!("logprobs[{at}].logprob");
        Difference::of_values("parity/logprobs-values", &path, text(x).as_deref(), text(y).as_deref())
            .at(Some(event), Some(other))
    })
}

fn floored(value: Option<f64>) -> f64 {
    value.map_or(FLOOR, |v| v.max(FLOOR))
}
