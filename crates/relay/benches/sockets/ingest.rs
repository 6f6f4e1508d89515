//! Publishers that keep a number of events unacknowledged; then the same events again.

use std::thread;
use std::time::Instant;

use serde_json::json;
use zeolite_testkit::Factory;

use crate::client::Client;
use crate::server::Server;
use crate::{CREATED_AT, Times};

const NOTE_BYTES: usize = 700;

pub(crate) fn run(short: bool) {
    let events = if short { 2_000 } else { 40_000 };
    println!("connections x unacknowledged, {events} events of {NOTE_BYTES} bytes");
    println!("               events/s   us of CPU each   OK p50 ms  p99 ms");
    for (connections, window) in [(4, 200), (1, 1), (64, 50)] {
        let events = if window == 1 { events / 20 } else { events };
        let frames = sign(events);
        let server = Server::start();
        for (round, accepted) in [("new", "true,\"\""), ("again", "true,\"duplicate")] {
            let cpu = server.cpu_s();
            let start = Instant::now();
            let times = publish(&server, &frames, connections, window, accepted);
            let elapsed = start.elapsed().as_secs_f64();
            let cpu_us = (server.cpu_s() - cpu) * 1e6 / events as f64;
            println!(
                "{connections:>3} x {window:<3} {round:<6} {:>8.0} {cpu_us:>16.1} {:>11.3} {:>7.3}",
                events as f64 / elapsed,
                times.ms(0.5),
                times.ms(0.99),
            );
        }
    }
}

/// Events as frames, signed by a hundred authors.
fn sign(events: usize) -> Vec<Vec<u8>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| scope.spawn(move || sign_part((part..events).step_by(cores))))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn sign_part(events: impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut factory = Factory::new(3);
    events
        .map(|at| {
            let draft = factory.draft(at % 100).at(CREATED_AT + at as u64);
            let event = draft.padded_to(NOTE_BYTES).build();
            let mut frame = Vec::new();
            Client::push_frame(&mut frame, &json!(["EVENT", event]).to_string());
            frame
        })
        .collect()
}

/// The times from sending to `OK`, each of which must hold `accepted`.
fn publish(
    server: &Server,
    frames: &[Vec<u8>],
    connections: usize,
    window: usize,
    accepted: &str,
) -> Times {
    thread::scope(|scope| {
        let publishers: Vec<_> = frames
            .chunks(frames.len().div_ceil(connections))
            .map(|frames| scope.spawn(|| publish_on(server.client(), frames, window, accepted)))
            .collect();
        let mut all = Times::new();
        for publisher in publishers {
            all.0.add(publisher.join().unwrap().0).unwrap();
        }
        all
    })
}

fn publish_on(mut client: Client, frames: &[Vec<u8>], window: usize, accepted: &str) -> Times {
    let mut times = Times::new();
    let mut sent = Vec::with_capacity(frames.len());
    let mut answered = 0;
    while answered < frames.len() {
        let next = (answered + window).min(frames.len());
        if sent.len() < next {
            let burst = frames[sent.len()..next].concat();
            sent.resize(next, Instant::now());
            client.send_frames(&burst);
        }
        client.fill(64 << 10);
        client.take_whole(|message| {
            let message = std::str::from_utf8(message).unwrap();
            assert!(message.contains(accepted), "{message}");
            times.add(sent[answered].elapsed());
            answered += 1;
        });
    }
    times
}
