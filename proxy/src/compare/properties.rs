//! What holds for every pair of replies, tried on small alphabets in which equal stretches, blanks and characters of several
//! bytes are frequent.

use super::*;
use crate::fold::reply::{ArgumentsKind, Call, Part, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Texts of few letters, so that shared starts and ends, repeats and blanks happen.
fn texts() -> impl Strategy<Value = String> {
    "[ab \né\u{fffd}]{0,12}"
}

/// JSON values and texts that are none.
fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        values().prop_map(|value| json!({ "k": value }).to_string()),
        values().prop_map(|value| format!("{:#}", json!({ "k": value }))),
        "[{}\":a1,.e ]{0,10}",
        Just("{}".to_owned()),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1.0e30..1.0e30).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]{0,2}", inner, 0..3)
                .prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

fn text(value: &str) -> Text {
    let mut text = Text::default();
    text.push(value, 3);
    text
}

fn replies() -> impl Strategy<Value = Reply> {
    let call = ("[fg]", arguments()).prop_map(|(name, arguments)| {
        let (arguments, arguments_kind) = (text(&arguments), ArgumentsKind::Text);
        Part::Call(Call { name, arguments, arguments_kind, ..Call::default() })
    });
    (texts(), texts(), prop::collection::vec(call, 0..4), "stop|length").prop_map(
        |(content, reasoning, mut parts, finish)| {
            parts.push(Part::Text(text(&content)));
            parts.push(Part::Reasoning(text(&reasoning)));
            Reply { parts, finish: Some((finish, 1)), ..Reply::default() }
        },
    )
}

/// Two replies of which the second keeps most of the first: each part, and the finish, is its own only now and then.
fn pairs() -> impl Strategy<Value = (Reply, Reply)> {
    let own = prop::collection::vec(prop::bool::weighted(0.2), 7);
    (replies(), replies(), own).prop_map(|(left, other, own)| {
        let mut right = left.clone();
        let parts = right.parts.iter_mut().rev().zip(other.parts.iter().rev());
        for ((part, others), _) in parts.zip(&own).filter(|(_, own)| **own) {
            part.clone_from(others);
        }
        if own.last() == Some(&true) {
            right.finish.clone_from(&other.finish);
        }
        (left, right)
    })
}

/// Whether two replies are the same to a strict reader.
fn same(left: &Reply, right: &Reply) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (left.calls().collect(), right.calls().collect());
    let pairs = a.iter().zip(&b);
    let calls = pairs
        .clone()
        .all(|(x, y)| x.name == y.name && arguments::equal(&x.arguments.value, &y.arguments.value));
    a.len() == b.len()
        && calls
        && left.content().value == right.content().value
        && left.reasoning().value == right.reasoning().value
        && left.finish_reason() == right.finish_reason()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_difference_is_found_if_and_only_if_there_is_one((left, right) in pairs()) {
        let found = compare(&left, &right, Equality::default());
        prop_assert_eq!(found.is_empty(), same(&left, &right), "{:?}", found);
        prop_assert!(compare(&left, &left, Equality::default()).is_empty());
    }

    #[test]
    fn both_directions_find_the_same_places((left, right) in pairs()) {
        let rules = |found: Vec<Difference>| {
            let mut rules: Vec<_> = found.into_iter().map(|d| d.rule).collect();
            rules.sort_unstable();
            rules.dedup();
            rules
        };
        let (there, back) = (compare(&left, &right, Equality::default()), compare(&right, &left, Equality::default()));
        prop_assert_eq!(rules(there), rules(back));
    }

    #[test]
    fn shared_ends_and_own_parts_make_up_the_text(left in texts(), right in texts()) {
        let shared = show::shared(&left, &right);
        for text in [&left, &right] {
            let parts = show::parts(text, shared);
            prop_assert_eq!(&format!("{}{}{}", parts.before, parts.own, parts.after), text);
        }
        prop_assert_eq!(show::parts(&left, shared).before, show::parts(&right, shared).before);
        prop_assert_eq!(show::parts(&left, shared).after, show::parts(&right, shared).after);
    }

    #[test]
    fn a_value_in_another_spelling_is_equal(value in values()) {
        let (compact, spaced) = (value.to_string(), format!("{value:#}"));
        prop_assert!(arguments::equal(&compact, &spaced));
    }
}
