//! The finish reason: exact.

use super::Difference;
use crate::fold::Reply;

/// Compares the finish reasons.
pub(super) fn compare(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    let (a, b) = (left.finish_reason(), right.finish_reason());
    if a != b {
        let event = |reply: &Reply| reply.finish.as_ref().map(|(_, event)| *event);
        found.push(
            Difference::of_values("parity/finish-reason", "finish", a, b).at(event(left), event(right)),
        );
    }
}
