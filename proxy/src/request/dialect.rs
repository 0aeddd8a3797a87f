//! The wire protocols: where each is asked, where its stream switch lies, how its stream is framed.

use std::fmt;

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI Chat Completions: `POST /v1/chat/completions`, data-only SSE, `[DONE]`.
    OpenaiChat,
}

// === impl Dialect ===

impl Dialect {
    /// Every dialect, in the order reports list them.
    pub const ALL: [Self; 1] = [Self::OpenaiChat];

    /// Its name in case files, options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
        }
    }

    /// The path a request is posted to, below the upstream's root.
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenaiChat => "/v1/chat/completions",
        }
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dialect asked at a path, query aside; `None` where the path is no dialect's.
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        path.ends_with("/chat/completions").then_some(Self::OpenaiChat)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
