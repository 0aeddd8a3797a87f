//! The finish reason: exact; and what made the model stop, where both replies name it.

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
    if let (Some(x), Some(y)) = (&left.stop_detail, &right.stop_detail)
        && x != y
    {
        found.push(Difference::of_values("parity/stop-detail", "stop_reason", Some(x), Some(y)));
    }
}
