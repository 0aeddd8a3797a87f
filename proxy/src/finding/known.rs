//! Known failures: findings that somebody has looked at and given a reason for. They are reported as known and do not fail.
//!
//! In: a text of lines `PATTERN [RULE-PATTERN] # reason`, both of them patterns as `--run` takes them: an id covers its
//! `~variants`, a folder all that is in it. Empty lines, lines that begin with `#` and a byte order mark are skipped. Out:
//! [`Known`], or every mistake of the file at once. An entry that nothing needs any more is stale.

use super::Finding;
use crate::{
    request::select::Pattern,
    rules::{Severity, catalogue},
};
use std::{collections::HashSet, fmt};

/// The known failures of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    entries: Vec<KnownEntry>,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEntry {
    /// 1-based line.
    pub line: usize,
    /// Which entries.
    pub pattern: Pattern,
    /// Which rules; `None` for all.
    pub rule: Option<Pattern>,
    /// Why it fails and may.
    pub reason: String,
}

/// A line that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BadLine {
    /// 1-based.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// What became of one entry of a run, as far as staleness needs it.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    /// Entry id.
    pub id: &'a str,
    /// Whether it was judged to the end.
    pub how: How,
    /// What was found.
    pub findings: &'a [Finding],
}

/// Whether an entry was judged to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Yes: what it does not show is gone.
    Fully,
    /// No: skipped, inconclusive, refused. It may still fail.
    InPart,
}

// === impl Known ===

impl Known {
    /// Reads the file's text.
    pub fn read(text: &str) -> Result<Self, Vec<BadLine>> {
        let (mut entries, mut bad): (Vec<KnownEntry>, Vec<BadLine>) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        // What an editor puts before the first line is no part of it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            match read_line(line_number, line.trim()) {
                Ok(None) => {}
                Ok(Some(one)) if !seen.insert((one.pattern.clone(), one.rule.clone())) => {
                    bad.push(BadLine {
                        line: line_number,
                        what: "the same pattern stands on an earlier line",
                    });
                }
                Ok(Some(one)) => entries.push(one),
                Err(what) => bad.push(BadLine { line: line_number, what }),
            }
        }
        if bad.is_empty() { Ok(Self { entries }) } else { Err(bad) }
    }

    /// The reason why an entry may break a rule (`None` for an entry that has no usable answer at all), if there is one.
    pub fn reason(&self, id: &str, rule: Option<&str>) -> Option<&str> {
        let entry = self.entries.iter().find(|e| e.covers_entry(id) && e.covers_rule(rule))?;
        Some(entry.reason.as_str())
    }

    /// Marks the findings of one entry that are known, and what follows from them.
    pub fn mark(&self, id: &str, findings: &mut [Finding]) {
        for finding in findings.iter_mut().filter(|f| f.severity > Severity::Info) {
            finding.known = self.reason(id, Some(&finding.rule)).map(ToOwned::to_owned);
        }
        let causes: Vec<(String, String)> = findings
            .iter()
            .filter(|f| f.is_primary())
            .filter_map(|f| Some((format!("{} {}", f.rule, f.path).trim_end().to_owned(), f.known.clone()?)))
            .collect();
        for finding in findings.iter_mut().filter(|f| f.known.is_none()) {
            let cause = causes.iter().find(|(name, _)| Some(name) == finding.because_of.as_ref());
            finding.known = cause.map(|(_, reason)| reason.clone());
        }
    }

    /// Entries of the file whose cases ran to the end and show nothing that needs them.
    pub fn stale(&self, ran: &[Ran<'_>]) -> Vec<&KnownEntry> {
        let is_stale = |entry: &&KnownEntry| {
            let mut covered = ran.iter().filter(|r| entry.covers_entry(r.id)).peekable();
            let bad = |f: &&Finding| f.severity > Severity::Info;
            let needed =
                |r: &Ran<'_>| r.findings.iter().filter(bad).any(|f| entry.covers_rule(Some(&f.rule)));
            covered.peek().is_some() && covered.all(|r| r.how == How::Fully && !needed(r))
        };
        self.entries.iter().filter(is_stale).collect()
    }
}

// === impl KnownEntry ===

impl KnownEntry {
    fn covers_entry(&self, id: &str) -> bool {
        self.pattern.matches(id)
    }

    fn covers_rule(&self, rule: Option<&str>) -> bool {
        match (&self.rule, rule) {
            (None, _) => true,
            (Some(pattern), Some(rule)) => pattern.matches(rule),
            (Some(_), None) => false,
        }
    }
}

