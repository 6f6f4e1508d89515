//! The methods of NIP-86: read from JSON, carried out on [`Moderation`].

use serde::Deserialize;
use serde_json::{Map, Value, json};
use zeolite_proto::{EventId, Kind, PubKey};

use crate::limits::REASON_BYTES_MAX;
use crate::moderation::Moderation;
use crate::network::Network;

/// Every method, in the order of the NIP. `supportedmethods` lists the others (R86-04).
pub const METHODS: [&str; 20] = [
    "supportedmethods",
    "banpubkey",
    "unbanpubkey",
    "listbannedpubkeys",
    "allowpubkey",
    "unallowpubkey",
    "listallowedpubkeys",
    "listeventsneedingmoderation",
    "allowevent",
    "banevent",
    "listbannedevents",
    "changerelayname",
    "changerelaydescription",
    "changerelayicon",
    "allowkind",
    "disallowkind",
    "listallowedkinds",
    "blockip",
    "unblockip",
    "listblockedips",
];

/// One request of an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Which methods there are.
    SupportedMethods,
    /// Nothing more of this author.
    BanPubkey(PubKey, String),
    /// Takes a ban back.
    UnbanPubkey(PubKey),
    /// Who is banned.
    ListBannedPubkeys,
    /// This author may write, also where only some may; takes a ban back.
    AllowPubkey(PubKey, String),
    /// Takes the permission back.
    UnallowPubkey(PubKey),
    /// Who is allowed.
    ListAllowedPubkeys,
    /// What users reported (kind 1984) and nobody decided on.
    ListEventsNeedingModeration,
    /// The event may stay; takes a ban back.
    AllowEvent(EventId, String),
    /// The event goes and does not come back.
    BanEvent(EventId, String),
    /// Which events are banned.
    ListBannedEvents,
    /// NIP-11's `name`.
    ChangeRelayName(String),
    /// NIP-11's `description`.
    ChangeRelayDescription(String),
    /// NIP-11's `icon`.
    ChangeRelayIcon(String),
    /// Takes [`Self::DisallowKind`] back, and adds to the kinds of the configuration where only
    /// some are taken.
    AllowKind(Kind),
    /// Nothing more of this kind.
    DisallowKind(Kind),
    /// The kinds that are taken beside those of the configuration.
    ListAllowedKinds,
    /// Nobody connects from there.
    BlockIp(Network, String),
    /// Takes [`Self::BlockIp`] back.
    UnblockIp(Network),
    /// Which addresses are blocked.
    ListBlockedIps,
}

/// Why a request was not understood. The text goes to the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The body is no request.
    #[error("expected {{\"method\": .., \"params\": [..]}}")]
    NotARequest,
    /// There is no such method.
    #[error("unknown method {0:?}; supportedmethods lists those there are")]
    UnknownMethod(String),
    /// A parameter is missing or is not what it must be.
    #[error("{method}: parameter {at} must be {expected}")]
    Parameter {
        /// The method.
        method: String,
        /// Counted from 1.
        at: usize,
        /// What is accepted.
        expected: &'static str,
    },
}

/// What a command asks of the rest of the relay, beside the new [`Moderation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Remove this event from the store.
    RemoveEvent(EventId),
    /// This author's events may be removed from the store.
    BannedAuthor(PubKey),
    /// Close the connections from there.
    Disconnect(Network),
    /// The information document is another.
    Document,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    #[serde(default)]
    params: Vec<Value>,
}

impl Command {
    /// Reads a request's body (R86-01). Parameters beyond those of the method are ignored.
    pub fn parse(body: &[u8]) -> Result<Self, CommandError> {
        // Through a map, since a list would be read as the members in their order.
        let members: Result<Map<_, _>, _> = serde_json::from_slice(body);
        let request = members.and_then(|members| serde_json::from_value(members.into()));
        let request: Request = request.map_err(|_| CommandError::NotARequest)?;
        Params { method: &request.method, values: &request.params }.command()
    }

