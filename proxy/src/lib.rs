//! tfproxy: finds out where a language-model server answers differently streamed than whole.
//!
//! # Layout
//!
//! Data flows one way, and a module knows only what stands before it:
//!
//! ```text
//! request -> plan -> exchange -> decode -> fold -> compare -+
//!                                    \-> rules -----------+-> finding -> report
//! run/ drives them; serve/ and store/ stand beside exchange; mode/ sits on top
//! ```
//!
//! From `decode` to `report` everything is a pure function of recorded bytes.

#![forbid(unsafe_code)]

pub mod cli;
pub mod compare;
pub mod decode;
pub mod exchange;
pub mod exit;
pub mod finding;
pub mod fold;
pub mod mode;
pub mod plan;
pub mod report;
pub mod request;
pub mod rules;
pub mod run;
pub mod serve;
pub mod settings;
pub mod store;
