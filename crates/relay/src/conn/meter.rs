//! The socket's read side, counting what it gives.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::Bytes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

/// The socket's read side, after what HTTP had read beyond the upgrade request.
///
/// The frame reader keeps a buffer of 8 kB or of the largest frame it saw, and cannot say whether
/// anything is in it. Counting what went in and what came out as frames tells; a connection that
/// waits for its client then needs no buffer at all.
pub(crate) struct Meter<'a> {
    early: Bytes,
    socket: OwnedReadHalf,
    given: &'a AtomicU64,
}

impl<'a> Meter<'a> {
    /// Adds the bytes it gives to `given`.
    pub(crate) fn new(early: Bytes, socket: OwnedReadHalf, given: &'a AtomicU64) -> Self {
        Self { early, socket, given }
    }

    /// The count of bytes given.
    pub(crate) fn given(&self) -> &'a AtomicU64 {
        self.given
    }

    /// Waits until there may be something to read, without a buffer for it.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        if self.early.is_empty() { self.socket.readable().await } else { Ok(()) }
    }
}

impl AsyncRead for Meter<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.early.is_empty() {
            std::task::ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        } else {
            let bytes = self.early.len().min(buf.remaining());
            buf.put_slice(&self.early.split_to(bytes));
            if self.early.is_empty() {
                self.early = Bytes::new();
            }
        }
        let bytes = (buf.filled().len() - before) as u64;
        self.given.fetch_add(bytes, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}
