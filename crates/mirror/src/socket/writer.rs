//! The writing half of a socket.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::frames;

/// The writing half: `Send`, whatever lies under it.
pub(crate) type WriteStream = Box<dyn AsyncWrite + Send + Unpin>;

/// A buffer above this size is given back once it is written.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// Writes messages. Pushing costs no system call; flushing writes all that was pushed at once.
pub struct Writer {
    stream: WriteStream,
    buffer: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(stream: WriteStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Adds a text message.
    pub fn push_text(&mut self, text: Vec<u8>) {
        frames::push_text(&mut self.buffer, text);
    }

    /// Adds the answer to a ping.
    pub fn push_pong(&mut self, payload: &[u8]) {
        frames::push_pong(&mut self.buffer, payload);
    }

    /// Adds a ping.
    pub fn push_ping(&mut self) {
        frames::push_ping(&mut self.buffer);
    }

    /// Bytes that were pushed and not written.
    pub fn pending_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Writes everything that was pushed.
    ///
    /// # Errors
    ///
    /// If the connection is over.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.buffer).await?;
        self.stream.flush().await?;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES_KEPT);
        Ok(())
    }

    /// Says goodbye and hangs up. Nothing is lost if it is not heard.
    pub async fn close(mut self) {
        frames::push_close(&mut self.buffer);
        if self.flush().await.is_ok() {
            _ = self.stream.shutdown().await;
        }
    }
}
