//! When two relay URLs name the same relay (NIP-62).

/// True if the URLs are equal up to the case of scheme and host, the scheme's default port and
/// trailing slashes. `ws` and `wss` are two relays.
pub fn same_relay(one: &str, other: &str) -> bool {
    match (normal(one), normal(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn normal(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "ws" => ":80",
        "wss" => ":443",
        _ => return None,
    };
    let host = host.strip_suffix(default_port).unwrap_or(&host);
    Some(format!("{scheme}://{host}{}", path.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E-52: case, port and slash do not count, everything else does.
    #[test]
    fn urls_are_compared_by_meaning() {
        for (one, other, expected) in [
            ("wss://relay.example", "WSS://Relay.Example:443/", true),
            ("ws://relay.example", "ws://relay.example:80", true),
            ("wss://relay.example/a", "wss://relay.example/a/", true),
            ("wss://relay.example", "ws://relay.example", false),
            ("wss://relay.example", "wss://relay.example/a", false),
            ("wss://relay.example", "wss://relay.example.org", false),
            ("wss://relay.example:444", "wss://relay.example", false),
            ("relay.example", "relay.example", false),
        ] {
            assert_eq!(same_relay(one, other), expected, "{one} {other}");
        }
    }
}
