//! The native puppet: a model that generates exactly the text it is told to, without any arithmetic.
//!
//! In: the text of the last user message. Out: its tokens, up to the first end token, which is added where it lacks.

use crate::{
    read::Format,
    text::{TokenId, Tokenizer},
};

/// A model that says what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Puppet {
    /// Its name, without suffixes.
    pub name: &'static str,
    /// How it writes reasoning and calls.
    pub format: Format,
}

/// All puppets, in the order in which they are listed.
pub static PUPPETS: [Puppet; 3] = [
    Puppet { name: "puppet-hermes", format: Format::Hermes },
    Puppet { name: "puppet-glm", format: Format::Glm },
    Puppet { name: "puppet-qwen3-xml", format: Format::Qwen3Xml },
];

// === impl Puppet ===

impl Puppet {
    /// The puppet of that name.
    pub fn named(name: &str) -> Option<Self> {
        PUPPETS.iter().copied().find(|puppet| puppet.name == name)
    }

    /// How it counts and cuts text.
    pub fn tokenizer(self) -> Tokenizer {
        Tokenizer::of(self.format)
    }

    /// The tokens it generates when told to say a text; the last one, and only that, is the end token.
    pub fn script(self, text: &str) -> Vec<TokenId> {
        let end = self.tokenizer().end();
        let mut ids = self.tokenizer().encode(text);
        if let Some(first) = ids.iter().position(|id| *id == end) {
            ids.truncate(first);
        }
        ids.push(end);
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_formats() {
        for puppet in PUPPETS {
            assert_eq!(puppet.name, format!("puppet-{}", puppet.format.name()));
            assert_eq!(Puppet::named(puppet.name), Some(puppet));
        }
        assert_eq!(Puppet::named("puppet"), None);
    }

    #[test]
    fn a_script_ends_once() {
        let [hermes, ..] = PUPPETS;
        assert_eq!(hermes.script(""), [260]);
        assert_eq!(hermes.script("a"), [97, 260]);
        assert_eq!(hermes.script("a<|im_end|>b<|im_end|>"), [97, 260]);
    }
}
