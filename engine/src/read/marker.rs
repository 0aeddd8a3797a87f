//! Markers: the fixed texts that a format's grammar is made of.
//!
//! In: a marker and the text that stands at some place. Out: whether the marker stands there, may still come to
//! stand there, or cannot.

/// A fixed text of a format's grammar. No marker that is looked for is the beginning of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    text: &'static str,
    case: Case,
}

/// Whether the case of a marker's letters matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Exact,
    Any,
}

/// What stands at a place, seen with one marker in mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// The marker.
    Whole,
    /// A beginning of the marker (perhaps an empty one), and then the text stops.
    Part,
    /// Something else.
    Other,
}

// === impl Marker ===

impl Marker {
    /// A marker whose case matters.
    pub(super) const fn exact(text: &'static str) -> Self {
        Self { text, case: Case::Exact }
    }

    /// A marker in any mixture of upper and lower case.
    pub(super) const fn any_case(text: &'static str) -> Self {
        Self { text, case: Case::Any }
    }

    /// Its length in bytes.
    pub(super) const fn len(self) -> usize {
        self.text.len()
    }

    /// Whether `text` starts with this marker.
    pub(super) fn sight(self, text: &str) -> Sight {
        let seen = self.len().min(text.len());
        let (Some(wanted), Some(found)) = (self.text.as_bytes().get(..seen), text.as_bytes().get(..seen))
        else {
            return Sight::Other;
        };
        let same = match self.case {
            Case::Exact => wanted == found,
            Case::Any => wanted.eq_ignore_ascii_case(found),
        };
        match (same, seen == self.len()) {
            (false, _) => Sight::Other,
            (true, true) => Sight::Whole,
            (true, false) => Sight::Part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Marker, Sight};

    #[test]
    fn whole_part_or_other() {
        let marker = Marker::exact("<key>");
        for (text, expected) in [
            ("", Sight::Part),
            ("<", Sight::Part),
            ("<ke", Sight::Part),
            ("<key>", Sight::Whole),
            ("<key>x", Sight::Whole),
            ("<kez", Sight::Other),
            ("<Key>", Sight::Other),
            ("é", Sight::Other),
        ] {
            assert_eq!(marker.sight(text), expected, "{text:?}");
        }
        assert_eq!(Marker::any_case("<key>").sight("<KeY>"), Sight::Whole);
    }
}
