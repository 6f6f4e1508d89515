//! Whether a relay is ready: it answers a WebSocket handshake.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// For one attempt; a relay that accepts and says nothing is asked again.
const ATTEMPT: Duration = Duration::from_millis(500);

/// A port of 127.0.0.1 that nobody listens on.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// One attempt at a handshake. The socket is to be kept while the relay runs: there are relays that
/// do not survive a client that leaves while they start.
pub fn answers(port: u16) -> Option<TcpStream> {
    handshake(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok().flatten()
}

fn handshake(addr: SocketAddr) -> io::Result<Option<TcpStream>> {
    let mut socket = TcpStream::connect_timeout(&addr, ATTEMPT)?;
    socket.set_read_timeout(Some(ATTEMPT))?;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {addr}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    socket.write_all(request.as_bytes())?;
    let mut answer = [0; 12];
    socket.read_exact(&mut answer)?;
    Ok((answer == *b"HTTP/1.1 101").then_some(socket))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn check(answer: &'static [u8], expected: bool) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            socket.read_exact(&mut [0; 4]).unwrap();
            socket.write_all(answer).unwrap();
        });
        assert_eq!(answers(port).is_some(), expected);
        server.join().unwrap();
    }

    #[test]
    fn only_an_upgrade_is_ready() {
        check(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", true);
        check(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", false);
        check(b"HTTP/1.1", false);
    }

    #[test]
    fn nobody_is_not_ready() {
        assert!(answers(free_port().unwrap()).is_none());
    }
}
