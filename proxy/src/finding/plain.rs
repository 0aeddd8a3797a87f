//! Text from elsewhere, made fit for one line of a terminal: no escape sequence, no direction change, no line end gets through.

use crate::compare::show;

/// Longest value that a finding holds, in characters.
pub const VALUE_MAX: usize = show::VALUE_MAX;

/// The text in one line of at most `max` characters, control characters and the like escaped.
pub fn line(text: &str, max: usize) -> String {
    // Escapes only lengthen: cutting first bounds the work, cutting again bounds the line.
    let mut out = String::new();
    for c in show::shorten(text, max).chars() {
        push(c, &mut out);
    }
    show::shorten(&out, max)
}

fn push(c: char, out: &mut String) {
    if needs_escape(c) {
        out.extend(c.escape_default());
    } else {
        out.push(c);
    }
}

/// Controls, and what changes direction or cannot be seen: marks, embeddings, isolates, separators, joiners, tags.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_terminals_language_gets_through() {
        let check = |text: &str, expect: &str| assert_eq!(line(text, 40), expect);
        check("plain é 漢 🙂", "plain é 漢 🙂");
        check("a\nb\tc\r", r"a\nb\tc\r");
        check("\u{1b}[31mred\u{7}\u{9b}0m", r"\u{1b}[31mred\u{7}\u{9b}0m");
        check("\u{202e}gnp.exe\u{feff}", r"\u{202e}gnp.exe\u{feff}");
        check(&"x".repeat(50), &format!("{}…{}", "x".repeat(29), "x".repeat(10)));
        assert_eq!(line(&"\u{1b}".repeat(100), 40).chars().count(), 40);
    }
}
