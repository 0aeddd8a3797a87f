//! Names of folders: from an id that may hold anything to a name that every file system takes.
//!
//! In: an id. Out: the id with `/` as `-`, and a short hash behind it wherever two ids could end in one name.

use sha2::{Digest, Sha256};

/// Longer names are cut; many file systems end at 255 bytes.
const MAX_NAME: usize = 120;

/// The folder of an id. Different ids have different folders; `suite/name` becomes `suite-name`.
pub fn folder_name(id: &str) -> String {
    let mapped: String = id.chars().map(mapped).collect();
    if is_reversible(id) && mapped.len() <= MAX_NAME {
        return mapped;
    }
    let kept: String = mapped.trim_start_matches('.').chars().take(MAX_NAME).collect();
    format!("{kept}-{}", short_hash(id.as_bytes()))
}

/// The first twelve hex digits of SHA-256.
pub fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(6).flat_map(|byte| hex_digits(*byte)).collect()
}

/// A byte as two hex digits.
pub(super) fn hex_digits(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|nibble| char::from_digit(nibble.into(), 16).unwrap_or('0'))
}

fn mapped(character: char) -> char {
    match character {
        '/' => '-',
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '~' => character,
        _ => '_',
    }
}

/// Whether the id can be told from its folder's name: the first `-` of the name is then its only `/`.
fn is_reversible(id: &str) -> bool {
    let (suite, name) = id.split_once('/').unwrap_or((id, ""));
    let safe = |part: &str| part.chars().all(|c| c == mapped(c)) && !part.starts_with('.');
    !id.is_empty() && !suite.contains('-') && safe(suite) && safe(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn ordinary_ids_stay_readable() {
        for (id, expect) in [
            ("hermes/closer-in-string", "hermes-closer-in-string"),
            ("glm/two-calls~cut-17", "glm-two-calls~cut-17"),
            ("live/0a1b2c3d4e5f-1", "live-0a1b2c3d4e5f-1"),
            ("smoke", "smoke"),
        ] {
            assert_eq!(folder_name(id), expect);
        }
    }

    #[test]
    fn no_two_ids_share_a_folder_and_every_name_is_safe() {
        let long = "x".repeat(500);
        let longer = "x".repeat(501);
        let ids = [
            "a/b", "a-b", "a/b/c", "a/b-c", "a-b/c", "a b", "a_b", "a/ü", "a/ä", "", ".", "..", "../..",
            "/etc", "-etc", "a/", "a", "a\0b", "a\nb", &long, &longer, "con/.", ".a/b", "a/.b",
        ];
        let mut seen = HashMap::new();
        for id in ids {
            let name = folder_name(id);
            assert!(name.len() < 200 && !name.starts_with('.'), "{name:?}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b)), "{name:?}");
            assert_eq!(seen.insert(name.clone(), id), None, "{name:?} of {id:?}");
        }
    }
}
