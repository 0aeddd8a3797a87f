//! The tools a request offers, and how a name in the text is held against them.
//!
//! In: tools with the JSON Schema of their parameters, and a name as it arrives, character by character. Out:
//! which tool is meant, or, as early as that is certain, that none is.

use std::sync::Arc;

use serde_json::Value;

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name, in the spelling that a client is sent.
    pub name: String,
    /// JSON Schema of its parameters.
    pub parameters: Value,
}

/// What a request offers. Without tools no envelope is read: then all text is content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// The tools on offer.
    pub tools: Vec<Tool>,
    /// Whether only the first call counts.
    pub one_call: bool,
}

/// An offer made ready for comparing names.
#[derive(Debug)]
pub(super) struct Offered {
    offer: Arc<Offer>,
    /// Names without case, and the number of each one's tool; in order, so that a request with ten thousand tools costs a
    /// character no more than a few comparisons.
    folded: Vec<(String, usize)>,
}

/// A name of which more may come. Blanks around it do not count, nor does case unless it tells two tools apart.
#[derive(Debug, Default)]
pub(super) struct NameSoFar {
    written: String,
    folded: String,
    /// Blanks after it, which belong to it if more of it follows.
    blanks: String,
    stray: bool,
}

// === impl Offered ===

impl Offered {
    pub(super) fn new(offer: Arc<Offer>) -> Self {
        let fold = |tool: &Tool| tool.name.trim().chars().flat_map(char::to_lowercase).collect();
        let mut folded: Vec<(String, usize)> = offer.tools.iter().map(fold).zip(0..).collect();
        folded.sort_unstable();
        Self { offer, folded }
    }

    /// Whether any envelope is read at all.
    pub(super) fn any(&self) -> bool {
        !self.offer.tools.is_empty()
    }

    /// Whether only the first call counts.
    pub(super) fn one_call(&self) -> bool {
        self.offer.one_call
    }

    /// The tool with that number.
    pub(super) fn tool(&self, number: usize) -> Option<&Tool> {
        self.offer.tools.get(number)
    }

    fn starts_a_name(&self, folded: &str) -> bool {
        self.from(folded).first().is_some_and(|(name, _)| name.starts_with(folded))
    }

    /// The names from a text on, among them those that begin with it.
    fn from(&self, folded: &str) -> &[(String, usize)] {
        let at = self.folded.partition_point(|(name, _)| name.as_str() < folded);
        self.folded.get(at..).unwrap_or_default()
    }
}

// === impl NameSoFar ===

impl NameSoFar {
    /// Takes one more character. False once no offered name can come of it.
    pub(super) fn push(&mut self, c: char, offered: &Offered) -> bool {
        if self.stray {
            return false;
        }
        if c.is_whitespace() {
            if !self.folded.is_empty() {
                self.blanks.push(c);
            }
            return true;
        }
        self.folded.push_str(&self.blanks);
        self.written.push_str(&self.blanks);
        self.blanks.clear();
        self.written.push(c);
        self.folded.extend(c.to_lowercase());
        self.stray = !offered.starts_a_name(&self.folded);
        !self.stray
    }

    /// The tool that the name, now complete, stands for.
    pub(super) fn tool(&self, offered: &Offered) -> Option<usize> {
        if self.stray {
            return None;
        }
        let alike = || {
            let same = |(name, _): &&(String, usize)| *name == self.folded;
            offered.from(&self.folded).iter().take_while(same).map(|(_, number)| *number)
        };
        let is_exact =
            |number: &usize| offered.tool(*number).is_some_and(|tool| tool.name.trim() == self.written);
        alike().find(is_exact).or_else(|| alike().next())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::{NameSoFar, Offer, Offered, Tool};

    fn offered(names: &[&str]) -> Offered {
        let tool = |name: &&str| Tool { name: (*name).to_owned(), parameters: Value::Null };
        Offered::new(Arc::new(Offer { tools: names.iter().map(tool).collect(), one_call: false }))
    }

    #[test]
    fn a_name_is_found_without_case_and_blanks() {
        let offered = offered(&["lookup", "Look Around", "ÜBER"]);
        for (text, expected) in [
            (" \nLOOKUP ", Some(0)),
            ("look around", Some(1)),
            ("look  around", None),
            ("über", Some(2)),
            ("look", None),
            ("lookups", None),
            ("", None),
        ] {
            let mut name = NameSoFar::default();
            for c in text.chars() {
                name.push(c, &offered);
            }
            assert_eq!(name.tool(&offered), expected, "{text:?}");
        }
    }

    #[test]
    fn of_names_alike_but_for_case_the_exact_one_is_meant() {
        let offered = offered(&["Lookup", "lookup"]);
        for (text, expected) in [("Lookup", Some(0)), ("lookup", Some(1)), ("LOOKUP", Some(0))] {
            let mut name = NameSoFar::default();
            text.chars().for_each(|c| assert!(name.push(c, &offered)));
            assert_eq!(name.tool(&offered), expected, "{text}");
        }
    }

    #[test]
    fn a_stray_name_is_known_at_its_first_stray_character() {
        let offered = offered(&["lookup"]);
        let mut name = NameSoFar::default();
        let viable: Vec<bool> = " loox".chars().map(|c| name.push(c, &offered)).collect();
        assert_eq!(viable, [true, true, true, true, false]);
    }
}
