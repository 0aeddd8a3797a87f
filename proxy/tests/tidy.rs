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
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A module, and those it may know.
type Map = &'static [(&'static str, &'static [&'static str])];

/// Production lines (those before the tests) above which a file usually holds two ideas.
const MAX_LINES: usize = 400;

/// Who may know whom in the proxy, beyond its own folder. A module that is missing here may not exist.
const PROXY: Map = &[
    ("request", &[]),
    ("plan", &["request"]),
    ("exchange", &["request", "plan"]),
    ("store", &["exchange", "request"]),
    ("decode", &["exchange"]),
    ("fold", &["decode"]),
    ("compare", &["fold"]),
    ("rules", &["exchange", "decode", "fold"]),
    ("finding", &["compare", "rules"]),
    ("run", &["request", "plan", "exchange", "store", "decode", "fold", "compare", "rules", "finding"]),
    ("serve", &["exchange", "store", "run"]),
    ("report", &["finding", "run"]),
];

/// Arrows beyond the map: who, whom, what of it and nothing else, and why. All run with the data.
const BEYOND: &[(&str, &str, &[&str], &str)] = &[
    (
        "store",
        "plan",
        &["Rounds"],
        "an exchange holds the schedule it was sent at, and a recording writes it down",
    ),
    ("fold", "request", &["Dialect"], "the dialect says which file folds"),
    ("compare", "request", &["case"], "the right answer is written in a case, and held against a reply here"),
    (
        "rules",
        "request",
        &["Asked", "Dialect", "Mode", "Request", "case"],
        "a rule needs to know what was asked and expected; an exchange holds its request",
    ),
    ("finding", "decode", &["Span"], "a finding names its bytes"),
    (
        "finding",
        "request",
        &["Asked", "Mode", "select"],
        "a finding has a side; coverage counts what was asked; known failures name cases as a selection does",
    ),
    (
        "serve",
        "request",
        &["Dialect", "Mode", "Request"],
        "the proxy takes requests in; an exchange is one with its answer",
    ),
    ("serve", "plan", &["Rounds", "ROUNDS_HEADER"], "shadow requests and the witness ask at a schedule"),
    (
        "serve",
        "finding",
        &["Finding", "Severity", "plain"],
        "the line and the counters of live traffic are made of what run judged",
    ),
    (
        "serve",
        "decode",
        &["self", "Payload"],
        "live traffic is told line by line also where nothing judges it, so the line reads its exchange itself",
    ),
    ("serve", "fold", &["self", "Lens", "Reply"], "likewise"),
    ("report", "request", &["Mode"], "what was sent is whole or streamed"),
];

/// The engine's folders, likewise. `plant` is asked at its three seams only, by `api` and `generate`.
const ENGINE: Map = &[
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

/// What a file names of another module: `crate::module::item`, also within `use crate::{a, b::{c, d}}`.
#[derive(Debug, PartialEq)]
struct Mention {
    line: usize,
    module: String,
    /// `self` for the module as a whole.
    item: String,
}

fn mentions(source: &Source) -> Vec<Mention> {
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let mut text = String::new();
    let mut lines = Vec::new();
    for (number, line) in production(source).filter(is_code) {
        lines.push((text.len(), number));
        text.push_str(line);
        text.push('\n');
    }
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let line = lines[lines.partition_point(|(start, _)| *start <= at) - 1].1;
        for path in members(&text[at + "crate::".len()..]) {
            let module = word(path);
            if module.starts_with(char::is_lowercase) {
                let items = path[module.len()..].strip_prefix("::").map_or(vec!["self"], members);
                found.extend(items.into_iter().map(|item| Mention {
                    line,
                    module: module.to_owned(),
                    item: word(item).to_owned(),
                }));
            }
        }
    }
    found
}

/// The paths that a path begins with: itself, or those of its group `{a, b::{c, d}, e}`.
fn members(path: &str) -> Vec<&str> {
    let Some(inner) = path.strip_prefix('{') else { return vec![path] };
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.push(inner[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Mentions that the map does not allow; those beyond it are ticked off in `used`.
fn wrong_arrows(crate_folder: &str, map: Map, used: &mut BTreeSet<(&str, &str, &str)>) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources(crate_folder).iter().filter(|s| !DOOR.contains(&s.module.as_str())) {
        let Some((_, may)) = map.iter().find(|(name, _)| *name == source.module) else {
            wrong.push(format!("{}: no such module in the map", source.path.display()));
            continue;
        };
        for Mention { line, module, item } in mentions(source) {
            if module == source.module || may.contains(&module.as_str()) {
                continue;
            }
            let beyond = BEYOND.iter().find(|(who, whom, ..)| *who == source.module && *whom == module);
            if let Some((who, whom, known)) = beyond
                .and_then(|(who, whom, items, _)| Some((who, whom, items.iter().find(|i| **i == item)?)))
            {
                used.insert((who, whom, known));
            } else {
                let (path, who) = (source.path.display(), &source.module);
                wrong.push(format!("{path}:{line}: {who} may not know {module}::{item}"));
            }
        }
    }
    wrong
}

#[test]
fn arrows_run_the_right_way_in_the_proxy() {
    let mut used = BTreeSet::new();
    assert_eq!(wrong_arrows("proxy", PROXY, &mut used), Vec::<String>::new());
    let beyond = BEYOND.iter().flat_map(|(who, whom, items, why)| {
        assert!(!why.is_empty());
        items.iter().map(move |item| (*who, *whom, *item))
    });
    let stale: Vec<_> = beyond.filter(|arrow| !used.contains(arrow)).collect();
    assert_eq!(stale, [], "allowed beyond the map, and nobody needs it");
}

#[test]
fn arrows_run_the_right_way_in_the_engine() {
    assert_eq!(wrong_arrows("engine", ENGINE, &mut BTreeSet::new()), Vec::<String>::new());
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
    let text = "use crate::{\n    decode::{Event, Span},\n    fold::Reply,\n    rules,\n    finding::{self, gather::{Of}},\n};\n// crate::no\nfn f() { crate::run::x(); }\n#[cfg(test)]\nmod tests {\nuse crate::mode;\n}\n";
    let source = Source { path: PathBuf::from("x.rs"), module: "x".into(), text: text.into() };
    let names: Vec<_> =
        mentions(&source).into_iter().map(|m| format!("{} {}::{}", m.line, m.module, m.item)).collect();
    assert_eq!(
        names,
        [
            "1 decode::Event",
            "1 decode::Span",
            "1 fold::Reply",
            "1 rules::self",
            "1 finding::self",
            "1 finding::gather",
            "8 run::x"
        ]
    );
}
