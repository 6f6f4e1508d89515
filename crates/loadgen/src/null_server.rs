//! The cheapest relay there can be, which keeps nothing and checks nothing.
//!
//! It answers `OK` to every EVENT and EOSE to every REQ, and hands an event on to the subscriptions that
//! name its author, or no author. What a scenario reaches against it is what the generator can offer:
//! a figure of a relay that is more than half of that is a figure of the generator.

mod connection;
mod register;

use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;

use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use connection::Connection;
use register::Register;

/// A listening null server.
pub struct NullServer {
    listener: TcpListener,
    address: SocketAddr,
}

impl NullServer {
    /// Listens; port 0 lets the system choose.
    pub fn bind(listen: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Serves on this thread until accepting fails.
    pub fn serve(self) -> std::io::Result<()> {
        crate::descriptors::raise(crate::limits::NULL_SERVER_SOCKETS);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let register = Rc::new(Register::default());
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let register = register.clone();
                spawn_local(async move {
                    // A client that goes away is the usual end.
                    let _ = Connection::serve(stream, register).await;
                });
            }
        })
    }
}
