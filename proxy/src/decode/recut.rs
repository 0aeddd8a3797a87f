//! The same bytes in other slices: how a body was cut on its way must not matter, and here it is tried.
//!
//! In: a body that was read as events, and a [`Cut`]. Out: all of it read again, or only where it would read differently.

use super::{Decoded, sse::Scanner};

/// How to cut a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Slices of this many bytes (of one, for 0).
    Every(usize),
    /// Slices of 1 to 64 bytes, drawn from this seed.
    Random(u64),
}

/// The longest slice that [`Cut::Random`] draws.
const MAX_RANDOM: u64 = 64;

/// Scans a body, which was read as events, in other slices. Every arrival is 0.
pub fn recut(body: &[u8], cut: Cut) -> Decoded {
    let mut scanner = Scanner::new();
    slices([body], cut, |slice| scanner.feed(slice, 0));
    scanner.finish()
}

/// The first event that is another, or elsewhere, when a body that was read as `decoded` is cut so and not as `parts` are. It
/// costs a scan: data is compared, not read.
pub fn first_difference<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
    cut: Cut,
    decoded: &Decoded,
) -> Option<usize> {
    let mut scanner = Scanner::comparing(decoded);
    slices(parts, cut, |slice| scanner.feed(slice, 0));
    scanner.first_difference()
}

/// Slices across the borders of `parts`; of the body no more than a slice is copied.
fn slices<'a>(parts: impl IntoIterator<Item = &'a [u8]>, cut: Cut, mut take: impl FnMut(&[u8])) {
    let mut sizes = Sizes::of(cut);
    let (mut size, mut held) = (sizes.draw(), Vec::new());
    for part in parts {
        let mut rest = part;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.len().min(size - held.len()));
            rest = tail;
            if piece.len() == size {
                take(piece);
            } else {
                held.extend_from_slice(piece);
                if held.len() < size {
                    continue;
                }
                take(&held);
                held.clear();
            }
            size = sizes.draw();
        }
    }
    if !held.is_empty() {
        take(&held);
    }
}

/// Whether two readings have the same events; arrivals and anomalies aside, since slices may change those.
pub fn same_events(left: &Decoded, right: &Decoded) -> bool {
    left.events.len() == right.events.len()
        && left
            .events
            .iter()
            .zip(&right.events)
            .all(|(a, b)| a.span == b.span && a.name == b.name && a.data == b.data && a.payload == b.payload)
}

struct Sizes {
    cut: Cut,
    state: u64,
}

// === impl Sizes ===

impl Sizes {
    const fn of(cut: Cut) -> Self {
        let state = if let Cut::Random(seed) = cut { seed } else { 0 };
        Self { cut, state }
    }

    fn draw(&mut self) -> usize {
        match self.cut {
            Cut::Every(size) => size.max(1),
            Cut::Random(_) => usize::try_from(self.next() % MAX_RANDOM).unwrap_or_default() + 1,
        }
    }

    /// SplitMix64: small, seeded, the same everywhere.
    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_lie_across_the_borders_of_parts() {
        let cut = |parts: &[&str], cut| {
            let mut all = Vec::new();
            slices(parts.iter().map(|part| part.as_bytes()), cut, |slice| all.push(slice.to_vec()));
            all.into_iter().map(|slice| String::from_utf8(slice).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(cut(&["abcde", "", "f", "gh"], Cut::Every(3)), ["abc", "def", "gh"]);
        assert_eq!(cut(&["ab", "c"], Cut::Every(0)), ["a", "b", "c"]);
        assert_eq!(cut(&["ab", "c"], Cut::Every(usize::MAX)), ["abc"]);
        assert_eq!(cut(&[], Cut::Every(2)), [""; 0]);
        let text = "some words ".repeat(50);
        let halves = text.split_at(77);
        assert_eq!(cut(&[halves.0, halves.1], Cut::Random(3)), cut(&[&text], Cut::Random(3)));
    }
}
