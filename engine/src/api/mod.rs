//! The HTTP surface: routes, refusals, and one file a dialect.

mod body;
mod clock;
mod errors;
mod ids;
mod json;
mod models;
mod openai_chat;
mod router;
mod steering;

pub use body::Body;
pub use router::Service;
