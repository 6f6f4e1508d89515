//! What one event costs on its roads through this crate: `cargo bench -p zeolite-proto`.
//!
//! Prints the median of many rounds in ns per event, for a 700-byte note with four tags. `--short`
//! runs a twentieth of the rounds.

#![allow(clippy::print_stdout, reason = "a benchmark reports")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use support::{PUBKEY, event};
use zeolite_proto::{ClientMsg, EventParser, Filter};

fn main() {
    let rounds = if std::env::args().any(|arg| arg == "--short") { 20 } else { 400 };
    let json = note();
    let message = format!("[\"EVENT\",{json}]");
    let mut parser = EventParser::new();
    let parsed = parser.parse(&json).expect("a well-formed event");
    let view = parsed.view();
    let hit = format!("{{\"authors\":[\"{PUBKEY}\"],\"kinds\":[1],\"#p\":[\"{PUBKEY}\"]}}");
    let hit = Filter::from_json(&hit).expect("a filter");
    assert!(hit.matches(view));
    assert_eq!(parsed.json(), json.as_bytes());

    println!("{} bytes of JSON, {} bytes of record", json.len(), parsed.record_bytes());
    report("parse EVENT message, check id", rounds, || {
        black_box(ClientMsg::parse(&message, &mut parser).is_ok());
    });
    report("record walk and id check", rounds, || {
        black_box(view.check().is_ok());
    });
    let mut out = Vec::new();
    report("write JSON", rounds, || {
        out.clear();
        view.push_json(&mut out);
        black_box(&out);
    });
    report("match author, kind and tag", rounds, || {
        black_box(hit.matches(black_box(view)));
    });
}

fn report(what: &str, rounds: usize, mut work: impl FnMut()) {
    const PER_ROUND: u32 = 1_000;
    let mut ns: Vec<u128> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            (0..PER_ROUND).for_each(|_| work());
            start.elapsed().as_nanos() / u128::from(PER_ROUND)
        })
        .collect();
    ns.sort_unstable();
    println!("{what:<32} {:>6} ns", ns[ns.len() / 2]);
}

fn note() -> String {
    let tags = format!(
        r#"[["e","{PUBKEY}","wss://relay.example","root"],["p","{PUBKEY}"],["p","{PUBKEY}"],["t","zeolite"]]"#
    );
    event(
        1_700_000_000,
        1,
        &tags,
        "\"A note of common length.\\nIt has a line break, some \\\"quotes\\\" and ümläuts, and then goes on for a while.\"",
    )
}
