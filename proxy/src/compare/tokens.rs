//! Evidence of tokens that both replies bring, where it differs. Of logprobs a rule of their own speaks.

use super::Difference;
use crate::fold::reply::Proof;

/// The rule that is broken where two replies come from different tokens.
pub const RULE: &str = "parity/token-ids";

/// The difference between the strongest evidence that both replies bring; `None` where it is equal or they share none.
pub fn compare(left: &Proof, right: &Proof) -> Option<Difference> {
    let (path, a, b) = left.shared(right)?;
    (a != b && path != Proof::LOGPROBS).then(|| first_apart(path, a, b))
}

/// The first part that differs, of evidence that lists its parts with commas between them.
fn first_apart(path: &str, left: &str, right: &str) -> Difference {
    if !left.contains(',') && !right.contains(',') {
        return Difference::of_values(RULE, path, Some(left), Some(right));
    }
    let (mut a, mut b) = (left.split(','), right.split(','));
    let mut at = 0;
    loop {
        let (x, y) = (a.next(), b.next());
        if x != y || x.is_none() {
            return Difference::of_values(RULE, &format!("{path}[{at}]"), x, y);
        }
        at += 1;
    }
}
