//! What the program does. The only modules that may see everything.

pub mod proxy;
pub mod rejudge;
pub mod replay;
