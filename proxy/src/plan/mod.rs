//! Which exchanges to make of a case: variants (one call, cuts), roles, rounds, order. Pure: no IO, no clock.
//!
//! In: cases, and what is known of the upstream. Out: entries in a fixed order, and for each the exchanges to make.

use crate::request::{Dialect, Mode, Request, case::Case, select::Selection, twin::twin};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, sync::Arc};
use tokens::Vocabulary;

pub mod derender;
pub mod entry;
pub mod rounds;
#[cfg(test)]
mod tests;
pub mod tokens;

pub use derender::Reader;
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
    /// What bodies say besides, where the case does not say it: what makes a server prove its tokens.
    pub fields: Vec<Along>,
    /// How often all of it is asked, at least once.
    pub repeat: usize,
}

/// Fields that are sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Along {
    /// The fields.
    pub fields: Map<String, Value>,
    /// Keys of a body beside which they are not: the server refuses that in one of the modes.
    pub unless: Vec<String>,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// Puppets of these formats, each under the name `puppet-FORMAT`.
    Puppets(Vec<String>),
    /// A checkpoint in a server that is not ours; it reads its text from a window at the end of the prompt.
    Checkpoint {
        /// The model's name.
        name: String,
        /// The format it speaks.
        format: String,
        /// Tokens of the window.
        window: usize,
        /// Whether it thinks where the request does not say.
        thinks: Unasked,
    },
    /// A model of that name, which says what it wants to.
    Named(String),
    /// No model: a server that reads the tokens it is handed.
    Handed(Arc<Reader>),
}

/// What a server makes of a request that says nothing of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unasked {
    /// The model may open a block; the prompt opens none.
    Off,
    /// The prompt opens a block. A text without one then has to be asked for with thinking off.
    On,
}

/// Who decides how a reply is cut into deltas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cadence {
    /// The server; it is asked whole, streamed, streamed, whole, so that what it keeps between requests cancels out; once each
    /// where it should refuse.
    Server,
    /// We do, by a header.
    Header(Vec<Rounds>),
    /// We do, by a suffix of the model's name, since a gateway may drop headers.
    ModelName(Vec<Rounds>),
    /// We do, by the key `stream_interval` of the body: so many tokens a delta.
    Interval(Vec<u32>),
    /// We do: the server is handed piece after piece.
    Pieces(Vec<Rounds>),
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

/// The keys of the most tokens that a reply may have.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Tokens that a checkpoint may say beyond its text, so that what it says otherwise shows in the number.
const SLACK: usize = 32;

/// The key of what a request says to the chat template.
const TEMPLATE_WORDS: &str = "chat_template_kwargs";

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
    if let Model::Handed(reader) = &target.model {
        return reader.exchanges(entry, target.cadence.rounds());
    }
    let model = target.model.name(entry)?;
    let body = &target.model.told(entry)?;
    // A body that names its own schedule is asked as it is.
    let is_own = entry.body.get("model").and_then(Value::as_str).is_some_and(|m| m.contains("+rounds-"));
    let cadence = if is_own { &Cadence::Server } else { &target.cadence };
    let once: Vec<(Mode, Option<Rounds>)> = match cadence {
        // An error is no matter of chance.
        Cadence::Server if entry.wants_error() => [Mode::Whole, Mode::Stream].map(|m| (m, None)).into(),
        Cadence::Server => [Mode::Whole, Mode::Stream, Mode::Stream, Mode::Whole].map(|m| (m, None)).into(),
        Cadence::Header(rounds) | Cadence::ModelName(rounds) | Cadence::Pieces(rounds) => {
            let streams = rounds.iter().map(|r| (Mode::Stream, Some(*r)));
            [(Mode::Whole, None)].into_iter().chain(streams).collect()
        }
        Cadence::Interval(tokens) => {
            let streams = tokens.iter().map(|n| (Mode::Stream, Some(Rounds::Every(*n))));
            [(Mode::Whole, None)].into_iter().chain(streams).chain([(Mode::Whole, None)]).collect()
        }
    };
    let all = once.iter().cycle().take(once.len() * target.repeat.max(1));
    Ok(all.map(|(mode, rounds)| planned(entry, body, target, &model, *mode, *rounds)).collect())
}