impl fmt::Display for KnownEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule.as_ref().map(|rule| format!(" {}", rule.text())).unwrap_or_default();
        write!(f, "line {}: {}{rule}", self.line, self.pattern.text())
    }
}

fn read_line(line: usize, text: &str) -> Result<Option<KnownEntry>, &'static str> {
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let (patterns, reason) =
        text.split_once('#').ok_or("a reason is missing: PATTERN [RULE-PATTERN] # reason")?;
    let reason = reason.trim();
    if reason.is_empty() {
        return Err("the reason after # is empty");
    }
    let mut words = patterns.split_whitespace();
    let (Some(pattern), rule, None) = (words.next(), words.next(), words.next()) else {
        return Err("more than an entry pattern and a rule pattern before #");
    };
    let (pattern, rule) = (Pattern::new(pattern), rule.map(Pattern::new));
    if rule.as_ref().is_some_and(|rule| !catalogue::ids().any(|named| rule.matches(named.id))) {
        return Err("no rule is called so (tfproxy rules lists them)");
    }
    Ok(Some(KnownEntry { line, pattern, rule, reason: reason.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::{super::example::finding, *};

    #[test]
    fn every_mistake_of_a_file_is_told_with_its_line() {
        let text = "# comment\n\nglm/a # fine\nglm/b\nglm/c #\na b c # too many\nglm/a # again\n # only a comment\nglm/d parity/contents # no such\nglm/d partly/* # none\n";
        let bad = Known::read(text).unwrap_err();
        let told: Vec<String> = bad.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "line 4: a reason is missing: PATTERN [RULE-PATTERN] # reason",
                "line 5: the reason after # is empty",
                "line 6: more than an entry pattern and a rule pattern before #",
                "line 7: the same pattern stands on an earlier line",
                "line 9: no rule is called so (tfproxy rules lists them)",
                "line 10: no rule is called so (tfproxy rules lists them)",
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let known = Known::read("\u{feff}glm/a # why\nglm/b # why\n").unwrap();
        assert_eq!(known.reason("glm/a", Some("parity/content")), Some("why"));
        assert_eq!(Known::read("\u{feff}# comment\nglm/a").unwrap_err()[0].line, 2);
        assert_eq!(Known::read("\u{feff}"), Ok(Known::default()));
    }

    #[test]
    fn an_id_covers_its_variants_and_a_rule_narrows() {
        let known = Known::read("glm/a # one\nglm/b parity/* # two\nglm/c~one-call # three\n").unwrap();
        let check =
            |id: &str, rule: Option<&str>, expect: Option<&str>| assert_eq!(known.reason(id, rule), expect);
        check("glm/a", Some("parity/content"), Some("one"));
        check("glm/a~cut-17", Some("expect/content"), Some("one"));
        check("glm/a", None, Some("one"));
        check("glm/ab", Some("parity/content"), None);
        check("glm/b", Some("parity/content"), Some("two"));
        check("glm/b", Some("expect/content"), None);
        check("glm/b", None, None);
        check("glm/c", Some("parity/content"), None);
        check("glm/c~one-call", Some("parity/content"), Some("three"));
    }

    #[test]
    fn consequences_of_a_known_finding_are_known() {
        let known = Known::read("glm/a parity/tool-count # why").unwrap();
        let mut consequence = finding("parity/content", "content", &["1"]);
        consequence.because_of = Some("parity/tool-count tool_calls".to_owned());
        let mut all = [
            finding("parity/tool-count", "tool_calls", &["1"]),
            consequence,
            finding("openai-chat/done-missing", "", &["1"]),
        ];
        known.mark("glm/a", &mut all);
        let told: Vec<_> = all.iter().map(|f| f.known.as_deref()).collect();
        assert_eq!(told, [Some("why"), Some("why"), None]);
    }

    #[test]
    fn entries_that_nothing_needs_are_stale() {
        let known = Known::read("a # 1\nb parity/content # 2\nc # 3\nd/* # 4\nnever # 5\ne # 6\n").unwrap();
        let (none, content) = (vec![], vec![finding("parity/content", "content", &["1"])]);
        let name = vec![finding("parity/tool-name", "tool_calls[0].name", &["1"])];
        let ran = |id, how, findings| Ran { id, how, findings };
        let stale = known.stale(&[
            ran("a", How::Fully, &content),
            ran("b", How::Fully, &name),
            ran("c", How::InPart, &none),
            ran("d/one", How::Fully, &none),
            ran("d/two", How::Fully, &none),
            ran("e", How::Fully, &none),
            ran("e~one-call", How::Fully, &content),
        ]);
        assert_eq!(
            stale.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["line 2: b parity/content", "line 4: d/*"]
        );
    }
}
