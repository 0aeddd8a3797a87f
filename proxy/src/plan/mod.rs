//! Which exchanges to make of a case: variants (one call, cuts), roles, rounds, order. Pure: no IO, no clock.
//!
//! In: cases, and what is known of the upstream. Out: entries in a fixed order, and for each the exchanges to make.

use crate::request::{Dialect, Mode, Request, case::Case, select::Selection, twin::twin};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::sync::Arc;

pub mod entry;
pub mod rounds;
#[cfg(test)]
mod tests;
pub mod tokens;

pub use entry::{Depth, Entry, Variant};
pub use rounds::Rounds;

/// What the plan must know of the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Who answers.
    pub model: Model,
    /// Who decides how a reply is cut into deltas.
    pub cadence: Cadence,
    /// A plant or decoy to switch on.
    pub plant: Option<String>,
    /// How often all of it is asked, at least once.
    pub repeat: usize,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// Puppets of these formats, each under the name `puppet-FORMAT`.
    Puppets(Vec<String>),
    /// A model of that name, which says what it wants to.
    Named(String),
}

/// Who decides how a reply is cut into deltas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cadence {
    /// The server; it is asked whole, streamed, streamed, whole, so that what it keeps between requests cancels out.
    Server,
    /// We do, by a header.
    Header(Vec<Rounds>),
    /// We do, by a suffix of the model's name, since a gateway may drop headers.
    ModelName(Vec<Rounds>),
}

/// One exchange to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Whole or streamed.
    pub mode: Mode,
    /// The schedule; `None` where the server decides.
    pub rounds: Option<Rounds>,
    /// What to send.
    pub request: Request,
}

/// The header that asks for a schedule.
pub const ROUNDS_HEADER: &str = "x-tfproxy-rounds";

/// The header that switches on a plant or a decoy.
const PLANT_HEADER: &str = "x-tfproxy-plant";

/// The entries that a selection leaves of some cases, in the order of the cases.
pub fn plan(cases: &[Arc<Case>], dialects: &[Dialect], depth: Depth, selection: &Selection) -> Vec<Entry> {
    let cases = cases.iter().filter(|case| selection.keeps_case(&case.id));
    let entries = cases.flat_map(|case| {
        let wanted = case.dialects.iter().filter(|d| dialects.contains(d));
        wanted.flat_map(move |dialect| entry::entries(case, *dialect, depth))
    });
    entries.filter(|entry| selection.keeps_entry(&entry.id)).collect()
}

/// The exchanges of an entry in the order they are made; or why it cannot be asked.
pub fn exchanges(entry: &Entry, target: &Target) -> Result<Vec<Planned>, String> {
    let model = target.model.name(entry)?;
    // A body that names its own schedule is asked as it is.
    let is_own = entry.body.get("model").and_then(Value::as_str).is_some_and(|m| m.contains("+rounds-"));
    let cadence = if is_own { &Cadence::Server } else { &target.cadence };
    let once: Vec<(Mode, Option<Rounds>)> = match cadence {
        Cadence::Server => [Mode::Whole, Mode::Stream, Mode::Stream, Mode::Whole].map(|m| (m, None)).into(),
        Cadence::Header(rounds) | Cadence::ModelName(rounds) => {
            let streams = rounds.iter().map(|r| (Mode::Stream, Some(*r)));
            [(Mode::Whole, None)].into_iter().chain(streams).collect()
        }
    };
    let all = once.iter().cycle().take(once.len() * target.repeat.max(1));
    Ok(all.map(|(mode, rounds)| planned(entry, target, &model, *mode, *rounds)).collect())
}

fn planned(entry: &Entry, target: &Target, model: &str, mode: Mode, rounds: Option<Rounds>) -> Planned {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let mut model = model.to_owned();
    match (&target.cadence, rounds) {
        (Cadence::Header(_), Some(rounds)) => headers.push((ROUNDS_HEADER.to_owned(), rounds.to_string())),
        (Cadence::ModelName(_), Some(rounds)) => model = format!("{model}+rounds-{rounds}"),
        _ => {}
    }
    if let Some(plant) = &target.plant {
        headers.push((PLANT_HEADER.to_owned(), plant.clone()));
    }
    // A native body is sent as it is: that it names no model may be the point.
    let asked = if entry.case.body.is_some() { entry.body.clone() } else { with_model(&entry.body, &model) };
    let body = twin(&asked, mode);
    let body = Bytes::from(Value::Object(body).to_string());
    let path = entry.dialect.path().to_owned();
    Planned { mode, rounds, request: Request { dialect: entry.dialect, path, headers, body } }
}

/// The body with the model in front, where it names none itself.
fn with_model(body: &Map<String, Value>, model: &str) -> Map<String, Value> {
    if body.contains_key("model") {
        return body.clone();
    }
    let first = [("model".to_owned(), Value::from(model))];
    first.into_iter().chain(body.iter().map(|(k, v)| (k.clone(), v.clone()))).collect()
}

// === impl Model ===

impl Model {
    /// The name to ask an entry of; or why nobody can be asked.
    fn name(&self, entry: &Entry) -> Result<String, String> {
        match (self, &entry.case.format) {
            (Self::Puppets(formats), Some(format)) if formats.contains(format) => {
                Ok(format!("puppet-{format}"))
            }
            (_, Some(format)) => Err(format!("no puppet here speaks {format}")),
            // A puppet repeats a prompt, which is an answer as good as any to an ordinary question.
            (Self::Puppets(formats), None) => match formats.first() {
                Some(format) => Ok(format!("puppet-{format}")),
                None => Err("the upstream offers no model".to_owned()),
            },
            (Self::Named(name), None) => Ok(name.clone()),
        }
    }
}