fn planned(
    entry: &Entry,
    body: &Map<String, Value>,
    target: &Target,
    model: &str,
    mode: Mode,
    rounds: Option<Rounds>,
) -> Planned {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let mut model = model.to_owned();
    match (&target.cadence, rounds) {
        (Cadence::Header(_), Some(rounds)) => headers.push((ROUNDS_HEADER.to_owned(), rounds.to_string())),
        (Cadence::ModelName(_), Some(rounds)) => model = format!("{model}+rounds-{rounds}"),
        _ => {}
    }
    match (&target.cadence, &target.plant) {
        (Cadence::ModelName(_), Some(plant)) => model = format!("{model}+plant-{plant}"),
        (_, Some(plant)) => headers.push((PLANT_HEADER.to_owned(), plant.clone())),
        (_, None) => {}
    }
    // A native body is sent as it is: that it names no model may be the point.
    let is_native = entry.case.body.is_some();
    let mut asked = if is_native { body.clone() } else { with_model(body, &model) };
    if !is_native {
        let fits = |along: &&Along| !along.unless.iter().any(|key| body.contains_key(key));
        // No tokens are proven by an error, and a field that is refused would stand in for what should be.
        let along = target.fields.iter().filter(|_| !entry.wants_error()).filter(fits);
        for (key, value) in along.flat_map(|along| &along.fields) {
            asked.entry(key.clone()).or_insert_with(|| value.clone());
        }
        if let (Cadence::Interval(_), Some(Rounds::Every(tokens)), Mode::Stream) =
            (&target.cadence, rounds, mode)
        {
            asked.insert("stream_interval".to_owned(), tokens.into());
        }
    }
    let body = twin(&asked, mode);
    let body = Bytes::from(Value::Object(body).to_string());
    let path = entry.dialect.path().to_owned();
    Planned { mode, rounds, request: Request { dialect: entry.dialect, path, headers, body } }
}

/// Asks for a text that holds no thinking with thinking off, unless the request says something of it.
fn spare_thinking(body: &mut Map<String, Value>, says: &str) {
    if !says.contains("think>") && !body.contains_key(TEMPLATE_WORDS) {
        body.insert(TEMPLATE_WORDS.to_owned(), json!({ "enable_thinking": false }));
    }
}

/// The body with the model in front, where it names none itself.
fn with_model(body: &Map<String, Value>, model: &str) -> Map<String, Value> {
    if body.contains_key("model") {
        return body.clone();
    }
    let first = [("model".to_owned(), Value::from(model))];
    first.into_iter().chain(body.iter().map(|(k, v)| (k.clone(), v.clone()))).collect()
}

// === impl Cadence ===

impl Cadence {
    /// The schedules, where they are ours.
    pub fn rounds(&self) -> &[Rounds] {
        match self {
            Self::Header(rounds) | Self::ModelName(rounds) | Self::Pieces(rounds) => rounds,
            Self::Server | Self::Interval(_) => &[],
        }
    }
}

// === impl Model ===

impl Model {
    /// The one format whose texts it says or reads, if there is one.
    pub fn format(&self) -> Option<&str> {
        match self {
            Self::Checkpoint { format, .. } => Some(format),
            Self::Handed(reader) => Some(&reader.format),
            Self::Puppets(_) | Self::Named(_) => None,
        }
    }

    /// The name to ask an entry of; or why nobody can be asked.
    fn name(&self, entry: &Entry) -> Result<String, String> {
        match (self, &entry.case.format) {
            (Self::Puppets(formats), Some(format)) if formats.contains(format) => {
                Ok(format!("puppet-{format}"))
            }
            (Self::Checkpoint { name, format: own, .. }, Some(format)) if own == format => Ok(name.clone()),
            (Self::Checkpoint { format, .. }, None) => Err(format!("a puppet of {format} says texts only")),
            (_, Some(format)) => Err(format!("no puppet here speaks {format}")),
            // A puppet repeats a prompt, which is an answer as good as any to an ordinary question.
            (Self::Puppets(formats), None) => match formats.first() {
                Some(format) => Ok(format!("puppet-{format}")),
                None => Err("the upstream offers no model".to_owned()),
            },
            (Self::Named(name), None) => Ok(name.clone()),
            (Self::Handed(reader), None) => Err(format!("only texts of {} are handed over", reader.format)),
        }
    }

    /// The body of an entry as this model is told it: a checkpoint's text fills a window. Or why it cannot be told.
    fn told<'a>(&self, entry: &'a Entry) -> Result<Cow<'a, Map<String, Value>>, String> {
        let (Self::Checkpoint { format, window, thinks, .. }, Some(says)) = (self, &entry.case.says) else {
            return Ok(Cow::Borrowed(&entry.body));
        };
        let vocabulary = Vocabulary::of(format).ok_or_else(|| format!("no puppet speaks {format}"))?;
        let tokens = vocabulary.encode(says).len();
        let filled = vocabulary
            .fill(says, *window)
            .ok_or_else(|| format!("its text has {} tokens, the puppet's window {window}", tokens + 1))?;
        let mut body = entry.body.clone();
        let messages = body.get_mut("messages").and_then(Value::as_array_mut);
        let last = messages.and_then(|messages| messages.last_mut()).and_then(|m| m.get_mut("content"));
        match last {
            Some(content) => *content = filled.into(),
            None => return Err("a body of its own has no place for a window".to_owned()),
        }
        // Where a server constrains what may be said, a puppet falls out of step with its text and would never end.
        if !LIMITS.iter().any(|limit| body.contains_key(*limit)) {
            body.insert(LIMITS[0].to_owned(), (tokens + SLACK).into());
        }
        if *thinks == Unasked::On {
            spare_thinking(&mut body, says);
        }
        Ok(Cow::Owned(body))
    }
}
