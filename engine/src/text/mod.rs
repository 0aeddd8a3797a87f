//! Text to tokens and tokens to text. Every byte is a token, and so is each special marker of a format.

mod detokenizer;
mod tokenizer;

pub use detokenizer::Detokenizer;
pub use tokenizer::{TokenId, Tokenizer};
