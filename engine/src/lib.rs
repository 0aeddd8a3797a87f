//! tfengine: the engine tfproxy brings along. Its whole and streamed replies agree by construction.
//!
//! # Layout
//!
//! - `server`: connections in, each with its caps; `serve(Config) -> Server`
//! - `api`: routes and refusals; one folder a dialect: JSON to a neutral request, reply events to JSON or SSE
//! - `chat`: the neutral request
//! - `model`: the native puppet, which says what it is told
//! - `text`: tokenizer, detokenizer
//! - `generate`: rounds, stop strings, usage; tokens to reply events
//! - `read`: text to reply events, and their fold
//! - `plant`: deliberate faults and legal oddities, at three seams; nothing else knows of them

#![deny(unsafe_code)]

mod api;
mod chat;
mod generate;
mod model;
mod plant;
pub mod read;
mod server;
mod text;

pub use plant::{PlantKind, PlantSpec, Seam, Switch, plants};
pub use server::{Config, ServeError, Server, serve};
