//! Values and diffs for people: shortened around the place where two texts part, whitespace made visible where it counts.
//!
//! In: two texts. Out: `…before [-only left-]{+only right+} after…`. The diff algorithm is quadratic in the worst case, so it
//! only ever sees `WINDOW` characters of each text; everything else is linear.

use similar::{Algorithm, ChangeTag, TextDiff};

/// Longest value kept of a text, in characters: enough to see it, too little to fill a report with one megabyte reply.
pub const VALUE_MAX: usize = 2_000;
/// Characters of equal text shown before and after the stretch that differs.
const CONTEXT: usize = 24;
/// Characters of each differing stretch that are given to the diff algorithm.
const WINDOW: usize = 400;
/// Longest single run of a diff, in characters.
const RUN_MAX: usize = 80;
/// Most runs of a diff; the rest is an ellipsis.
const RUNS_MAX: usize = 16;

/// Lengths in bytes of what two texts share at their start and, beyond that, at their end. Both are character borders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Bytes of the common start: also the offset of the first divergence in both texts.
    pub start: usize,
    /// Bytes of the common end, never overlapping the common start.
    pub end: usize,
}

/// A text in three parts: the shared start, what is its own, the shared end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The shared start.
    pub before: &'a str,
    /// What differs.
    pub own: &'a str,
    /// The shared end.
    pub after: &'a str,
}

/// What two texts share at both ends.
pub fn shared(left: &str, right: &str) -> Shared {
    let start: usize =
        left.chars().zip(right.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (rest_left, rest_right) = (tail(left, start), tail(right, start));
    let ends = rest_left.chars().rev().zip(rest_right.chars().rev());
    let end = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    Shared { start, end }
}

/// Cuts a text at the borders that [`shared`] found.
pub fn parts(text: &str, shared: Shared) -> Parts<'_> {
    let (before, rest) = text.split_at_checked(shared.start).unwrap_or((text, ""));
    let (own, after) = rest.split_at_checked(rest.len().saturating_sub(shared.end)).unwrap_or((rest, ""));
    Parts { before, own, after }
}

/// A text as a value: as it is, or [`VALUE_MAX`] characters of it around the byte `offset`.
pub fn value(text: &str, offset: usize) -> String {
    if text.len() <= VALUE_MAX {
        return text.to_owned();
    }
    let (before, rest) = text.split_at_checked(offset).unwrap_or((text, ""));
    let head = last(before, VALUE_MAX / 4);
    let body = first(rest, VALUE_MAX - VALUE_MAX / 4);
    let cut = |is: bool| if is { "…" } else { "" };
    format!("{}{head}{body}{}", cut(head.len() < before.len()), cut(body.len() < rest.len()))
}

/// How two texts differ, in one line.
pub fn diff(left: &str, right: &str) -> String {
    let shared = shared(left, right);
    let (a, b) = (parts(left, shared), parts(right, shared));
    let mut line = String::new();
    let before = last(a.before, CONTEXT);
    if before.len() < a.before.len() {
        line.push('…');
    }
    line.push_str(before);
    push_runs(&mut line, a.own, b.own);
    let after = first(a.after, CONTEXT);
    line.push_str(after);
    if after.len() < a.after.len() {
        line.push('…');
    }
    line
}

/// One run of a diff.
struct Run {
    tag: ChangeTag,
    text: String,
}

fn push_runs(line: &mut String, left: &str, right: &str) {
    let whitespace_only = super::text::without_blanks(left).eq(super::text::without_blanks(right));
    let (left_seen, right_seen) = (first(left, WINDOW), first(right, WINDOW));
    let runs = runs(left_seen, right_seen);
    for run in runs.iter().take(RUNS_MAX) {
        let visible = whitespace_only || run.text.chars().all(char::is_whitespace);
        let text = if visible && run.tag != ChangeTag::Equal {
            shorten(&visible_blanks(&run.text), RUN_MAX)
        } else {
            shorten(&run.text, RUN_MAX)
        };
        match run.tag {
            ChangeTag::Equal => line.push_str(&text),
            ChangeTag::Delete => line.extend(["[-", &text, "-]"]),
            ChangeTag::Insert => line.extend(["{+", &text, "+}"]),
        }
    }
    let cut = left_seen.len() < left.len() || right_seen.len() < right.len() || runs.len() > RUNS_MAX;
    if cut {
        line.push('…');
    }
}

