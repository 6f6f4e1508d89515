//! Who may read what (NIP-04, 17, 42, 59): one rule for every way of reading.
//!
//! Stored answers, live delivery, counts and reconciliation all ask [`Reader::may_read`].
//! [`Reader::reach`] tells beforehand what it will come to, as far as the filter alone shows.

use std::sync::Arc;

use crate::filter::{Filter, TagFilter};
use crate::ids::PubKey;
use crate::kind::Kind;
use crate::record::{EventRef, TagStr};

/// The kinds whose events are for their recipients and authors only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    kinds: Box<[Kind]>,
    keepers: Box<[PubKey]>,
}

impl Gates {
    /// These kinds, in any order, but not before the keepers: keys that may read everything, such
    /// as those of the operator's own mirrors.
    pub fn new(
        kinds: impl IntoIterator<Item = Kind>,
        keepers: impl IntoIterator<Item = PubKey>,
    ) -> Self {
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self { kinds: kinds.into(), keepers: keepers.into_iter().collect() }
    }

    /// The kinds, sorted.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Whether events of this kind are not for everybody.
    pub fn cover(&self, kind: Kind) -> bool {
        self.kinds.binary_search(&kind).is_ok()
    }
}

/// Somebody who reads: the keys that they have shown to be theirs.
///
/// An event of a gated kind may be read by the keys in its `p` tags and by its author; a gift
/// wrap's author is a key made for the occasion and does not count (R59-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    gates: Arc<Gates>,
    /// Few, in the order of the logins.
    logins: Box<[PubKey]>,
}

/// What a reader may be given of a filter's matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of them.
    Everything,
    /// Some of them; each must be looked at.
    Something,
    /// None: all that can match is for others.
    Nothing,
}

impl Reader {
    /// The operator, from whom nothing is kept.
    pub fn of_everything() -> Self {
        Self::anonymous(Arc::default())
    }

    /// Somebody who has not logged in.
    pub fn anonymous(gates: Arc<Gates>) -> Self {
        Self { gates, logins: Box::default() }
    }

    /// The same with one more key.
    pub fn with_login(&self, key: PubKey) -> Self {
        let new = (!self.is_logged_in_as(&key)).then_some(key);
        let logins = self.logins.iter().copied().chain(new).collect();
        let gates = match self.gates.keepers.contains(&key) {
            true => Arc::default(),
            false => Arc::clone(&self.gates),
        };
        Self { gates, logins }
    }

    /// The kinds that are not for everybody.
    pub fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// The keys they have logged in with.
    pub fn logins(&self) -> &[PubKey] {
        &self.logins
    }

    /// True without any login.
    pub fn is_anonymous(&self) -> bool {
        self.logins.is_empty()
    }

    /// Whether this key has logged in.
    pub fn is_logged_in_as(&self, key: &PubKey) -> bool {
        self.logins.contains(key)
    }

    /// Whether they may be given this event.
    pub fn may_read(&self, event: EventRef<'_>) -> bool {
        !self.gates.cover(event.kind()) || self.is_party(event)
    }

    /// What they may be given of a filter's matches, as far as the filter tells.
    pub fn reach(&self, filter: &Filter) -> Reach {
        let covers = |kind: &Kind| self.gates.cover(*kind);
        match filter.kinds.as_deref() {
            _ if self.gates.kinds.is_empty() => Reach::Everything,
            Some(kinds) if !kinds.iter().any(covers) => Reach::Everything,
            Some(kinds) if kinds.iter().all(|kind| covers(kind) && !self.asks(filter, *kind)) => {
                Reach::Nothing
            }
            _ => Reach::Something,
        }
    }

    /// Whether a filter names a gated kind, rather than meeting it among others.
    pub fn is_asked_for_gated_kind(&self, filter: &Filter) -> bool {
        let kinds = filter.kinds.as_deref().unwrap_or_default();
        kinds.iter().any(|kind| self.gates.cover(*kind))
    }

    /// Whether a filter names events that may be gated, by their kind or one by one.
    pub fn is_asked_for_gated(&self, filter: &Filter) -> bool {
        let by_id = filter.ids.is_some() && filter.kinds.is_none();
        by_id || self.is_asked_for_gated_kind(filter)
    }

    fn is_party(&self, event: EventRef<'_>) -> bool {
        let is_author = has_real_author(event.kind()) && self.is_logged_in_as(&event.pubkey());
        is_author || self.logins.iter().any(|login| is_recipient(event, login))
    }

