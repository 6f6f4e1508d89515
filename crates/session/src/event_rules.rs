//! The rules that a single event must obey, whatever road it came by.

use serde_json::Value;
use zeolite_proto::{EventRef, Kind, Reader, Reason, TagRef, TagStr, Timestamp};

use crate::limits::SessionLimits;
use crate::login::{auth_required, restricted};

/// How far back gift wraps may be dated on purpose (NIP-59).
const BACKDATED_S_MAX: u64 = 2 * 24 * 60 * 60;

/// Reposts, whose content may be another event (NIP-18).
const REPOST: Kind = Kind(6);
const GENERIC_REPOST: Kind = Kind(16);

/// Who brings an event, as far as it matters to those that only their author may bring (NIP-70).
#[derive(Clone, Copy, Debug)]
pub enum Publisher<'a> {
    /// A client, with the keys it has logged in with.
    Client(&'a Reader),
    /// Somebody who passes on what others wrote.
    Carrier,
    /// Somebody whom the operator trusts to have been given it by its author.
    Trusted,
}

/// Whether the relay takes this event, before its signature is checked and the store is asked.
///
/// The reason is ready for an `OK false`: `invalid:` where the event breaks the protocol or a
/// limit, `blocked:` where policy stands against it.
pub fn check_event(
    limits: &SessionLimits,
    event: EventRef<'_>,
    now: Timestamp,
    publisher: Publisher<'_>,
) -> Result<(), Reason> {
    check_kind(event)?;
    check_size(limits, event)?;
    check_time(limits, event, now)?;
    check_protection(event, publisher)
}

/// Kinds with a duty of their own (R42-07, R62-01).
fn check_kind(event: EventRef<'_>) -> Result<(), Reason> {
    match event.kind() {
        Kind::AUTH => Err(Reason::invalid("kind 22242 belongs into an AUTH message")),
        Kind::VANISH if !has_tag(event, b"relay") => {
            Err(Reason::invalid("a request to vanish needs a relay tag"))
        }
        _ => Ok(()),
    }
}

fn check_size(limits: &SessionLimits, event: EventRef<'_>) -> Result<(), Reason> {
    let tags_max = limits.event_tags_max;
    if event.tags().nth(tags_max).is_some() {
        return Err(Reason::invalid(format!("event has more than {tags_max} tags")));
    }
    let chars_max = limits.content_chars_max;
    if event.content().len() > chars_max && chars(event.content()) > chars_max {
        return Err(Reason::invalid(format!("content is longer than {chars_max} characters")));
    }
    Ok(())
}

/// Unicode scalar values in UTF-8 text: its bytes but for those that continue one.
fn chars(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

fn check_time(limits: &SessionLimits, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
    let at = event.created_at();
    if limits.created_at_future_s_max.is_some_and(|max| at > now.saturating_add(max)) {
        return Err(Reason::invalid("created_at is too far in the future"));
    }
    let kind = event.kind();
    let age_max = match kind {
        Kind::VANISH => None,
        _ if kind.is_ephemeral() => limits.ephemeral_age_s_max,
        _ => limits.created_at_past_s_max,
    };
    let grace = match kind {
        Kind::GIFT_WRAP | Kind::EPHEMERAL_GIFT_WRAP => BACKDATED_S_MAX,
        _ => 0,
    };
    if age_max.is_some_and(|max| at < now.saturating_sub(max).saturating_sub(grace)) {
        return Err(Reason::invalid("created_at is too far in the past"));
    }
    Ok(())
}

/// NIP-70. Only its author may bring a protected event, and nobody a repost that holds one.
fn check_protection(event: EventRef<'_>, publisher: Publisher<'_>) -> Result<(), Reason> {
    if has_tag(event, b"-") {
        return match publisher {
            Publisher::Trusted => Ok(()),
            Publisher::Client(reader) if reader.is_logged_in_as(&event.pubkey()) => Ok(()),
            Publisher::Client(reader) if reader.is_anonymous() => {
                Err(auth_required("only its author may publish a protected event"))
            }
            Publisher::Client(_) => {
                Err(restricted("only its author may publish a protected event"))
            }
            Publisher::Carrier => Err(Reason::blocked("protected events come from their authors")),
        };
    }
    let is_repost = matches!(event.kind(), REPOST | GENERIC_REPOST);
    if is_repost && embeds_protected(event.content()) {
        return Err(Reason::blocked("reposts of protected events are not taken"));
    }
    Ok(())
}

fn has_tag(event: EventRef<'_>, name: &[u8]) -> bool {
    event.tags().filter_map(TagRef::name).any(|found| found == TagStr::Text(name))
}

/// Whether the text is an event object with a tag whose name is `-` (R70-04).
fn embeds_protected(content: &[u8]) -> bool {
    // The name has two spellings in JSON; most reposts hold neither and are not parsed.
    let may_have_name =
        content.windows(3).any(|three| three == b"\"-\"") || content.contains(&b'\\');
    if !may_have_name {
        return false;
    }
    let Ok(embedded) = serde_json::from_slice::<Value>(content) else { return false };
    let tags = embedded.get("tags").and_then(Value::as_array);
    tags.is_some_and(|tags| tags.iter().any(|tag| tag.get(0).is_some_and(|name| name == "-")))
}
