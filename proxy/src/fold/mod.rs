//! Events to one dialect-neutral [`Reply`]. Pure; one file a dialect.

use crate::{decode::Decoded, request::Dialect};

pub mod lens;
pub mod reply;

pub use lens::Lens;
pub use reply::Reply;

/// Folds what was decoded into the reply a client would hold, read through `lens`.
pub fn fold(dialect: Dialect, status: Option<u16>, decoded: &Decoded, lens: &Lens) -> Reply {
    let _ = (dialect, status, decoded, lens);
    Reply::default()
}
