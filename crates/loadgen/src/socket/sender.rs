//! The writing half of a connection.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::tcp::OwnedWriteHalf;

use super::frame::{Opcode, mask_key, push_masked};

/// Writes to one connection, from any thread. What is queued goes out in as few writes as the
/// kernel takes; the buffer is as large as what the caller queues between two flushes.
#[derive(Clone)]
pub struct Sender(Arc<Link>);

struct Link {
    write: OwnedWriteHalf,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Bytes at the beginning that the kernel has taken.
    written: usize,
}

impl Sender {
    pub(super) fn new(write: OwnedWriteHalf) -> Self {
        Self(Arc::new(Link { write, waiting: Mutex::default() }))
    }

    /// Appends a text message to what waits.
    pub fn queue(&self, text: &[u8]) {
        push_masked(&mut self.waiting().bytes, Opcode::Text, text, mask_key());
    }

    /// Gives the kernel what it takes. True if nothing waits any more.
    pub fn try_flush(&self) -> io::Result<bool> {
        let mut waiting = self.waiting();
        while waiting.written < waiting.bytes.len() {
            match self.0.write.try_write(&waiting.bytes[waiting.written..]) {
                Ok(written) => waiting.written += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        waiting.bytes.clear();
        waiting.written = 0;
        Ok(true)
    }

    /// Gives the kernel everything that waits.
    pub async fn flush(&self) -> io::Result<()> {
        while !self.try_flush()? {
            self.0.write.writable().await?;
        }
        Ok(())
    }

    /// Queues and flushes one message.
    pub async fn send(&self, text: &[u8]) -> io::Result<()> {
        self.queue(text);
        self.flush().await
    }

    /// Answers a ping as far as the kernel takes it at once.
    pub(super) fn pong(&self, payload: &[u8]) -> io::Result<()> {
        push_masked(&mut self.waiting().bytes, Opcode::Pong, payload, mask_key());
        self.try_flush().map(|_| ())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().expect("nothing panics while it holds the lock")
    }
}
