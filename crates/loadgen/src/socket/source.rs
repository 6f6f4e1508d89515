//! Where to connect, and from which address.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

use crate::limits::SOCKETS_PER_SOURCE;

/// Why a URL cannot be connected to.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Not `ws://host[:port][/path]`. TLS would measure the library, not the relay.
    #[error("{0:?} is not a ws:// URL")]
    Url(String),
    /// The host has no address.
    #[error("{host} has no address: {error}")]
    Host {
        /// The host of the URL.
        host: String,
        /// What the resolver said.
        error: String,
    },
}

/// A relay's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host and port as in the URL, for the `Host` header.
    pub host: String,
    /// The path, at least `/`.
    pub path: String,
    /// Where to connect.
    pub socket: SocketAddr,
}

impl Address {
    /// Takes the URL apart and resolves its host.
    pub fn resolve(url: &str) -> Result<Self, AddressError> {
        let rest = url.strip_prefix("ws://").ok_or_else(|| AddressError::Url(url.into()))?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() {
            return Err(AddressError::Url(url.into()));
        }
        let has_port = host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
        let lookup = if has_port { host.to_owned() } else { format!("{host}:80") };
        let fail = |error: String| AddressError::Host { host: host.into(), error };
        let mut found = std::net::ToSocketAddrs::to_socket_addrs(&lookup)
            .map_err(|error| fail(error.to_string()))?;
        let socket = found.next().ok_or_else(|| fail("none found".into()))?;
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { host: host.into(), path: path.into(), socket })
    }

    /// A socket for the connection with this number. On loopback the connections are spread over
    /// 127.0.0.0/8, because one address has only some 28,000 ports towards one relay.
    pub(super) fn open(&self, number: usize) -> std::io::Result<TcpSocket> {
        let socket = match self.socket {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Some(source) = self.source(number) {
            socket.bind(source)?;
        }
        Ok(socket)
    }

    fn source(&self, number: usize) -> Option<SocketAddr> {
        let block = number / SOCKETS_PER_SOURCE;
        let IpAddr::V4(target) = self.socket.ip() else { return None };
        if block == 0 || !target.is_loopback() {
            return None;
        }
        let host = u32::try_from(block).unwrap_or(u32::MAX).saturating_add(1) & 0x00ff_ffff;
        Some(SocketAddr::from((Ipv4Addr::from(0x7f00_0000 | host), 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let address = Address::resolve("ws://127.0.0.1:7447/a/b").unwrap();
        assert_eq!((&*address.host, &*address.path), ("127.0.0.1:7447", "/a/b"));
        assert_eq!(address.socket, "127.0.0.1:7447".parse().unwrap());
        assert_eq!(Address::resolve("ws://127.0.0.1").unwrap().socket.port(), 80);
        for bad in ["wss://127.0.0.1", "127.0.0.1:80", "ws://", "ws:///x"] {
            assert!(matches!(Address::resolve(bad), Err(AddressError::Url(_))), "{bad}");
        }
    }

    /// 15,000 sockets do not fit between one source address and one port with room for others.
    #[test]
    fn sources_are_spread_over_loopback() {
        let address = Address::resolve("ws://127.0.0.1:7447").unwrap();
        let at = |block: usize| address.source(block * SOCKETS_PER_SOURCE).map(|at| at.to_string());
        assert_eq!(at(0), None);
        assert_eq!(at(1).as_deref(), Some("127.0.0.2:0"));
        assert_eq!(at(255).as_deref(), Some("127.0.1.0:0"));
        let far = Address::resolve("ws://192.0.2.1:7447").unwrap();
        assert_eq!(far.source(SOCKETS_PER_SOURCE), None);
    }
}
