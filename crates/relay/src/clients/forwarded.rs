//! The address of a client behind proxies.

use std::net::IpAddr;

use hyper::header::{HeaderMap, HeaderName};
use zeolite_policy::Network;

/// Proxies whose word is taken, and where they give it.
pub(crate) struct Proxies {
    networks: Vec<Network>,
    header: HeaderName,
}

impl Proxies {
    pub(crate) fn new(networks: Vec<Network>, header: HeaderName) -> Self {
        Self { networks, header }
    }

    /// Where the client is: `peer`, unless that is a trusted proxy that names another. Each proxy
    /// appends whom it spoke with, so the list is read from its end, up to the first address that
    /// is no trusted proxy: what stands before it was written by the client.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trusts(peer) {
            return peer;
        }
        let mut client = peer;
        let lists = headers.get_all(&self.header).into_iter().collect::<Vec<_>>();
        for list in lists.into_iter().rev() {
            let Ok(list) = list.to_str() else { return client };
            for entry in list.rsplit(',') {
                let Some(address) = address(entry.trim()) else { return client };
                client = address;
                if !self.trusts(address) {
                    return client;
                }
            }
        }
        client
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let parsed = text.parse::<IpAddr>().ok();
    parsed.or_else(|| text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a trusted proxy is believed, and only as far as trusted proxies vouch.
    #[test]
    fn clients_cannot_choose_their_address() {
        let networks = ["127.0.0.1", "10.0.0.0/8"].map(|range| range.parse().unwrap()).into();
        let proxies = Proxies::new(networks, HeaderName::from_static("x-forwarded-for"));
        for (peer, lists, client) in [
            ("192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["6.6.6.6, 198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["6.6.6.6", "198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["6.6.6.6, 198.51.100.7, 10.1.2.3"], "198.51.100.7"),
            ("127.0.0.1", &["10.9.9.9, 10.1.2.3"], "10.9.9.9"),
            ("127.0.0.1", &["198.51.100.7, nonsense"], "127.0.0.1"),
            ("127.0.0.1", &["[2001:db8::1]:443"], "2001:db8::1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append("x-forwarded-for", list.parse().unwrap());
            }
            let found = proxies.client(peer.parse().unwrap(), &headers);
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} {lists:?}");
        }
    }
}
