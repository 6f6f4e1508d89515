//! The connection of a worker: made, kept alive, read and written by tasks of its own.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use zeolite_proto::{EventParser, FromRelay, FromRelayError};

use crate::address::RelayAddress;
use crate::login::{Login, SignsLogins};
use crate::machine::PeerLimits;
use crate::socket::{Connector, Message, Reader, RelayInformation, Writer};

/// Batches between reader and worker, each of one read: 4 x 256 kB of JSON. When it is full the
/// reader waits, and so TCP tells the upstream.
const BATCHES_MAX: usize = 4;

/// An upstream that has said nothing for so long is pinged, and given up after as long again.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How long the upstream may take nothing of what is written.
const WRITE_STALL_MAX: Duration = Duration::from_secs(60);

/// How long the last words may take.
const CLOSE_MAX: Duration = Duration::from_millis(500);

/// Bytes of frames that are written at once.
const WRITE_BYTES: usize = 256 << 10;

/// What an upstream sent.
pub(super) enum Arrived {
    Message(FromRelay),
    Unreadable(FromRelayError),
}

/// What happens to a connection.
pub(super) enum LinkEvent {
    Up(PeerLimits),
    Down(String),
    Arrived(Vec<Arrived>),
}

/// What the writer is to write. Its channel has no bound of its own: the machine bounds what it
/// sends without an answer, and pongs come one for each ping.
enum Outgoing {
    Texts(Vec<String>),
    Ping,
    Pong(Vec<u8>),
    Close,
}

/// At most one connection, or the attempt to make one.
pub(super) struct Link {
    address: RelayAddress,
    connector: Connector,
    /// What happens to the connection; taken away with it, so that nothing of an earlier one is
    /// ever heard.
    events: Option<mpsc::Receiver<LinkEvent>>,
    outgoing: Option<mpsc::UnboundedSender<Outgoing>>,
    pushed: Vec<String>,
    task: Option<AbortOnDropHandle<()>>,
    /// A connection's first event is held back from nobody, also while messages must wait.
    is_up: bool,
}

impl Link {
    pub(super) fn new(address: RelayAddress, connector: Connector) -> Self {
        let pushed = Vec::new();
        Self { address, connector, events: None, outgoing: None, pushed, task: None, is_up: false }
    }

    /// Gives up the connection and makes another one after a while.
    pub(super) fn reconnect(&mut self, after: Duration) {
        self.task = None;
        self.pushed.clear();
        self.is_up = false;
        let (events, happening) = mpsc::channel(BATCHES_MAX);
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (address, connector) = (self.address.clone(), self.connector.clone());
        let pings = outgoing.clone();
        let body = async move {
            sleep(after).await;
            match open(&address, &connector).await {
                Ok((peer, reader, writer)) => {
                    if events.send(LinkEvent::Up(peer)).await.is_ok() {
                        hold(reader, writer, events, to_write, pings).await;
                    }
                }
                Err(reason) => _ = events.send(LinkEvent::Down(reason)).await,
            }
        };
        self.events = Some(happening);
        self.outgoing = Some(outgoing);
        self.task = Some(AbortOnDropHandle::new(tokio::spawn(body)));
    }

    /// The next thing that happens; never, while messages are not wanted and the connection stands.
    pub(super) async fn next(&mut self, wants_messages: bool) -> LinkEvent {
        let Some(events) = &mut self.events else { return std::future::pending().await };
        if self.is_up && !wants_messages {
            return std::future::pending().await;
        }
        let event = events.recv().await;
        let event = event.unwrap_or_else(|| LinkEvent::Down("the connection is lost".to_owned()));
        match event {
            LinkEvent::Up(_) => self.is_up = true,
            LinkEvent::Down(_) => {
                self.events = None;
                self.outgoing = None;
                self.is_up = false;
            }
            LinkEvent::Arrived(_) => {}
        }
        event
    }

    /// Signs a login for this upstream, if there is a key.
    pub(super) fn sign(&self, key: Option<&dyn SignsLogins>, challenge: &str) -> Option<Login> {
        key.map(|key| key.sign(&self.address.to_string(), challenge))
    }

    /// Adds a message to what is sent.
    pub(super) fn push(&mut self, text: String) {
        self.pushed.push(text);
    }

    /// Sends what was pushed.
    pub(super) fn send_all(&mut self) {
        if self.pushed.is_empty() {
            return;
        }
        let texts = std::mem::take(&mut self.pushed);
        if let Some(outgoing) = &self.outgoing {
            // Of a connection that has just ended the worker hears next.
            _ = outgoing.send(Outgoing::Texts(texts));
        }
    }

