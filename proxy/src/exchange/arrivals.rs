//! Bytes of a body as they arrive, packed into blocks.
//!
//! In: pieces with arrival times. Out: [`Slice`]s that share few allocations. A piece as it comes from a connection keeps
//! that connection's whole read buffer alive, so three million chunks of one byte would hold gigabytes; and one buffer that
//! grows leaves behind each smaller one it was.

use super::{Secrets, Slice, budget::Held};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// The most slices that are kept apart; pieces after that join the last one of their block. A reply of a hundred thousand
/// tokens, each in a piece of its own, has fewer.
pub const MAX_SLICES: usize = 1 << 17;

/// The smallest block, and the largest but for pieces that are larger. Between them a block is as large as all before it.
const BLOCK: (usize, usize) = (4 << 10, 256 << 10);

/// Largest blocks that lie ready to be used again, whichever thread needs one: an allocator would keep those of each thread
/// for that thread.
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// So many of them are kept.
const MAX_SPARE: usize = 160;

/// A body that is arriving.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// The body. No slice lies across their borders.
    blocks: Vec<Vec<u8>>,
    len: usize,
    /// Start of each slice, and when it came.
    borders: Vec<(usize, u64)>,
    /// Leave to hold it.
    held: Option<Held>,
}

/// A block with the leave to hold it.
struct Owned {
    block: Vec<u8>,
    _held: Option<Arc<Held>>,
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

    /// Takes a copy of a piece that arrived at `at`.
    pub fn push(&mut self, piece: &[u8], at: u64) {
        let fits = self.blocks.last().is_some_and(|block| block.capacity() - block.len() >= piece.len());
        if !fits {
            let size = self.len.clamp(BLOCK.0, BLOCK.1).max(piece.len());
            self.blocks.push(block(size));
        }
        if !fits || self.borders.len() < MAX_SLICES {
            self.borders.push((self.len, at));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(piece);
        }
        self.len += piece.len();
    }

    /// Gives up all but so many bytes at the start.
    pub fn truncate(&mut self, len: usize) {
        let mut left = len;
        for block in &mut self.blocks {
            block.truncate(left);
            left -= block.len();
        }
        self.blocks.retain(|block| !block.is_empty());
        self.borders.retain(|(start, _)| *start < len);
        self.len = self.len.min(len);
        self.held = None;
    }

    /// Hides secrets in what has come, also where a border lies within one.
    pub fn hide(&mut self, secrets: &Secrets) {
        self.blocks.iter_mut().for_each(|block| secrets.hide(block));
        let reach = secrets.reach();
        let ends = self.blocks.iter().scan(0, |end, block| {
            *end += block.len();
            Some(*end)
        });
        for end in if reach > 0 { ends.collect() } else { Vec::new() } {
            let window = end.saturating_sub(reach)..self.len.min(end + reach);
            let mut bytes = Vec::with_capacity(window.len());
            self.within_blocks(&window, |part| bytes.extend_from_slice(part));
            secrets.hide(&mut bytes);
            let mut rest = bytes.as_slice();
            self.within_blocks(&window, |part| {
                let (own, later) = rest.split_at(part.len().min(rest.len()));
                part.copy_from_slice(own);
                rest = later;
            });
        }
    }

    /// What lies in a stretch of the body, block by block.
    fn within_blocks(&mut self, stretch: &Range<usize>, mut see: impl FnMut(&mut [u8])) {
        let mut start = 0;
        for block in &mut self.blocks {
            let end = start + block.len();
            let (from, to) = (stretch.start.max(start), stretch.end.min(end));
            if let Some(part) = block.get_mut(from.saturating_sub(start)..to.saturating_sub(start)) {
                see(part);
            }
            start = end;
        }
    }

    /// How many bytes have come.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none have.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it in one piece.
    pub fn into_body(self) -> Bytes {
        self.blocks.concat().into()
    }

    /// All of it in the slices in which it came.
    pub fn into_slices(self) -> Vec<Slice> {
        let held = self.held.map(Arc::new);
        let own = |block| Bytes::from_owner(Owned { block, _held: held.clone() });
        let mut blocks = self.blocks.into_iter().map(own);
        let (mut block, mut start) = (blocks.next().unwrap_or_default(), 0);
        let ends = self.borders.iter().skip(1).map(|(start, _)| *start).chain([self.len]);
        let mut slices = Vec::with_capacity(self.borders.len());
        for ((from, at), end) in self.borders.iter().zip(ends) {
            if end - start > block.len() {
                start += block.len();
                block = blocks.next().unwrap_or_default();
            }
            slices.push(Slice { at: *at, bytes: block.slice(from - start..end - start) });
        }
        slices
    }
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if self.block.capacity() == BLOCK.1 && spare.len() < MAX_SPARE {
            let mut block = std::mem::take(&mut self.block);
            block.clear();
            spare.push(block);
        }
    }
}

/// A block with room for so many bytes.
fn block(size: usize) -> Vec<u8> {
    let spare = || SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    Some(size)
        .filter(|size| *size == BLOCK.1)
        .and_then(|_| spare())
        .unwrap_or_else(|| Vec::with_capacity(size))
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
    fn large_bodies_come_back_as_they_came() {
        let pieces: Vec<Vec<u8>> = (0..400_usize).map(|n| vec![n.to_le_bytes()[0]; n * n % 9_000]).collect();
        let mut arrivals = Arrivals::default();
        for piece in &pieces {
            arrivals.push(piece, 1);
        }
        arrivals.push(&vec![7; 1 << 20], 2);
        let slices: Vec<_> = arrivals.into_slices().into_iter().map(|slice| slice.bytes.to_vec()).collect();
        assert!(slices.iter().zip(&pieces).all(|(slice, piece)| slice == piece));
        assert_eq!((slices.len(), slices.last().map(Vec::len)), (401, Some(1 << 20)));
    }

    #[test]
    fn a_secret_across_blocks_is_hidden() {
        let secrets = Secrets::of([("x-key", &b"s3cret-0123"[..])].into_iter());
        for before in BLOCK.0 - 12..=BLOCK.0 {
            let mut arrivals = Arrivals::default();
            let dots = ".".repeat(before);
            for piece in [&dots, "s3c", "ret-", "0123", "!", &dots, &dots, "s3cret-", "0123"] {
                arrivals.push(piece.as_bytes(), 1);
            }
            assert!(arrivals.blocks.len() > 2);
            arrivals.hide(&secrets);
            let stars = "*".repeat(11);
            assert_eq!(arrivals.into_body(), [&dots, &stars, "!", &dots, &dots, &stars].concat());
        }
    }

    #[test]
    fn pieces_beyond_the_cap_join_the_last_slice_of_their_block() {
        let mut arrivals = Arrivals::default();
        let count = MAX_SLICES + 2 * BLOCK.1;
        for at in 0..count as u64 {
            arrivals.push(b"x", at);
        }
        let slices = arrivals.into_slices();
        assert!(slices.len() <= MAX_SLICES + 4, "{}", slices.len());
        assert_eq!(slices.iter().map(|slice| slice.bytes.len()).sum::<usize>(), count);
    }
}
