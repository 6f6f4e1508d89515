//! The listener.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::clients::Visitor;
use crate::http::{self, Site};
use crate::hub::Hub;
use crate::registry::Seat;

/// How long the listener rests when the system has no descriptor left for it.
const REST: Duration = Duration::from_millis(50);

const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Accepts sockets for as long as it is polled. An error ends one socket, never the loop
/// (case 66).
pub(crate) async fn accept(listener: TcpListener, hub: Arc<Hub>, site: Arc<Site>) {
    loop {
        match listener.accept().await {
            Ok((socket, from)) => greet(socket, from.ip(), &hub, &site),
            Err(error) if is_of_one_socket(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no socket could be accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

fn greet(socket: TcpStream, peer: IpAddr, hub: &Arc<Hub>, site: &Arc<Site>) {
    // Without it a CLOSE, which has no answer, holds back the next REQ for 40 ms (case 57).
    if socket.set_nodelay(true).is_err() {
        return;
    }
    if hub.policy.current().moderation.blocked_because(peer).is_some() {
        return hub.metrics.connections_refused.increment(1);
    }
    match admit(hub, peer) {
        Some((seat, visitor)) => {
            let serve = http::serve(Arc::clone(hub), Arc::clone(site), socket, seat, visitor);
            tokio::spawn(serve);
        }
        None => {
            hub.metrics.connections_refused.increment(1);
            // A fresh socket has room for this; one that has not gets nothing.
            let _best_effort = socket.try_write(FULL);
        }
    }
}

/// A seat, unless the relay has none left or this client has too many. For a proxy its clients
/// are counted, once it says who they are.
fn admit(hub: &Hub, address: IpAddr) -> Option<(Seat, Visitor)> {
    let account = match hub.clients.proxies().trusts(address) {
        true => None,
        false => Some(hub.clients.enter(address)?),
    };
    Some((hub.registry.seat()?, Visitor { address, account }))
}

/// Errors of a peer that left before it was accepted.
fn is_of_one_socket(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
