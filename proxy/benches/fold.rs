//! Events a second of the fold, ours and the clients', and its cost for one argument that comes byte by byte.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tfproxy::{
    decode::{Cut, Decoded, recut},
    fold::{Lens, fold},
    request::Dialect,
};

/// A call whose one argument is so many bytes long, one byte a chunk.
fn call(bytes: usize) -> Decoded {
    let head = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n";
    let byte = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"x\"}}]}}]}\n\n";
    recut((head.to_owned() + &byte.repeat(bytes)).as_bytes(), Cut::Every(1 << 16))
}

fn text(events: usize) -> Decoded {
    let chunk = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
    recut(chunk.repeat(events).as_bytes(), Cut::Every(1 << 16))
}

fn folds(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold");
    group.sample_size(20);
    let decoded = text(5_000);
    group.throughput(Throughput::Elements(5_000));
    for lens in [Lens::STRICT].iter().chain(Lens::CLIENTS) {
        group.bench_function(BenchmarkId::new("text", lens.name), |b| {
            b.iter(|| fold(Dialect::OpenaiChat, Some(200), black_box(&decoded), lens));
        });
    }
    for bytes in [1_000, 10_000, 30_000] {
        let decoded = call(bytes);
        group.throughput(Throughput::Elements(bytes as u64));
        group.bench_function(BenchmarkId::new("argument", bytes), |b| {
            b.iter(|| fold(Dialect::OpenaiChat, Some(200), black_box(&decoded), &Lens::STRICT));
        });
    }
    group.finish();
}

criterion_group!(benches, folds);
criterion_main!(benches);
