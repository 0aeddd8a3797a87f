//! Every way a response can end, by name.

/// How a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The framing says that all of it came.
    Complete,
    /// No framing said how long it is: the close of the connection is the end, and a loss would not show.
    CloseDelimited,
    /// The connection closed before the framing said so.
    Cut(String),
    /// No connection was made.
    Refused(String),
    /// Nothing came for too long.
    TimedOut,
    /// The other side went away and took the exchange with it (live proxy), or we were told to stop.
    Cancelled,
    /// The response grew over the cap; what came until then is kept.
    TooLarge,
    /// The response breaks HTTP itself.
    Malformed(String),
}

// === impl End ===

impl End {
    /// Whether the body can be taken as all there is.
    pub const fn is_clean(&self) -> bool {
        matches!(self, Self::Complete | Self::CloseDelimited)
    }
}
