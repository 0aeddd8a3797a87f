//! Profiles as they stand in files.
//!
//! In: names and texts. Out: profiles, and what is wrong with a file, by its name and the key.

use super::{Answer, Profile, Proof, Treatment};
use crate::rules::{Severity, catalogue};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A file that holds no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct BadProfile {
    /// Its name.
    pub file: String,
    /// What is wrong, with the key.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    about: String,
    #[serde(default)]
    server: String,
    /// The profile whose treatments hold besides.
    like: Option<String>,
    #[serde(default)]
    signs: Signs,
    #[serde(default)]
    proof: Vec<Fields>,
    #[serde(default)]
    stream_intervals: Vec<u32>,
    #[serde(default)]
    rules: Vec<Treated>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signs {
    #[serde(default)]
    owners: Vec<String>,
    #[serde(default)]
    answers: Vec<Answers>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    path: String,
    version: Option<String>,
    holds: Option<String>,
    says: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    fields: Map<String, Value>,
    #[serde(default)]
    unless: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Treated {
    id: String,
    #[serde(rename = "as")]
    treatment: String,
    why: String,
}

/// The profiles that could be read, each with the treatments of the one it is like, which comes before it; and what is
/// wrong with the other files.
pub(super) fn files(files: &[(&str, &str)]) -> (Vec<Profile>, Vec<BadProfile>) {
    let (mut profiles, mut mistakes) = (Vec::new(), Vec::new());
    for (file, text) in files {
        match read(text, &profiles) {
            Ok(profile) => profiles.push(profile),
            Err(what) => mistakes.push(BadProfile { file: (*file).to_owned(), what }),
        }
    }
    (profiles, mistakes)
}

fn read(text: &str, others: &[Profile]) -> Result<Profile, String> {
    let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if others.iter().any(|other| other.name == written.name) {
        return Err(format!("name: {:?} is the name of another", written.name));
    }
    let mut rules = match &written.like {
        None => BTreeMap::new(),
        Some(like) => match others.iter().find(|other| other.name == *like) {
            Some(other) => other.rules.clone(),
            None => return Err(format!("like: no profile before it is called {like:?}")),
        },
    };
    rules.extend(treatments(&written.rules)?);
    if written.stream_intervals.contains(&0) {
        return Err("stream_intervals: a delta has at least one token".to_owned());
    }
    Ok(Profile {
        answers: answers(written.signs.answers)?,
        name: written.name,
        about: written.about,
        server: written.server,
        owners: written.signs.owners,
        proof: written.proof.into_iter().map(|p| Proof { fields: p.fields, unless: p.unless }).collect(),
        stream_intervals: written.stream_intervals,
        rules,
    })
}

fn treatments(written: &[Treated]) -> Result<BTreeMap<String, Treatment>, String> {
    let mut rules = BTreeMap::new();
    for (at, treated) in written.iter().enumerate() {
        if catalogue::describe(&treated.id).is_none() {
            return Err(format!("rules[{at}].id: no rule is called {:?}", treated.id));
        }
        let word = &treated.treatment;
        let known = || format!("rules[{at}].as: {word:?} is none of silent, info, warn, error");
        if treated.why.trim().is_empty() {
            return Err(format!("rules[{at}].why: no reason"));
        }
        if rules.insert(treated.id.clone(), treatment(word).ok_or_else(known)?).is_some() {
            return Err(format!("rules[{at}].id: {:?} is treated twice", treated.id));
        }
    }
    Ok(rules)
}

fn treatment(word: &str) -> Option<Treatment> {
    Some(match word {
        "silent" => Treatment::Silent,
        "info" => Treatment::As(Severity::Info),
        "warn" => Treatment::As(Severity::Warn),
        "error" => Treatment::As(Severity::Error),
        _ => return None,
    })
}

fn answers(written: Vec<Answers>) -> Result<Vec<Answer>, String> {
    let answer = |(at, Answers { path, version, holds, says }): (usize, Answers)| {
        if !path.starts_with('/') {
            return Err(format!("signs.answers[{at}].path: {path:?} does not begin with a slash"));
        }
        if version.is_none() && holds.is_none() && says.is_none() {
            return Err(format!("signs.answers[{at}]: says nothing of the answer"));
        }
        Ok(Answer { path, version, holds, says })
    };
    written.into_iter().enumerate().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a file that holds these keys besides its name.
    fn wrong(more: &str) -> String {
        let text = format!(r#"{{"name": "x", "about": "a"{more}}}"#);
        let (profiles, mistakes) = files(&[("x.json", &text)]);
        assert_eq!(profiles.len() + mistakes.len(), 1);
        mistakes.first().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn a_mistake_is_told_with_file_and_key() {
        assert_eq!(wrong(""), "");
        let rule = |id: &str, treatment: &str, why: &str| {
            format!(r#", "rules": [{{"id": "{id}", "as": "{treatment}", "why": "{why}"}}]"#)
        };
        assert_eq!(wrong(&rule("sse/comment", "warn", "so")), "");
        let twice = r#", "rules": [{"id": "sse/comment", "as": "info", "why": "a"}, {"id": "sse/comment", "as": "info", "why": "b"}]"#;
        for (more, expect) in [
            (r#", "rulez": []"#.to_owned(), "unknown field `rulez`"),
            (r#", "signs": {"owner": []}"#.to_owned(), "unknown field `owner`"),
            (r#", "rules": [{"id": "sse/comment", "as": "info"}]"#.to_owned(), "missing field `why`"),
            (rule("sse/nonsense", "info", "so"), "rules[0].id: no rule is called \"sse/nonsense\""),
            (rule("sse/comment", "loud", "so"), "rules[0].as: \"loud\" is none of silent"),
            (rule("sse/comment", "info", " "), "rules[0].why: no reason"),
            (twice.to_owned(), "rules[1].id: \"sse/comment\" is treated twice"),
            (r#", "like": "y""#.to_owned(), "like: no profile before it is called \"y\""),
            (r#", "stream_intervals": [1, 0]"#.to_owned(), "stream_intervals: "),
            (r#", "signs": {"answers": [{"path": "x", "says": "y"}]}"#.to_owned(), "answers[0].path: \"x\""),
            (r#", "signs": {"answers": [{"path": "/x"}]}"#.to_owned(), "answers[0]: says nothing"),
            (r#", "name": "y""#.to_owned(), "duplicate field `name`"),
        ] {
            let told = wrong(&more);
            assert!(told.starts_with("x.json: ") && told.contains(expect), "{expect} in {told}");
        }
    }

    #[test]
    fn a_profile_treats_rules_like_another_save_for_its_own() {
        let own = r#"{"name": "b", "about": "a", "like": "a", "rules": [{"id": "sse/comment", "as": "warn", "why": "so"}]}"#;
        let other = r#"{"name": "a", "about": "a", "rules": [{"id": "sse/comment", "as": "silent", "why": "so"}, {"id": "sse/id-used", "as": "info", "why": "so"}]}"#;
        let (profiles, mistakes) = files(&[("a", other), ("b", own), ("c", other)]);
        assert_eq!(profiles[1].severity("sse/comment", Severity::Info), Some(Severity::Warn));
        assert_eq!(profiles[1].severity("sse/id-used", Severity::Warn), Some(Severity::Info));
        assert_eq!(
            mistakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["c: name: \"a\" is the name of another"]
        );
    }
}
