//! One client of the null server.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::register::Register;
use crate::limits::{HANDSHAKE_BYTES_MAX, READ_BYTES};
use crate::socket::{Deframer, Incoming, Opcode, Side, find_member, push_plain, push_plain_parts};

/// The buffer of a connection that has not sent much at a time.
const IDLE_BYTES: usize = 4096;

/// Bytes that wait for a client. What its socket does not take is kept and written with what comes
/// next, or when it next says something: nothing here waits for a reader.
pub(super) struct Outbox {
    write: OwnedWriteHalf,
    waiting: RefCell<Vec<u8>>,
    /// It is on the list of those that the register will flush.
    pub(super) is_listed: Cell<bool>,
}

impl Outbox {
    /// Appends a message that consists of these parts.
    pub(super) fn queue(&self, parts: &[&[u8]]) {
        push_plain_parts(&mut self.waiting.borrow_mut(), Opcode::Text, parts);
    }

    /// Gives the kernel what it takes.
    pub(super) fn flush(&self) {
        let mut waiting = self.waiting.borrow_mut();
        let mut written = 0;
        while written < waiting.len()
            && let Ok(more @ 1..) = self.write.try_write(&waiting[written..])
        {
            written += more;
        }
        waiting.drain(..written);
    }

    /// Waits until everything is written.
    async fn drain(&self) -> io::Result<()> {
        loop {
            self.flush();
            if self.waiting.borrow().is_empty() {
                return Ok(());
            }
            self.write.writable().await?;
        }
    }
}

/// One client.
pub(super) struct Connection {
    outbox: Rc<Outbox>,
    register: Rc<Register>,
}

impl Connection {
    /// Upgrades and serves until the client goes.
    pub(super) async fn serve(mut stream: TcpStream, register: Rc<Register>) -> io::Result<()> {
        upgrade(&mut stream).await?;
        let (mut read, write) = stream.into_split();
        let outbox =
            Rc::new(Outbox { write, waiting: RefCell::default(), is_listed: Cell::new(false) });
        let connection = Self { outbox, register };
        let mut deframer = Deframer::new(Side::Server);
        // A small buffer for the many that say little, a large one after the first full read.
        let mut buffer = vec![0; IDLE_BYTES];
        loop {
            let length = read.read(&mut buffer).await?;
            if length == 0 {
                return Ok(());
            }
            let mut on = |incoming: Incoming<'_>| match incoming {
                Incoming::Text(text) => connection.take(text),
                Incoming::Ping(payload) => {
                    push_plain(&mut connection.outbox.waiting.borrow_mut(), Opcode::Pong, payload);
                }
                Incoming::Close(_) => {}
            };
            let fed = deframer.feed(&mut buffer[..length], &mut on);
            fed.map_err(io::Error::other)?;
            if length == buffer.len() {
                buffer.resize(READ_BYTES, 0);
            }
            connection.register.flush();
            connection.outbox.drain().await?;
        }
    }

    fn take(&self, text: &[u8]) {
        if let Some(event) = text.strip_prefix(b"[\"EVENT\",").and_then(|e| e.strip_suffix(b"]")) {
            let id = find_member(event, 0, b"id").unwrap_or_default();
            self.outbox.queue(&[b"[\"OK\",\"", id, b"\",true,\"\"]"]);
            let pubkey = find_member(event, 0, b"pubkey").unwrap_or_default();
            self.register.deliver(pubkey, event);
        } else if let Some(rest) = text.strip_prefix(b"[\"REQ\",\"") {
            let Some((sub, filter)) = split_sub(rest) else { return };
            self.register.add(&self.outbox, sub, authors(filter));
            self.outbox.queue(&[b"[\"EOSE\",\"", sub.as_bytes(), b"\"]"]);
        }
    }
}

/// The subscription id, and the first filter with what follows it.
fn split_sub(rest: &[u8]) -> Option<(&str, &[u8])> {
    let end = rest.iter().position(|byte| *byte == b'"')?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, rest.get(end + 2..)?))
}

/// The authors that a filter names; none if it asks for ids, of which there are none here.
fn authors(filter: &[u8]) -> Option<Vec<Box<[u8]>>> {
    let filter: serde_json::Value = serde_json::from_slice(filter.strip_suffix(b"]")?).ok()?;
    if filter.get("ids").is_some() {
        return Some(Vec::new());
    }
    let authors = filter.get("authors")?.as_array()?;
    let hex = authors.iter().filter_map(|author| author.as_str());
    Some(hex.map(|author| author.as_bytes().into()).collect())
}

async fn upgrade(stream: &mut TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read_buf(&mut request).await?;
        if read == 0 || request.len() > HANDSHAKE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    // The accept key for the one key that our own clients send.
    let answer =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    stream.write_all(answer).await
}
