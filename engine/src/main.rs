//! The `tfengine` binary.

fn main() {}
