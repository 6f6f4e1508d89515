//! Who answers for a mirror when an upstream asks for a login (NIP-42).

use zeolite_proto::EventId;

/// Signs logins. It holds a secret key, which nothing else of a mirror needs.
pub trait SignsLogins: Send + Sync {
    /// The login that answers `challenge` of the relay with this URL.
    fn sign(&self, relay_url: &str, challenge: &str) -> Login;
}

/// A signed event of kind 22242.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Its id, which the relay's `OK` names.
    pub id: EventId,
    /// The event, as JSON.
    pub json: String,
}
