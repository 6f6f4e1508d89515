//! NIP-42: who the client of a connection is.

use std::fmt;
use std::sync::Arc;

use zeolite_proto::{
    EventRef, Filter, Kind, Prefix, PubKey, Reach, Reader, Reason, TagStr, Timestamp,
    normalise_relay_url,
};

/// How far the clock of a client may be off, in seconds (R42-05).
const CLOCK_S_MAX: u64 = 600;

/// What a login must name, and who must log in. The same for all connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginTerms {
    /// The names of this relay. A login for another relay's is refused, so that nobody can pass
    /// our challenge on to a client of theirs.
    pub own_urls: Vec<String>,
    /// Whether nothing else is answered before a login.
    pub is_required: bool,
    /// Whether a client is challenged as soon as it connects, and not when it first needs a login.
    pub is_prompted: bool,
    /// Keys that one connection may log in with.
    pub keys_max: usize,
}

/// What a client signs to log in: drawn for one connection, valid for as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge(pub [u8; 16]);

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// The logins of one connection.
#[derive(Debug)]
pub struct Logins {
    terms: Arc<LoginTerms>,
    challenge: Challenge,
    reader: Arc<Reader>,
}

impl Logins {
    /// Those of a connection that was just opened: `reader` is what an anonymous client may read.
    pub fn new(terms: Arc<LoginTerms>, challenge: Challenge, reader: Arc<Reader>) -> Self {
        Self { terms, challenge, reader }
    }

    /// What the client may read.
    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Whether the relay answers this client at all.
    pub(crate) fn check_let_in(&self) -> Result<(), Reason> {
        match self.terms.is_required && self.reader.is_anonymous() {
            true => Err(auth_required("this relay answers only who has logged in")),
            false => Ok(()),
        }
    }

    /// A REQ, COUNT or NEG-OPEN of which nothing could be answered is refused (R42-08, R59-02); of
    /// any other the client gets what it may read.
    pub(crate) fn check_reach(&self, filters: &[Filter]) -> Result<(), Reason> {
        self.check_let_in()?;
        let is_for_others = |filter: &Filter| self.reader.reach(filter) == Reach::Nothing;
        match (filters.iter().all(is_for_others), self.reader.is_anonymous()) {
            (false, _) => Ok(()),
            (true, true) => Err(auth_required("these events are for their recipients only")),
            (true, false) => Err(restricted("these events are for others")),
        }
    }

    /// A number without some of the events that were asked for would be wrong (R45-03).
    pub(crate) fn check_counts(&self, filters: &[Filter]) -> Result<(), Reason> {
        let names_gated = filters.iter().any(|filter| self.reader.is_asked_for_gated_kind(filter));
        match names_gated && self.reader.is_anonymous() {
            true => Err(auth_required("some of these events are for their recipients only")),
            false => Ok(()),
        }
    }

    /// R42-05, R42-06: whether this is a login to this connection, but for its signature.
    pub(crate) fn check(&self, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
        if event.kind() != Kind::AUTH {
            return Err(Reason::invalid("an AUTH message holds an event of kind 22242"));
        }
        if event.created_at().0.abs_diff(now.0) > CLOCK_S_MAX {
            return Err(Reason::invalid("created_at is more than 10 minutes off"));
        }
        let challenge = self.challenge.to_string();
        if !values(event, b"challenge").any(|value| value == challenge) {
            return Err(Reason::invalid("the challenge is not the one of this connection"));
        }
        if !values(event, b"relay").any(|url| self.is_own(&url)) {
            let names = self.terms.own_urls.join(" or ");
            return Err(Reason::invalid(format!(
                "the relay tag does not name this relay, {names}"
            )));
        }
        Ok(())
    }

    /// Takes a key whose signature was good, unless there are too many.
    pub(crate) fn add(&mut self, key: PubKey) -> Result<&Arc<Reader>, Reason> {
        let keys_max = self.terms.keys_max;
        if self.reader.logins().len() >= keys_max && !self.reader.is_logged_in_as(&key) {
            return Err(Reason::blocked(format!("more than {keys_max} logins")));
        }
        self.reader = Arc::new(self.reader.with_login(key));
        Ok(&self.reader)
    }

    /// Whether it names this relay. A proxy may have ended TLS, so the scheme does not matter.
    fn is_own(&self, url: &str) -> bool {
        let name = |url: &str| {
            let url = normalise_relay_url(url)?;
            url.split_once("://").map(|(_, rest)| rest.to_owned())
        };
        let named = name(url);
        named.is_some() && self.terms.own_urls.iter().any(|own| name(own) == named)
    }
}

/// R42-08: what is said to somebody who has not logged in.
pub(crate) fn auth_required(text: &'static str) -> Reason {
    Reason::new(Prefix::AuthRequired, text)
}

/// R42-08: what is said to somebody who has, as somebody else.
pub(crate) fn restricted(text: &'static str) -> Reason {
    Reason::new(Prefix::Restricted, text)
}

/// The values of the tags of this name, as text.
fn values(event: EventRef<'_>, name: &[u8]) -> impl Iterator<Item = String> {
    let named = event.tags().filter(move |tag| tag.name() == Some(TagStr::Text(name)));
    named.filter_map(|tag| tag.value()).filter_map(|value| String::from_utf8(value.to_bytes()).ok())
}
