//! Who answers: server, version, models and puppets, as far as the upstream tells.
//!
//! In: a sender, and what the user said. Out: [`Found`]. Only an upstream that cannot be reached stops a run here; one that
//! answers nonsense will be judged for it.

use super::event::Upstream;
use crate::{
    exchange::{End, Sender},
    plan::tokens,
};
use serde_json::Value;

/// What is known of an upstream before anything is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// As a report shows it. The profile is the one that fits the server.
    pub upstream: Upstream,
    /// The models it lists.
    pub models: Vec<String>,
    /// Formats for which it has a puppet.
    pub puppets: Vec<String>,
    /// Whether it is our own engine, whose puppets say exactly what they are told.
    pub kind: Kind,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The engine we bring.
    Ours,
    /// Anybody's.
    Foreign,
}

/// Nobody is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url} cannot be reached: {why}")]
pub struct Unreachable {
    /// The root that was tried.
    pub url: String,
    /// What the system said.
    pub why: String,
}

/// A path that one kind of server answers, and the key that holds its version.
type Probe = (&'static str, &'static str, &'static str);

/// What tells foreign servers.
const PROBES: [Probe; 3] = [
    ("vLLM", "/version", "version"),
    ("llama.cpp", "/props", "build_info"),
    ("Ollama", "/api/version", "version"),
];

/// What tells our engine's version; that it is ours, its models say.
const OURS: [Probe; 1] = [("tfengine", "/health", "version")];

/// Names of servers by what they write as the owner of a model.
const OWNERS: [(&str, &str); 4] =
    [("tfengine", "tfengine"), ("vllm", "vLLM"), ("sglang", "SGLang"), ("llamacpp", "llama.cpp")];

/// Asks the upstream who it is.
pub async fn find_out(sender: &Sender, model: Option<&str>) -> Result<Found, Unreachable> {
    let list = match sender.get("/v1/models").await {
        Err(End::Refused(why)) => return Err(Unreachable { url: sender.root().to_string(), why }),
        // It hangs: each probe would hang as well, and the first case will say so.
        Err(End::TimedOut) => return Ok(described(sender, &Value::Null, None, model)),
        Err(_) => Value::Null,
        Ok(body) => serde_json::from_slice(&body).unwrap_or_default(),
    };
    let probes = if owner(&list) == Some("tfengine") { OURS.as_slice() } else { &PROBES };
    let probed = probe(sender, probes).await;
    Ok(described(sender, &list, probed, model))
}

async fn probe(sender: &Sender, probes: &[Probe]) -> Option<(&'static str, String)> {
    for (server, path, key) in probes.iter().copied() {
        let Ok(body) = sender.get(path).await else { continue };
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(version) = answer.get(key).and_then(Value::as_str) {
            return Some((server, version.to_owned()));
        }
    }
    None
}

fn described(
    sender: &Sender,
    list: &Value,
    probed: Option<(&'static str, String)>,
    model: Option<&str>,
) -> Found {
    let models = models(list);
    let puppets: Vec<String> =
        tokens::formats().filter(|f| models.contains(&format!("puppet-{f}"))).map(Into::into).collect();
    let owner = owner(list).and_then(|owner| OWNERS.iter().find(|(name, _)| *name == owner));
    let kind = if owner.is_some_and(|(name, _)| *name == "tfengine") { Kind::Ours } else { Kind::Foreign };
    let (server, version) = match (owner, probed) {
        // The owner is the surer witness: other servers answer some of the paths too.
        (Some((_, server)), Some((also, version))) if *server == also => ((*server).to_owned(), version),
        (Some((_, server)), _) => ((*server).to_owned(), String::new()),
        (None, Some((server, version))) => (server.to_owned(), version),
        (None, None) => (String::new(), String::new()),
    };
    let asked = match (model, puppets.is_empty()) {
        (Some(named), _) => named.to_owned(),
        (None, false) => "puppet".to_owned(),
        // Servers with one model take any name.
        (None, true) => models.first().cloned().unwrap_or_else(|| "default".to_owned()),
    };
    let profile = if kind == Kind::Ours { "tfengine" } else { "openai" };
    let upstream = Upstream {
        url: sender.root().to_string(),
        server,
        version,
        model: asked,
        profile: profile.to_owned(),
    };
    Found { upstream, models, puppets, kind }
}

fn models(list: &Value) -> Vec<String> {
    let all = list.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|m| m.get("id")?.as_str().map(Into::into)).collect()
}

fn owner(list: &Value) -> Option<&str> {
    list.pointer("/data/0/owned_by")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Credentials, Limits};
    use serde_json::json;
    use std::time::Duration;

    fn found(list: &Value, probed: Option<(&'static str, &str)>, model: Option<&str>) -> Found {
        let limits = Limits::of(Duration::from_secs(1));
        let sender =
            Sender::new("http://localhost:1".parse().unwrap(), Credentials::default(), limits).unwrap();
        described(&sender, list, probed.map(|(s, v)| (s, v.to_owned())), model)
    }

    fn list(id: &str, owner: &str) -> Value {
        json!({"object": "list", "data": [{"id": id, "owned_by": owner}]})
    }

    #[test]
    fn our_engine_is_known_by_its_models() {
        let found = found(&list("puppet-glm", "tfengine"), None, None);
        assert_eq!((found.kind, found.puppets.as_slice()), (Kind::Ours, ["glm".to_owned()].as_slice()));
        assert_eq!(
            (found.upstream.server.as_str(), found.upstream.profile.as_str()),
            ("tfengine", "tfengine")
        );
        assert_eq!(found.upstream.model, "puppet");
    }

    #[test]
    fn a_foreign_server_is_known_by_its_models_and_paths() {
        for (list, probed, expect) in [
            (list("m", "vllm"), Some(("vLLM", "0.32.0")), ("vLLM", "0.32.0", "m")),
            (list("m", "me"), Some(("Ollama", "1")), ("Ollama", "1", "m")),
            (list("m", "sglang"), Some(("vLLM", "1")), ("SGLang", "", "m")),
            (Value::Null, None, ("", "", "default")),
            (json!({"data": [7]}), None, ("", "", "default")),
        ] {
            let found = found(&list, probed, None);
            let upstream = &found.upstream;
            assert_eq!(
                (upstream.server.as_str(), upstream.version.as_str(), upstream.model.as_str()),
                expect
            );
            assert_eq!((found.kind, upstream.profile.as_str()), (Kind::Foreign, "openai"));
        }
    }

    #[test]
    fn the_user_names_the_model() {
        assert_eq!(found(&list("m", "vllm"), None, Some("other")).upstream.model, "other");
    }
}
