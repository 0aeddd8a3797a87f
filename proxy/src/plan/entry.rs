//! One case in one dialect and one variant: the question, and what an answer must show.

use super::{LIMITS, tokens};
use crate::request::{
    Dialect,
    case::{Basis, Case, Ends, Expect, Need},
    select::stable_hash,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What is asked, and what is known of the right answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The case's id, or `id~one-call`, `id~cut-17`.
    pub id: String,
    /// The case it derives from.
    pub case: Arc<Case>,
    /// How it derives.
    pub variant: Variant,
    /// The dialect it is asked in.
    pub dialect: Dialect,
    /// The body without `stream`; without `model` where the upstream decides it.
    pub body: Map<String, Value>,
    /// What a reply must show for the entry to count.
    pub needs: Vec<Need>,
    /// The right answer, as far as it is known.
    pub expect: Option<Expect>,
    /// How many tokens are billed if the puppet says it all, where that can be told.
    pub tokens: Option<u64>,
}

/// How an entry derives from its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The case as written.
    Base,
    /// With `parallel_tool_calls: false`.
    OneCall,
    /// Cut by `max_tokens`.
    Cut(u64),
}

/// How many cuts are derived of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// [`CUTS`] positions, seeded by the case's id.
    #[default]
    Seeded,
    /// One position, seeded by the case's id.
    Once,
    /// Every position.
    Deep,
}

/// Positions at which a case is cut by default.
pub const CUTS: usize = 4;

// === impl Entry ===

impl Entry {
    /// An entry for a request that belongs to no case file: a recording, a pair of files, traffic.
    pub fn of_request(id: &str, dialect: Dialect, body: Map<String, Value>) -> Self {
        base(&Arc::new(Case { request: body, ..unwritten(id, dialect) }), dialect)
    }

    /// An entry for a text that a puppet is told and no case file holds.
    pub fn of_text(id: &str, dialect: Dialect, format: &str, says: &str) -> Self {
        let (format, says) = (Some(format.to_owned()), Some(says.to_owned()));
        base(&Arc::new(Case { format, says, ..unwritten(id, dialect) }), dialect)
    }

    /// Whether the token that ends a turn is one of those that are billed.
    pub fn bills_end(&self) -> bool {
        said(&self.case).is_some_and(|said| self.tokens == Some(said + 1))
    }

    /// Whether an error is what should come.
    pub fn wants_error(&self) -> bool {
        self.needs.contains(&Need::Error) || self.expect.as_ref().is_some_and(|expect| expect.error.is_some())
    }

    /// Whether a puppet is told what to say.
    pub fn is_puppet(&self) -> bool {
        self.case.says.is_some()
    }
}

/// A case that stands in no file.
fn unwritten(id: &str, dialect: Dialect) -> Case {
    Case {
        id: id.to_owned(),
        about: String::new(),
        source: "own".to_owned(),
        format: None,
        says: None,
        ends: Ends::Model,
        request: Map::new(),
        body: None,
        needs: Vec::new(),
        basis: Basis::Policy,
        expect: None,
        dialects: vec![dialect],
        tags: Vec::new(),
        file: String::new(),
        line: 0,
    }
}

/// The entries of a case in a dialect: the case itself, then what is derived from it.
pub fn entries(case: &Arc<Case>, dialect: Dialect, depth: Depth) -> Vec<Entry> {
    let base = base(case, dialect);
    let mut all = vec![base.clone()];
    if base.is_puppet() {
        all.extend(one_call(&base));
        all.extend(cuts(&base, depth));
    }
    all
}

fn base(case: &Arc<Case>, dialect: Dialect) -> Entry {
    let said = said(case);
    let body = body(case, said);
    let limit = LIMITS.iter().filter_map(|key| body.get(*key)?.as_u64()).min();
    Entry {
        id: case.id.clone(),
        case: Arc::clone(case),
        variant: Variant::Base,
        dialect,
        needs: case.needs.clone(),
        expect: case.expect.clone(),
        tokens: match case.ends {
            Ends::Model => said.map(|tokens| limit.map_or(tokens + 1, |limit| limit.min(tokens + 1))),
            Ends::Length => said,
            Ends::Stop(_) => None,
        },
        body,
    }
}

/// The tokens of what a puppet is told, without the end.
fn said(case: &Case) -> Option<u64> {
    tokens::count(case.format.as_deref()?, case.says.as_deref()?)
}

fn body(case: &Case, said: Option<u64>) -> Map<String, Value> {
    if let Some(Value::Object(native)) = &case.body {
        return native.clone();
    }
    let mut body = case.request.clone();
    if let Some(says) = &case.says {
        let mut messages = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        messages.push(json!({ "role": "user", "content": says }));
        body.insert("messages".to_owned(), messages.into());
    }
    match &case.ends {
        Ends::Model => {}
        Ends::Length => body.extend(said.map(|tokens| ("max_tokens".to_owned(), tokens.into()))),
        Ends::Stop(stops) => _ = body.insert("stop".to_owned(), json!(stops)),
    }
    body
}

/// The same with one call at most, where more could come. What it should say is not written down.
fn one_call(base: &Entry) -> Option<Entry> {
    let offers = base.body.get("tools").and_then(Value::as_array).is_some_and(|t| !t.is_empty());
    if !offers || base.body.contains_key("parallel_tool_calls") {
        return None;
    }
    let mut body = base.body.clone();
    body.insert("parallel_tool_calls".to_owned(), Value::Bool(false));
    Some(Entry {
        id: format!("{}~one-call", base.id),
        variant: Variant::OneCall,
        body,
        needs: Vec::new(),
        expect: None,
        ..base.clone()
    })
}

/// The same, cut by `max_tokens`, where the model would end it.
fn cuts(base: &Entry, depth: Depth) -> Vec<Entry> {
    let is_cuttable = base.case.ends == Ends::Model && !LIMITS.iter().any(|key| base.body.contains_key(*key));
    let is_answer = base.expect.as_ref().is_none_or(|e| e.error.is_none());
    match base.tokens {
        Some(tokens) if is_cuttable && is_answer => {
            positions(&base.id, tokens - 1, depth).into_iter().map(|at| cut(base, at)).collect()
        }
        _ => Vec::new(),
    }
}

fn cut(base: &Entry, at: u64) -> Entry {
    let mut body = base.body.clone();
    body.insert("max_tokens".to_owned(), at.into());
    Entry {
        id: format!("{}~cut-{at}", base.id),
        variant: Variant::Cut(at),
        body,
        needs: vec![Need::Length],
        expect: None,
        tokens: Some(at),
        ..base.clone()
    }
}

/// Where to cut a text of so many tokens, ascending: everywhere, or at a few places that depend on the id alone.
fn positions(id: &str, tokens: u64, depth: Depth) -> Vec<u64> {
    let wanted = match depth {
        Depth::Deep => usize::MAX,
        Depth::Seeded => CUTS,
        Depth::Once => 1,
    };
    if tokens <= wanted as u64 {
        return (1..=tokens).collect();
    }
    let mut state = stable_hash(id.as_bytes());
    let mut chosen = Vec::new();
    while chosen.len() < wanted {
        let at = 1 + next(&mut state) % tokens;
        if !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// SplitMix64: a stream of numbers that one seed decides.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
