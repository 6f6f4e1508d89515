//! From the outbox to the socket, and the connection's end.

use std::io;
use std::sync::Arc;

use hyper::body::Bytes;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::time::timeout;

use super::{Conn, read};
use crate::hub::Hub;
use crate::inbox::FanoutIn;
use crate::limits::{CLOSE_LINGER_MAX, WRITE_STALL_MAX};
use crate::outbox::{Drained, Taken};
use crate::registry::Seat;

/// Serves one upgraded socket until it ends, and tells everyone that it did. `early` is what HTTP
/// had read beyond the request.
pub(crate) async fn run(
    hub: Arc<Hub>,
    _seat: Seat,
    conn: Arc<Conn>,
    socket: TcpStream,
    early: Bytes,
) {
    tracing::debug!(conn = %conn.id, "connected");
    conn.login.greet(conn.id, &conn.outbox);
    let (read_half, write_half) = socket.into_split();
    let write_half = Arc::new(write_half);
    conn.outbox.set_socket(Some(Arc::clone(&write_half)));
    let reader = read::run(Arc::clone(&hub), Arc::clone(&conn), read_half, early);
    let mut reader = tokio::spawn(reader);
    let written = write(&hub, &conn, write_half).await;
    // Nobody else holds it: this ends the stream.
    conn.outbox.set_socket(None);
    if let Err(error) = written {
        tracing::debug!(conn = %conn.id, %error, "write failed");
        conn.outbox.abandon();
    } else if timeout(CLOSE_LINGER_MAX, &mut reader).await.is_ok() {
        return leave(&hub, &conn).await;
    }
    reader.abort();
    leave(&hub, &conn).await;
}

async fn leave(hub: &Hub, conn: &Conn) {
    conn.lane.clear();
    hub.tell_fanout(FanoutIn::Disconnect(conn.id)).await;
    hub.registry.leave(conn.id);
    tracing::debug!(conn = %conn.id, "left");
}

/// Writes until the outbox is closed. An idle connection holds no buffer.
async fn write(hub: &Hub, conn: &Arc<Conn>, socket: Arc<OwnedWriteHalf>) -> io::Result<()> {
    let mut frames = Vec::new();
    loop {
        match conn.outbox.take(&mut frames) {
            Taken::Frames => {
                // Boxed, so that an idle connection does not hold its place.
                Box::pin(write_frames(hub, conn, &socket, &frames)).await?;
                frames.clear();
            }
            Taken::Nothing => {
                frames = Vec::new();
                conn.outbox.filled().await;
            }
            Taken::Closed => return Ok(()),
        }
    }
}

async fn write_frames(
    hub: &Hub,
    conn: &Arc<Conn>,
    socket: &OwnedWriteHalf,
    frames: &[u8],
) -> io::Result<()> {
    let mut rest = frames;
    while !rest.is_empty() {
        let written = timeout(WRITE_STALL_MAX, write_some(socket, rest)).await??;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        if rest.len() < frames.len() {
            // The socket was full and has room again: the client reads, if only slowly. Its answers
            // to pings may wait behind what it has not read.
            conn.mark_heard();
        }
        rest = &rest[written..];
        hub.metrics.sent_bytes.increment(written as u64);
        let Drained { jobs, lag } = conn.outbox.written(written);
        if jobs {
            hub.lanes.unpark(conn);
        }
        if lag {
            hub.tell_fanout(FanoutIn::Drained(conn.id)).await;
        }
    }
    Ok(())
}

/// As much as the socket takes, once it takes anything.
async fn write_some(socket: &OwnedWriteHalf, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match socket.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => socket.writable().await?,
            written => return written,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::tcp::OwnedReadHalf;

    use super::*;

    /// An idle connection is two tasks and a [`Conn`]: 15,000 of them have to fit in little memory,
    /// so what a future needs only while it works is boxed.
    #[test]
    fn idle_connections_are_small() {
        fn of_writer<F>(_: fn(Arc<Hub>, Seat, Arc<Conn>, TcpStream, Bytes) -> F) -> usize {
            size_of::<F>()
        }
        fn of_reader<F>(_: fn(Arc<Hub>, Arc<Conn>, OwnedReadHalf, Bytes) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = of_writer(run) + of_reader(read::run) + size_of::<Conn>();
        assert!(bytes < 1536, "{bytes} bytes");
    }
}
