//! Who answers: how a server is known, what it is asked besides so that its tokens are proven, and which rules it is held to.
//!
//! Data: a file in `proxy/profiles/` each, read once. A profile raises, lowers or silences rules where documents and servers
//! disagree; what it does not name stays as the catalogue has it. A legal oddity is treated there, with its reason; a fault
//! of a server never is.

use super::Severity;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::LazyLock};

mod read;

pub use read::BadProfile;

/// What is known of one kind of server.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name, as `--profile` takes it.
    pub name: String,
    /// What it is for, in a few words.
    pub about: String,
    /// The server that it knows, as reports name it; empty where it is about rules alone.
    pub server: String,
    /// What its server writes as the owner of a model.
    pub owners: Vec<String>,
    /// What its server answers, where the owner does not tell.
    pub answers: Vec<Answer>,
    /// What makes its server tell which tokens a reply comes from. It changes nothing that is generated.
    pub proof: Vec<Proof>,
    /// Tokens a delta that its server can be asked for by `stream_interval`; none where it takes no wish.
    pub stream_intervals: Vec<u32>,
    /// Rules that it treats in its own way.
    rules: BTreeMap<String, Treatment>,
}

/// What a path answers where this server is there: all of what is said here, and at least one thing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The path.
    pub path: String,
    /// Where the answer holds the version, a text.
    pub version: Option<String>,
    /// What else the answer holds.
    pub holds: Option<String>,
    /// The answer is this text.
    pub says: Option<String>,
}

/// Fields that are sent along.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The fields.
    pub fields: Map<String, Value>,
    /// Keys of a request beside which the server refuses them in one of the modes.
    pub unless: Vec<String>,
}

/// What a profile does with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing is said.
    Silent,
    /// It is said with this severity.
    As(Severity),
}

/// The files, those whose signs are the surest first: who answers to several is the first of them.
const FILES: [(&str, &str); 10] = [
    ("openai.json", include_str!("../../profiles/openai.json")),
    ("tfengine.json", include_str!("../../profiles/tfengine.json")),
    ("strict.json", include_str!("../../profiles/strict.json")),
    ("litellm.json", include_str!("../../profiles/litellm.json")),
    ("llamacpp.json", include_str!("../../profiles/llamacpp.json")),
    ("lmstudio.json", include_str!("../../profiles/lmstudio.json")),
    ("ollama.json", include_str!("../../profiles/ollama.json")),
    ("tgi.json", include_str!("../../profiles/tgi.json")),
    ("sglang.json", include_str!("../../profiles/sglang.json")),
    ("vllm.json", include_str!("../../profiles/vllm.json")),
];

/// What the files hold. That nothing is wrong with them, a test says.
static ALL: LazyLock<Vec<Profile>> = LazyLock::new(|| read::files(&FILES).0);

/// The catalogue as it stands.
static BARE: Profile = Profile {
    name: String::new(),
    about: String::new(),
    server: String::new(),
    owners: Vec::new(),
    answers: Vec::new(),
    proof: Vec::new(),
    stream_intervals: Vec::new(),
    rules: BTreeMap::new(),
};

// === impl Profile ===

impl Profile {
    /// Any server that speaks the OpenAI API; the default.
    pub fn openai() -> &'static Self {
        Self::find("openai").unwrap_or(&BARE)
    }

    /// The bundled engine. It says what the model wrote even where that is broken, and it never re-spaces.
    pub fn tfengine() -> &'static Self {
        Self::find("tfengine").unwrap_or(&BARE)
    }

    /// The catalogue as it stands.
    pub fn strict() -> &'static Self {
        Self::find("strict").unwrap_or(&BARE)
    }

    /// Every profile.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The profile of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|profile| profile.name == name)
    }

    /// The profile of the server that writes this as the owner of its models.
    pub fn of_owner(owner: &str) -> Option<&'static Self> {
        ALL.iter().find(|profile| profile.owners.iter().any(|own| own == owner))
    }

    /// Every name, with commas between.
    pub fn names() -> String {
        ALL.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The severity of a rule whose own is `severity`; `None` if it is silenced.
    pub fn severity(&self, rule: &str, severity: Severity) -> Option<Severity> {
        match self.rules.get(rule) {
            None => Some(severity),
            Some(Treatment::As(changed)) => Some(*changed),
            Some(Treatment::Silent) => None,
        }
    }
}

