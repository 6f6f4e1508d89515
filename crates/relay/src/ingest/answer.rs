//! What publishers are told.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use zeolite_policy::PluginSource;
use zeolite_proto::{EventId, Prefix, PubKey, Reason, RelayMsg};
use zeolite_store::Outcome;

use super::batch::BatchPlace;
use crate::conn::Conn;

/// Whom an event came from. It must be answered once.
#[derive(Debug)]
pub struct Origin {
    pub(crate) id: EventId,
    pub(crate) source: Source,
}

/// The ways by which events come in.
#[derive(Debug)]
pub(crate) enum Source {
    /// From a client, which is told with `OK`.
    Client(Client),
    /// From a mirror, which is told when its whole batch is done.
    Mirror(BatchPlace),
}

/// The connection an event came by, and what the event counts for there.
pub(crate) struct Client {
    pub(crate) conn: Arc<Conn>,
    pub(crate) cost_bytes: usize,
    /// Given back when the event is answered.
    pub(crate) _permit: OwnedSemaphorePermit,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.conn.id)
    }
}

impl Origin {
    /// What a policy is told of where the event came from.
    pub(crate) fn plugin_source(&self) -> PluginSource<'_> {
        match &self.source {
            Source::Client(client) => PluginSource::Client(client.conn.visitor.address),
            Source::Mirror(place) => PluginSource::Mirror(place.upstream()),
        }
    }

    /// The key that a policy is told of as the publisher's: the author's, if the client has logged
    /// in with it, else the first it logged in with.
    pub(crate) fn login(&self, author: &PubKey) -> Option<PubKey> {
        let Source::Client(client) = &self.source else { return None };
        let reader = client.conn.login.reader();
        let as_author = reader.is_logged_in_as(author).then_some(*author);
        as_author.or_else(|| reader.logins().first().copied())
    }

    /// True if the signature need not be looked at.
    pub(crate) fn is_trusted(&self) -> bool {
        matches!(&self.source, Source::Mirror(place) if place.is_trusted())
    }
}

/// What became of an event, in the groups that the metrics count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has a `Seq`.
    Stored,
    /// It was handed to whoever listens.
    Ephemeral,
    /// It was here before.
    Duplicate,
    /// A newer version of it is stored.
    Superseded,
    /// Its author deleted it, or vanished after it.
    Deleted,
    /// Its time is over (NIP-40).
    Expired,
    /// Its signature is wrong.
    Forged,
    /// The operator's policy refuses it.
    Unwanted(Reason),
    /// The operator's policy drops it, and its publisher is not to know.
    Shadowed,
    /// The store has no room left.
    Full,
    /// The store failed.
    Failed,
}

impl From<&Outcome> for Verdict {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Stored(_) => Self::Stored,
            Outcome::Duplicate => Self::Duplicate,
            Outcome::Superseded => Self::Superseded,
            Outcome::Deleted | Outcome::Vanished => Self::Deleted,
            Outcome::Expired => Self::Expired,
            Outcome::Full => Self::Full,
        }
    }
}

impl Verdict {
    /// The third and fourth element of `OK`.
    pub fn to_ok(self) -> Result<Option<Reason>, Reason> {
        match self {
            Self::Stored | Self::Ephemeral | Self::Shadowed => Ok(None),
            Self::Unwanted(reason) => Err(reason),
            Self::Duplicate => {
                Ok(Some(Reason::new(Prefix::Duplicate, "this event is stored already")))
            }
            Self::Superseded => Err(Reason::new(Prefix::Duplicate, "a newer version is stored")),
            Self::Deleted => Err(Reason::blocked("deleted by its author")),
            Self::Expired => Err(Reason::invalid("the event has expired")),
            Self::Forged => Err(Reason::invalid("the signature is wrong")),
            Self::Full => Err(Reason::error("the store is full")),
            Self::Failed => Err(Reason::error("the event could not be stored")),
        }
    }
}

/// An answer that waits for a commit.
#[derive(Debug)]
pub struct Answer {
    /// Whom to tell.
    pub origin: Origin,
    /// What to tell.
    pub verdict: Verdict,
}

impl Answer {
    /// Tells it.
    pub fn send(self) {
        let Self { origin, verdict } = self;
        match origin.source {
            Source::Client(Client { conn, cost_bytes, .. }) => {
                let id = origin.id.to_string();
                let message = RelayMsg::Ok(&id, verdict.to_ok());
                conn.outbox.ingest_ended(cost_bytes, &message);
            }
            Source::Mirror(place) => place.answer(verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R01-55, R01-57 and the decisions on what the NIPs leave open: true or false, and a standard
    /// prefix with every false.
    #[test]
    fn every_verdict_has_its_words() {
        for (verdict, accepted, text) in [
            (Verdict::Stored, true, ""),
            (Verdict::Ephemeral, true, ""),
            (Verdict::Duplicate, true, "duplicate: this event is stored already"),
            (Verdict::Superseded, false, "duplicate: a newer version is stored"),
            (Verdict::Deleted, false, "blocked: deleted by its author"),
            (Verdict::Expired, false, "invalid: the event has expired"),
            (Verdict::Forged, false, "invalid: the signature is wrong"),
            (Verdict::Unwanted(Reason::blocked("no")), false, "blocked: no"),
            (Verdict::Shadowed, true, ""),
            (Verdict::Full, false, "error: the store is full"),
            (Verdict::Failed, false, "error: the event could not be stored"),
        ] {
            let mut json = Vec::new();
            RelayMsg::Ok("x", verdict.to_ok()).encode(&mut json);
            assert_eq!(json, format!(r#"["OK","x",{accepted},"{text}"]"#).into_bytes());
        }
    }
}
