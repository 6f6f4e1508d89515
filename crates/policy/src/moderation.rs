//! What administrators decided by NIP-86, and how it is written down.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use zeolite_proto::{EventId, Kind, PubKey};

use crate::network::Network;
use crate::roles::{Role, Roles};

/// Lists and texts that can be changed while the relay runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moderation {
    pub(crate) banned_pubkeys: BTreeMap<PubKey, String>,
    pub(crate) allowed_pubkeys: BTreeMap<PubKey, String>,
    pub(crate) banned_events: BTreeMap<EventId, String>,
    /// Events that were looked at and may stay, so that nobody is asked again.
    pub(crate) allowed_events: BTreeMap<EventId, String>,
    pub(crate) allowed_kinds: BTreeSet<Kind>,
    pub(crate) disallowed_kinds: BTreeSet<Kind>,
    pub(crate) blocked_networks: BTreeMap<Network, String>,
    pub(crate) roles: Roles,
    pub(crate) relay_name: Option<String>,
    pub(crate) relay_description: Option<String>,
    pub(crate) relay_icon: Option<String>,
}

impl Moderation {
    /// Whether this event may not be stored or served.
    pub fn is_event_banned(&self, id: &EventId) -> bool {
        self.banned_events.contains_key(id)
    }

    /// The events that may not be stored or served.
    pub fn banned_events(&self) -> impl Iterator<Item = &EventId> {
        self.banned_events.keys()
    }

    /// The authors who may not write.
    pub fn banned_pubkeys(&self) -> impl Iterator<Item = &PubKey> {
        self.banned_pubkeys.keys()
    }

    /// Whether an administrator decided on this event, either way.
    pub fn is_event_settled(&self, id: &EventId) -> bool {
        self.is_event_banned(id) || self.allowed_events.contains_key(id)
    }

    /// Whether this author may not write.
    pub fn is_pubkey_banned(&self, pubkey: &PubKey) -> bool {
        self.banned_pubkeys.contains_key(pubkey)
    }

    /// Whether this author may write where only some may.
    pub fn is_pubkey_allowed(&self, pubkey: &PubKey) -> bool {
        self.allowed_pubkeys.contains_key(pubkey)
    }

    /// Whether this kind is taken beside those of the configuration.
    pub fn is_kind_allowed(&self, kind: Kind) -> bool {
        self.allowed_kinds.contains(&kind)
    }

    /// Whether this kind is not taken.
    pub fn is_kind_disallowed(&self, kind: Kind) -> bool {
        self.disallowed_kinds.contains(&kind)
    }

    /// Why nobody may connect from this address, if so.
    pub fn blocked_because(&self, address: IpAddr) -> Option<&str> {
        let mut ranges = self.blocked_networks.iter();
        ranges.find(|(range, _)| range.contains(address)).map(|(_, reason)| reason.as_str())
    }

    /// The roles, and who has them.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// The relay's name, if it was changed.
    pub fn relay_name(&self) -> Option<&str> {
        self.relay_name.as_deref()
    }

    /// The relay's description, if it was changed.
    pub fn relay_description(&self) -> Option<&str> {
        self.relay_description.as_deref()
    }

    /// The URL of the relay's icon, if it was changed.
    pub fn relay_icon(&self) -> Option<&str> {
        self.relay_icon.as_deref()
    }

    /// Everything as JSON, to be kept in a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&Saved::from(self)).expect("the state has only string keys")
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        // Through a map, since a list would be read as the members in their order.
        let members: serde_json::Map<_, _> = serde_json::from_str(json)?;
        let saved: Saved = serde_json::from_value(members.into())?;
        saved.try_into().map_err(serde::de::Error::custom)
    }
}

/// An entry of a list, with why it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Hex, or an address.
    pub what: String,
    /// Empty if none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The form in the file. Unknown members are an error: a file of a later version must not lose
/// what this one does not know.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Saved {
    banned_pubkeys: Vec<Noted>,
    allowed_pubkeys: Vec<Noted>,
    banned_events: Vec<Noted>,
    allowed_events: Vec<Noted>,
    allowed_kinds: Vec<u16>,
    disallowed_kinds: Vec<u16>,
    blocked_networks: Vec<Noted>,
    // Without roles the file is one that versions before them can read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    roles: BTreeMap<String, Role>,
    /// The roles of each member, by its key in hex.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    members: BTreeMap<String, BTreeSet<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relay_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relay_description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relay_icon: Option<String>,
}

impl From<&Moderation> for Saved {
    fn from(state: &Moderation) -> Self {
        Self {
            banned_pubkeys: noted(&state.banned_pubkeys),
            allowed_pubkeys: noted(&state.allowed_pubkeys),
            banned_events: noted(&state.banned_events),
            allowed_events: noted(&state.allowed_events),
            allowed_kinds: state.allowed_kinds.iter().map(|kind| kind.0).collect(),
            disallowed_kinds: state.disallowed_kinds.iter().map(|kind| kind.0).collect(),
            blocked_networks: noted(&state.blocked_networks),
            roles: state.roles.by_id.clone(),
            members: hex_keys(&state.roles.of_member),
            relay_name: state.relay_name.clone(),
            relay_description: state.relay_description.clone(),
            relay_icon: state.relay_icon.clone(),
        }
    }
}

