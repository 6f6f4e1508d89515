//! Both ways, with live traffic on both sides, while connections and processes are killed.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::support::{BASE, Client, Ids, Relay, eventually, id_of, ids_at, notes, publish};

/// A stable address in front of a relay that may move, whose connections can be cut.
struct Proxy {
    url: String,
    target: Arc<Mutex<String>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("ws://{}", listener.local_addr().expect("it is bound"));
        let proxy = Self {
            url,
            target: Arc::new(Mutex::new(target.to_owned())),
            open: Arc::new(Mutex::new(Vec::new())),
        };
        let (target, open) = (Arc::clone(&proxy.target), Arc::clone(&proxy.open));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let address = target.lock().expect("no panic").replace("ws://", "");
                let Ok(relay) = TcpStream::connect(address) else { continue };
                let copy = |socket: &TcpStream| socket.try_clone().expect("a descriptor");
                open.lock().expect("no panic").extend([copy(&client), copy(&relay)]);
                pump(copy(&client), copy(&relay));
                pump(relay, client);
            }
        });
        proxy
    }

    fn cut(&self) {
        for socket in self.open.lock().expect("no panic").drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// Publishes one event after the other, over as many connections as it takes, until told to stop.
/// Gives the ids that were acknowledged.
fn traffic(
    address: Arc<Mutex<String>>,
    events: Vec<Value>,
    stop: Arc<AtomicBool>,
) -> JoinHandle<Ids> {
    thread::spawn(move || {
        let mut acknowledged = Ids::new();
        let mut events = events.iter();
        let mut client: Option<Client> = None;
        let mut waiting = events.next();
        while let Some(event) = waiting.filter(|_| !stop.load(Ordering::Relaxed)) {
            let url = address.lock().expect("no panic").clone();
            let connected = client.take().map_or_else(|| Client::connect(&url), Ok);
            let published = connected.and_then(|mut connected| {
                let accepted = connected.publish(event)?;
                client = Some(connected);
                Ok(accepted)
            });
            if published.is_ok_and(|accepted| accepted) {
                acknowledged.insert(id_of(event));
                waiting = events.next();
            }
            thread::park_timeout(Duration::from_millis(2));
        }
        acknowledged
    })
}

/// Cases 26 and 70: whatever is killed, after healing both sides hold the same, nothing that was
/// acknowledged is missing, and nothing is sent again without end. The upstream is lost more than
/// three times, and the last reconnect delivers as the first.
#[test]
fn kills_heal() {
    let mut upstream = Relay::start("");
    publish(&upstream.url, &notes(51, BASE, 2000));
    let proxy = Proxy::start(&upstream.url);
    let mirror = format!("[[mirror]]\nurl = \"{}\"\ndir = \"both\"\nname = \"up\"\n", proxy.url);
    let mut sink = Relay::start(&mirror);
    publish(&sink.url, &notes(52, BASE + 500, 500));

    let stop = Arc::new(AtomicBool::new(false));
    let above = Arc::new(Mutex::new(upstream.url.clone()));
    let below = Arc::new(Mutex::new(sink.url.clone()));
    let publishers = [
        traffic(Arc::clone(&above), notes(53, BASE + 5000, 1500), Arc::clone(&stop)),
        traffic(Arc::clone(&below), notes(54, BASE + 9000, 1500), Arc::clone(&stop)),
    ];
    let mut rng = SmallRng::seed_from_u64(5);
    for kill in ["cut", "upstream", "cut", "sink", "cut", "upstream", "cut"] {
        thread::park_timeout(Duration::from_millis(rng.random_range(100..900)));
        match kill {
            "upstream" => {
                upstream.crash();
                *proxy.target.lock().expect("no panic") = upstream.url.clone();
                *above.lock().expect("no panic") = upstream.url.clone();
            }
            "sink" => {
                sink.crash();
                *below.lock().expect("no panic") = sink.url.clone();
            }
            _ => proxy.cut(),
        }
    }
    thread::park_timeout(Duration::from_millis(500));
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<Ids> =
        publishers.into_iter().map(|thread| thread.join().expect("no panic")).collect();

    eventually("both sides hold the same", || {
        let (ours, theirs) = (ids_at(&sink.url), ids_at(&upstream.url));
        ours == theirs && acknowledged.iter().all(|ids| ids.is_subset(&ours))
    });
    assert!(acknowledged.iter().all(|ids| ids.len() > 50), "there was traffic");
    let sent =
        |relay: &Relay| relay.metric(r#"zeolite_mirror_events_total{mirror="up",outcome="sent"}"#);
    eventually("the mirror is live", || sink.metric(r#"zeolite_mirror_live{mirror="up"}"#) == 1);
    let before = sent(&sink);
    let late = notes(55, BASE - 100, 20);
    publish(&upstream.url, &late);
    let all: Ids = late.iter().map(id_of).collect();
    eventually("the last connection delivers", || all.is_subset(&ids_at(&sink.url)));
    assert_eq!(sent(&sink), before, "nothing was sent again");
}
