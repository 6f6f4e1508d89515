//! One connection to a relay.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::deframe::{Deframer, Incoming, Side};
use super::frame::FrameError;
use super::handshake;
use super::message::Message;
use super::sender::Sender;
use super::source::Address;
use crate::limits::{CONNECT_S_MAX, READ_BYTES};

/// Why a connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The operating system's word.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The other side speaks no WebSocket.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The upgrade was refused, with this status line.
    #[error("the upgrade was refused: {0:?}")]
    Refused(String),
    /// The relay ended the connection, with this close code if it gave one.
    #[error("the relay closed the connection{}", code.map_or(String::new(), |code| format!(" with code {code}")))]
    Closed {
        /// The code of the close frame.
        code: Option<u16>,
    },
    /// Nothing came in this time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
}

thread_local! {
    /// What one read takes, shared by all sockets of the thread.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// The reading half of a connection, and a [`Sender`] for the other.
pub struct Socket {
    read: OwnedReadHalf,
    sender: Sender,
    deframer: Deframer,
    received_bytes: u64,
}

impl Socket {
    /// Connects. `number` chooses the source address: see [`Address`].
    pub async fn connect(address: &Address, number: usize) -> Result<Self, SocketError> {
        Self::connect_with(address, number, None).await
    }

    /// Connects with a receive buffer of this size in the kernel, for readers that stop.
    pub async fn connect_with(
        address: &Address,
        number: usize,
        receive_bytes: Option<u32>,
    ) -> Result<Self, SocketError> {
        let limit = Duration::from_secs(CONNECT_S_MAX);
        let connecting = async {
            let socket = address.open(number)?;
            if let Some(bytes) = receive_bytes {
                socket.set_recv_buffer_size(bytes)?;
            }
            let mut stream = socket.connect(address.socket).await?;
            stream.set_nodelay(true)?;
            let rest = handshake::upgrade(&mut stream, address).await?;
            Ok::<_, SocketError>((stream, rest))
        };
        let (stream, mut rest) = tokio::time::timeout(limit, connecting)
            .await
            .map_err(|_| SocketError::Silent(limit))??;
        let (read, write) = stream.into_split();
        let mut deframer = Deframer::new(Side::Client);
        // What a relay says unasked, an AUTH challenge, concerns nobody here.
        deframer.feed(&mut rest, &mut |_| {})?;
        Ok(Self { read, sender: Sender::new(write), deframer, received_bytes: 0 })
    }

    /// The writing half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Bytes received since the upgrade.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Waits for bytes, takes one read's worth and gives every whole message to `on`, with the
    /// time at which the read returned. May give none. Answers pings.
    pub async fn read(&mut self, on: impl FnMut(Message<'_>, Instant)) -> Result<(), SocketError> {
        self.read_some(READ_BYTES, on).await
    }

    /// Like [`Self::read`], with at most this many bytes.
    pub async fn read_some(
        &mut self,
        bytes_max: usize,
        mut on: impl FnMut(Message<'_>, Instant),
    ) -> Result<(), SocketError> {
        let Self { read, sender, deframer, received_bytes } = self;
        std::future::poll_fn(|context| {
            SCRATCH.with_borrow_mut(|scratch| {
                let scratch = &mut scratch[..bytes_max.min(READ_BYTES)];
                let mut buffer = ReadBuf::new(scratch);
                match Pin::new(&mut *read).poll_read(context, &mut buffer) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Ready(Ok(())) => {}
                }
                let now = Instant::now();
                let bytes = buffer.filled_mut();
                if bytes.is_empty() {
                    return Poll::Ready(Err(SocketError::Closed { code: None }));
                }
                *received_bytes += bytes.len() as u64;
                Poll::Ready(deliver(deframer, sender, bytes, &mut |message| on(message, now)))
            })
        })
        .await
    }

    /// Reads until `on` says `true`, or nothing at all came for `silence`. What the same read brought
    /// behind that message is dropped: live events behind an EOSE are no part of the answer.
    pub async fn read_until(
        &mut self,
        silence: Duration,
        mut on: impl FnMut(Message<'_>, Instant) -> bool,
    ) -> Result<(), SocketError> {
        let mut done = false;
        while !done {
            let reading = self.read(|message, now| done = done || on(message, now));
            tokio::time::timeout(silence, reading)
                .await
                .map_err(|_| SocketError::Silent(silence))??;
        }
        Ok(())
    }
}

fn deliver(
    deframer: &mut Deframer,
    sender: &Sender,
    bytes: &mut [u8],
    on: &mut dyn FnMut(Message<'_>),
) -> Result<(), SocketError> {
    let mut end = Ok(());
    deframer.feed(bytes, &mut |incoming| match incoming {
        Incoming::Text(text) => on(Message::parse(text)),
        Incoming::Ping(payload) => {
            if let Err(error) = sender.pong(payload) {
                end = Err(error.into());
            }
        }
        Incoming::Close(code) => end = Err(SocketError::Closed { code }),
    })?;
    end
}
