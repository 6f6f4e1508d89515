//! Address ranges, and what counts as one client.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

/// A range of IP addresses, `192.0.2.0/24` or `2001:db8::/32`. One address alone is a range too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    first: IpAddr,
    prefix_bits: u8,
}

/// Why a text names no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The part before the slash is no address.
    #[error("expected an IP address or a range such as 192.0.2.0/24 or 2001:db8::/32")]
    Address,
    /// The part behind the slash is no length of a prefix.
    #[error("the length of the prefix must be a number up to {max}")]
    Prefix {
        /// 32 or 128.
        max: u8,
    },
    /// There are bits behind the prefix.
    #[error("the address has bits behind its prefix: the range would be {meant}")]
    Rest {
        /// What was probably meant.
        meant: Network,
    },
}

impl Network {
    /// Whether the address lies in this range. An IPv4 address in IPv6's clothes is one.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && cut(address, self.prefix_bits) == self.first
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Address)?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|bits| *bits <= max),
            None => Some(max),
        };
        let prefix_bits = prefix_bits.ok_or(NetworkError::Prefix { max })?;
        let network = Self { first: cut(address, prefix_bits), prefix_bits };
        if network.first == address {
            Ok(network)
        } else {
            Err(NetworkError::Rest { meant: network })
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = self.prefix_bits == if self.first.is_ipv4() { 32 } else { 128 };
        if is_one { self.first.fmt(f) } else { write!(f, "{}/{}", self.first, self.prefix_bits) }
    }
}

/// The address with everything behind the prefix set to zero.
fn cut(address: IpAddr, prefix_bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits)).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

/// What counts as one client: an IPv4 address, or the /64 that an IPv6 address lies in, since
/// whoever has one address of it has them all.
pub fn client_group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_their_addresses() {
        for (range, address, expected) in [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
            ("192.0.2.0/24", "::ffff:192.0.2.9", true),
            ("0.0.0.0/0", "255.1.2.3", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("2001:db8::/32", "2001:db8:1::5", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("::1", "::1", true),
        ] {
            let network: Network = range.parse().expect("a range");
            assert_eq!(
                network.contains(address.parse().expect("an address")),
                expected,
                "{range} {address}"
            );
            assert_eq!(network.to_string(), range);
        }
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for (text, error) in [
            ("", NetworkError::Address),
            ("relay.example", NetworkError::Address),
            ("192.0.2.0/33", NetworkError::Prefix { max: 32 }),
            ("192.0.2.0/", NetworkError::Prefix { max: 32 }),
            ("::/129", NetworkError::Prefix { max: 128 }),
            (
                "192.0.2.1/24",
                NetworkError::Rest { meant: "192.0.2.0/24".parse().expect("a range") },
            ),
        ] {
            assert_eq!(text.parse::<Network>(), Err(error), "{text}");
        }
    }

    #[test]
    fn an_ipv6_client_is_its_64() {
        for (address, group) in [
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.1"),
        ] {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(client_group(address).to_string(), group);
        }
    }
}
