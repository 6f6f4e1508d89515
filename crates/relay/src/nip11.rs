//! The information document of NIP-11, derived from the running configuration.

use serde::Serialize;
use zeolite_proto::limits::SUB_ID_CHARS_MAX;
use zeolite_proto::{Kind, PubKey};

use crate::config::Config;

/// What this relay does for clients, whatever its configuration.
///
/// Roles and members are told as NIP-43 says, but 43 is not listed: it would tell clients that they
/// can ask here to be let in (kinds 28934 to 28936), and nobody would answer as the NIP demands.
/// `self` is enough to find what is told.
const SUPPORTED_NIPS: [u16; 10] = [1, 2, 9, 11, 40, 42, 45, 62, 67, 70];

/// What can be switched off is not listed then (R11-08).
fn supported_nips(config: &Config) -> Vec<u16> {
    let is_gated = |kind: Kind| config.auth.gated_kinds.contains(&kind);
    let optional = [
        (4, is_gated(Kind::DIRECT_MESSAGE)),
        (13, config.policy.rules.asks_for_work()),
        (17, is_gated(Kind::GIFT_WRAP)),
        (59, is_gated(Kind::GIFT_WRAP) && is_gated(Kind::EPHEMERAL_GIFT_WRAP)),
        (77, config.negentropy.enabled),
        (86, !config.admin.pubkeys.is_empty()),
    ];
    let optional = optional.into_iter().filter_map(|(nip, is_on)| is_on.then_some(nip));
    let mut nips: Vec<_> = SUPPORTED_NIPS.into_iter().chain(optional).collect();
    nips.sort_unstable();
    nips
}

/// The media type of the document.
pub(crate) const MEDIA_TYPE: &str = "application/nostr+json";

#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pubkey: Option<&'a str>,
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    own_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contact: Option<&'a str>,
    supported_nips: Vec<u16>,
    software: &'static str,
    version: &'static str,
    limitation: Limitation,
}

#[derive(Serialize)]
struct Limitation {
    max_message_length: usize,
    max_subscriptions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_limit: Option<u64>,
    max_subid_length: usize,
    max_event_tags: usize,
    max_content_length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_pow_difficulty: Option<u32>,
    auth_required: bool,
    payment_required: bool,
    restricted_writes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at_lower_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at_upper_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_limit: Option<u64>,
}

/// The document as JSON. `own_key` is the relay's own, once it has one.
pub(crate) fn document(config: &Config, own_key: Option<PubKey>) -> String {
    let Config { relay, limits, query, .. } = config;
    let rules = &config.policy.rules;
    let document = Document {
        name: relay.name.as_deref(),
        description: relay.description.as_deref(),
        icon: relay.icon.as_deref(),
        pubkey: relay.pubkey.as_deref(),
        own_key: own_key.map(|key| key.to_string()),
        contact: relay.contact.as_deref(),
        supported_nips: supported_nips(config),
        software: env!("CARGO_PKG_REPOSITORY"),
        version: env!("CARGO_PKG_VERSION"),
        limitation: Limitation {
            max_message_length: limits.message_bytes_max,
            max_subscriptions: limits.subscriptions_max,
            max_limit: query.max_limit,
            max_subid_length: SUB_ID_CHARS_MAX,
            max_event_tags: limits.event_tags_max,
            max_content_length: limits.content_chars_max,
            min_pow_difficulty: Some(rules.work_bits_min).filter(|bits| *bits > 0),
            auth_required: config.auth.is_required,
            payment_required: false,
            restricted_writes: rules.restricts_writes(),
            created_at_lower_limit: limits.created_at_past_s_max,
            created_at_upper_limit: limits.created_at_future_s_max,
            default_limit: query.default_limit,
        },
    };
    serde_json::to_string(&document).expect("the document has only string keys")
}

/// Whether an `Accept` header asks for the document: the media type anywhere in the list, in any
/// case, with any parameters, unless its quality is zero.
pub(crate) fn is_accepted(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(MEDIA_TYPE));
        named && !parts.any(is_zero_quality)
    })
}

fn is_zero_quality(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// R11-01: the media type is found in a list, with parameters, in any case.
    #[test]
    fn the_accept_header_is_read_as_a_list() {
        for (accept, expected) in [
            ("application/nostr+json", true),
            ("Application/Nostr+JSON", true),
            ("text/html, application/nostr+json;q=0.9", true),
            ("application/nostr+json; charset=utf-8", true),
            ("application/nostr+json;q=0", false),
            ("application/nostr+json; q=0.000", false),
            ("*/*", false),
            ("application/json", false),
            ("text/html,application/xhtml+xml", false),
            ("", false),
        ] {
            assert_eq!(is_accepted(accept), expected, "{accept:?}");
        }
    }

    /// R11-03, R11-09, R11-10, case 69: the limits are those in force, and what is not set is not
    /// there.
    #[test]
    fn the_document_tells_the_running_configuration() {
        let mut config = Config::default();
        config.limits.message_bytes_max = 70_001;
        config.limits.subscriptions_max = 7;
        config.limits.event_tags_max = 11;
        config.limits.content_chars_max = 1_234;
        config.limits.created_at_past_s_max = Some(99);
        config.limits.created_at_future_s_max = None;
        config.query.max_limit = Some(321);
        config.query.default_limit = None;
        config.relay.name = Some("a \"name\"".to_owned());
        let document: Value = serde_json::from_str(&document(&config, None)).unwrap();
        assert_eq!(
            document["limitation"],
            json!({
                "max_message_length": 70_001,
                "max_subscriptions": 7,
                "max_limit": 321,
                "max_subid_length": 64,
                "max_event_tags": 11,
                "max_content_length": 1_234,
                "auth_required": false,
                "payment_required": false,
                "restricted_writes": false,
                "created_at_lower_limit": 99,
            })
        );
        assert_eq!(document["name"], "a \"name\"");
        let all = json!([1, 2, 4, 9, 11, 17, 40, 42, 45, 59, 62, 67, 70, 77]);
        assert_eq!(document["supported_nips"], all);
        // R77-13, case 16: what is off is not listed.
        config.negentropy.enabled = false;
        config.auth.gated_kinds.clear();
        config.auth.is_required = true;
        let off: Value =
            serde_json::from_str(&super::document(&config, Some(PubKey([7; 32])))).unwrap();
        assert_eq!(off["supported_nips"], json!([1, 2, 9, 11, 40, 42, 45, 62, 67, 70]));
        assert_eq!(off["limitation"]["auth_required"], true);
        assert_eq!(off["self"], "07".repeat(32));
        assert!(document.get("self").is_none());
        assert!(document.get("description").is_none() && document.get("pubkey").is_none());
        assert!(document["software"].as_str().unwrap().starts_with("https://"));
    }
}
