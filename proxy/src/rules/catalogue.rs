//! The catalogue: every rule of one exchange, in the order of the layers, and every id that findings can have.

use super::{Named, Rule, chat, http, json, named, sse_blocks, sse_bytes};

static FILES: [&[Rule]; 19] = [
    http::RULES,
    sse_bytes::RULES,
    sse_blocks::RULES,
    json::RULES,
    chat::error::RULES,
    chat::whole::RULES,
    chat::chunk::RULES,
    chat::choice::RULES,
    chat::delta::RULES,
    chat::tool_index::RULES,
    chat::tool_call::RULES,
    chat::tool_arguments::RULES,
    chat::leak::RULES,
    chat::finish::RULES,
    chat::tool_finish::RULES,
    chat::logprobs::RULES,
    chat::usage::RULES,
    chat::usage_type::RULES,
    chat::order::RULES,
];

/// Every rule that one exchange can break.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FILES.into_iter().flatten()
}

/// The rule of that id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Every id that a finding can have, with what it means: the rules above, and what other stages say.
pub fn ids() -> impl Iterator<Item = Named> {
    all().map(Named::from).chain(named::NAMED.iter().copied())
}

/// What an id means.
pub fn describe(id: &str) -> Option<Named> {
    ids().find(|named| named.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut seen = HashSet::new();
        for named in ids() {
            assert!(seen.insert(named.id), "{} twice", named.id);
            let (family, name) = named.id.split_once('/').expect(named.id);
            assert!(
                family
                    .bytes()
                    .chain(name.bytes())
                    .all(|b| b.is_ascii_lowercase() || b"-0123456789".contains(&b))
            );
            assert!(named.sentence.ends_with('.') && !named.source.is_empty(), "{}", named.id);
        }
        assert!(seen.len() > 130, "{} ids", seen.len());
    }

    #[test]
    fn finds_rules_and_names() {
        assert_eq!(find("openai-chat/role-repeated").unwrap().severity.name(), "error");
        assert!(find("parity/content").is_none());
        assert_eq!(describe("parity/content").unwrap().id, "parity/content");
        assert_eq!(describe("sse/no-events").unwrap().id, "sse/no-events");
        assert!(describe("sse/nonsense").is_none());
    }
}
