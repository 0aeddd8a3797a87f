//! What all bodies that are being recorded may hold together, and who gives way where it is not enough.
//!
//! In: pieces of many exchanges as they come. Out: the bytes of each, or nothing of it. Whoever began first keeps its
//! place: where room is short, the youngest that is still arriving is let go as a whole, so that what remains fits and is
//! judged, instead of everybody ending with a part.

use crate::exchange::Arrivals;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// All places of a proxy.
#[derive(Debug)]
pub(super) struct Shelf {
    /// Bytes at most.
    room: usize,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    held: usize,
    /// By the number of the exchange: older ones have smaller numbers.
    of: BTreeMap<u64, Held>,
}

#[derive(Debug)]
struct Held {
    cost: usize,
    /// What arrived, for as long as more may.
    arriving: Option<Arc<Mutex<Arrivals>>>,
}

/// The place of one exchange; it is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    shelf: Arc<Shelf>,
    number: u64,
    arrivals: Arc<Mutex<Arrivals>>,
}

// === impl Shelf ===

impl Shelf {
    pub fn new(room: usize) -> Self {
        Self { room, places: Mutex::default() }
    }

    /// A place for the exchange of that number, with nothing in it.
    pub fn place(self: &Arc<Self>, number: u64) -> Place {
        Place { shelf: Arc::clone(self), number, arrivals: Arc::default() }
    }
}

// === impl Places ===

impl Places {
    /// Makes room for so much more of `number`; `false` where that one has to give way itself.
    fn make_room(&mut self, number: u64, more: usize, room: usize) -> bool {
        while self.held + more > room {
            let youngest = self.of.iter().rev().find(|(_, held)| held.arriving.is_some());
            match youngest.map(|(youngest, _)| *youngest).filter(|youngest| *youngest > number) {
                Some(youngest) => self.free(youngest),
                None => return false,
            }
        }
        true
    }

    /// Lets go of a place; what still arrives there is emptied.
    fn free(&mut self, number: u64) {
        let Some(held) = self.of.remove(&number) else { return };
        self.held -= held.cost;
        if let Some(arriving) = held.arriving {
            *arriving.lock().unwrap_or_else(PoisonError::into_inner) = Arrivals::default();
        }
    }
}

// === impl Place ===

impl Place {
    /// Takes a copy of a piece that arrived at `at`, the body's byte `from` first; `false` where there is no room for it, or
    /// something before it is not here: then nothing after it is either.
    pub fn push(&self, piece: &[u8], from: u64, at: u64) -> bool {
        let mut places = self.shelf.places.lock().unwrap_or_else(PoisonError::into_inner);
        if self.len() != from {
            return false;
        }
        let cost = Arrivals::cost(piece.len());
        if !places.make_room(self.number, cost, self.shelf.room) {
            places.free(self.number);
            return false;
        }
        places.held += cost;
        let arriving = || Held { cost: 0, arriving: Some(Arc::clone(&self.arrivals)) };
        places.of.entry(self.number).or_insert_with(arriving).cost += cost;
        drop(places);
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(piece, at);
        true
    }

    /// How many bytes lie here.
    pub fn len(&self) -> u64 {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// What arrived. The place stays taken: it lies in memory still, and nobody can take it away any more.
    pub fn take(&self) -> Arrivals {
        let mut places = self.shelf.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = places.of.get_mut(&self.number) {
            held.arriving = None;
        }
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shelf.places.lock().unwrap_or_else(PoisonError::into_inner).free(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 1000;

    fn shelf(pieces: usize) -> Arc<Shelf> {
        Arc::new(Shelf::new(pieces * Arrivals::cost(PIECE)))
    }

    /// Fills the places in turn, a piece each time; says how much of each is there in the end.
    fn in_turn(places: &[&Place], pieces: u64) -> Vec<u64> {
        for round in 0..pieces {
            for place in places {
                place.push(&[b'x'; PIECE], round * PIECE as u64, round);
            }
        }
        places.iter().map(|place| place.len() / PIECE as u64).collect()
    }

    #[test]
    fn who_came_first_keeps_its_place() {
        let shelf = shelf(64);
        let [first, second, third, fourth] = [1, 2, 3, 4].map(|number| shelf.place(number));
        assert_eq!(in_turn(&[&fourth, &third, &second, &first], 30), [0, 0, 30, 30]);
        drop(first);
        let fifth = shelf.place(5);
        assert_eq!(in_turn(&[&fifth], 30), [30], "what is done makes room");
        assert_eq!(second.take().len(), 30 * PIECE);
        let older = shelf.place(0);
        assert_eq!(in_turn(&[&older], 34), [34], "the one that is arriving gave way");
        assert_eq!((fifth.len(), second.take().len()), (0, 0));
        assert_eq!(in_turn(&[&shelf.place(6)], 1), [0], "the one that is judged did not");
    }

    #[test]
    fn one_that_gave_way_begins_no_more_in_its_middle() {
        let shelf = shelf(2);
        let [first, second] = [1, 2].map(|number| shelf.place(number));
        assert!(second.push(b"ab", 0, 1) && first.push(&[b'x'; 2 * PIECE], 0, 2));
        drop(first);
        assert!(!second.push(b"c", 2, 3));
        assert_eq!(second.len(), 0);
    }

    #[test]
    fn all_room_is_given_back() {
        let shelf = shelf(3);
        let [first, second] = [1, 2].map(|number| shelf.place(number));
        in_turn(&[&first, &second], 3);
        _ = first.take();
        drop((first, second));
        let places = shelf.places.lock().unwrap();
        assert_eq!((places.held, places.of.len()), (0, 0));
    }
}
