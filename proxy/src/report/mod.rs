//! What a run says at its end: one model, one file a format. Sees findings and run events only.
//!
//! In: [`RunEvent`](crate::run::event::RunEvent)s. Out: text on a terminal ([`text`]), `parity.json` ([`json`]).

pub mod json;
pub mod model;
pub mod plain;
pub mod text;

#[cfg(test)]
mod tests;

pub use model::Report;

/// The folder below `failed/` that keeps an entry's bytes: its id, with every character that a path may not like as `-`.
pub fn failed_folder(id: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._~-".contains(c) { c } else { '-' };
    let name: String = id.chars().map(keep).collect();
    // A name of dots only would be another folder.
    if name.trim_matches('.').is_empty() { format!("-{name}") } else { name }
}
