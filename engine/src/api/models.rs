//! `GET /v1/models`: the puppets.

use super::json;
use crate::model::PUPPETS;

/// The list, each model with the same time of creation.
pub fn list(created: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(320);
    json::raw(&mut out, r#"{"object":"list","data":["#);
    for (at, puppet) in PUPPETS.iter().enumerate() {
        json::raw(&mut out, if at == 0 { r#"{"id":"# } else { r#",{"id":"# });
        json::push(&mut out, puppet.name);
        json::raw(&mut out, r#","object":"model","created":"#);
        json::push(&mut out, &created);
        json::raw(&mut out, r#","owned_by":"tfengine"}"#);
    }
    json::raw(&mut out, "]}");
    out
}
