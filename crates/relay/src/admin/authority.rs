//! Whether a request comes from an administrator, once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hyper::StatusCode;
use parking_lot::Mutex;
use zeolite_policy::{HttpAuthFault, HttpRequest, read_http_auth};
use zeolite_proto::{EventId, PubKey, Timestamp, Verified};
use zeolite_schnorr::Verifier;

/// Seconds for which a used authorisation is remembered: longer than it is good for, either way.
const REMEMBERED_S: u64 = 150;

/// Who may give orders, and which orders were given.
pub(crate) struct Authority {
    keys: BTreeSet<PubKey>,
    own_urls: Vec<String>,
    verifier: Verifier,
    used: Mutex<Used>,
}

/// Authorisations that were used. Only administrators' are remembered, so nobody else can fill it.
#[derive(Default)]
struct Used {
    ids: HashSet<EventId>,
    by_time: BTreeMap<Timestamp, Vec<EventId>>,
}

impl Used {
    /// False if it was used before.
    fn enter(&mut self, id: EventId, now: Timestamp) -> bool {
        while let Some(oldest) = self.by_time.first_entry()
            && *oldest.key() < now.saturating_sub(REMEMBERED_S)
        {
            for id in oldest.remove() {
                self.ids.remove(&id);
            }
        }
        let is_new = self.ids.insert(id);
        if is_new {
            self.by_time.entry(now).or_default().push(id);
        }
        is_new
    }
}

impl Authority {
    /// `own_urls` are normalised.
    pub(crate) fn new(keys: BTreeSet<PubKey>, own_urls: Vec<String>) -> Self {
        let verifier = Verifier::new(keys.len());
        Self { keys, own_urls, verifier, used: Mutex::default() }
    }

    /// The administrator who signed this request, or the status and words to refuse it with.
    pub(crate) fn check(
        &self,
        method: &str,
        header: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<PubKey, (StatusCode, String)> {
        let refused = |why: String| (StatusCode::UNAUTHORIZED, why);
        let request = HttpRequest { method, own_urls: &self.own_urls, body };
        let event = read_http_auth(header, request, now)
            .map_err(|fault: HttpAuthFault| refused(fault.to_string()))?;
        let (id, key) = (event.view().id(), event.view().pubkey());
        let verified = Verified::check_all(vec![event], &self.verifier);
        if !matches!(verified[..], [Ok(_)]) {
            return Err(refused("the authorisation's signature is wrong".to_owned()));
        }
        if !self.keys.contains(&key) {
            let why = "this key is no administrator's (admin.pubkeys)".to_owned();
            return Err((StatusCode::FORBIDDEN, why));
        }
        if self.used.lock().enter(id, now) {
            Ok(key)
        } else {
            Err(refused("this authorisation was used before; sign another".to_owned()))
        }
    }
}
