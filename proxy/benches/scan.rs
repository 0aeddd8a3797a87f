//! Bytes a second of the scanner by slice size, of the JSON reader, and of a whole decode.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tfproxy::decode::{Cut, json, recut, same_events, whatwg};

/// A stream as an engine sends it, one token a chunk.
fn stream(events: usize) -> String {
    let chunk = "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" wörd\"},\"finish_reason\":null}]}\n\n";
    chunk.repeat(events) + "data: [DONE]\n\n"
}

fn scan(c: &mut Criterion) {
    let body = stream(2_000);
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Bytes(body.len() as u64)).sample_size(20);
    for size in [1, 7, 64, 1 << 10, 16 << 10, 1 << 20] {
        group.bench_with_input(BenchmarkId::new("slices", size), &size, |b, size| {
            b.iter(|| recut(black_box(body.as_bytes()), Cut::Every(*size)));
        });
    }
    // One long line of text: the scanner and the reader of strings alone.
    let line = format!("data: \"{}\"\n\n", "abcdefgh é ".repeat(90_000));
    group.throughput(Throughput::Bytes(line.len() as u64));
    group.bench_function("one line", |b| b.iter(|| recut(black_box(line.as_bytes()), Cut::Every(16 << 10))));
    group.finish();
}

fn others(c: &mut Criterion) {
    let body = stream(2_000);
    let mut group = c.benchmark_group("beside");
    group.throughput(Throughput::Bytes(body.len() as u64)).sample_size(20);
    group.bench_function("eventsource-stream", |b| {
        b.iter(|| whatwg::second_reading(black_box(body.as_bytes())));
    });
    let decoded = recut(body.as_bytes(), Cut::Every(1 << 20));
    group.bench_function("same events", |b| b.iter(|| same_events(black_box(&decoded), &decoded)));
    let document = format!(
        "[{}1]",
        "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": [1, 2.50]}\",\"n\":[1,22,333]},".repeat(5_000)
    );
    group.throughput(Throughput::Bytes(document.len() as u64));
    group.bench_function("json", |b| b.iter(|| json::read(black_box(document.as_bytes()))));
    group.bench_function("serde_json", |b| {
        b.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(document.as_bytes())));
    });
    group.finish();
}

criterion_group!(benches, scan, others);
criterion_main!(benches);