    /// Whether the filter can mean their own events of this gated kind. One that names other
    /// recipients (and other authors) does not.
    fn asks(&self, filter: &Filter, kind: Kind) -> bool {
        let names_login =
            |tag: &TagFilter| self.logins.iter().any(|key| tag.has(TagStr::Hex(&key.0)));
        let mut recipients = filter.tags.iter().filter(|tag| tag.letter == b'p' && !tag.all);
        let as_recipient = recipients.all(names_login);
        let as_author = has_real_author(kind)
            && filter.authors.as_deref().is_none_or(|authors| {
                self.logins.iter().any(|key| authors.binary_search(key).is_ok())
            });
        !self.is_anonymous() && (as_recipient || as_author)
    }
}

fn has_real_author(kind: Kind) -> bool {
    kind != Kind::GIFT_WRAP && kind != Kind::EPHEMERAL_GIFT_WRAP
}

fn is_recipient(event: EventRef<'_>, key: &PubKey) -> bool {
    event.letter_tags().any(|tag| tag == (b'p', TagStr::Hex(&key.0)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: [u8; 32] = [0xaa; 32];
    const B: [u8; 32] = [0xbb; 32];
    const KEEPER: [u8; 32] = [0xcc; 32];

    fn reader(logins: &[[u8; 32]]) -> Reader {
        let kinds = [Kind::GIFT_WRAP, Kind::DIRECT_MESSAGE, Kind::EPHEMERAL_GIFT_WRAP];
        let anonymous = Reader::anonymous(Arc::new(Gates::new(kinds, [PubKey(KEEPER)])));
        logins.iter().fold(anonymous, |reader, key| reader.with_login(PubKey(*key)))
    }

    /// R42-08, R59-02, R45-03: what a filter alone tells.
    #[test]
    fn a_filter_tells_what_can_come_of_it() {
        use Reach::{Everything, Nothing, Something};
        let (a, b) = (PubKey(A).to_string(), PubKey(B).to_string());
        for (filter, anonymous, as_a) in [
            (json!({}), Something, Something),
            (json!({"ids": [a]}), Something, Something),
            (json!({"kinds": [1, 7]}), Everything, Everything),
            (json!({"kinds": []}), Everything, Everything),
            (json!({"kinds": [1, 4]}), Something, Something),
            (json!({"kinds": [4]}), Nothing, Something),
            (json!({"kinds": [1059, 4, 21059]}), Nothing, Something),
            (json!({"kinds": [1059], "#p": [a]}), Nothing, Something),
            (json!({"kinds": [1059], "#p": [a, b]}), Nothing, Something),
            (json!({"kinds": [1059], "#p": [b]}), Nothing, Nothing),
            (json!({"kinds": [1059], "#p": [b], "authors": [a]}), Nothing, Nothing),
            (json!({"kinds": [4], "#p": [b], "authors": [a]}), Nothing, Something),
            (json!({"kinds": [4], "#p": [b]}), Nothing, Something),
            (json!({"kinds": [4], "#p": [b], "authors": [b]}), Nothing, Nothing),
            (json!({"kinds": [4], "authors": [b]}), Nothing, Something),
            (json!({"kinds": [4], "#p": [a], "authors": [b]}), Nothing, Something),
        ] {
            let parsed = Filter::from_json(&filter.to_string()).unwrap();
            assert_eq!(reader(&[]).reach(&parsed), anonymous, "{filter} of nobody");
            assert_eq!(reader(&[A]).reach(&parsed), as_a, "{filter} of a");
            assert_eq!(Reader::of_everything().reach(&parsed), Everything, "{filter}");
            assert_eq!(reader(&[A, KEEPER]).reach(&parsed), Everything, "{filter} of a keeper");
        }
    }

    /// Which filters are told that something was withheld.
    #[test]
    fn gated_events_are_asked_for_by_kind_or_id() {
        let a = PubKey(A).to_string();
        for (filter, asked) in [
            (json!({}), false),
            (json!({"authors": [a]}), false),
            (json!({"ids": [a]}), true),
            (json!({"ids": [a], "kinds": [1]}), false),
            (json!({"kinds": [1]}), false),
            (json!({"kinds": [1, 4]}), true),
        ] {
            let parsed = Filter::from_json(&filter.to_string()).unwrap();
            assert_eq!(reader(&[]).is_asked_for_gated(&parsed), asked, "{filter}");
        }
    }

    /// R42-04: a key counts once, and none replaces another.
    #[test]
    fn logins_add_up() {
        let both = reader(&[A, B, A]);
        assert_eq!(both.logins(), [PubKey(A), PubKey(B)]);
        assert!(both.is_logged_in_as(&PubKey(B)) && !reader(&[A]).is_logged_in_as(&PubKey(B)));
    }
}
