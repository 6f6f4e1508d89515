//! Relay URLs, made comparable.

/// The form in which two spellings of one relay's URL are equal (NIP-42, NIP-62): lower-case
/// scheme and host, no default port, no trailing slash. `http` counts as `ws`, `https` as `wss`,
/// since operators write either. `None` if the text is not such a URL.
pub fn normalise_relay_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => ("ws", ":80"),
        "wss" | "https" => ("wss", ":443"),
        _ => return None,
    };
    let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.to_ascii_lowercase();
    let host = host.strip_suffix(default_port).unwrap_or(&host);
    let is_plain = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '@');
    is_plain.then(|| format!("{scheme}://{host}{}", path.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R42-06, E-52: case, default port and trailing slash do not matter; all else does.
    #[test]
    fn spellings_of_one_url_are_equal() {
        for (url, normal) in [
            ("wss://relay.example", Some("wss://relay.example")),
            ("WSS://Relay.Example:443/", Some("wss://relay.example")),
            ("https://relay.example/", Some("wss://relay.example")),
            ("ws://relay.example:80", Some("ws://relay.example")),
            ("ws://relay.example:7447/", Some("ws://relay.example:7447")),
            ("wss://relay.example/Path/", Some("wss://relay.example/Path")),
            ("wss://[::1]:443", Some("wss://[::1]")),
            ("relay.example", None),
            ("ftp://relay.example", None),
            ("wss://", None),
            ("ALL_RELAYS", None),
        ] {
            assert_eq!(normalise_relay_url(url).as_deref(), normal, "{url}");
        }
    }
}
