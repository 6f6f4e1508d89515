//! The WebSocket to the relay: frames out, answers in.

use std::future::Future;

use anyhow::{Context, bail};
use bytes::Bytes;
use fastwebsockets::{
    FragmentCollectorRead, Frame, OpCode, Payload, WebSocketRead, WebSocketWrite,
};
use http_body_util::Empty;
use hyper::Request;
use hyper::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{BufWriter, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use zeolite_proto::{Event, EventId};

use crate::commands::import::tally::plain;

/// Messages from the relay that wait to be looked at: all answers that can be due, and a few
/// notices. The relay waits when it is full.
const INCOMING_MAX: usize = 2048;

/// Bytes of one message from the relay; answers are short.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Bytes of frames that are written at once.
const WRITE_BYTES: usize = 64 << 10;

type Stream = TokioIo<Upgraded>;

/// A relay by its URL.
pub(crate) struct Target {
    authority: String,
    path: String,
}

impl Target {
    /// Reads a `ws://` URL.
    pub(crate) fn parse(url: &str) -> anyhow::Result<Self> {
        if url.starts_with("wss://") {
            bail!("{url}: TLS is not supported here; use the relay's own ws:// address");
        }
        let normal = zeolite_proto::normalise_relay_url(url);
        let Some(rest) = normal.as_deref().and_then(|url| url.strip_prefix("ws://")) else {
            bail!("{url}: expected a URL such as ws://127.0.0.1:7447");
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        Ok(Self { authority: authority.to_owned(), path: path.to_owned() })
    }

    async fn dial(&self) -> anyhow::Result<TcpStream> {
        let after_host = self.authority.rfind(']').unwrap_or(0);
        let has_port = self.authority[after_host..].contains(':');
        let address =
            if has_port { self.authority.clone() } else { format!("{}:80", self.authority) };
        let stream = TcpStream::connect(&address).await;
        let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Connects and upgrades.
    pub(crate) async fn connect(&self) -> anyhow::Result<Socket> {
        let stream = self.dial().await?;
        let request = Request::get(&self.path)
            .header(HOST, &self.authority)
            .header(UPGRADE, "websocket")
            .header(CONNECTION, "upgrade")
            .header(SEC_WEBSOCKET_KEY, fastwebsockets::handshake::generate_key())
            .header(SEC_WEBSOCKET_VERSION, "13")
            .body(Empty::<Bytes>::new())?;
        let (mut socket, _) = fastwebsockets::handshake::client(&Spawn, request, stream)
            .await
            .with_context(|| format!("ws://{} is no relay", self.authority))?;
        socket.set_max_message_size(MESSAGE_BYTES_MAX);
        socket.set_writev(false);
        let (read, write) = socket.split(|stream| {
            let (read, write) = tokio::io::split(stream);
            (read, BufWriter::with_capacity(WRITE_BYTES, write))
        });
        let (sender, incoming) = mpsc::channel(INCOMING_MAX);
        tokio::spawn(listen(read, sender));
        Ok(Socket { write, incoming })
    }
}

/// hyper's connection runs as a task of its own.
struct Spawn;

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Spawn {
    fn execute(&self, task: F) {
        tokio::spawn(task);
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
        text: String,
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
    write: WebSocketWrite<BufWriter<WriteHalf<Stream>>>,
    /// What came in, in order; ends after [`Incoming::Lost`].
    pub(crate) incoming: mpsc::Receiver<Incoming>,
}

impl Socket {
    /// Adds an event to what is written.
    pub(crate) async fn push(&mut self, event: &Event) -> anyhow::Result<()> {
        let mut message = b"[\"EVENT\",".to_vec();
        event.view().push_json(&mut message);
        message.push(b']');
        Ok(self.write.write_frame(Frame::text(Payload::Owned(message))).await?)
    }

    /// Answers a ping.
    pub(crate) async fn pong(&mut self, payload: Vec<u8>) -> anyhow::Result<()> {
        self.write.write_frame(Frame::pong(Payload::Owned(payload))).await?;
        self.flush().await
    }

    /// Writes out what was added.
    pub(crate) async fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.write.flush().await?)
    }

    /// Says goodbye. Nothing is lost if it is not heard.
    pub(crate) async fn close(mut self) {
        if self.write.write_frame(Frame::close(1000, b"")).await.is_ok() {
            let _ = self.write.flush().await;
        }
    }
}

/// Reads until the connection ends. A task of its own, because a read of fastwebsockets must not
/// be cancelled.
async fn listen(read: WebSocketRead<ReadHalf<Stream>>, sender: mpsc::Sender<Incoming>) {
    let mut read = FragmentCollectorRead::new(read);
    loop {
        let pongs = sender.clone();
        let mut oblige = move |frame: Frame<'_>| {
            let ping = (frame.opcode == OpCode::Pong).then(|| frame.payload.to_vec());
            let pongs = pongs.clone();
            async move {
                match ping {
                    Some(payload) => pongs.send(Incoming::Ping(payload)).await,
                    None => Ok(()),
                }
            }
        };
        let incoming = match read.read_frame(&mut oblige).await {
            Ok(frame) => understand(&frame),
            Err(error) => Some(Incoming::Lost(error.to_string())),
        };
        let Some(incoming) = incoming else { continue };
        let is_over = matches!(incoming, Incoming::Lost(_));
        if sender.send(incoming).await.is_err() || is_over {
            return;
        }
    }
}

fn understand(frame: &Frame<'_>) -> Option<Incoming> {
    match frame.opcode {
        OpCode::Text => parse(&frame.payload),
        OpCode::Close => {
            let (code, reason) = frame.payload.split_at_checked(2).unwrap_or((&[], &[]));
            let code = code.try_into().map_or(1005, u16::from_be_bytes);
            let reason = String::from_utf8_lossy(reason);
            Some(Incoming::Lost(format!("closed by the relay: {code} {}", plain(&reason))))
        }
        _ => None,
    }
}

/// Reads a message; those that do not concern an import are nothing.
fn parse(message: &[u8]) -> Option<Incoming> {
    let message: Vec<Value> = serde_json::from_slice(message).ok()?;
    let text = |at: usize| message.get(at).and_then(Value::as_str);
    match text(0)? {
        "OK" => Some(Incoming::Answer {
            id: EventId::from_hex(text(1)?).ok()?,
            accepted: message.get(2)?.as_bool()?,
            text: text(3).unwrap_or_default().to_owned(),
        }),
        "NOTICE" => Some(Incoming::Notice(plain(text(1)?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_targets_or_refused() {
        for (url, expected) in [
            ("ws://127.0.0.1:7447", Some(("127.0.0.1:7447", "/"))),
            ("ws://Relay.example/", Some(("relay.example", "/"))),
            ("ws://[::1]:7447/path", Some(("[::1]:7447", "/path"))),
            ("wss://relay.example", None),
            ("relay.example", None),
            ("", None),
        ] {
            let target = Target::parse(url).ok();
            let found = target.as_ref().map(|target| (&*target.authority, &*target.path));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn messages_are_understood_leniently() {
        let id = "ab".repeat(32);
        let answer = |accepted, text: &str| {
            let id = EventId([0xab; 32]);
            Some(Incoming::Answer { id, accepted, text: text.to_owned() })
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
            assert_eq!(parse(message.as_bytes()), expected, "{message}");
        }
    }
}
