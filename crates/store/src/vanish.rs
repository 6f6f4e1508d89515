//! Requests to vanish (NIP-62): what they cover, and the removal that follows them.

use zeolite_proto::{EventRef, Kind, PubKey, TagStr, Timestamp, normalise_relay_url};

/// A request to vanish that this store obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vanish {
    pub(crate) author: PubKey,
    /// The time of the request.
    pub(crate) until: Timestamp,
}

impl Vanish {
    /// Whether the request wipes this event: by its author, or a gift wrap to its author, and not
    /// later than the request (R62-03, R62-04). The request itself stays, as its proof (R62-07),
    /// and so does any other of the same time, so that it does not matter which came first.
    pub(crate) fn wipes(&self, event: EventRef<'_>, own_urls: &OwnUrls) -> bool {
        let time = event.created_at();
        time <= self.until
            && (event.pubkey() == self.author || is_wrap_for(event, &self.author))
            && !(time == self.until && own_urls.are_called_by(event))
    }
}

/// Whether the event is a gift wrap with a `p` tag for this key (NIP-59).
pub(crate) fn is_wrap_for(event: EventRef<'_>, key: &PubKey) -> bool {
    event.kind() == Kind::GIFT_WRAP && recipients(event).any(|recipient| recipient == *key)
}

/// The keys in the `p` tags of an event.
pub(crate) fn recipients(event: EventRef<'_>) -> impl Iterator<Item = PubKey> {
    event.letter_tags().filter_map(|(letter, value)| match value {
        TagStr::Hex(key) if letter == b'p' => Some(PubKey(*key)),
        _ => None,
    })
}

/// The URLs that requests to vanish call this relay by.
pub(crate) enum OwnUrls {
    /// These, normalised.
    Known(Vec<String>),
    /// Whoever opened the store does not know them: any request may be meant.
    Unknown,
}

impl OwnUrls {
    /// URLs that are none are left out.
    pub(crate) fn new(urls: &[String]) -> Self {
        Self::Known(urls.iter().filter_map(|url| normalise_relay_url(url)).collect())
    }

    /// Whether the event is a request to vanish that is addressed to this relay (R62-02).
    pub(crate) fn are_called_by(&self, event: EventRef<'_>) -> bool {
        let relay = TagStr::Text(b"relay");
        event.kind() == Kind::VANISH
            && event
                .tags()
                .filter(|tag| tag.name() == Some(relay))
                .filter_map(|tag| tag.value())
                .any(|value| self.contain(value))
    }

    fn contain(&self, value: TagStr<'_>) -> bool {
        let Self::Known(urls) = self else { return true };
        let TagStr::Text(text) = value else { return false };
        text == b"ALL_RELAYS"
            || std::str::from_utf8(text)
                .ok()
                .and_then(normalise_relay_url)
                .is_some_and(|url| urls.contains(&url))
    }
}
