//! One REQ for everything, read at full speed, at 5 MB/s, and with a long pause; meanwhile a
//! publisher and another reader must feel nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use zeolite_testkit::Factory;

use crate::server::Server;
use crate::{COLUMNS, CREATED_AT, Times};

/// What a slow reader takes in a second.
const SLOW_BYTES_PER_S: f64 = 5e6;

pub(crate) fn run(short: bool) {
    let notes = if short { 5_000 } else { 1_000_000 };
    let server = Server::start_with(notes);
    println!("{notes} notes; anonymous memory before: {} MB", server.anonymous_bytes() >> 20);
    println!("                 events/s   memory max MB     OK of a publisher meanwhile, ms");
    println!("                                         {COLUMNS}");
    let pause = Duration::from_secs(if short { 1 } else { 20 });
    let readers: [(&str, Pace); 3] = [
        ("full speed", Box::new(|_, _| {})),
        ("with a pause", {
            let mut paused = false;
            Box::new(move |bytes, _| {
                if bytes > 1 << 20 && !std::mem::replace(&mut paused, true) {
                    thread::sleep(pause);
                }
            })
        }),
        (
            "5 MB/s",
            Box::new(|bytes, start| {
                let due = Duration::from_secs_f64(bytes as f64 / SLOW_BYTES_PER_S);
                thread::sleep(due.saturating_sub(start.elapsed()));
            }),
        ),
    ];
    for (at, (name, pace)) in readers.into_iter().enumerate() {
        let done = AtomicBool::new(false);
        let (rate, memory, times) = thread::scope(|scope| {
            let publisher = scope.spawn(|| publish_until(&server, at as u64, &done));
            let memory = scope.spawn(|| watch_memory(&server, &done));
            let rate = read_all(&server, notes, pace);
            done.store(true, Ordering::Relaxed);
            (rate, memory.join().unwrap(), publisher.join().unwrap())
        });
        println!("{name:<14} {rate:>10.0} {:>15}  {}", memory >> 20, times.row());
    }
}

/// Called with the bytes read so far and the time of the first.
type Pace = Box<dyn FnMut(usize, Instant)>;

/// Events per second. Every stored note must come once, newest first, then one EOSE.
fn read_all(server: &Server, notes: u64, mut pace: Pace) -> f64 {
    let mut client = server.client();
    let start = Instant::now();
    client.send(&json!(["REQ", "s", {"kinds": [1], "until": CREATED_AT + notes - 1}]));
    let mut bytes = 0;
    let mut next = CREATED_AT + notes;
    let mut ended = false;
    while !ended {
        bytes += client.fill(64 << 10);
        pace(bytes, start);
        client.take_whole(|message| {
            assert!(!ended, "nothing after EOSE");
            if message.starts_with(b"[\"EOSE\"") {
                ended = true;
            } else {
                next -= 1;
                assert_eq!(created_at(message), next);
            }
        });
    }
    assert_eq!(next, CREATED_AT, "every note came");
    notes as f64 / start.elapsed().as_secs_f64()
}

/// Found without parsing all of it.
fn created_at(message: &[u8]) -> u64 {
    const NAME: &[u8] = b"\"created_at\":";
    let at = message.windows(NAME.len()).position(|window| window == NAME).unwrap() + NAME.len();
    let digits = message[at..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// Publishes a note every 5 ms and gives the times to the `OK`s.
fn publish_until(server: &Server, round: u64, done: &AtomicBool) -> Times {
    let mut client = server.client();
    let mut factory = Factory::new(100 + round);
    let mut times = Times::new();
    for at in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        // Later than every note that is read.
        let note = factory.note(0, CREATED_AT + (1 << 24) + at, "meanwhile");
        let start = Instant::now();
        client.send(&json!(["EVENT", note]));
        client.fill(64 << 10);
        times.add(start.elapsed());
        assert_eq!(client.recv(), json!(["OK", note["id"], true, ""]));
        thread::sleep(Duration::from_millis(5));
    }
    times
}

/// The most anonymous memory that the relay had.
fn watch_memory(server: &Server, done: &AtomicBool) -> u64 {
    let mut most = 0;
    while !done.load(Ordering::Relaxed) {
        most = most.max(server.anonymous_bytes());
        thread::sleep(Duration::from_millis(20));
    }
    most
}
