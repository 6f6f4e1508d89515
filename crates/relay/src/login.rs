//! Who the client of a connection has shown to be (NIP-42).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};
use zeolite_proto::{Event, Gates, Reader, RelayMsg, Verified};
use zeolite_schnorr::Verifier;
use zeolite_session::{Challenge, LoginTerms, Logins};

use crate::conn::ConnId;
use crate::outbox::Outbox;
use crate::random::random_bytes;

/// Public keys whose points are remembered between logins.
const KEYS_REMEMBERED: usize = 1_024;

/// What is the same for all connections. One for all of them.
pub struct LoginDesk {
    terms: Arc<LoginTerms>,
    anonymous: Arc<Reader>,
    secret: [u8; 16],
    verifier: Verifier,
}

impl LoginDesk {
    /// Logins on these terms; what `gates` cover is withheld from who has not logged in.
    pub fn new(terms: LoginTerms, gates: Arc<Gates>) -> Arc<Self> {
        Arc::new(Self {
            terms: Arc::new(terms),
            anonymous: Arc::new(Reader::anonymous(gates)),
            secret: random_bytes(),
            verifier: Verifier::new(KEYS_REMEMBERED),
        })
    }

    /// Whether the signature is right.
    pub(crate) fn is_signed(&self, login: Event) -> bool {
        matches!(Verified::check_all(vec![login], &self.verifier)[..], [Ok(_)])
    }

    /// Nobody can foretell it, and no two connections have the same. It follows from the
    /// connection's number, so whoever sends it need not ask the session, which checks it.
    fn challenge(&self, conn: ConnId) -> Challenge {
        let digest = Sha256::new().chain_update(self.secret).chain_update(conn.0.to_be_bytes());
        let digest: [u8; 32] = digest.finalize().into();
        Challenge(*digest.first_chunk().expect("a digest has 32 bytes"))
    }
}

/// The login of one connection, as all that serve it share it.
pub struct Login {
    desk: Arc<LoginDesk>,
    was_challenged: AtomicBool,
    reader: ArcSwap<Reader>,
}

impl Login {
    /// Nobody yet.
    pub fn new(desk: &Arc<LoginDesk>) -> Self {
        Self {
            desk: Arc::clone(desk),
            was_challenged: AtomicBool::new(false),
            reader: ArcSwap::new(Arc::clone(&desk.anonymous)),
        }
    }

    /// For the session of this connection.
    pub fn logins(&self, conn: ConnId) -> Logins {
        let (terms, anonymous) = (Arc::clone(&self.desk.terms), Arc::clone(&self.desk.anonymous));
        Logins::new(terms, self.desk.challenge(conn), anonymous)
    }

    /// What the client may read at this moment.
    pub fn reader(&self) -> Arc<Reader> {
        self.reader.load_full()
    }

    /// Whether the client may read it at this moment.
    pub(crate) fn may_read(&self, event: &Event) -> bool {
        self.reader.load().may_read(event.view())
    }

    /// The client may read from here on what this reader may.
    pub(crate) fn set(&self, reader: Arc<Reader>) {
        self.reader.store(reader);
    }

    /// What signatures are checked with.
    pub(crate) fn desk(&self) -> &LoginDesk {
        &self.desk
    }

    /// Sends the challenge, once (R42-01).
    pub(crate) fn challenge(&self, conn: ConnId, outbox: &Outbox) {
        if !self.was_challenged.swap(true, Ordering::Relaxed) {
            outbox.reply(&RelayMsg::Auth(&self.desk.challenge(conn).to_string()));
        }
    }

    /// Sends it at once where nothing is answered before a login, or where clients are asked for one.
    pub(crate) fn greet(&self, conn: ConnId, outbox: &Outbox) {
        if self.desk.terms.is_required || self.desk.terms.is_prompted {
            self.challenge(conn, outbox);
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.reader.load().logins())
    }
}