fn runs(left: &str, right: &str) -> Vec<Run> {
    let one = |tag, text: &str| vec![Run { tag, text: text.to_owned() }];
    if right.is_empty() {
        return if left.is_empty() { Vec::new() } else { one(ChangeTag::Delete, left) };
    }
    if left.is_empty() {
        return one(ChangeTag::Insert, right);
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_unicode_words(left, right);
    let mut runs: Vec<Run> = Vec::new();
    for change in diff.iter_all_changes() {
        match runs.last_mut() {
            Some(run) if run.tag == change.tag() => run.text.push_str(change.value()),
            _ => runs.push(Run { tag: change.tag(), text: change.value().to_owned() }),
        }
    }
    runs
}

/// Blanks as signs: `·` a space, `⏎` a line feed, `␍` a carriage return, `⇥` a tab.
fn visible_blanks(text: &str) -> String {
    let sign = |c| match c {
        ' ' => '·',
        '\n' => '⏎',
        '\r' => '␍',
        '\t' => '⇥',
        other => other,
    };
    text.chars().map(sign).collect()
}

/// At most `max` characters: the head, an ellipsis, the tail.
pub fn shorten(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let tail = max / 4;
    format!("{}…{}", first(text, max.saturating_sub(tail + 1)), last(text, tail))
}

/// The first `count` characters.
pub fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The last `count` characters.
pub fn last(text: &str, count: usize) -> &str {
    let skip = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    if count == 0 { "" } else { tail(text, skip) }
}

fn tail(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_show_where_texts_part() {
        let check = |left: &str, right: &str, expect: &str| assert_eq!(diff(left, right), expect);
        check("same", "same", "same");
        check("a b c", "a x c", "a [-b-]{+x+} c");
        check("text\n", "text", "text[-⏎-]");
        check("a  b", "a b", "a [-·-]b");
        check("a\tb", "a\r\nb", "a[-⇥-]{+␍⏎+}b");
        check("", "new", "{+new+}");
        check("grüße", "gr\u{fffd}\u{fffd}ße", "gr[-ü-]{+\u{fffd}\u{fffd}+}ße");
    }

    #[test]
    fn long_texts_are_cut_around_the_divergence() {
        let left = format!("{}MIDDLE{}", "a".repeat(100_000), "b".repeat(100_000));
        let right = format!("{}{}", "a".repeat(100_000), "b".repeat(100_000));
        assert_eq!(diff(&left, &right), format!("…{}[-MIDDLE-]{}…", "a".repeat(24), "b".repeat(24)));
        let kept = value(&left, 100_000);
        assert!(kept.starts_with('…') && kept.ends_with('…') && kept.contains("aMIDDLEb"), "{kept}");
        assert_eq!(kept.chars().count(), VALUE_MAX + 2);
    }

    #[test]
    fn no_input_is_given_whole_to_the_diff_algorithm() {
        let left: String = (0..50_000).map(|n| if n % 3 == 0 { "x " } else { "yz " }).collect();
        let right: String = (0..50_000).map(|n| if n % 5 == 0 { "q " } else { "zy " }).collect();
        assert!(diff(&left, &right).chars().count() < 2_000);
    }

    #[test]
    fn ends_never_overlap_starts() {
        assert_eq!(shared("aa", "aaa"), Shared { start: 2, end: 0 });
        assert_eq!(shared("ab", "aab"), Shared { start: 1, end: 1 });
        assert_eq!(shared("é", "è"), Shared { start: 0, end: 0 });
        assert_eq!(parts("abc", Shared { start: 1, end: 1 }), Parts { before: "a", own: "b", after: "c" });
    }

    #[test]
    fn shortening_keeps_head_and_tail() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("0123456789", 8), "01234…89");
        assert_eq!((first("añb", 2), last("añb", 2), last("ab", 0)), ("añ", "ñb", ""));
    }
}
