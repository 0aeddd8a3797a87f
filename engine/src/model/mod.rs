//! The models the engine serves.

mod puppet;

pub use puppet::{PUPPETS, Puppet};
