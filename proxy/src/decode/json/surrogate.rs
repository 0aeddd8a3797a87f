//! Halves of surrogate pairs, which Rust strings cannot hold.
//!
//! A server may escape one half of a character in one event and the other half in the next; clients in Python and
//! JavaScript join them. So a lone half is read as a stand-in, the private character U+100000 plus the unit: it takes
//! four bytes, as the joined character will. Only a document with an anomaly `LoneSurrogate` holds stand-ins.

const BASE: u32 = 0x10_0000;

/// The character of a high and a low half.
pub fn join(high: u16, low: u16) -> Option<char> {
    let (high, low) = (u32::from(high), u32::from(low));
    let is_pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
    if is_pair { char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)) } else { None }
}

/// The stand-in of a lone half; U+FFFD for a unit that is no half.
pub fn stand_in(unit: u16) -> char {
    let is_half = (0xD800..0xE000).contains(&unit);
    is_half.then(|| char::from_u32(BASE + u32::from(unit))).flatten().unwrap_or('\u{FFFD}')
}

/// The half that a character stands for.
pub fn half(c: char) -> Option<u16> {
    let unit = u16::try_from(u32::from(c).checked_sub(BASE)?).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

/// The text with every stand-in that is left over as U+FFFD, as clients show it.
pub fn settle(text: &str) -> String {
    text.chars().map(|c| if half(c).is_some() { '\u{FFFD}' } else { c }).collect()
}
