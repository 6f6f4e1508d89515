//! `--listen`: what a mirror on its own tells monitors.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::fake::{Fake, Neg};
use crate::support::{BASE, Mirror, PATIENCE, eventually, notes};

/// A mirror that stays live, and where it listens.
struct Live {
    child: Child,
    address: String,
}

impl Live {
    fn start(mut command: Command) -> Self {
        command.args(["--listen", "127.0.0.1:0", "--set", "log=warn,zeolite_relay=info"]);
        let mut child = command.stdout(Stdio::null()).spawn().expect("the program runs");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut seen = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).expect("text"), 0, "it never listened: {seen}");
            if line.contains("serving /metrics and /health") {
                let at = line.find("127.0.0.1:").expect("an address");
                let address = line[at..].split(|c: char| !c.is_ascii_digit() && !".:".contains(c));
                break address.map(str::to_owned).next().expect("an address");
            }
            seen += &line;
        };
        // Whoever logs into a full pipe would wait for us.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, address }
    }

    /// The head and the body of an answer.
    fn ask(&self, request: &str) -> (String, String) {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        let request = format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n");
        socket.write_all(request.as_bytes()).expect("it reads");
        let text = std::io::read_to_string(socket).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("an HTTP answer");
        (head.to_owned(), body.to_owned())
    }

    fn metric(&self, series: &str) -> Option<String> {
        let (_, body) = self.ask("GET /metrics");
        let mut values =
            body.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        values.next().map(str::to_owned)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Into a directory and into a relay: metrics with what was moved, health in one line, and nothing
/// else.
#[test]
fn monitors_are_told() {
    let (from, into) = (Fake::start(Neg::Served), Fake::start(Neg::Served));
    from.hold(&notes(41, BASE, 25));
    let (to_store, to_relay) = (Mirror::new(), Mirror::new());
    for (mirror, side) in [(&to_store, ["--db", "db"]), (&to_relay, ["--into", &into.url])] {
        let live = Live::start(mirror.bare(&[&["--from", &from.url], &side[..]].concat()));
        let name = from.url.trim_start_matches("ws://");
        let stored = format!("zeolite_mirror_events_total{{mirror=\"{name}\",outcome=\"stored\"}}");
        eventually("everything is mirrored", || live.metric(&stored).as_deref() == Some("25"));
        let is_live = format!("zeolite_mirror_live{{mirror=\"{name}\"}}");
        eventually("it is live", || live.metric(&is_live).as_deref() == Some("1"));
        let (head, body) = live.ask("GET /health");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(body.contains("live") && body.lines().count() == 1, "{body}");
        for (request, code) in [("GET /", "404"), ("POST /metrics", "405"), ("HEAD /health", "200")]
        {
            let (head, _) = live.ask(request);
            assert_eq!(head.split(' ').nth(1), Some(code), "{request}: {head}");
        }
    }
}
