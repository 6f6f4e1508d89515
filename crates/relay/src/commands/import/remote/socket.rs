//! The WebSocket to the relay: events out, answers in.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc;
use zeolite_mirror::{Connector, Message, Reader, RelayAddress, Tls, Writer};
use zeolite_proto::{Event, EventId, EventParser, FromRelay};

use crate::commands::import::tally::plain;

/// Messages from the relay that wait to be looked at: all answers that can be due, and a few
/// notices. The relay waits when it is full.
const INCOMING_MAX: usize = 2048;

/// Bytes of one message from the relay; answers are short.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Bytes of frames that are written at once.
const WRITE_BYTES: usize = 64 << 10;

/// How long a connection may take to make.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// A relay by its URL.
pub(crate) struct Target {
    address: RelayAddress,
    connector: Connector,
}

impl Target {
    /// Reads a `ws://` or `wss://` URL. `ca` is a file of certificate authorities to trust beside
    /// the system's.
    pub(crate) fn parse(url: &str, ca: Option<&Path>) -> anyhow::Result<Self> {
        let address = RelayAddress::parse(url)?;
        let tls = address.is_tls().then(|| Tls::new(ca)).transpose()?;
        let connector =
            Connector { tls, connect_max: CONNECT_MAX, message_bytes_max: MESSAGE_BYTES_MAX };
        Ok(Self { address, connector })
    }

    /// Connects and upgrades.
    pub(crate) async fn connect(&self) -> anyhow::Result<Socket> {
        let (reader, write) = self.connector.open(&self.address).await?;
        let (sender, incoming) = mpsc::channel(INCOMING_MAX);
        tokio::spawn(listen(reader, sender));
        Ok(Socket { write, incoming })
    }
}

/// What the relay sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// `OK`.
    Answer {
        /// Which event.
        id: EventId,
        /// Whether it is in.
        accepted: bool,
        /// Why, or why not.
        text: Box<str>,
    },
    /// `NOTICE`.
    Notice(String),
    /// A ping's payload, to be answered.
    Ping(Vec<u8>),
    /// The connection is over, for this reason.
    Lost(String),
}

/// An open connection.
pub(crate) struct Socket {
    write: Writer,
    /// What came in, in order; ends after [`Incoming::Lost`].
    pub(crate) incoming: mpsc::Receiver<Incoming>,
}

impl Socket {
    /// Adds an event to what is written.
    pub(crate) async fn push(&mut self, event: &Event) -> anyhow::Result<()> {
        let mut message = b"[\"EVENT\",".to_vec();
        event.view().push_json(&mut message);
        message.push(b']');
        self.write.push_text(message);
        if self.write.pending_bytes() >= WRITE_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Answers a ping.
    pub(crate) async fn pong(&mut self, payload: Vec<u8>) -> anyhow::Result<()> {
        self.write.push_pong(&payload);
        self.flush().await
    }

    /// Writes out what was added.
    pub(crate) async fn flush(&mut self) -> anyhow::Result<()> {
        self.write.flush().await.context("the connection is lost")
    }

    /// Says goodbye. Nothing is lost if it is not heard.
    pub(crate) async fn close(self) {
        self.write.close().await;
    }
}

/// Reads until the connection ends.
async fn listen(mut reader: Reader, sender: mpsc::Sender<Incoming>) {
    let mut parser = EventParser::new();
    let mut batch = Vec::new();
    loop {
        let read = reader.read(|message| batch.extend(understand(message, &mut parser))).await;
        if let Err(error) = read {
            batch.push(Incoming::Lost(error.to_string()));
        }
        for incoming in batch.drain(..) {
            let is_over = matches!(incoming, Incoming::Lost(_));
            if sender.send(incoming).await.is_err() || is_over {
                return;
            }
        }
    }
}

fn understand(message: Message<'_>, parser: &mut EventParser) -> Option<Incoming> {
    match message {
        Message::Text(text) => parse(text, parser),
        Message::Ping(payload) => Some(Incoming::Ping(payload.to_vec())),
        Message::Close(code, reason) => {
            let reason = String::from_utf8_lossy(reason);
            Some(Incoming::Lost(format!("closed by the relay: {code} {}", plain(&reason))))
        }
        Message::Binary | Message::Pong => None,
    }
}

/// Reads a message; those that do not concern an import are nothing.
fn parse(message: &[u8], parser: &mut EventParser) -> Option<Incoming> {
    match FromRelay::parse(std::str::from_utf8(message).ok()?, parser).ok()? {
        FromRelay::Ok { id, accepted, text } => Some(Incoming::Answer { id, accepted, text }),
        FromRelay::Notice { text } => Some(Incoming::Notice(plain(&text))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_understood_leniently() {
        let id = "ab".repeat(32);
        let answer = |accepted, text: &str| {
            Some(Incoming::Answer { id: EventId([0xab; 32]), accepted, text: text.into() })
        };
        for (message, expected) in [
            (format!("[\"OK\",\"{id}\",true,\"\"]"), answer(true, "")),
            (format!("[\"OK\",\"{id}\",false]"), answer(false, "")),
            (format!("[\"OK\",\"{id}\",false,\"blocked: x\",{{}}]"), answer(false, "blocked: x")),
            ("[\"OK\",\"x\",true,\"\"]".to_owned(), None),
            ("[\"AUTH\",\"challenge\"]".to_owned(), None),
            ("[\"NOTICE\",\"a\\nb\"]".to_owned(), Some(Incoming::Notice("a b".to_owned()))),
            ("[]".to_owned(), None),
            ("{".to_owned(), None),
        ] {
            let found = parse(message.as_bytes(), &mut EventParser::new());
            assert_eq!(found, expected, "{message}");
        }
    }
}
