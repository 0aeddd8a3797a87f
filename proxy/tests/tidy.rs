//! The structure of the source, checked: which module may know which, how long a file may be, that each says what it
//! is. Reads the source as text; fails with the file and the line.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Production lines (those before the tests) above which a file usually holds two ideas.
const MAX_LINES: usize = 400;

/// Who may know whom in the proxy, beyond its own folder: everything before it in the order of the data, less what is
/// excluded by name. A module that is missing here may not exist.
const PROXY: &[(&str, &[&str])] = &[
    ("request", &[]),
    ("plan", &["request"]),
    ("exchange", &["request", "plan"]),
    ("store", &["exchange", "request", "plan"]),
    ("decode", &["exchange", "request"]),
    ("fold", &["decode", "request"]),
    ("compare", &["fold", "request"]),
    ("rules", &["exchange", "decode", "fold", "request"]),
    ("finding", &["compare", "rules", "decode", "request"]),
    ("run", &["request", "plan", "exchange", "store", "decode", "fold", "compare", "rules", "finding"]),
    ("serve", &["request", "plan", "exchange", "store", "run", "finding", "decode", "fold", "rules"]),
    ("report", &["finding", "run", "rules", "compare", "request"]),
];

/// The engine's folders, likewise. `plant` is asked at its three seams only, by `api` and `generate`.
const ENGINE: &[(&str, &[&str])] = &[
    ("read", &[]),
    ("text", &["read"]),
    ("model", &["text", "read"]),
    ("chat", &["model", "read"]),
    ("plant", &["read", "text", "chat"]),
    ("generate", &["chat", "text", "read", "model", "plant"]),
    ("api", &["chat", "generate", "model", "read", "text", "plant"]),
];

/// Files at the door of a crate, which may see everything.
const DOOR: &[&str] = &["lib", "main", "cli", "settings", "exit", "mode", "server"];

struct Source {
    path: PathBuf,
    module: String,
    text: String,
}

fn sources(crate_folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_folder).join("src");
    let mut found = Vec::new();
    walk(&root, &mut |path| {
        let inside = path.strip_prefix(&root).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        found.push(Source { path: path.to_owned(), module, text: fs::read_to_string(path).unwrap() });
    });
    assert!(found.len() > 10, "{}: hardly any source found", root.display());
    found
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, visit);
        } else if path.extension().is_some_and(|e| e == "rs") {
            visit(&path);
        }
    }
}

/// The lines before the tests; none for a file of tests. Where tests are a file of their own, all lines are.
fn production(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let is_tests = source
        .path
        .components()
        .any(|c| c.as_os_str().to_string_lossy().trim_end_matches(".rs").ends_with("tests"));
    let text = if is_tests { "" } else { &source.text };
    let tests = [
        "#[cfg(test)]\nmod tests {",
        "#[cfg(test)]\npub mod tests {",
        "#[cfg(test)]\npub(crate) mod tests {",
    ];
    let end = tests.iter().filter_map(|tests| text.find(tests)).min().unwrap_or(text.len());
    text[..end].lines().enumerate().map(|(i, l)| (i + 1, l))
}

/// Names of modules mentioned as `crate::NAME`, also inside `use crate::{a, b::c}` that spans lines.
fn mentions(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut group: Option<isize> = None;
    for (number, line) in production(source).filter(|(_, l)| !l.trim_start().starts_with("//")) {
        let mut rest = line;
        if let Some(depth) = group.as_mut() {
            if *depth == 1 {
                found.extend(first_word(rest.trim_start()).map(|w| (number, w)));
            }
            *depth += balance(rest);
            if *depth > 0 {
                continue;
            }
            group = None;
        }
        while let Some(at) = rest.find("crate::") {
            rest = &rest[at + "crate::".len()..];
            if let Some(inner) = rest.strip_prefix('{') {
                let depth = 1 + balance(inner);
                for part in top_level(inner) {
                    found.extend(first_word(part.trim_start()).map(|w| (number, w)));
                }
                group = (depth > 0).then_some(depth);
            } else {
                found.extend(first_word(rest).map(|w| (number, w)));
            }
        }
    }
    found
}

/// Opening less closing braces.
fn balance(text: &str) -> isize {
    text.chars().map(|c| isize::from(c == '{') - isize::from(c == '}')).sum()
}

/// Splits `a, b::{c, d}, e};` at the commas that stand outside inner braces.
fn top_level(inner: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inner[start..].split('}').next().unwrap_or_default());
    parts
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty() && word.starts_with(char::is_lowercase)).then_some(word)
}

fn wrong_arrows(crate_folder: &str, table: &[(&str, &[&str])]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources(crate_folder).iter().filter(|s| !DOOR.contains(&s.module.as_str())) {
        let Some((_, may)) = table.iter().find(|(name, _)| *name == source.module) else {
            wrong.push(format!("{}: no such module in the map", source.path.display()));
            continue;
        };
        for (line, other) in mentions(source) {
            if other != source.module && !may.contains(&other.as_str()) {
                wrong.push(format!(
                    "{}:{line}: {} may not know {other}",
                    source.path.display(),
                    source.module
                ));
            }
        }
    }
    wrong
}

#[test]
fn arrows_run_the_right_way_in_the_proxy() {
    assert_eq!(wrong_arrows("proxy", PROXY), Vec::<String>::new());
}

#[test]
fn arrows_run_the_right_way_in_the_engine() {
    assert_eq!(wrong_arrows("engine", ENGINE), Vec::<String>::new());
}

#[test]
fn only_the_bundled_mode_names_the_engine() {
    let named: Vec<_> = sources("proxy")
        .into_iter()
        .filter(|s| production(s).any(|(_, l)| l.contains("tfengine::") || l.contains("use tfengine")))
        .map(|s| s.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(named, ["bundled.rs"]);
}

#[test]
fn decoding_to_reporting_is_free_of_io_and_clocks() {
    let pure = ["decode", "fold", "compare", "rules", "finding", "plan", "request"];
    let mut wrong = Vec::new();
    for source in sources("proxy").iter().filter(|s| pure.contains(&s.module.as_str())) {
        for (line, text) in production(source) {
            if ["tokio::", "reqwest::", "std::net", "std::fs", "std::env", "fs::", "Instant", "SystemTime"]
                .iter()
                .any(|w| text.contains(w))
            {
                wrong.push(format!("{}:{line}: {text}", source.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for source in sources("proxy").iter().chain(&sources("engine")) {
        let lines = production(source).count();
        if lines > MAX_LINES {
            wrong.push(format!("{}: {lines} lines, {MAX_LINES} at most", source.path.display()));
        }
        if !source.text.starts_with("//!") {
            wrong.push(format!("{}: does not begin with //!", source.path.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_map_is_read_as_it_is_written() {
    let text = "use crate::{\n    decode::{Event, Span},\n    fold::Reply,\n    rules,\n};\nfn f() { crate::run::x(); }\n#[cfg(test)]\nmod tests {\nuse crate::mode;\n}\n";
    let source = Source { path: PathBuf::from("x.rs"), module: "x".into(), text: text.into() };
    let names: Vec<_> = mentions(&source).into_iter().map(|(_, n)| n).collect();
    assert_eq!(names, ["decode", "fold", "rules", "run"]);
}
