//! `tfproxy rules [ID]`: what can be found, or one of it explained.

use super::{complain, tell};
use crate::{
    exit::Exit,
    rules::{Named, Rule, catalogue},
};
use std::fmt::Write;

/// Prints it.
pub fn run(id: Option<&str>) -> Exit {
    let Some(id) = id else {
        tell(&list());
        return Exit::Clean;
    };
    let Some(named) = catalogue::describe(id) else {
        complain(format_args!("no rule is called {id:?}; tfproxy rules lists all"));
        return Exit::Usage;
    };
    tell(&explained(&named, catalogue::find(id)));
    Exit::Clean
}

fn list() -> String {
    let width = catalogue::ids().map(|named| named.id.len()).max().unwrap_or_default();
    let line =
        |named: Named| format!("{:<width$}  {:<5}  {}\n", named.id, named.severity.name(), named.sentence);
    catalogue::ids().map(line).collect()
}

fn explained(named: &Named, rule: Option<&'static Rule>) -> String {
    let mut text = format!(
        "{}\n  severity  {}\n  rule      {}\n  source    {}\n",
        named.id,
        named.severity.name(),
        named.sentence,
        named.source
    );
    if let Some(rule) = rule {
        _ = writeln!(text, "  examples  {} that keep it, {} that break it", rule.good.len(), rule.bad.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_listed_once_and_explained() {
        let list = list();
        assert_eq!(list.lines().count(), catalogue::ids().count());
        for named in catalogue::ids() {
            assert!(explained(&named, catalogue::find(named.id)).contains(named.sentence), "{}", named.id);
        }
    }
}
