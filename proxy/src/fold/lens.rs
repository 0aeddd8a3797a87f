//! The choices real clients make when they fold a stream, as data.

/// How a client folds. [`Lens::STRICT`] is ours; the others are official clients, by what they were seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lens {
    /// The client's name, `openai-python`.
    pub name: &'static str,
}

// === impl Lens ===

impl Lens {
    /// Our own reading: as the documents say, losing nothing.
    pub const STRICT: Self = Self { name: "strict" };
}
