//! Numbers and literals of JSON, read character by character.
//!
//! In: characters. Out: whether they can still become a number or literal, and which text they stand for.

/// What may stand in the place of a value besides strings, objects and arrays.
const LITERALS: [&str; 6] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"];

/// A number or literal while it is read.
#[derive(Debug, Default)]
pub(super) struct Token {
    text: String,
    place: Place,
}

/// Where in the grammar of a number the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Start,
    /// After a minus sign.
    Minus,
    /// After a leading zero.
    Zero,
    Whole,
    Point,
    Fraction,
    /// After `e`.
    Exponent,
    /// After the sign of the exponent.
    Sign,
    Power,
    Literal,
}

// === impl Token ===

impl Token {
    /// Whether a character could stand in some number or literal.
    pub(super) fn may_hold(c: char) -> bool {
        c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
    }

    /// Starts anew. False if the character starts neither number nor literal.
    pub(super) fn start(&mut self, c: char) -> bool {
        self.text.clear();
        self.place = Place::Start;
        self.push(c)
    }

    /// Takes the next character. False if it does not go on the token.
    pub(super) fn push(&mut self, c: char) -> bool {
        let Some(place) = self.place.after(c) else { return false };
        self.text.push(c);
        if place == Place::Literal && !LITERALS.iter().any(|literal| literal.starts_with(&self.text)) {
            return false;
        }
        self.place = place;
        true
    }

    /// The JSON text of a complete token. What only JavaScript and Python call numbers are strings.
    pub(super) fn complete(&self) -> Option<String> {
        match self.place {
            Place::Zero | Place::Whole | Place::Fraction | Place::Power => Some(self.text.clone()),
            Place::Literal => match self.text.as_str() {
                "true" | "false" | "null" => Some(self.text.clone()),
                text => LITERALS.contains(&text).then(|| format!("\"{text}\"")),
            },
            Place::Start | Place::Minus | Place::Point | Place::Exponent | Place::Sign => None,
        }
    }
}

// === impl Place ===

impl Place {
    fn after(self, c: char) -> Option<Self> {
        match (self, c) {
            (Self::Start, '-') => Some(Self::Minus),
            (Self::Start | Self::Minus, '0') => Some(Self::Zero),
            (Self::Start | Self::Minus, '1'..='9') | (Self::Whole, '0'..='9') => Some(Self::Whole),
            (Self::Zero | Self::Whole, '.') => Some(Self::Point),
            (Self::Point | Self::Fraction, '0'..='9') => Some(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, 'e' | 'E') => Some(Self::Exponent),
            (Self::Exponent, '+' | '-') => Some(Self::Sign),
            (Self::Exponent | Self::Sign | Self::Power, '0'..='9') => Some(Self::Power),
            (Self::Start | Self::Minus | Self::Literal, 'a'..='z' | 'A'..='Z') => Some(Self::Literal),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    fn check(text: &str, expected: Option<&str>) {
        let mut token = Token::default();
        let mut chars = text.chars();
        let fits = token.start(chars.next().unwrap()) && chars.all(|c| token.push(c));
        assert_eq!(token.complete().filter(|_| fits).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn numbers_stay_as_written() {
        for text in ["0", "-0", "12345678901234567890", "1.50", "-0.0", "1e9", "1E+09", "2.5e-3"] {
            check(text, Some(text));
        }
        for text in ["-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1_000", "--1"] {
            check(text, None);
        }
    }

    #[test]
    fn literals() {
        for text in ["true", "false", "null"] {
            check(text, Some(text));
        }
        check("NaN", Some("\"NaN\""));
        check("-Infinity", Some("\"-Infinity\""));
        for text in ["tru", "True", "nul", "nullx", "-true", "undefined", "I"] {
            check(text, None);
        }
    }
}
