//! `tfproxy rules [ID]`: what can be found, or one of it explained.

use super::{complain, tell};
use crate::{
    exit::Exit,
    finding::plain,
    request::Mode,
    rules::{Example, Named, Rule, catalogue},
};
use std::fmt::Write;

/// Lines of an example's body that are printed.
const LINES_MAX: usize = 24;

/// Characters of such a line.
const LINE_MAX: usize = 200;

/// Prints it.
pub fn run(id: Option<&str>) -> Exit {
    let Some(id) = id else { return told(&list()) };
    let Some(named) = catalogue::describe(id) else {
        complain(format_args!("no rule is called {id:?}{}", like(id)));
        return Exit::Usage;
    };
    told(&explained(&named, catalogue::find(id)))
}

fn told(text: &str) -> Exit {
    tell(text).err().unwrap_or(Exit::Clean)
}

/// Rules whose id holds what was asked for, or where all stand.
fn like(id: &str) -> String {
    let word = id.rsplit('/').next().unwrap_or_default();
    let near: Vec<&str> =
        catalogue::ids().map(|named| named.id).filter(|known| known.contains(word)).collect();
    if word.is_empty() || near.is_empty() || near.len() > 12 {
        "; tfproxy rules lists all".to_owned()
    } else {
        format!("; did you mean {}?", near.join(", "))
    }
}

/// A table for each family, in the order of the catalogue.
fn list() -> String {
    let all: Vec<Named> = catalogue::ids().collect();
    let width = all.iter().map(|named| named.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut family = "";
    for named in &all {
        let own = named.id.split('/').next().unwrap_or_default();
        if own != family {
            let gap = if family.is_empty() { "" } else { "\n" };
            _ = writeln!(text, "{gap}{own}");
            family = own;
        }
        _ = writeln!(text, "  {:<width$}  {:<5}  {}", named.id, named.severity.name(), named.sentence);
    }
    _ = writeln!(text, "\n{} rules; tfproxy rules ID explains one", all.len());
    text
}

fn explained(named: &Named, rule: Option<&'static Rule>) -> String {
    let mut text = format!(
        "{}\n  severity  {}\n  rule      {}\n  source    {}\n",
        named.id,
        named.severity.name(),
        named.sentence,
        named.source
    );
    let Some(rule) = rule else {
        text.push_str("  examples  none: it holds replies against each other or against the right answer\n");
        return text;
    };
    for (examples, what) in [(rule.good, "keeps it"), (rule.bad, "breaks it")] {
        for example in examples {
            _ = write!(text, "\n{what}\n{}", shown(example));
        }
    }
    text
}

/// What was asked and what came, as it stands on the wire; line ends of their own are kept visible.
fn shown(example: &Example) -> String {
    let exchange = example.exchange();
    let mode = if exchange.mode == Mode::Whole { "whole" } else { "streamed" };
    let mut text = format!("  asked     {mode}  {}\n", plain::line(example.request, LINE_MAX));
    let mut headers = String::new();
    for (name, value) in exchange.head.iter().flat_map(|head| &head.headers) {
        _ = write!(headers, "  {name}: {value}");
    }
    _ = writeln!(text, "  answered  {}{}", example.status, plain::line(&headers, LINE_MAX));
    let body = String::from_utf8_lossy(example.body);
    let lines: Vec<&str> = body.split_terminator('\n').collect();
    for line in lines.iter().take(LINES_MAX) {
        _ = writeln!(text, "{}", format!("  | {}", plain::line(line, LINE_MAX)).trim_end());
    }
    if lines.len() > LINES_MAX {
        _ = writeln!(text, "  | and {} lines more", lines.len() - LINES_MAX);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_listed_once_and_explained() {
        let list = list();
        for named in catalogue::ids() {
            assert_eq!(list.matches(&format!("  {} ", named.id)).count(), 1, "{}", named.id);
            let rule = catalogue::find(named.id);
            let explained = explained(&named, rule);
            assert!(explained.contains(named.sentence), "{explained}");
            let bad = rule.map_or(0, |rule| rule.bad.len());
            assert_eq!(explained.matches("\nbreaks it\n").count(), bad, "{explained}");
            assert!(!explained.contains('\r') && !explained.contains('\u{1b}'), "{explained}");
        }
    }

    #[test]
    fn a_name_that_is_nearly_one_is_answered() {
        assert!(like("role-repeated").contains("openai-chat/role-repeated"));
        assert_eq!(like("nonsense"), "; tfproxy rules lists all");
    }
}
