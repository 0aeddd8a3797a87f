//! What counts as equal, as data.
//!
//! Fixed, because documents leave no choice: text is compared code point for code point without normalisation; null, the empty
//! string and an absent key are equal; arguments are JSON values (numbers by decimal value, key order aside); ids, times and
//! chunk borders are not compared; cached token counts are not compared. What is left to the caller is here.

/// What counts as equal. The default compares arguments as JSON only and leaves completion tokens alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Equality<'a> {
    /// Whether arguments that are equal as JSON are also compared as text.
    pub arguments_text: bool,
    /// Whether completion tokens must be equal (known equal tokens).
    pub usage_completion: bool,
    /// Whether both replies owe usage: a whole reply always does, a stream where it was asked to.
    pub usage_due: bool,
    /// The stop strings of the request: text that ends in one of them, in one reply only, has its own rule.
    pub stop: &'a [String],
}
