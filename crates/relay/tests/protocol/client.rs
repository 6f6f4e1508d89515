//! A relay on a loopback port and clients that know nothing of Nostr.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};
use zeolite_relay::config::Config;

/// How long an answer may take on a busy machine. Only a failing test waits for so long.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// Starts a relay with a fresh store, runs `body` with its address, and stops it.
pub(crate) fn with_relay(change: impl FnOnce(&mut Config), body: impl FnOnce(SocketAddr)) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut config = Config { db: dir.path().join("db"), ..Config::default() };
    config.listen = "127.0.0.1:0".parse().expect("an address");
    change(&mut config);
    let relay = zeolite_relay::start(config).expect("the relay starts");
    body(relay.addr);
    relay.stop();
}

/// What came from the relay.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// A text frame.
    Text(String),
    /// A close frame with this code.
    Close(u16),
    /// Nothing in time, or the end of the connection without a close frame.
    Failure(String),
}

/// One connection.
pub(crate) struct Client(WebSocket<TcpStream>);

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let socket = TcpStream::connect(addr).expect("the relay listens");
        socket.set_read_timeout(Some(ANSWER_MAX)).expect("a socket has time-outs");
        socket.set_nodelay(true).expect("a socket has options");
        Self(client(format!("ws://{addr}"), socket).expect("the relay accepts").0)
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).expect("the relay reads");
    }

    /// Sends one data frame of any content.
    pub(crate) fn send_frame(&mut self, bytes: Vec<u8>, data: Data, is_final: bool) {
        let frame = Frame::message(bytes, OpCode::Data(data), is_final);
        self.0.send(Message::Frame(frame)).expect("the relay reads");
    }

    /// The next thing the relay says. A challenge may come at any time (R42-01) and is passed over.
    pub(crate) fn next(&mut self) -> Got {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) if text.starts_with("[\"AUTH\"") => {}
                Ok(Message::Text(text)) => return Got::Text(text.to_string()),
                Ok(Message::Close(Some(frame))) => return Got::Close(frame.code.into()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(other) => panic!("a relay never sends {other:?}"),
                Err(error) => return Got::Failure(error.to_string()),
            }
        }
    }

    /// The next message must begin with `start`.
    pub(crate) fn expect(&mut self, context: &str, start: &str) {
        let got = self.next();
        let Got::Text(text) = &got else { panic!("{context}: {got:?} instead of {start}") };
        assert!(text.starts_with(start), "{context}: got {text} instead of {start}");
    }

    /// The connection lives, and nothing more came over it.
    pub(crate) fn expect_silence(&mut self, context: &str) {
        self.send(r#"["COUNT","silence",{"ids":[]}]"#);
        self.expect(context, r#"["COUNT","silence",{"count":0}]"#);
    }
}
