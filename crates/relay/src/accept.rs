//! The listener.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::http::{self, Site};
use crate::hub::Hub;

/// How long the listener rests when the system has no descriptor left for it.
const REST: Duration = Duration::from_millis(50);

const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Accepts sockets for as long as it is polled. An error ends one socket, never the loop
/// (case 66).
pub(crate) async fn accept(listener: TcpListener, hub: Arc<Hub>, site: Arc<Site>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => greet(socket, &hub, &site),
            Err(error) if is_of_one_socket(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no socket could be accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

fn greet(socket: TcpStream, hub: &Arc<Hub>, site: &Arc<Site>) {
    // Without it a CLOSE, which has no answer, holds back the next REQ for 40 ms (case 57).
    if socket.set_nodelay(true).is_err() {
        return;
    }
    match hub.registry.seat() {
        Some(seat) => {
            let serve = http::serve(Arc::clone(hub), Arc::clone(site), socket, seat);
            tokio::spawn(serve);
        }
        None => {
            hub.metrics.connections_refused.increment(1);
            // A fresh socket has room for this; one that has not gets nothing.
            let _best_effort = socket.try_write(FULL);
        }
    }
}

/// Errors of a peer that left before it was accepted.
fn is_of_one_socket(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
