//! The reading half of a socket.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::frames::{Decoder, FrameError, Message};

/// The reading half: `Send`, whatever lies under it.
pub(crate) type ReadStream = Box<dyn AsyncRead + Send + Unpin>;

/// Bytes read at once at most: 300 events of 800 bytes. One system call for all of them, and one
/// batch for whoever takes them.
const READ_BYTES: usize = 256 << 10;

/// The buffer of a connection that has nothing to say.
const IDLE_BYTES: usize = 8 << 10;

/// How a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum SocketEnd {
    /// The peer hung up.
    #[error("hung up")]
    HungUp,
    /// The connection failed.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// The peer broke the protocol.
    #[error(transparent)]
    Protocol(#[from] FrameError),
}

/// Reads messages.
pub struct Reader {
    stream: ReadStream,
    /// What was read and is not a whole frame yet.
    buffer: Vec<u8>,
    /// How many of its bytes are filled.
    filled: usize,
    decoder: Decoder,
}

impl Reader {
    /// `early` is what came with the upgrade's answer.
    pub(crate) fn new(stream: ReadStream, early: &[u8], message_bytes_max: usize) -> Self {
        let mut buffer = early.to_vec();
        buffer.resize(early.len() + IDLE_BYTES, 0);
        Self { stream, buffer, filled: early.len(), decoder: Decoder::new(message_bytes_max) }
    }

    /// Reads once and gives every whole message to `each`; maybe none. Nothing is lost if it is
    /// dropped half way.
    ///
    /// # Errors
    ///
    /// If the connection is over.
    pub async fn read(&mut self, mut each: impl FnMut(Message<'_>)) -> Result<(), SocketEnd> {
        if self.filled > 0 && self.take(&mut each)? {
            return Ok(());
        }
        if self.filled == self.buffer.len() {
            self.buffer.resize((2 * self.filled).max(READ_BYTES), 0);
        }
        let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
        if read == 0 {
            return Err(SocketEnd::HungUp);
        }
        self.filled += read;
        self.take(&mut each)?;
        Ok(())
    }

    /// Takes the messages that are there, and moves the rest to the front. True if there were any.
    fn take(&mut self, each: &mut impl FnMut(Message<'_>)) -> Result<bool, SocketEnd> {
        let taken = self.decoder.decode(&self.buffer[..self.filled], each)?;
        self.buffer.copy_within(taken..self.filled, 0);
        self.filled -= taken;
        Ok(taken > 0)
    }
}