impl TryFrom<Saved> for Moderation {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        let kinds = |list: Vec<u16>| list.into_iter().map(Kind).collect();
        Ok(Self {
            banned_pubkeys: read(saved.banned_pubkeys, PubKey::from_hex)?,
            allowed_pubkeys: read(saved.allowed_pubkeys, PubKey::from_hex)?,
            banned_events: read(saved.banned_events, EventId::from_hex)?,
            allowed_events: read(saved.allowed_events, EventId::from_hex)?,
            allowed_kinds: kinds(saved.allowed_kinds),
            disallowed_kinds: kinds(saved.disallowed_kinds),
            blocked_networks: read(saved.blocked_networks, str::parse)?,
            roles: read_roles(saved.roles, saved.members)?,
            relay_name: saved.relay_name,
            relay_description: saved.relay_description,
            relay_icon: saved.relay_icon,
        })
    }
}

fn noted<K: ToString>(entries: &BTreeMap<K, String>) -> Vec<Noted> {
    let entries = entries.iter();
    entries.map(|(key, reason)| Noted { what: key.to_string(), reason: reason.clone() }).collect()
}

fn hex_keys(members: &BTreeMap<PubKey, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    members.iter().map(|(key, roles)| (key.to_string(), roles.clone())).collect()
}

fn read_roles(
    by_id: BTreeMap<String, Role>,
    members: BTreeMap<String, BTreeSet<String>>,
) -> Result<Roles, String> {
    let mut of_member = BTreeMap::new();
    for (key, roles) in members {
        let member = PubKey::from_hex(&key).map_err(|error| format!("{key:?}: {error}"))?;
        if let Some(id) = roles.iter().find(|id| !by_id.contains_key(*id)) {
            return Err(format!("{key} has the role {id:?}, which is not there"));
        }
        if !roles.is_empty() {
            of_member.insert(member, roles);
        }
    }
    Ok(Roles { by_id, of_member })
}

fn read<K: Ord, E: std::fmt::Display>(
    entries: Vec<Noted>,
    parse: impl Fn(&str) -> Result<K, E>,
) -> Result<BTreeMap<K, String>, String> {
    let parsed = entries.into_iter().map(|Noted { what, reason }| match parse(&what) {
        Ok(key) => Ok((key, reason)),
        Err(error) => Err(format!("{what:?}: {error}")),
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R86-05: what was decided survives a restart, to the last word.
    #[test]
    fn the_file_gives_back_what_was_decided() {
        let key = |byte: u8| PubKey([byte; 32]);
        let id = |byte: u8| EventId([byte; 32]);
        let state = Moderation {
            banned_pubkeys: [(key(1), "spam \"quoted\"\n".into()), (key(2), String::new())].into(),
            allowed_pubkeys: [(key(3), "friend".into())].into(),
            banned_events: [(id(4), String::new())].into(),
            allowed_events: [(id(5), "fine".into())].into(),
            allowed_kinds: [Kind(30_023)].into(),
            disallowed_kinds: [Kind(7), Kind(9735)].into(),
            blocked_networks: [("192.0.2.0/24".parse().expect("a range"), "flood".into())].into(),
            roles: Roles {
                by_id: [
                    ("mod".into(), Role { color: Some(360), order: Some(-3), ..Role::default() }),
                    ("\"".into(), Role { label: "L".into(), ..Role::default() }),
                ]
                .into(),
                of_member: [(key(6), ["mod".into(), "\"".into()].into())].into(),
            },
            relay_name: Some("näme".into()),
            relay_description: None,
            relay_icon: Some(String::new()),
        };
        assert_eq!(Moderation::from_json(&state.to_json()).expect("its own form"), state);
        assert_eq!(Moderation::from_json("{}").expect("empty"), Moderation::default());
    }

    /// A version that knows no roles reads the file of a relay that has none.
    #[test]
    fn the_file_without_roles_is_the_old_one() {
        let members: serde_json::Map<_, _> =
            serde_json::from_str(&Moderation::default().to_json()).expect("JSON");
        assert!(!members.contains_key("roles") && !members.contains_key("members"));
    }

    /// A file that was edited wrongly, or written by a later version, is not half read.
    #[test]
    fn damaged_files_are_refused() {
        for json in [
            "",
            "[]",
            r#"{"banned_pubkeys":[{"what":"abc"}]}"#,
            r#"{"blocked_networks":[{"what":"192.0.2.1/24"}]}"#,
            r#"{"allowed_kinds":[70000]}"#,
            r#"{"banned_words":[]}"#,
            r#"{"roles":{"mod":{"label":"","rank":1}}}"#,
            r#"{"members":{"abc":[]}}"#,
            &format!(r#"{{"members":{{"{}":["mod"]}}}}"#, "ab".repeat(32)),
        ] {
            assert!(Moderation::from_json(json).is_err(), "{json}");
        }
    }
}
