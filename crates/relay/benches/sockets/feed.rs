//! N sockets subscribe to one author each; one event of each author is published, one after the
//! other.

use std::time::Instant;

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::client::Client;
use crate::server::Server;
use crate::{COLUMNS, CREATED_AT, Times};

pub(crate) fn run(short: bool) {
    println!("one event in flight, milliseconds");
    println!("  sockets   arrival{COLUMNS}        OK{COLUMNS}");
    for &sockets in if short { &[50, 200][..] } else { &[100, 1_000, 5_000, 100, 5_000] } {
        let [arrival, ok] = measure(sockets);
        println!("{sockets:>9}          {}          {}", arrival.row(), ok.row());
    }
}

fn measure(sockets: usize) -> [Times; 2] {
    let server = Server::start();
    let mut factory = Factory::new(7);
    let events: Vec<Value> =
        (0..sockets).map(|author| factory.note(author, CREATED_AT, "to one of many")).collect();
    let mut subscribers: Vec<Client> = (0..sockets)
        .map(|author| {
            let mut client = server.client();
            client.subscribe(&factory.pubkey(author));
            client
        })
        .collect();
    let mut publisher = server.client();
    let mut times = [Times::new(), Times::new()];
    for (event, subscriber) in events.iter().zip(&mut subscribers) {
        let mut frame = Vec::new();
        Client::push_frame(&mut frame, &json!(["EVENT", event]).to_string());
        let start = Instant::now();
        publisher.send_frames(&frame);
        subscriber.fill(64 << 10);
        times[0].add(start.elapsed());
        publisher.fill(64 << 10);
        times[1].add(start.elapsed());
        assert_eq!(subscriber.recv(), json!(["EVENT", "s", event]));
        assert_eq!(publisher.recv(), json!(["OK", event["id"], true, ""]));
    }
    subscribers.iter().for_each(Client::assert_silent);
    times
}
