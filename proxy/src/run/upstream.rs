//! Who answers: server, version, models and puppets, as far as the upstream tells.
//!
//! In: a sender, and what the user said. Out: [`Found`]. Only an upstream that cannot be reached stops a run here; one that
//! answers nonsense will be judged for it.

use super::event::Upstream;
use crate::{
    exchange::{End, Sender},
    plan::tokens,
    rules::Profile,
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

/// Asks the upstream who it is.
pub async fn find_out(sender: &Sender, model: Option<&str>) -> Result<Found, Unreachable> {
    let list = match sender.get("/v1/models").await {
        Err(End::Refused(why)) => return Err(Unreachable { url: sender.root().to_string(), why }),
        // It hangs: each probe would hang as well, and the first case will say so.
        Err(End::TimedOut) => return Ok(described(sender, &Value::Null, None, model)),
        Err(_) => Value::Null,
        Ok(body) => serde_json::from_slice(&body).unwrap_or_default(),
    };
    // The owner is the surest witness: servers answer some of each other's paths.
    let known = match owner(&list).and_then(Profile::of_owner) {
        Some(profile) => {
            let version = probe(sender, [profile]).await.map(|(_, version)| version);
            Some((profile, version.unwrap_or_default()))
        }
        // Ours always says whose its models are.
        None => probe(sender, Profile::all().iter().filter(|p| *p != Profile::tfengine())).await,
    };
    Ok(described(sender, &list, known, model))
}

/// The first of some profiles that fits what the upstream answers, and its server's version.
async fn probe(
    sender: &Sender,
    profiles: impl IntoIterator<Item = &'static Profile>,
) -> Option<(&'static Profile, String)> {
    for profile in profiles {
        for answer in &profile.answers {
            let body = match sender.get(&answer.path).await {
                Ok(body) => body,
                // The others would hang as well.
                Err(End::TimedOut) => return None,
                Err(_) => continue,
            };
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            if let Some(version) = answer.version_in(&body) {
                return Some((profile, version));
            }
        }
    }
    None
}

fn described(
    sender: &Sender,
    list: &Value,
    known: Option<(&'static Profile, String)>,
    model: Option<&str>,
) -> Found {
    let models = models(list);
    let puppets: Vec<String> =
        tokens::formats().filter(|f| models.contains(&format!("puppet-{f}"))).map(Into::into).collect();
    let asked = match (model, puppets.is_empty()) {
        (Some(named), _) => named.to_owned(),
        (None, false) => "puppet".to_owned(),
        // Servers with one model take any name.
        (None, true) => models.first().cloned().unwrap_or_else(|| "default".to_owned()),
    };
    let (profile, version) = known.unwrap_or_else(|| (Profile::openai(), String::new()));
    let kind = if profile == Profile::tfengine() { Kind::Ours } else { Kind::Foreign };
    let upstream = Upstream {
        url: sender.root().to_string(),
        server: profile.server.clone(),
        version,
        model: asked,
        profile: profile.name.clone(),
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
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    /// Answers these paths, each connection once, and nothing else.
    async fn serve(listener: TcpListener, answers: Vec<(&'static str, Value)>) {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let read = socket.read(&mut request).await.unwrap();
            let head = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer = answers.iter().find(|(own, _)| *own == path);
            let (status, body) =
                answer.map_or(("404 Not Found", "no".to_owned()), |(_, b)| ("200 OK", b.to_string()));
            let length = body.len();
            let text =
                format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            _ = socket.write_all(text.as_bytes()).await;
        }
    }

    async fn found(answers: Vec<(&'static str, Value)>, model: Option<&str>) -> Found {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        let limits = Limits::of(Duration::from_secs(30));
        let sender = Sender::new(root.parse().unwrap(), Credentials::default(), limits).unwrap();
        tokio::select! {
            () = serve(listener, answers) => unreachable!("it serves for ever"),
            found = find_out(&sender, model) => found.unwrap(),
        }
    }

    fn list(id: &str, owner: &str) -> (&'static str, Value) {
        ("/v1/models", json!({"object": "list", "data": [{"id": id, "owned_by": owner}]}))
    }

    #[tokio::test]
    async fn our_engine_is_known_by_its_models() {
        let answers = vec![list("puppet-glm", "tfengine"), ("/health", json!({"version": "0.1.0"}))];
        let found = found(answers, None).await;
        assert_eq!((found.kind, found.puppets.as_slice()), (Kind::Ours, ["glm".to_owned()].as_slice()));
        let upstream = found.upstream;
        assert_eq!([upstream.server, upstream.version, upstream.profile], ["tfengine", "0.1.0", "tfengine"]);
        assert_eq!(upstream.model, "puppet");
    }

    #[tokio::test]
    async fn a_foreign_server_is_known_by_its_models_and_paths() {
        let version = |path: &'static str| (path, json!({"version": "1.2"}));
        for (answers, expect) in [
            (vec![list("m", "vllm"), version("/version")], ["vLLM", "1.2", "m", "vllm"]),
            (vec![list("m", "vllm")], ["vLLM", "", "m", "vllm"]),
            (vec![list("m", "me"), version("/version")], ["vLLM", "1.2", "m", "vllm"]),
            (vec![list("m", "me"), version("/api/version")], ["Ollama", "1.2", "m", "ollama"]),
            // The owner is the surer witness: other servers answer some of the paths too.
            (vec![list("m", "sglang"), version("/version")], ["SGLang", "", "m", "sglang"]),
            (
                vec![list("m", "sglang"), ("/server_info", json!({"version": "0.5", "internal_states": []}))],
                ["SGLang", "0.5", "m", "sglang"],
            ),
            (vec![("/props", json!({"build_info": "b1-x"}))], ["llama.cpp", "b1-x", "default", "llamacpp"]),
            (vec![("/info", json!({"version": "3.3", "max_best_of": 2}))], ["TGI", "3.3", "default", "tgi"]),
            (vec![version("/info")], ["", "", "default", "openai"]),
            (
                vec![("/api/v0/models", json!({"data": [{"id": "m", "compatibility_type": "gguf"}]}))],
                ["LM Studio", "", "default", "lmstudio"],
            ),
            (
                vec![list("m", "openai"), ("/health/readiness", json!({"litellm_version": "1.60"}))],
                ["LiteLLM", "1.60", "m", "litellm"],
            ),
            (
                vec![list("m", "openai"), ("/health/liveliness", json!("I'm alive!")), version("/version")],
                ["LiteLLM", "", "m", "litellm"],
            ),
            // Whose models they are not says nothing of the path that tells our own engine's version.
            (vec![list("m", "me"), version("/health")], ["", "", "m", "openai"]),
            (vec![], ["", "", "default", "openai"]),
            (vec![("/v1/models", json!({"data": [7]}))], ["", "", "default", "openai"]),
        ] {
            let found = found(answers, None).await;
            let upstream = &found.upstream;
            assert_eq!([&upstream.server, &upstream.version, &upstream.model, &upstream.profile], expect);
            assert_eq!(found.kind, Kind::Foreign);
        }
    }

    #[tokio::test]
    async fn the_user_names_the_model() {
        assert_eq!(found(vec![list("m", "vllm")], Some("other")).await.upstream.model, "other");
    }
}
