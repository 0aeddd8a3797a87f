//! The list is what others rely on: names, kinds, catchers.

use std::collections::HashSet;

use super::*;

#[test]
fn names_are_unique_and_fit_a_header_and_a_model_suffix() {
    let mut seen = HashSet::new();
    for spec in plants() {
        assert!(seen.insert(spec.name), "{} is listed twice", spec.name);
        assert!(
            spec.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
        assert_eq!(named(spec.name).map(|found| found.name), Some(spec.name));
    }
    assert!(named("").is_none());
}

#[test]
fn plants_have_a_catcher_and_decoys_none() {
    for spec in plants() {
        assert_eq!(spec.kind == PlantKind::Plant, !spec.catchers.is_empty(), "{}", spec.name);
        assert!(!spec.sentence.is_empty() && !spec.sentence.ends_with('.'), "{}", spec.name);
        assert!(!spec.seams.is_empty(), "{}", spec.name);
    }
}

#[test]
fn without_a_plant_bytes_pass_as_they_are() {
    let mut seams = Seams::new(None, Setting { reply: Reply::Stream, calls: Calls::Many });
    let mut bytes = b"data: {\"a\" :1}\n\n".to_vec();
    seams.stream(&mut bytes, Moment::Last);
    assert_eq!(bytes, b"data: {\"a\" :1}\n\n");
}
