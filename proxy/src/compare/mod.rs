//! Two replies to differences. Pure. What counts as equal is data ([`Equality`]).
//!
//! In: two [`Reply`] of one request (whole and streamed, or two streams), or one reply and what was expected of it.
//! Out: [`Difference`]s, most structural first: error, choices, calls, order, names, arguments, content, reasoning,
//! refusal, what stands beside them, finish, usage, tokens, form. Nothing here is worse than linear in the size of the replies.

use crate::fold::Reply;

pub mod arguments;
mod beside;
mod calls;
pub mod equality;
mod error;
pub mod expect;
mod finish;
mod form;
mod logprobs;
pub mod show;
pub mod text;
pub mod tokens;
mod usage;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use equality::Equality;
pub use expect::{Expected, compare_expected};

/// How two replies to one request disagree, in one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The rule that names it, `parity/tool-arguments`.
    pub rule: &'static str,
    /// Where in the reply: `content`, `tool_calls[0].arguments`, `usage.completion_tokens`.
    pub path: String,
    /// The first reply's value, as text.
    pub left: String,
    /// The second reply's value, as text.
    pub right: String,
    /// What kind of difference it is.
    pub kind: Kind,
    /// A readable diff, cut to a sensible length.
    pub diff: String,
    /// Event of the first reply, and of the second, in which they first part; where known.
    pub events: (Option<usize>, Option<usize>),
}

/// What kind of difference it is, seen from the first reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The second lacks something.
    Lost,
    /// The second has more.
    Added,
    /// The second has the same, elsewhere (in another field, another place, another order).
    Moved,
    /// The second has something twice.
    Doubled,
    /// They differ in whitespace only.
    Whitespace,
    /// They simply differ.
    Changed,
}

/// Everything in which `right` differs from `left`, most structural first.
///
/// Where either reply is an error only the errors are compared: a broken answer beside an error says nothing more.
pub fn compare(left: &Reply, right: &Reply, equality: Equality<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    if left.error.is_some() || right.error.is_some() {
        error::compare(left, right, &mut found);
        return found;
    }
    form::compare_choices(left, right, &mut found);
    calls::compare(left, right, equality, &mut found);
    beside::compare_call(left, right, equality, &mut found);
    text::compare(left, right, equality, &mut found);
    beside::compare(left, right, &mut found);
    finish::compare(left, right, &mut found);
    usage::compare(left, right, equality, &mut found);
    logprobs::compare(left, right, &mut found);
    form::compare(left, right, &mut found);
    found
}

// === impl Difference ===

impl Difference {
    /// A difference of two short values: they stand for themselves, `none` where one is absent.
    fn of_values(rule: &'static str, path: &str, left: Option<&str>, right: Option<&str>) -> Self {
        let kind = match (left, right) {
            (Some(_), None) => Kind::Lost,
            (None, Some(_)) => Kind::Added,
            _ => Kind::Changed,
        };
        let (left, right) = (show::value(left.unwrap_or("none"), 0), show::value(right.unwrap_or("none"), 0));
        let diff = format!("[-{left}-]{{+{right}+}}");
        Self { rule, path: path.to_owned(), left, right, kind, diff, events: (None, None) }
    }

    /// The same, with the events that brought the values.
    fn at(mut self, left: Option<usize>, right: Option<usize>) -> Self {
        self.events = (left, right);
        self
    }
}
