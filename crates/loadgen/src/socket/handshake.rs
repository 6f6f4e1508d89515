//! The HTTP request that turns a connection into a WebSocket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::SocketError;
use super::source::Address;
use crate::limits::HANDSHAKE_BYTES_MAX;

/// Asks for the upgrade and gives back the bytes that came behind the answer's head. No extension
/// is offered. The accept key is not compared: it guards against caches, of which there is none
/// between a load generator and its relay.
pub(super) async fn upgrade(
    stream: &mut TcpStream,
    address: &Address,
) -> Result<Vec<u8>, SocketError> {
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        address.path, address.host
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::with_capacity(256);
    loop {
        if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = answer.split_off(end + 4);
            return if is_switch(&answer) { Ok(rest) } else { Err(refusal(&answer)) };
        }
        if answer.len() > HANDSHAKE_BYTES_MAX || stream.read_buf(&mut answer).await? == 0 {
            return Err(refusal(&answer));
        }
    }
}

fn is_switch(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.1 101")
}

fn refusal(head: &[u8]) -> SocketError {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    SocketError::Refused(String::from_utf8_lossy(line).chars().take(80).collect())
}
