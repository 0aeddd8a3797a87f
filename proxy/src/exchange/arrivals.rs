//! Bytes of a body as they arrive, packed into one buffer.
//!
//! In: pieces with arrival times. Out: [`Slice`]s that share one allocation. A piece as it comes from a connection keeps
//! that connection's whole read buffer alive, so three million chunks of one byte would hold gigabytes.

use super::{Secrets, Slice, budget::Held};
use bytes::{Bytes, BytesMut};

/// The most slices that are kept apart; pieces after that join the last one. A reply of a hundred thousand tokens, each
/// in a piece of its own, has fewer.
pub const MAX_SLICES: usize = 1 << 17;

/// A body that is arriving.
#[derive(Debug, Default)]
pub struct Arrivals {
    body: BytesMut,
    /// Start of each slice, and when it came.
    borders: Vec<(usize, u64)>,
    /// Leave to hold it.
    held: Option<Held>,
}

/// A body with the leave to hold it.
struct Owned {
    body: BytesMut,
    _held: Held,
}

// === impl Arrivals ===

impl Arrivals {
    /// What a piece of this length takes in memory.
    pub const fn cost(len: usize) -> usize {
        len + size_of::<(usize, u64)>()
    }

    /// None so far, of a body that may be held as long as `held` is.
    pub fn within(held: Option<Held>) -> Self {
        Self { held, ..Self::default() }
    }

    /// Asks for leave to hold so many bytes more.
    pub async fn ask(&mut self, bytes: usize) -> Result<(), super::budget::Spent> {
        match &mut self.held {
            Some(held) => held.more(bytes).await,
            None => Ok(()),
        }
    }

    /// Gives up all but so many bytes at the start.
    pub fn truncate(&mut self, len: usize) {
        let start = self.body.get(..len).unwrap_or(&self.body);
        self.body = BytesMut::from(start);
        self.borders.retain(|(start, _)| *start < len);
        self.held = None;
    }

    /// Takes a copy of a piece that arrived at `at`.
    pub fn push(&mut self, piece: &[u8], at: u64) {
        if self.borders.len() < MAX_SLICES {
            self.borders.push((self.body.len(), at));
        }
        self.body.extend_from_slice(piece);
    }

    /// Hides secrets in what has come, also where a border lies within one.
    pub fn hide(&mut self, secrets: &Secrets) {
        secrets.hide(&mut self.body);
    }

    /// How many bytes have come.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether none have.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// All of it in one piece.
    pub fn into_body(self) -> Bytes {
        match self.held {
            Some(held) => Bytes::from_owner(Owned { body: self.body, _held: held }),
            None => self.body.freeze(),
        }
    }

    /// All of it in the slices in which it came.
    pub fn into_slices(mut self) -> Vec<Slice> {
        let borders = std::mem::take(&mut self.borders);
        let body = self.into_body();
        let ends = borders.iter().skip(1).map(|(start, _)| *start).chain([body.len()]);
        let slice =
            |((start, at), end): (&(usize, u64), usize)| Slice { at: *at, bytes: body.slice(*start..end) };
        borders.iter().zip(ends).map(slice).collect()
    }
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_as_they_came() {
        let mut arrivals = Arrivals::default();
        assert!(arrivals.is_empty());
        for (piece, at) in [("ab", 1), ("", 2), ("c", 2), ("def", 9)] {
            arrivals.push(piece.as_bytes(), at);
        }
        assert_eq!(arrivals.len(), 6);
        let slices: Vec<_> =
            arrivals.into_slices().into_iter().map(|slice| (slice.at, slice.bytes)).collect();
        assert_eq!(slices, [(1, "ab".into()), (2, "".into()), (2, "c".into()), (9, "def".into())]);
        assert_eq!(Arrivals::default().into_slices(), []);
    }

    #[test]
    fn a_body_is_cut_within_a_slice() {
        let mut arrivals = Arrivals::default();
        for piece in ["ab", "cd", "ef"] {
            arrivals.push(piece.as_bytes(), 1);
        }
        arrivals.truncate(3);
        let slices: Vec<_> = arrivals.into_slices().into_iter().map(|slice| slice.bytes).collect();
        assert_eq!(slices, ["ab", "c"]);
    }

    #[test]
    fn pieces_beyond_the_cap_join_the_last_slice() {
        let mut arrivals = Arrivals::default();
        for at in 0..MAX_SLICES as u64 + 3 {
            arrivals.push(b"x", at);
        }
        let slices = arrivals.into_slices();
        assert_eq!(slices.len(), MAX_SLICES);
        assert_eq!(slices.last().map(|slice| slice.bytes.len()), Some(4));
    }
}
