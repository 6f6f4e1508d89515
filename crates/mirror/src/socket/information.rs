//! What a relay says of itself (NIP-11), as far as a mirror needs it.

use serde_json::Value;

/// The longest document that is read; real ones take 2 to 20 kB.
pub(crate) const INFORMATION_BYTES_MAX: usize = 256 << 10;

/// Limits that a relay states. Everything is optional, and what is senseless counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayInformation {
    /// Bytes of one message, `max_message_length`.
    pub message_bytes_max: Option<u64>,
    /// The largest `limit` of a filter, `max_limit`.
    pub limit_max: Option<u64>,
    /// Open subscriptions, `max_subscriptions`.
    pub subscriptions_max: Option<u64>,
    /// Whether NIP-77 is in `supported_nips`; `None` if there is no such list.
    pub has_negentropy: Option<bool>,
}

impl RelayInformation {
    /// Reads a document. What it does not say, or says in another form, is not known.
    pub(crate) fn read(document: &[u8]) -> Self {
        let Ok(document) = serde_json::from_slice::<Value>(document) else {
            return Self::default();
        };
        let limit = |name: &str| {
            let value = document.get("limitation")?.get(name)?;
            let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
            Some(number).filter(|number| *number > 0)
        };
        let nips = document.get("supported_nips").and_then(Value::as_array);
        Self {
            message_bytes_max: limit("max_message_length"),
            limit_max: limit("max_limit"),
            subscriptions_max: limit("max_subscriptions"),
            has_negentropy: nips.map(|nips| nips.iter().any(|nip| *nip == 77 || *nip == "77")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R11-08, case 16: documents are read leniently; nothing in them can stop a mirror.
    #[test]
    fn documents_are_read_leniently() {
        let known = |bytes, limit, subscriptions, nips| RelayInformation {
            message_bytes_max: bytes,
            limit_max: limit,
            subscriptions_max: subscriptions,
            has_negentropy: nips,
        };
        for (document, expected) in [
            (
                r#"{"supported_nips":[1,77],"limitation":{"max_message_length":131072,"max_limit":500,"max_subscriptions":20}}"#,
                known(Some(131_072), Some(500), Some(20), Some(true)),
            ),
            (
                r#"{"supported_nips":[1,"77"],"limitation":{"max_limit":"500","max_subscriptions":-1}}"#,
                known(None, Some(500), None, Some(true)),
            ),
            (r#"{"supported_nips":[1],"limitation":[]}"#, known(None, None, None, Some(false))),
            (r#"{"limitation":{"max_limit":0}}"#, RelayInformation::default()),
            ("[]", RelayInformation::default()),
            ("<html>", RelayInformation::default()),
            ("", RelayInformation::default()),
        ] {
            assert_eq!(RelayInformation::read(document.as_bytes()), expected, "{document}");
        }
    }
}
