//! Values of tag formats, typed by the tool's JSON Schema.
//!
//! In: the schema of a tool's parameters, a key, and the text of its value. Out: how the value is to be taken, and
//! the compact JSON text of one that fits its type. A text that does not fit stays a string.

use serde_json::{Map, Value};

use super::json;

/// A declared type other than string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
}

/// The declared parameters of a tool.
pub(super) fn declared(parameters: &Value) -> Option<&Map<String, Value>> {
    parameters.get("properties")?.as_object()
}

/// The declared type of a parameter, or `None` if its value is taken as text: a string, a union, no type at all.
pub(super) fn declared_type(parameters: &Value, key: &str) -> Option<Type> {
    match declared(parameters)?.get(key)?.get("type")?.as_str()? {
        "array" => Some(Type::Array),
        "boolean" => Some(Type::Boolean),
        "integer" => Some(Type::Integer),
        "null" => Some(Type::Null),
        "number" => Some(Type::Number),
        "object" => Some(Type::Object),
        _ => None,
    }
}

/// The compact JSON text of a value that fits its type.
pub(super) fn fit(text: &str, wanted: Type) -> Option<String> {
    json::compact(text).filter(|value| wanted.holds(value))
}

// === impl Type ===

impl Type {
    fn holds(self, value: &str) -> bool {
        match self {
            Self::Array => value.starts_with('['),
            Self::Object => value.starts_with('{'),
            Self::Boolean => matches!(value, "true" | "false"),
            Self::Null => value == "null",
            Self::Number => is_number(value),
            Self::Integer => is_number(value) && is_whole(value),
        }
    }
}

fn is_number(value: &str) -> bool {
    value.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

/// Whether a number has no fraction: as JSON Schema has it, `2.0` has none.
fn is_whole(number: &str) -> bool {
    let digits_only = !number.contains(['.', 'e', 'E']);
    digits_only || number.parse::<f64>().is_ok_and(|value| value.is_finite() && value.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Type, declared_type, fit};

    #[test]
    fn a_type_is_one_plain_word_other_than_string() {
        let schema = json!({"properties": {
            "n": {"type": "integer"}, "q": {"type": "string"}, "u": {"type": ["integer", "null"]},
            "none": {}, "odd": {"type": "tuple"}, "flat": true, "any": {"anyOf": [{"type": "integer"}]},
        }});
        assert_eq!(declared_type(&schema, "n"), Some(Type::Integer));
        for key in ["q", "u", "none", "odd", "flat", "any", "undeclared"] {
            assert_eq!(declared_type(&schema, key), None, "{key}");
        }
        assert_eq!(declared_type(&json!(null), "n"), None);
    }

    fn check(wanted: Type, text: &str, expected: Option<&str>) {
        assert_eq!(fit(text, wanted).as_deref(), expected, "{text:?} as {wanted:?}");
    }

    #[test]
    fn values_that_fit_are_compact() {
        check(Type::Integer, " 5\n", Some("5"));
        check(Type::Integer, "123456789012345678901234567890", Some("123456789012345678901234567890"));
        check(Type::Integer, "2.0", Some("2.0"));
        check(Type::Number, "1.50", Some("1.50"));
        check(Type::Boolean, "false", Some("false"));
        check(Type::Null, "null", Some("null"));
        check(Type::Array, r#"["a", {"b": 1}]"#, Some(r#"["a",{"b":1}]"#));
        check(Type::Object, r#"{ "a" : 1, "a" : 2 }"#, Some(r#"{"a":1}"#));
    }

    #[test]
    fn values_that_do_not_fit() {
        check(Type::Integer, "5.5", None);
        check(Type::Integer, "five", None);
        check(Type::Integer, "5 6", None);
        check(Type::Integer, "5}", None);
        check(Type::Integer, "", None);
        check(Type::Number, "NaN", None);
        check(Type::Number, "1e999", Some("1e999"));
        check(Type::Integer, "1e999", None);
        check(Type::Boolean, "True", None);
        check(Type::Null, "0", None);
        check(Type::Array, "[1", None);
        check(Type::Array, "[1]]", None);
        check(Type::Object, "[]", None);
        check(Type::Object, "\"{}\"", None);
    }
}
