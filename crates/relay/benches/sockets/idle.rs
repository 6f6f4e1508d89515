//! Sockets with one subscription each, and nothing to do.

use zeolite_testkit::Factory;

use crate::client::Client;
use crate::server::Server;

pub(crate) fn run(short: bool) {
    let sockets = if short { 500 } else { 15_000 };
    let server = Server::start();
    let mut factory = Factory::unsigned(8);
    let authors: Vec<String> = (0..sockets).map(|author| factory.pubkey(author)).collect();
    drop(connect(&server, &authors[..sockets / 100]));
    let before = server.resident_bytes();
    let added = |clients: &[Client]| {
        (server.resident_bytes().saturating_sub(before)) / clients.len() as u64
    };
    let clients = connect(&server, &authors);
    let first = added(&clients);
    drop(clients);
    let again = added(&connect(&server, &authors));
    println!(
        "{sockets} connections: {first} bytes each, resident; {again} after all left and came"
    );
    assert!(again < 2 * first + 4096, "connections that left stay in memory");
}

fn connect(server: &Server, authors: &[String]) -> Vec<Client> {
    let subscribed = |author| {
        let mut client = server.client();
        client.subscribe(author);
        client
    };
    authors.iter().map(|author| subscribed(author)).collect()
}
