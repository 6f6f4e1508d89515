//! The parameters of a request, read as its method wants them.
//!
//! What is optional may be missing, `null` or an empty text.

use serde_json::Value;
use zeolite_proto::{EventId, Kind, PubKey};

use super::{Command, CommandError};
use crate::limits::{
    REASON_BYTES_MAX, ROLE_DESCRIPTION_BYTES_MAX, ROLE_ID_BYTES_MAX, ROLE_LABEL_BYTES_MAX,
};
use crate::network::Network;
use crate::roles::Role;

/// The parameters of one request.
pub(super) struct Params<'a> {
    pub(super) method: &'a str,
    pub(super) values: &'a [Value],
}

impl Params<'_> {
    pub(super) fn command(&self) -> Result<Command, CommandError> {
        Ok(match self.method {
            "supportedmethods" => Command::SupportedMethods,
            "banpubkey" => Command::BanPubkey(self.pubkey()?, self.reason()),
            "unbanpubkey" => Command::UnbanPubkey(self.pubkey()?),
            "listbannedpubkeys" => Command::ListBannedPubkeys,
            "allowpubkey" => Command::AllowPubkey(self.pubkey()?, self.reason()),
            "unallowpubkey" => Command::UnallowPubkey(self.pubkey()?),
            "listallowedpubkeys" => Command::ListAllowedPubkeys,
            "createrole" => Command::CreateRole(self.role_id(0)?, self.role()?),
            "editrole" => Command::EditRole(self.role_id(0)?, self.role()?),
            "deleterole" => Command::DeleteRole(self.role_id(0)?),
            "assignrole" => Command::AssignRole(self.pubkey()?, self.role_id(1)?),
            "unassignrole" => Command::UnassignRole(self.pubkey()?, self.role_id(1)?),
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

    /// The parameter at this place, counted from 0.
    fn required<T>(
        &self,
        at: usize,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CommandError> {
        self.values.get(at).and_then(read).ok_or_else(|| self.wrong(at, expected))
    }

    fn optional<T>(
        &self,
        at: usize,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, CommandError> {
        match self.values.get(at) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| self.wrong(at, expected)),
        }
    }

    fn wrong(&self, at: usize, expected: &'static str) -> CommandError {
        CommandError::Parameter { method: self.method.to_owned(), at: at + 1, expected }
    }

    fn pubkey(&self) -> Result<PubKey, CommandError> {
        self.required(0, "a public key in 64 lower-case hex digits", |value| {
            PubKey::from_hex(value.as_str()?).ok()
        })
    }

    fn event(&self) -> Result<EventId, CommandError> {
        self.required(0, "an event id in 64 lower-case hex digits", |value| {
            EventId::from_hex(value.as_str()?).ok()
        })
    }

    fn kind(&self) -> Result<Kind, CommandError> {
        self.required(0, "a kind, 0 to 65535", |value| Some(Kind(value.as_u64()?.try_into().ok()?)))
    }

    fn network(&self) -> Result<Network, CommandError> {
        self.required(0, "an IP address, or a range such as 192.0.2.0/24", |value| {
            value.as_str()?.parse().ok()
        })
    }

    fn text(&self) -> Result<String, CommandError> {
        self.required(0, "a text", |value| Some(value.as_str()?.to_owned()))
    }

    /// The optional second parameter.
    fn reason(&self) -> String {
        self.values.get(1).and_then(Value::as_str).map(shortened).unwrap_or_default()
    }

    fn role_id(&self, at: usize) -> Result<String, CommandError> {
        self.required(at, "a role's id, 1 to 64 bytes of text without line breaks", |value| {
            let id = text_up_to(ROLE_ID_BYTES_MAX, value)?;
            let is_id = !id.is_empty() && !id.contains(char::is_control);
            is_id.then_some(id)
        })
    }

    /// What follows a role's id. The NIP does not say whether numbers are JSON's, so that they may
    /// be texts as well, as in the tags that they become.
    fn role(&self) -> Result<Role, CommandError> {
        let label = self.optional(1, "a label, a text of at most 256 bytes", |value| {
            text_up_to(ROLE_LABEL_BYTES_MAX, value)
        })?;
        let description =
            self.optional(2, "a description, a text of at most 1024 bytes", |value| {
                text_up_to(ROLE_DESCRIPTION_BYTES_MAX, value)
            })?;
        let color = self.optional(3, "a color, the hue from 0 to 360", |value| {
            u16::try_from(whole(value)?).ok().filter(|hue| *hue <= 360)
        })?;
        let order = self.optional(4, "an order, a whole number", whole)?;
        let (label, description) = (label.unwrap_or_default(), description.unwrap_or_default());
        Ok(Role { label, description, color, order })
    }
}

fn text_up_to(bytes_max: usize, value: &Value) -> Option<String> {
    value.as_str().filter(|text| text.len() <= bytes_max).map(str::to_owned)
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_i64(),
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(REASON_BYTES_MAX)].to_owned()
}