    /// Says goodbye.
    pub(super) async fn close(mut self) {
        // Nobody reads any more, so a reader that waits for room goes on.
        self.events = None;
        let (Some(outgoing), Some(task)) = (self.outgoing.take(), self.task.take()) else { return };
        if self.is_up && outgoing.send(Outgoing::Close).is_ok() {
            // The upstream loses nothing if it does not hear it.
            _ = timeout(CLOSE_MAX, task).await;
        }
    }
}

/// Connects, and asks what the relay says of itself. A relay that says nothing is fine.
async fn open(
    address: &RelayAddress,
    connector: &Connector,
) -> Result<(PeerLimits, Reader, Writer), String> {
    let (opened, information) =
        tokio::join!(connector.open(address), connector.information(address));
    let (reader, writer) = opened.map_err(|error| error.to_string())?;
    let RelayInformation { message_bytes_max, limit_max, subscriptions_max, has_negentropy } =
        information.unwrap_or_default();
    let peer = PeerLimits {
        max_limit: limit_max,
        max_message_length: message_bytes_max,
        max_subscriptions: subscriptions_max,
        negentropy: has_negentropy,
    };
    Ok((peer, reader, writer))
}

/// Reads and writes until either ends, and says why.
async fn hold(
    reader: Reader,
    writer: Writer,
    events: mpsc::Sender<LinkEvent>,
    to_write: mpsc::UnboundedReceiver<Outgoing>,
    pings: mpsc::UnboundedSender<Outgoing>,
) {
    // Tasks of their own, so that parsing and masking can be on two cores.
    let mut writing = AbortOnDropHandle::new(tokio::spawn(write(writer, to_write)));
    let mut reading = AbortOnDropHandle::new(tokio::spawn(read(reader, events.clone(), pings)));
    let reason = tokio::select! {
        reason = &mut reading => reason,
        reason = &mut writing => reason,
    };
    let reason = reason.unwrap_or_else(|_| "a task of the connection failed".to_owned());
    _ = events.send(LinkEvent::Down(reason)).await;
}

async fn read(
    mut reader: Reader,
    events: mpsc::Sender<LinkEvent>,
    pings: mpsc::UnboundedSender<Outgoing>,
) -> String {
    let mut parser = EventParser::new();
    let mut is_pinged = false;
    let mut closed = None;
    loop {
        let mut batch = Vec::new();
        let each = |message: Message<'_>| match message {
            Message::Text(text) => batch.push(understand(text, &mut parser)),
            Message::Ping(payload) => _ = pings.send(Outgoing::Pong(payload.to_vec())),
            Message::Close(code, reason) => closed = Some(farewell(code, reason)),
            Message::Binary | Message::Pong => {}
        };
        let ended = match timeout(SILENCE_MAX, reader.read(each)).await {
            Ok(Ok(())) => closed.take(),
            Ok(Err(end)) => Some(end.to_string()),
            Err(_) if is_pinged => Some("it is silent".to_owned()),
            Err(_) => {
                is_pinged = true;
                _ = pings.send(Outgoing::Ping);
                continue;
            }
        };
        is_pinged = false;
        if !batch.is_empty() && events.send(LinkEvent::Arrived(batch)).await.is_err() {
            return "nobody reads any more".to_owned();
        }
        if let Some(reason) = ended {
            return reason;
        }
    }
}

fn understand(text: &[u8], parser: &mut EventParser) -> Arrived {
    let parsed = match std::str::from_utf8(text) {
        Ok(text) => FromRelay::parse(text, parser),
        Err(_) => Err(FromRelayError::Json("a message is not UTF-8".to_owned())),
    };
    parsed.map_or_else(Arrived::Unreadable, Arrived::Message)
}

fn farewell(code: u16, reason: &[u8]) -> String {
    let reason = String::from_utf8_lossy(reason);
    let plain: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("closed by the upstream: {code} {plain}")
}

async fn write(mut writer: Writer, mut to_write: mpsc::UnboundedReceiver<Outgoing>) -> String {
    while let Some(first) = to_write.recv().await {
        let mut next = Some(first);
        while let Some(outgoing) = next {
            match outgoing {
                Outgoing::Texts(texts) => {
                    for text in texts {
                        writer.push_text(text.into_bytes());
                        if writer.pending_bytes() >= WRITE_BYTES
                            && let Err(reason) = flush(&mut writer).await
                        {
                            return reason;
                        }
                    }
                }
                Outgoing::Ping => writer.push_ping(),
                Outgoing::Pong(payload) => writer.push_pong(&payload),
                Outgoing::Close => {
                    writer.close().await;
                    return "closed".to_owned();
                }
            }
            next = to_write.try_recv().ok();
        }
        if let Err(reason) = flush(&mut writer).await {
            return reason;
        }
    }
    "closed".to_owned()
}

async fn flush(writer: &mut Writer) -> Result<(), String> {
    match timeout(WRITE_STALL_MAX, writer.flush()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("the connection broke: {error}")),
        Err(_) => Err("it takes nothing".to_owned()),
    }
}
