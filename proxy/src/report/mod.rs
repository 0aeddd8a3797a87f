//! What a run says at its end: one model, one file a format. Sees findings and run events only.
//!
//! In: [`RunEvent`](crate::run::event::RunEvent)s. Out: text on a terminal ([`text`]), `parity.json` ([`json`]).

mod fault;
pub mod json;
pub mod model;
mod proof;
pub mod show;
pub mod text;

#[cfg(test)]
mod tests;

pub use model::Report;
