//! Evidence of tokens that both replies bring, where it differs.

use super::Difference;
use crate::fold::reply::Proof;

/// The rule that is broken where two replies come from different tokens.
pub const RULE: &str = "parity/token-ids";

/// The difference between the strongest evidence that both replies bring; `None` where it is equal or they share none.
pub fn compare(left: &Proof, right: &Proof) -> Option<Difference> {
    let (path, a, b) = left.shared(right)?;
    (a != b).then(|| Difference::of_values(RULE, path, Some(a), Some(b)))
}
