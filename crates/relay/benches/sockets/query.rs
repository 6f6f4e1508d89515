//! REQ to EOSE on one socket, over a store that fits in memory.

use std::time::Instant;

use serde_json::{Value, json};

use crate::server::Server;
use crate::{COLUMNS, Times};

pub(crate) fn run(short: bool) {
    let notes = if short { 5_000 } else { 100_000 };
    let server = Server::start_with(notes);
    let mut client = server.client();
    let author = {
        client.send(&json!(["REQ", "a", {"limit": 1}]));
        let event = client.recv();
        assert_eq!(client.recv()[0], "EOSE");
        event[2]["pubkey"].clone()
    };
    println!("{notes} notes, milliseconds to EOSE");
    println!("                      {COLUMNS}");
    for (name, filter, rows) in [
        ("20 newest", json!({"kinds": [1], "limit": 20}), 20),
        ("20 of an author", json!({"authors": [author], "limit": 20}), 20),
        ("nothing", json!({"kinds": [7]}), 0),
        ("500 newest", json!({"limit": 500}), 500),
    ] {
        let times = measure(&server, &filter, rows, if short { 50 } else { 2_000 });
        println!("{name:<22}{}", times.row());
    }
}

fn measure(server: &Server, filter: &Value, rows: usize, rounds: usize) -> Times {
    let mut client = server.client();
    let mut times = Times::new();
    for _ in 0..rounds {
        let start = Instant::now();
        client.send(&json!(["REQ", "s", filter]));
        let mut events = 0;
        while client.recv_bytes().starts_with(b"[\"EVENT\"") {
            events += 1;
        }
        times.add(start.elapsed());
        assert_eq!(events, rows);
        client.send(&json!(["CLOSE", "s"]));
    }
    times
}
