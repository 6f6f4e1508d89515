//! N sockets subscribe to every note; notes are published one after the other, and each must reach
//! all of them.

use std::time::Instant;

use serde_json::json;
use zeolite_testkit::Factory;

use crate::client::Client;
use crate::server::Server;
use crate::{COLUMNS, CREATED_AT, Times};

pub(crate) fn run(short: bool) {
    println!("publish -> arrival at the last of all sockets, milliseconds");
    println!("  sockets   us of CPU for each delivery{COLUMNS}");
    for &sockets in if short { &[50][..] } else { &[100, 1_000, 5_000] } {
        let rounds = if short { 10 } else { 200 };
        let (cpu_us, times) = measure(sockets, rounds);
        println!("{sockets:>9}   {cpu_us:>27.2}{}", times.row());
    }
}

fn measure(sockets: usize, rounds: u64) -> (f64, Times) {
    let server = Server::start();
    let mut factory = Factory::new(7);
    let filter = json!({"kinds": [1], "since": CREATED_AT});
    let mut subscribers: Vec<Client> = (0..sockets)
        .map(|_| {
            let mut client = server.client();
            client.send(&json!(["REQ", "s", filter, {"limit": 0}]));
            assert_eq!(client.recv()[0], "EOSE");
            client
        })
        .collect();
    let mut publisher = server.client();
    let mut times = Times::new();
    let cpu_s = server.cpu_s();
    for at in 0..rounds {
        let note = factory.note(0, CREATED_AT + at, "to everyone");
        let id = note["id"].as_str().unwrap().to_owned();
        let start = Instant::now();
        publisher.send(&json!(["EVENT", note]));
        for subscriber in &mut subscribers {
            subscriber.fill(4 << 10);
        }
        times.add(start.elapsed());
        assert_eq!(publisher.recv(), json!(["OK", id, true, ""]));
        for subscriber in &mut subscribers {
            assert_eq!(subscriber.recv()[2]["id"], id);
        }
    }
    subscribers.iter().for_each(Client::assert_silent);
    let deliveries = (sockets as u64 * rounds) as f64;
    ((server.cpu_s() - cpu_s) * 1e6 / deliveries, times)
}