    /// Carries the command out on the lists: the `result` to answer, and what else is to be done.
    /// `None` for what only the store knows.
    pub fn apply(self, state: &mut Moderation) -> Option<(Value, Option<Change>)> {
        if let Some(list) = self.list(state) {
            return Some((list, None));
        }
        let change = match self {
            Self::BanPubkey(key, reason) => {
                state.allowed_pubkeys.remove(&key);
                state.banned_pubkeys.insert(key, reason);
                Some(Change::BannedAuthor(key))
            }
            Self::UnbanPubkey(key) => {
                state.banned_pubkeys.remove(&key);
                None
            }
            Self::AllowPubkey(key, reason) => {
                state.banned_pubkeys.remove(&key);
                state.allowed_pubkeys.insert(key, reason);
                None
            }
            Self::UnallowPubkey(key) => {
                state.allowed_pubkeys.remove(&key);
                None
            }
            Self::AllowEvent(id, reason) => {
                state.banned_events.remove(&id);
                state.allowed_events.insert(id, reason);
                None
            }
            Self::BanEvent(id, reason) => {
                state.allowed_events.remove(&id);
                state.banned_events.insert(id, reason);
                Some(Change::RemoveEvent(id))
            }
            Self::ChangeRelayName(text) => change_text(&mut state.relay_name, text),
            Self::ChangeRelayDescription(text) => change_text(&mut state.relay_description, text),
            Self::ChangeRelayIcon(text) => change_text(&mut state.relay_icon, text),
            Self::AllowKind(kind) => {
                state.disallowed_kinds.remove(&kind);
                state.allowed_kinds.insert(kind);
                None
            }
            Self::DisallowKind(kind) => {
                state.allowed_kinds.remove(&kind);
                state.disallowed_kinds.insert(kind);
                None
            }
            Self::BlockIp(network, reason) => {
                state.blocked_networks.insert(network, reason);
                Some(Change::Disconnect(network))
            }
            Self::UnblockIp(network) => {
                state.blocked_networks.remove(&network);
                None
            }
            _ => return None,
        };
        Some((json!(true), change))
    }

    /// What a command answers that only asks.
    fn list(&self, state: &Moderation) -> Option<Value> {
        Some(match self {
            Self::SupportedMethods => json!(METHODS[1..]),
            Self::ListBannedPubkeys => entries("pubkey", &state.banned_pubkeys),
            Self::ListAllowedPubkeys => entries("pubkey", &state.allowed_pubkeys),
            Self::ListBannedEvents => entries("id", &state.banned_events),
            Self::ListBlockedIps => entries("ip", &state.blocked_networks),
            Self::ListAllowedKinds => {
                state.allowed_kinds.iter().map(|kind| json!(kind.0)).collect()
            }
            _ => return None,
        })
    }
}

fn change_text(text: &mut Option<String>, new: String) -> Option<Change> {
    *text = Some(new);
    Some(Change::Document)
}

fn entries<K: ToString>(name: &str, list: &std::collections::BTreeMap<K, String>) -> Value {
    let entry = |(key, reason): (&K, &String)| match reason.as_str() {
        "" => json!({ name: key.to_string() }),
        reason => json!({ name: key.to_string(), "reason": reason }),
    };
    list.iter().map(entry).collect()
}

/// The parameters of one request.
struct Params<'a> {
    method: &'a str,
    values: &'a [Value],
}

