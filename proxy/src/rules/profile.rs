//! Who answers: a profile raises, lowers or silences rules where documents and servers disagree.
//!
//! Data: a new server is one more constant. What a profile does not name stays as the catalogue has it.

use super::Severity;

/// The rules as one kind of server is held to them.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Its name, as `--profile` takes it.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Rules that it treats in its own way.
    pub changes: &'static [(&'static str, Treatment)],
}

/// What a profile does with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing is said.
    Silent,
    /// It is said with this severity.
    As(Severity),
}

use Severity::{Error, Info};
use Treatment::{As, Silent};

/// Legal by every document, and so frequent that recording it says nothing.
const EVERYDAY: [(&str, Treatment); 3] =
    [("sse/comment", Silent), ("sse/json-raw-line-separator", Silent), ("sse/utf8-boundary", Silent)];

// === impl Profile ===

impl Profile {
    /// Any server that speaks the OpenAI API; the default.
    pub const OPENAI: Self =
        Self { name: "openai", about: "any OpenAI-compatible server", changes: &EVERYDAY };

    /// The bundled engine. It says what the model wrote even where that is broken, and it never re-spaces.
    pub const TFENGINE: Self = Self {
        name: "tfengine",
        about: "the bundled engine",
        changes: &[
            EVERYDAY[0],
            EVERYDAY[1],
            EVERYDAY[2],
            // A rejected envelope is prose, and arguments that the model broke off stay what it wrote. What leaks or
            // is lost by fault shows against the other mode and against the right answer.
            ("openai-chat/markup-leak", Silent),
            ("openai-chat/tool-arguments-json", Silent),
            // It runs in this process or beside it: when its bytes come says how busy the machine is.
            ("http/buffered-stream", Silent),
            ("http/idle-without-keepalive", Silent),
            ("http/linger-after-terminal", Silent),
            // Clients read usage wherever it comes; its decoys put it elsewhere on purpose.
            ("openai-chat/usage-choices", As(Info)),
            // Both modes send one text, so spacing, key order and escapes are its own.
            ("parity/tool-arguments-text", As(Error)),
        ],
    };

    /// The catalogue as it stands.
    pub const STRICT: Self = Self { name: "strict", about: "every rule at its own severity", changes: &[] };

    /// Every profile.
    pub const ALL: [&'static Self; 3] = [&Self::OPENAI, &Self::TFENGINE, &Self::STRICT];

    /// The profile of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }

    /// The severity of a rule whose own is `severity`; `None` if it is silenced.
    pub fn severity(&self, rule: &str, severity: Severity) -> Option<Severity> {
        match self.changes.iter().find(|(id, _)| *id == rule) {
            None => Some(severity),
            Some((_, As(changed))) => Some(*changed),
            Some((_, Silent)) => None,
        }
    }
}
