//! The methods of NIP-86: read from JSON, carried out on [`Moderation`].

mod params;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use zeolite_proto::{EventId, Kind, PubKey};

use self::params::Params;
use crate::moderation::Moderation;
use crate::network::Network;
use crate::roles::{Role, RoleFault};

/// Every method, in the order of the NIP. `supportedmethods` lists the others (R86-04).
pub const METHODS: [&str; 25] = [
    "supportedmethods",
    "banpubkey",
    "unbanpubkey",
    "listbannedpubkeys",
    "allowpubkey",
    "unallowpubkey",
    "listallowedpubkeys",
    "createrole",
    "editrole",
    "deleterole",
    "assignrole",
    "unassignrole",
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
    /// A new role, of this id.
    CreateRole(String, Role),
    /// All that is said of a role, anew.
    EditRole(String, Role),
    /// The role goes, also from those who have it.
    DeleteRole(String),
    /// Gives a role to somebody.
    AssignRole(PubKey, String),
    /// Takes a role from somebody.
    UnassignRole(PubKey, String),
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

/// Why a command is not carried out; then nothing has changed. The text goes to the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Only the store knows the answer.
    #[error("this method is not carried out here")]
    NeedsStore,
    /// What stands against it among the roles.
    #[error(transparent)]
    Role(#[from] RoleFault),
    /// Who may not write is no member.
    #[error("{0} is banned; unbanpubkey takes the ban back")]
    Banned(PubKey),
}

/// What a command asks of the rest of the relay, beside the new [`Moderation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Remove this event from the store.
    RemoveEvent(EventId),
    /// This author's events may be removed from the store, and it has no role.
    BannedAuthor(PubKey),
    /// The roles, or those who have them, are others.
    Roles,
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
    pub fn apply(self, state: &mut Moderation) -> Result<(Value, Option<Change>), Refusal> {
        if let Some(list) = self.list(state) {
            return Ok((list, None));
        }
        let change = match self {
            Self::BanPubkey(key, reason) => {
                state.allowed_pubkeys.remove(&key);
                state.roles.strip(&key);
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
            Self::CreateRole(id, role) => change_roles(state.roles.create(id, role))?,
            Self::EditRole(id, role) => change_roles(state.roles.edit(id, role))?,
            Self::DeleteRole(id) => change_roles(state.roles.delete(id))?,
            Self::AssignRole(key, _) if state.is_pubkey_banned(&key) => {
                return Err(Refusal::Banned(key));
            }
            Self::AssignRole(key, id) => change_roles(state.roles.assign(key, id))?,
            Self::UnassignRole(key, id) => change_roles(state.roles.unassign(key, id))?,
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
            _ => return Err(Refusal::NeedsStore),
        };
        Ok((json!(true), change))
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

fn change_roles(done: Result<(), RoleFault>) -> Result<Option<Change>, RoleFault> {
    done.map(|()| Some(Change::Roles))
}

fn entries<K: ToString>(name: &str, list: &std::collections::BTreeMap<K, String>) -> Value {
    let entry = |(key, reason): (&K, &String)| match reason.as_str() {
        "" => json!({ name: key.to_string() }),
        reason => json!({ name: key.to_string(), "reason": reason }),
    };
    list.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::REASON_BYTES_MAX;

    fn key() -> String {
        "ab".repeat(32)
    }

    /// A request and its result, or the words of the refusal; in one go, on one state.
    fn check(state: &mut Moderation, method: &str, params: &Value, expected: Result<Value, &str>) {
        let body = json!({ "method": method, "params": params }).to_string();
        let command = Command::parse(body.as_bytes()).map_err(|error| error.to_string());
        let result = command.and_then(|command| {
            command.apply(state).map(|(result, _)| result).map_err(|refusal| refusal.to_string())
        });
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

    /// R86-03: what is said of a role, in the order of the NIP; what it leaves open is taken in more
    /// than one form.
    #[test]
    fn roles_are_read_leniently() {
        let moderator = || Role {
            label: "Moderator".into(),
            description: "keeps order".into(),
            color: Some(37),
            order: Some(-1),
        };
        let bare = || Role::default();
        let long_label = format!("{}x", "é".repeat(127));
        for (params, expected) in [
            (json!(["r", "Moderator", "keeps order", 37, -1]), Ok(moderator())),
            (json!(["r", "Moderator", "keeps order", "37", "-1"]), Ok(moderator())),
            (json!(["r", "", null, "", null]), Ok(bare())),
            (json!(["r"]), Ok(bare())),
            (json!(["r", "", "", 360]), Ok(Role { color: Some(360), ..bare() })),
            (json!(["r", &long_label]), Ok(Role { label: long_label.clone(), ..bare() })),
            (json!([]), Err("1 must be a role's id, 1 to 64 bytes of text without line breaks")),
            (json!([""]), Err("1 must be a role's id, 1 to 64 bytes of text without line breaks")),
            (json!([7]), Err("1 must be a role's id, 1 to 64 bytes of text without line breaks")),
            (
                json!(["a\nb"]),
                Err("1 must be a role's id, 1 to 64 bytes of text without line breaks"),
            ),
            (
                json!(["x".repeat(65)]),
                Err("1 must be a role's id, 1 to 64 bytes of text without line breaks"),
            ),
            (json!(["r", 7]), Err("2 must be a label, a text of at most 256 bytes")),
            (json!(["r", "é".repeat(129)]), Err("2 must be a label, a text of at most 256 bytes")),
            (
                json!(["r", "", "x".repeat(1_025)]),
                Err("3 must be a description, a text of at most 1024 bytes"),
            ),
            (json!(["r", "", "", 361]), Err("4 must be a color, the hue from 0 to 360")),
            (json!(["r", "", "", "red"]), Err("4 must be a color, the hue from 0 to 360")),
            (json!(["r", "", "", 37.5]), Err("4 must be a color, the hue from 0 to 360")),
            (json!(["r", "", "", 37, "first"]), Err("5 must be an order, a whole number")),
        ] {
            for (method, command) in [
                ("createrole", Command::CreateRole as fn(String, Role) -> Command),
                ("editrole", Command::EditRole),
            ] {
                let body = json!({ "method": method, "params": params }).to_string();
                let found = Command::parse(body.as_bytes()).map_err(|error| error.to_string());
                let expected = expected.clone().map(|role| command("r".into(), role));
                let words = |words: &str| format!("{method}: parameter {words}");
                assert_eq!(found, expected.map_err(words), "{body}");
            }
        }
    }

    /// R86-03: the methods of roles on one state; what goes wrong tells what to do.
    #[test]
    fn roles_are_managed() {
        let state = &mut Moderation::default();
        let no_role = Err("there is no role \"r\"; createrole makes one");
        let banned = format!("{} is banned; unbanpubkey takes the ban back", key());
        let id_wanted = "assignrole: parameter 2 must be a role's id, 1 to 64 bytes of text without line breaks";
        let done = || Ok(json!(true));
        for (method, params, expected) in [
            ("editrole", json!(["r"]), no_role.clone()),
            ("deleterole", json!(["r"]), no_role.clone()),
            ("assignrole", json!([key(), "r"]), no_role.clone()),
            ("unassignrole", json!([key(), "r"]), no_role),
            ("createrole", json!(["r", "Moderator"]), done()),
            (
                "createrole",
                json!(["r", "Moderator"]),
                Err("there is a role \"r\" already; editrole changes it"),
            ),
            ("editrole", json!(["r", "Mod"]), done()),
            ("assignrole", json!([key()]), Err(id_wanted)),
            ("assignrole", json!([key(), "r"]), done()),
            ("unassignrole", json!([key(), "r"]), done()),
            ("assignrole", json!([key(), "r"]), done()),
            ("banpubkey", json!([key()]), done()),
            ("assignrole", json!([key(), "r"]), Err(&banned)),
        ] {
            check(state, method, &params, expected);
        }
        assert!(state.roles.of_member.is_empty(), "who is banned has no role");
        assert_eq!(state.roles.by_id["r"].label, "Mod");
        check(state, "deleterole", &json!(["r"]), done());
        assert!(state.roles().is_empty());
    }

    /// Every method that is announced is understood, with the parameters of its kind.
    #[test]
    fn announced_methods_are_understood() {
        for method in METHODS {
            let texts = [json!([]), json!([key()]), json!(["192.0.2.1"]), json!([key(), "mod"])];
            let understood = [json!([1])].into_iter().chain(texts).any(|params| {
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
            (Command::CreateRole("mod".into(), Role::default()), Some(Change::Roles)),
        ] {
            assert_eq!(command.apply(state), Ok((json!(true), change)));
        }
        let only_store_knows = Command::ListEventsNeedingModeration.apply(state);
        assert_eq!(only_store_knows, Err(Refusal::NeedsStore));
    }
}