impl Params<'_> {
    fn command(&self) -> Result<Command, CommandError> {
        Ok(match self.method {
            "supportedmethods" => Command::SupportedMethods,
            "banpubkey" => Command::BanPubkey(self.pubkey()?, self.reason()),
            "unbanpubkey" => Command::UnbanPubkey(self.pubkey()?),
            "listbannedpubkeys" => Command::ListBannedPubkeys,
            "allowpubkey" => Command::AllowPubkey(self.pubkey()?, self.reason()),
            "unallowpubkey" => Command::UnallowPubkey(self.pubkey()?),
            "listallowedpubkeys" => Command::ListAllowedPubkeys,
            "listeventsneedingmoderation" => Command::ListEventsNeedingModeration,
            "allowevent" => Command::AllowEvent(self.event()?, self.reason()),
            "banevent" => Command::BanEvent(self.event()?, self.reason()),
            "listbannedevents" => Command::ListBannedEvents,
            "changerelayname" => Command::ChangeRelayName(self.text()?),
            "changerelaydescription" => Command::ChangeRelayDescription(self.text()?),
            "changerelayicon" => Command::ChangeRelayIcon(self.text()?),
            "allowkind" => Command::AllowKind(self.kind()?),
            "disallowkind" => Command::DisallowKind(self.kind()?),
            "listallowedkinds" => Command::ListAllowedKinds,
            "blockip" => Command::BlockIp(self.network()?, self.reason()),
            "unblockip" => Command::UnblockIp(self.network()?),
            "listblockedips" => Command::ListBlockedIps,
            other => return Err(CommandError::UnknownMethod(shortened(other))),
        })
    }

    fn first<T>(
        &self,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CommandError> {
        let wrong = || CommandError::Parameter { method: self.method.to_owned(), at: 1, expected };
        self.values.first().and_then(read).ok_or_else(wrong)
    }

    fn pubkey(&self) -> Result<PubKey, CommandError> {
        self.first("a public key in 64 lower-case hex digits", |value| {
            PubKey::from_hex(value.as_str()?).ok()
        })
    }

    fn event(&self) -> Result<EventId, CommandError> {
        self.first("an event id in 64 lower-case hex digits", |value| {
            EventId::from_hex(value.as_str()?).ok()
        })
    }

    fn kind(&self) -> Result<Kind, CommandError> {
        self.first("a kind, 0 to 65535", |value| Some(Kind(value.as_u64()?.try_into().ok()?)))
    }

    fn network(&self) -> Result<Network, CommandError> {
        self.first("an IP address, or a range such as 192.0.2.0/24", |value| {
            value.as_str()?.parse().ok()
        })
    }

    fn text(&self) -> Result<String, CommandError> {
        self.first("a text", |value| Some(value.as_str()?.to_owned()))
    }

    /// The optional second parameter.
    fn reason(&self) -> String {
        self.values.get(1).and_then(Value::as_str).map(shortened).unwrap_or_default()
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(REASON_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> String {
        "ab".repeat(32)
    }

    /// A request and its result, or the words of the refusal; in one go, on one state.
    fn check(state: &mut Moderation, method: &str, params: &Value, expected: Result<Value, &str>) {
        let body = json!({ "method": method, "params": params }).to_string();
        let result = Command::parse(body.as_bytes()).map_err(|error| error.to_string());
        let result = result.map(|command| command.apply(state).expect("no store is needed").0);
        assert_eq!(result, expected.map_err(str::to_owned), "{body}");
    }

    /// R86-03: the shapes of answers; R86-04: what is supported, without the asking itself.
    #[test]
    fn lists_have_the_shapes_of_the_nip() {
        let state = &mut Moderation::default();
        for (method, params, expected) in [
            ("banpubkey", json!([key(), "spam"]), json!(true)),
            ("listbannedpubkeys", json!([]), json!([{ "pubkey": key(), "reason": "spam" }])),
            ("allowpubkey", json!([key()]), json!(true)),
            ("listbannedpubkeys", json!([]), json!([])),
            ("listallowedpubkeys", json!([]), json!([{ "pubkey": key() }])),
            ("unallowpubkey", json!([key()]), json!(true)),
            ("listallowedpubkeys", json!([]), json!([])),
            ("banevent", json!([key(), null]), json!(true)),
            ("listbannedevents", json!([]), json!([{ "id": key() }])),
            ("allowevent", json!([key()]), json!(true)),
            ("listbannedevents", json!([]), json!([])),
            ("allowkind", json!([30023]), json!(true)),
            ("listallowedkinds", json!([]), json!([30023])),
            ("disallowkind", json!([30023]), json!(true)),
            ("listallowedkinds", json!([]), json!([])),
            ("blockip", json!(["2001:db8::/32", "flood"]), json!(true)),
            ("listblockedips", json!([]), json!([{ "ip": "2001:db8::/32", "reason": "flood" }])),
            ("unblockip", json!(["2001:db8::/32"]), json!(true)),
            ("listblockedips", json!([]), json!([])),
            ("changerelayname", json!(["new"]), json!(true)),
            ("supportedmethods", json!([]), json!(METHODS[1..])),
        ] {
            check(state, method, &params, Ok(expected));
        }
        assert_eq!(state.relay_name(), Some("new"));
    }

    /// Every method that is announced is understood, with the parameters of its kind.
    #[test]
    fn announced_methods_are_understood() {
        for method in METHODS {
            let understood = [json!([]), json!([key()]), json!([1]), json!(["192.0.2.1"])]
                .into_iter()
                .any(|params| {
                    let body = json!({ "method": method, "params": params }).to_string();
                    Command::parse(body.as_bytes()).is_ok()
                });
            assert!(understood, "{method}");
        }
    }

    #[test]
    fn refusals_say_what_is_expected() {
        let state = &mut Moderation::default();
        let key_wanted = "banpubkey: parameter 1 must be a public key in 64 lower-case hex digits";
        for (method, params, words) in [
            ("banpubkey", json!([]), key_wanted),
            ("banpubkey", json!([key().to_uppercase()]), key_wanted),
            ("banpubkey", json!([7]), key_wanted),
            ("allowkind", json!([65_536]), "allowkind: parameter 1 must be a kind, 0 to 65535"),
            ("allowkind", json!([1.5]), "allowkind: parameter 1 must be a kind, 0 to 65535"),
            (
                "blockip",
                json!(["everyone"]),
                "blockip: parameter 1 must be an IP address, or a range such as 192.0.2.0/24",
            ),
            (
                "stats",
                json!([]),
                "unknown method \"stats\"; supportedmethods lists those there are",
            ),
        ] {
            check(state, method, &params, Err(words));
        }
        assert_eq!(*state, Moderation::default());
        for body in [
            "",
            "[]",
            r#"["listbannedpubkeys",[]]"#,
            "{}",
            r#"{"method":1}"#,
            r#"{"method":"banpubkey","params":{}}"#,
        ] {
            assert_eq!(Command::parse(body.as_bytes()), Err(CommandError::NotARequest), "{body}");
        }
    }

    /// A reason is kept in bounded length, cut between characters.
    #[test]
    fn long_reasons_are_cut() {
        let body = json!({ "method": "banpubkey", "params": [key(), "é".repeat(500)] });
        let command = Command::parse(body.to_string().as_bytes()).expect("a command");
        let Command::BanPubkey(_, reason) = command else { panic!("another command") };
        assert_eq!(reason, "é".repeat(REASON_BYTES_MAX / 2));
    }

    /// R86-05: what has to happen at once beside the lists.
    #[test]
    fn bans_ask_for_action() {
        let state = &mut Moderation::default();
        let id = EventId([1; 32]);
        let network: Network = "192.0.2.1".parse().expect("an address");
        for (command, change) in [
            (Command::BanEvent(id, String::new()), Some(Change::RemoveEvent(id))),
            (Command::AllowEvent(id, String::new()), None),
            (Command::BlockIp(network, String::new()), Some(Change::Disconnect(network))),
            (Command::ChangeRelayIcon("https://a".into()), Some(Change::Document)),
        ] {
            assert_eq!(command.apply(state), Some((json!(true), change)));
        }
        assert_eq!(Command::ListEventsNeedingModeration.apply(state), None, "the store knows");
    }
}
