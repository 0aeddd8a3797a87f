//! Which exchanges to make of a case: variants (one call, cuts), roles, rounds, order. Pure: no IO, no clock.

pub mod rounds;

pub use rounds::Rounds;
