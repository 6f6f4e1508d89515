//! Sockets with one subscription each, and nothing to do.

use zeolite_testkit::Factory;

use crate::client::Client;
use crate::server::Server;

pub(crate) fn run(short: bool) {
    let sockets = if short { 500 } else { 15_000 };
    let server = Server::start();
    let mut factory = Factory::unsigned(8);
    let warm: Vec<Client> = (0..sockets / 100).map(|_| server.client()).collect();
    drop(warm);
    let before = server.resident_bytes();
    let clients: Vec<Client> = (0..sockets)
        .map(|author| {
            let mut client = server.client();
            client.subscribe(&factory.pubkey(author));
            client
        })
        .collect();
    let added = server.resident_bytes().saturating_sub(before);
    let each = added / clients.len() as u64;
    println!("{sockets} connections: {each} bytes each, resident");
}
