//! Refusals: what the engine says no to, in OpenAI's envelope. They are decided before the first byte of a reply, so
//! that a request is refused alike whole and streamed.

use std::borrow::Cow;

use hyper::StatusCode;

use super::json;

/// A request that is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {message}")]
pub struct Refusal {
    /// The status it is refused with.
    pub status: StatusCode,
    /// What is wrong, for a person.
    pub message: String,
    /// The key or header that is wrong.
    pub param: Option<String>,
    /// What is wrong, for a program.
    pub code: Option<&'static str>,
}

/// The most characters of what a client wrote that are said back to it.
const MAX_SHOWN: usize = 120;

/// What a client wrote, short enough to be said back.
pub fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

// === impl Refusal ===

impl Refusal {
    /// A value that is wrong in itself.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            param: Some(param.into()),
            code: None,
        }
    }

    /// A key whose meaning the engine cannot honour.
    pub fn unsupported(param: impl Into<String>) -> Self {
        let param = param.into();
        Self {
            code: Some("unsupported_parameter"),
            ..Self::invalid(
                &param,
                format!("unsupported parameter: '{param}' cannot be honoured by this engine"),
            )
        }
    }

    /// A model that is not served.
    pub fn model_not_found(name: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("model_not_found"),
            ..Self::invalid("model", format!("the model '{}' does not exist", shown(name)))
        }
    }

    /// A refusal of the request as a whole.
    pub fn of_request(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    /// The body that says so.
    pub fn body(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160 + self.message.len());
        json::raw(&mut out, r#"{"error":{"message":"#);
        json::push(&mut out, &self.message);
        json::raw(&mut out, r#","type":"invalid_request_error","param":"#);
        json::push(&mut out, &self.param);
        json::raw(&mut out, r#","code":"#);
        json::push(&mut out, &self.code);
        json::raw(&mut out, "}}");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(refusal: &Refusal, status: u16, body: &str) {
        assert_eq!(refusal.status.as_u16(), status);
        assert_eq!(String::from_utf8(refusal.body()).unwrap(), body);
    }

    #[test]
    fn what_a_client_wrote_is_said_back_in_short() {
        assert_eq!(shown("puppet"), "puppet");
        assert_eq!(shown(&"\u{e9}".repeat(MAX_SHOWN)), "\u{e9}".repeat(MAX_SHOWN));
        assert_eq!(shown(&"\u{e9}".repeat(MAX_SHOWN + 1)), "\u{e9}".repeat(MAX_SHOWN) + "...");
    }

    #[test]
    fn the_envelope_has_four_keys() {
        check(
            &Refusal::invalid("n", "say \"1\""),
            400,
            r#"{"error":{"message":"say \"1\"","type":"invalid_request_error","param":"n","code":null}}"#,
        );
        check(
            &Refusal::model_not_found("x"),
            404,
            r#"{"error":{"message":"the model 'x' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
        );
        check(
            &Refusal::of_request(StatusCode::NOT_FOUND, "no"),
            404,
            r#"{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}"#,
        );
    }
}
