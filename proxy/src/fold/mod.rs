//! Events to one dialect-neutral [`Reply`]. Pure; one file a dialect.
//!
//! In: [`Decoded`], the HTTP status, and a [`Lens`]: whose reading it is. Out: the [`Reply`] that client would hold.
//! Fields of a wrong kind are passed over or kept as text; saying so is the rules' part.

use crate::{
    decode::{Decoded, Framing},
    request::Dialect,
};

mod beside;
mod calls;
mod chat;
mod extras;
mod failure;
mod halves;
mod hurdles;
pub mod lens;
mod logprobs;
pub mod reply;
mod tokens;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

pub use calls::MAX_CALLS;
pub use lens::{Crash, Lens};
pub use reply::Reply;

/// Folds what was decoded into the reply a client would hold, read through `lens`. Where that client would raise, it
/// is what it held until then; [`Lens::STRICT`] never does.
pub fn fold(dialect: Dialect, status: Option<u16>, decoded: &Decoded, lens: &Lens) -> Reply {
    read(dialect, status, decoded, lens).0
}

/// The same, where a client that raises gives no reply but its [`Crash`].
pub fn read_as(
    lens: &Lens,
    dialect: Dialect,
    status: Option<u16>,
    decoded: &Decoded,
) -> Result<Reply, Crash> {
    let (reply, crash) = read(dialect, status, decoded, lens);
    crash.map_or(Ok(reply), Err)
}

fn read(dialect: Dialect, status: Option<u16>, decoded: &Decoded, lens: &Lens) -> (Reply, Option<Crash>) {
    let (mut reply, crash) = match (dialect, decoded.framing) {
        (Dialect::OpenaiChat, Framing::Sse) => chat::stream(decoded, lens),
        (Dialect::OpenaiChat, Framing::Json) => (chat::whole(decoded), None),
        (_, Framing::Other) => (Reply::default(), None),
    };
    reply.error = failure::of_answer(reply.error.take(), status, decoded);
    if halves::are_in(decoded) {
        halves::settle(&mut reply);
    }
    (reply, crash)
}
