//! A relay on a free port, and clients that fail a test rather than wait for ever.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderName;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::{self, WebSocket, client};
use zeolite_relay::config::Config;
use zeolite_relay::{RunningRelay, start};
use zeolite_testkit::Factory;

/// No answer takes as long as this, on any machine that runs tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A relay with a store of its own; both go when it is dropped.
pub(crate) struct TestRelay {
    pub(crate) addr: SocketAddr,
    pub(crate) relay: Option<RunningRelay>,
    _dir: Option<TempDir>,
}

/// Starts a relay, with changes to the default configuration.
pub(crate) fn relay(configure: impl FnOnce(&mut Config)) -> TestRelay {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    TestRelay { _dir: Some(dir), ..relay }
}

/// Starts a relay whose store, below `dir`, outlives it.
pub(crate) fn relay_in(dir: &Path, configure: impl FnOnce(&mut Config)) -> TestRelay {
    let mut config = Config::default();
    config.listen.set_port(0);
    config.db = dir.join("store");
    config.store.map_bytes = 1 << 30;
    configure(&mut config);
    let relay = start(config).unwrap();
    TestRelay { addr: relay.addr, relay: Some(relay), _dir: None }
}

impl TestRelay {
    /// A WebSocket client.
    pub(crate) fn client(&self) -> Client {
        Client { socket: connect(self.addr) }
    }

    /// A WebSocket client at this address of 127.0.0.0/8, if it is let in.
    pub(crate) fn client_at(&self, source: &str) -> tungstenite::Result<Client> {
        self.client_with(source, None)
    }

    /// A WebSocket client at this address that sends one more header in its handshake.
    pub(crate) fn client_with(
        &self,
        source: &str,
        header: Option<(&'static str, &str)>,
    ) -> tungstenite::Result<Client> {
        let mut request = format!("ws://{}/", self.addr).into_client_request()?;
        if let Some((name, value)) = header {
            request.headers_mut().insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let socket = dial_from(self.addr, source.parse().unwrap());
        match client(request, socket) {
            Ok((socket, _)) => Ok(Client { socket }),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
            Err(error) => panic!("a blocking socket does not wait: {error}"),
        }
    }

    /// NIP-11's document.
    pub(crate) fn document(&self) -> Value {
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                       Accept: application/nostr+json\r\n\r\n";
        let answer = self.http(request);
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// A socket on which nothing was said.
    pub(crate) fn raw(&self) -> TcpStream {
        dial(self.addr)
    }

    /// A socket after the WebSocket handshake.
    pub(crate) fn raw_websocket(&self) -> TcpStream {
        let mut socket = self.raw();
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        let head = exchange(&mut socket, request);
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        socket
    }

    /// The value of one series.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let request = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let answer = self.http(request);
        let mut lines =
            answer.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        lines.next().unwrap().parse().unwrap()
    }

    /// Waits until a series has a value.
    #[track_caller]
    pub(crate) fn await_metric(&self, series: &str, value: u64) {
        let start = Instant::now();
        while self.metric(series) != value {
            let found = self.metric(series);
            assert!(start.elapsed() < PATIENCE, "{series} is {found}, not {value}");
        }
    }

    /// Sends a request and gives the whole answer.
    pub(crate) fn http(&self, request: &str) -> String {
        let mut socket = self.raw();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// A socket on which nothing was said.
pub(crate) fn dial(addr: SocketAddr) -> TcpStream {
    patient(TcpStream::connect(addr).unwrap())
}

/// A socket from this address.
pub(crate) fn dial_from(addr: SocketAddr, source: IpAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let socket = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        socket.connect(addr).await.unwrap().into_std().unwrap()
    });
    socket.set_nonblocking(false).unwrap();
    patient(socket)
}

fn patient(socket: TcpStream) -> TcpStream {
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A socket after the handshake of an independent client.
pub(crate) fn connect(addr: SocketAddr) -> WebSocket<TcpStream> {
    client(format!("ws://{addr}/"), dial(addr)).unwrap().0
}

/// Sends a request and reads up to the end of the answer's head.
pub(crate) fn exchange(socket: &mut TcpStream, request: &str) -> String {
    socket.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A login to the relay at this address.
pub(crate) fn login(
    addr: SocketAddr,
    factory: &mut Factory,
    author: usize,
    challenge: &str,
) -> Value {
    let url = format!("ws://{addr}/");
    let draft = factory.draft(author).kind(22242).at(now());
    draft.tag(&["relay", &url]).tag(&["challenge", challenge]).build()
}

/// The seconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// A WebSocket client that shares no code with the relay.
pub(crate) struct Client {
    pub(crate) socket: WebSocket<TcpStream>,
}

impl Client {
    /// Sends one message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// Sends without waking the other side before the last.
    pub(crate) fn send_all(&mut self, messages: &[Value]) {
        for message in messages {
            self.socket.write(Message::text(message.to_string())).unwrap();
        }
        self.socket.flush().unwrap();
    }

    /// The next frame, whatever it is.
    pub(crate) fn frame(&mut self) -> Result<Message, tungstenite::Error> {
        self.socket.read()
    }

    /// The next message.
    pub(crate) fn recv(&mut self) -> Value {
        loop {
            match self.frame().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected a message, got {other:?}"),
            }
        }
    }

    /// Fails unless this is the next message.
    #[track_caller]
    pub(crate) fn expect(&mut self, message: Value) {
        assert_eq!(self.recv(), message);
    }

    /// Publishes and checks that it is accepted.
    #[track_caller]
    pub(crate) fn publish(&mut self, event: &Value) {
        self.send(&json!(["EVENT", event]));
        self.expect(json!(["OK", event["id"], true, ""]));
    }

    /// Opens a subscription and gives the stored events before its EOSE.
    pub(crate) fn query(&mut self, sub: &str, filter: &Value) -> Vec<Value> {
        self.send(&json!(["REQ", sub, filter]));
        self.until_eose(sub)
    }

    /// The events of a subscription up to its EOSE.
    pub(crate) fn until_eose(&mut self, sub: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let mut message = self.recv();
            assert_eq!(message[1], sub, "{message}");
            match message[0].as_str() {
                Some("EVENT") => events.push(message[2].take()),
                Some("EOSE") => return events,
                _ => panic!("unexpected {message}"),
            }
        }
    }

    /// Logs in (NIP-42) as this author.
    #[track_caller]
    pub(crate) fn login(&mut self, factory: &mut Factory, author: usize, challenge: &str) {
        let login = login(self.socket.get_ref().peer_addr().unwrap(), factory, author, challenge);
        self.send(&json!(["AUTH", login]));
        self.expect(json!(["OK", login["id"], true, ""]));
    }

    /// Asks for something that needs a login, and gives the challenge that comes of it.
    pub(crate) fn challenge(&mut self) -> String {
        self.send(&json!(["REQ", "private", {"kinds": [1059]}]));
        let challenge = self.recv();
        assert_eq!(challenge[0], "AUTH", "{challenge}");
        let closed = self.recv();
        assert_eq!((&closed[0], &closed[1]), (&json!("CLOSED"), &json!("private")));
        challenge[1].as_str().unwrap().to_owned()
    }

    /// Reads to the close frame and gives its code.
    #[track_caller]
    pub(crate) fn close_code(&mut self) -> u16 {
        loop {
            match self.frame() {
                Ok(Message::Close(Some(close))) => return close.code.into(),
                Ok(_) => {}
                Err(error) => panic!("no close frame: {error}"),
            }
        }
    }
}
