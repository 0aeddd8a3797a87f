//! What comparing costs: equal replies (the normal case), one that lost its end, and arguments of 10 kB and 1 MB, where the cost per
//! byte must stay the same.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tfproxy::{
    compare::{Equality, compare},
    fold::{
        Reply,
        reply::{ArgumentsKind, Call, Part, Text},
    },
};

const EQUALITY: Equality<'static> =
    Equality { arguments_text: true, usage_completion: true, usage_due: true, stop: &[] };

/// A reply of prose and one call, its text in pieces of seven bytes.
fn reply(content: &str, arguments: &str) -> Reply {
    let text = |value: &str| {
        let mut text = Text::default();
        for (event, piece) in value.as_bytes().chunks(7).enumerate() {
            text.push(&String::from_utf8_lossy(piece), event);
        }
        text
    };
    let call = Call {
        name: "write_file".to_owned(),
        arguments: text(arguments),
        arguments_kind: ArgumentsKind::Text,
        ..Call::default()
    };
    Reply { parts: vec![Part::Text(text(content)), Part::Call(call)], ..Reply::default() }
}

fn arguments(size: usize) -> String {
    format!(r#"{{"path":"a.txt","content":"{}"}}"#, "a line of text and\\n".repeat(size / 20))
}

fn small(criterion: &mut Criterion) {
    let whole = reply("I will write it down.", r#"{"path":"a.txt","content":"hello"}"#);
    let cut = reply("I will write it", r#"{"path":"a.txt","content":"hel"#);
    let respaced = reply("I will write it down.", r#"{"path": "a.txt", "content": "hello"}"#);
    let mut group = criterion.benchmark_group("compare/small");
    for (name, stream) in [("equal", &whole), ("respaced", &respaced), ("cut", &cut)] {
        group.bench_function(name, |b| b.iter(|| compare(black_box(&whole), black_box(stream), EQUALITY)));
    }
    group.finish();
}

fn large(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compare/arguments");
    for size in [10_000, 1_000_000] {
        let text = arguments(size);
        let whole = reply("", &text);
        let lossy = reply("", &text.replacen("text and", "text", 1));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("equal", size), &whole, |b, stream| {
            b.iter(|| compare(black_box(&whole), black_box(stream), EQUALITY));
        });
        group.bench_with_input(BenchmarkId::new("lossy", size), &lossy, |b, stream| {
            b.iter(|| compare(black_box(&whole), black_box(stream), EQUALITY));
        });
    }
    group.finish();
}

criterion_group!(benches, small, large);
criterion_main!(benches);
