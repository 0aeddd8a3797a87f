//! Where cases come from: built in, files, folders.
//!
//! In: paths. Out: cases in a fixed order, or every mistake of every file.

use crate::{
    plan::Rounds,
    request::case::{Case, Mistake, read_cases, repeated_ids},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The cases that come with the program: name and text of each file.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// A file of cases larger than this is a mistake, not a file of cases.
const MAX_FILE: u64 = 64 << 20;

/// The cases of some files and folders; the built-in ones where none are named.
pub fn cases(paths: &[PathBuf]) -> Result<Vec<Arc<Case>>, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut cases = Vec::new();
    if paths.is_empty() {
        for (name, text) in BUILT_IN {
            take(read_cases(name, text), &mut cases, &mut mistakes);
        }
    }
    for file in files(paths, &mut mistakes) {
        let name = file.display().to_string();
        match read_file(&file) {
            Ok(text) => take(read_cases(&name, &text), &mut cases, &mut mistakes),
            Err(what) => mistakes.push(of_file(&file, what)),
        }
    }
    mistakes.extend(repeated_ids(&cases));
    mistakes.extend(cases.iter().filter_map(bad_rounds));
    if mistakes.is_empty() { Ok(cases.into_iter().map(Arc::new).collect()) } else { Err(mistakes) }
}

fn take((more, wrong): (Vec<Case>, Vec<Mistake>), cases: &mut Vec<Case>, mistakes: &mut Vec<Mistake>) {
    cases.extend(more);
    mistakes.extend(wrong);
}

/// The files that paths name, folders walked in the order of names; each file once.
fn files(paths: &[PathBuf], mistakes: &mut Vec<Mistake>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        let before = found.len();
        if let Err(error) = walk(path, &mut found, &mut seen) {
            mistakes.push(of_file(path, error.to_string()));
        } else if found.len() == before && path.is_dir() {
            mistakes.push(of_file(path, "holds no .json or .jsonl file".to_owned()));
        }
    }
    found
}

fn walk(path: &Path, found: &mut Vec<PathBuf>, seen: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    // A link may lead back up; what was seen is not walked again.
    if !seen.insert(fs::canonicalize(path)?) {
        return Ok(());
    }
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        let is_cases = entry.extension().is_some_and(|e| e == "json" || e == "jsonl");
        if entry.is_dir() || is_cases {
            walk(&entry, found, seen)?;
        }
    }
    Ok(())
}

fn read_file(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    // What is no plain file tells no size.
    let read = File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("more than {MAX_FILE} bytes are too many for a file of cases"));
    }
    String::from_utf8(bytes).map_err(|e| format!("not UTF-8 at byte {}", e.utf8_error().valid_up_to()))
}

fn of_file(file: &Path, what: String) -> Mistake {
    Mistake { file: file.display().to_string(), line: 0, key: String::new(), what }
}

/// A schedule that a case names and nobody can send.
fn bad_rounds(case: &Case) -> Option<Mistake> {
    let (rounds, _) = case.expect.as_ref()?.argument_deltas_at_least.as_ref()?;
    let bad = rounds.parse::<Rounds>().err()?;
    let key = "expect.argument_deltas_at_least".to_owned();
    Some(Mistake { file: case.file.clone(), line: case.line, key, what: bad.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(paths: &[PathBuf]) -> String {
        let all = cases(paths).unwrap_err();
        all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_built_in_cases_have_no_mistakes() {
        assert_eq!(cases(&[]).map_err(|m| m.iter().map(ToString::to_string).collect::<Vec<_>>()).err(), None);
    }

    #[test]
    fn folders_are_walked_in_order_and_other_files_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("b")).unwrap();
        fs::write(at("b/c.jsonl"), r#"{"id": "x/3", "family": "glm", "raw_output": ""}"#).unwrap();
        fs::write(at("a.json"), r#"[{"id": "x/1", "request": {}}, {"id": "x/2", "request": {}}]"#).unwrap();
        fs::write(at("README.md"), "no case").unwrap();
        let ids = |paths: &[PathBuf]| cases(paths).unwrap().iter().map(|c| c.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&[folder.path().to_owned()]), ["x/1", "x/2", "x/3"]);
        assert_eq!(ids(&[at("b"), at("a.json"), at("b/c.jsonl")]), ["x/3", "x/1", "x/2"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("empty")).unwrap();
        fs::write(at("a.json"), b"{\"id\": \"\xff\"}").unwrap();
        fs::write(
            at("b.json"),
            r#"{"id": "x/1", "request": {}, "expect": {"argument_deltas_at_least": ["x", 1]}}"#,
        )
        .unwrap();
        let told = mistakes(&[at("a.json"), at("b.json"), at("none.json"), at("empty")]);
        for part in [
            "a.json: not UTF-8 at byte 8",
            "b.json:1: expect.argument_deltas_at_least: rounds \"x\"",
            "none.json: No such file",
            "empty: holds no",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
    }
}
