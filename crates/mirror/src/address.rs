//! Where an upstream relay is: its URL, taken apart.

use std::fmt;

use zeolite_proto::normalise_relay_url;

/// The URL of a relay, `ws://` or `wss://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayAddress {
    url: String,
    is_tls: bool,
    /// As it stands in the URL, with the port if one is given: HTTP's `Host`.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

/// Why a text is not the URL of a relay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the URL of a relay; expected one such as wss://relay.example or ws://127.0.0.1:7447"
)]
pub struct AddressError(String);

impl RelayAddress {
    /// Reads a URL. `http://` counts as `ws://`, `https://` as `wss://`.
    ///
    /// # Errors
    ///
    /// If the text has another scheme, no host, or no valid port.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let refuse = || AddressError(text.to_owned());
        let url = normalise_relay_url(text).ok_or_else(refuse)?;
        let (scheme, rest) = url.split_once("://").ok_or_else(refuse)?;
        let is_tls = scheme == "wss";
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = split_port(authority).ok_or_else(refuse)?;
        let default = if is_tls { 443 } else { 80 };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is_sendable = path.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !is_sendable {
            return Err(refuse());
        }
        Ok(Self {
            is_tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port.unwrap_or(default),
            authority: authority.to_owned(),
            path,
            url: url.clone(),
        })
    }

    /// True for `wss://`.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The host as HTTP's `Host` names it, with the port if it is not the scheme's own.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The host name or IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What to ask the host for.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for RelayAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// The host with its brackets, and the port if one stands there; `None` if it is no number.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_host..].find(':') {
        None => Some((authority, None)),
        Some(at) => {
            let (host, port) = authority.split_at(after_host + at);
            port[1..].parse().ok().map(|port| (host, Some(port)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_addresses_or_refused() {
        for (url, expected) in [
            ("ws://127.0.0.1:7447", Some((false, "127.0.0.1", 7447, "/"))),
            ("ws://Relay.example/", Some((false, "relay.example", 80, "/"))),
            ("wss://relay.example", Some((true, "relay.example", 443, "/"))),
            ("wss://relay.example:443/a?b=c#d", Some((true, "relay.example", 443, "/a?b=c"))),
            ("ws://[::1]:7447/path", Some((false, "::1", 7447, "/path"))),
            ("ws://[::1]", Some((false, "::1", 80, "/"))),
            ("ws://relay.example?a=b", Some((false, "relay.example", 80, "/?a=b"))),
            ("ws://relay.example:x", None),
            ("ws://relay.example:99999", None),
            ("ws://relay.example/a b", None),
            ("relay.example", None),
            ("ftp://relay.example", None),
            ("", None),
        ] {
            let address = RelayAddress::parse(url).ok();
            let found = address.as_ref().map(|a| (a.is_tls(), a.host(), a.port(), a.path()));
            assert_eq!(found, expected, "{url}");
        }
    }
}