// === impl Answer ===

impl Answer {
    /// The version that a body tells, empty where this kind of answer has none; `None` where it is another server's.
    pub fn version_in(&self, body: &Value) -> Option<String> {
        let is_held = self.holds.as_ref().is_none_or(|at| body.pointer(at).is_some());
        let is_said = self.says.as_ref().is_none_or(|text| body.as_str() == Some(text));
        let version = match &self.version {
            Some(at) => body.pointer(at)?.as_str()?,
            None => "",
        };
        (is_held && is_said).then(|| version.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_files_have_no_mistakes_and_their_profiles_names() {
        let (profiles, mistakes) = read::files(&FILES);
        assert_eq!(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        let names: Vec<_> = profiles.iter().map(|p| format!("{}.json", p.name)).collect();
        assert_eq!(names, FILES.map(|(name, _)| name));
        for name in ["openai", "tfengine", "strict"] {
            assert_eq!(Profile::find(name).map(|p| p.name.as_str()), Some(name));
        }
        assert_eq!(Profile::find("nonsense"), None);
    }

    #[test]
    fn every_server_can_be_told_from_the_others() {
        for profile in Profile::all() {
            let is_known = !profile.owners.is_empty() || !profile.answers.is_empty();
            assert_eq!(is_known, !profile.server.is_empty(), "{}", profile.name);
            for owner in &profile.owners {
                assert_eq!(Profile::of_owner(owner), Some(profile));
            }
        }
    }

    #[test]
    fn severities_are_changed_as_the_files_say() {
        use Severity::{Error, Info, Warn};
        for (profile, rule, own, expect) in [
            ("tfengine", "parity/tool-arguments-text", Info, Some(Error)),
            ("tfengine", "sse/comment", Info, None),
            ("tfengine", "parity/content", Error, Some(Error)),
            ("openai", "parity/tool-arguments-text", Info, Some(Info)),
            ("openai", "sse/comment", Info, None),
            ("strict", "sse/comment", Info, Some(Info)),
            ("vllm", "sse/comment", Info, None),
            ("vllm", "openai-chat/error-code-type", Info, None),
            ("llamacpp", "openai-chat/created-constant", Warn, Some(Info)),
            ("vllm", "openai-chat/created-constant", Warn, Some(Warn)),
        ] {
            let profile = Profile::find(profile).unwrap();
            assert_eq!(profile.severity(rule, own), expect, "{} {rule}", profile.name);
        }
    }

    /// What the catalogue calls a fault stays one: no error becomes less, and only what is no more than a remark is silenced.
    #[test]
    fn no_fault_of_a_server_is_silenced() {
        use crate::rules::catalogue;
        let foreign = Profile::all().iter().filter(|profile| profile.name != "tfengine");
        for profile in foreign {
            for rule in profile.rules.keys() {
                let own = catalogue::describe(rule).unwrap().severity;
                let is_silent = profile.severity(rule, own).is_none();
                assert!(
                    own < Severity::Error && (own == Severity::Info || !is_silent),
                    "{}: {rule}",
                    profile.name
                );
            }
        }
    }

    #[test]
    fn an_answer_is_a_sign_where_all_of_it_is_there() {
        let of = |version: Option<&str>, holds: Option<&str>, says: Option<&str>| Answer {
            path: "/x".to_owned(),
            version: version.map(Into::into),
            holds: holds.map(Into::into),
            says: says.map(Into::into),
        };
        let body = json!({"version": "1.2", "data": [{"kind": null}], "number": 3});
        for (answer, body, expect) in [
            (of(Some("/version"), None, None), &body, Some("1.2")),
            (of(Some("/number"), None, None), &body, None),
            (of(Some("/version"), Some("/data/0/kind"), None), &body, Some("1.2")),
            (of(Some("/version"), Some("/data/1/kind"), None), &body, None),
            (of(None, Some("/data/0"), None), &body, Some("")),
            (of(None, None, Some("here")), &json!("here"), Some("")),
            (of(None, None, Some("here")), &json!("there"), None),
            (of(None, None, Some("here")), &body, None),
            (of(Some("/version"), None, None), &Value::Null, None),
        ] {
            assert_eq!(answer.version_in(body).as_deref(), expect, "{answer:?}");
        }
    }
}
