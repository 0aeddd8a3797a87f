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

/// The declared types of a parameter, or `None` if its value is taken as text: a string, a union that allows one, a
/// type nobody knows, no type at all.
pub(super) fn declared_types(parameters: &Value, key: &str) -> Option<Vec<Type>> {
    types_of(declared(parameters)?.get(key)?)
}

/// The types a schema names, by itself or through the branches of its union.
fn types_of(schema: &Value) -> Option<Vec<Type>> {
    match schema.get("type") {
        Some(Value::String(name)) => Type::from_name(name).map(|one| vec![one]),
        Some(Value::Array(names)) if !names.is_empty() => {
            names.iter().map(|name| Type::from_name(name.as_str()?)).collect()
        }
        Some(_) => None,
        None => {
            let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
            let types: Vec<_> = branches.iter().map(types_of).collect::<Option<Vec<_>>>()?.concat();
            (!types.is_empty()).then_some(types)
        }
    }
}

/// The compact JSON text of a value that fits one of its types.
pub(super) fn fit(text: &str, wanted: &[Type]) -> Option<String> {
    json::compact(text).filter(|value| wanted.iter().any(|one| one.holds(value)))
}

// === impl Type ===

impl Type {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "array" => Some(Self::Array),
            "boolean" => Some(Self::Boolean),
            "integer" => Some(Self::Integer),
            "null" => Some(Self::Null),
            "number" => Some(Self::Number),
            "object" => Some(Self::Object),
            _ => None,
        }
    }

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

    use super::{Type, declared_types, fit};

    #[test]
    fn types_are_known_words_without_string() {
        let schema = json!({"properties": {
            "n": {"type": "integer"}, "u": {"type": ["integer", "null"]}, "q": {"type": "string"},
            "text": {"type": ["integer", "string"]}, "empty": {"type": []}, "mixed": {"type": ["integer", 5]},
            "none": {}, "odd": {"type": "tuple"}, "flat": true,
            "any": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "any text": {"oneOf": [{"type": "integer"}, {}]},
        }});
        assert_eq!(declared_types(&schema, "n"), Some(vec![Type::Integer]));
        assert_eq!(declared_types(&schema, "u"), Some(vec![Type::Integer, Type::Null]));
        assert_eq!(declared_types(&schema, "any"), Some(vec![Type::Integer, Type::Boolean]));
        for key in ["q", "text", "empty", "mixed", "none", "odd", "flat", "any text", "undeclared"] {
            assert_eq!(declared_types(&schema, key), None, "{key}");
        }
        assert_eq!(declared_types(&json!(null), "n"), None);
    }

    #[test]
    fn one_type_of_a_union_is_enough() {
        let wanted = [Type::Integer, Type::Boolean];
        assert_eq!(fit("true", &wanted).as_deref(), Some("true"));
        assert_eq!(fit("7", &wanted).as_deref(), Some("7"));
        assert_eq!(fit("null", &wanted), None);
    }

    fn check(wanted: Type, text: &str, expected: Option<&str>) {
        assert_eq!(fit(text, &[wanted]).as_deref(), expected, "{text:?} as {wanted:?}");
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
