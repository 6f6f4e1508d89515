//! Publishes the roles that administrators decided on, as events that the relay itself signs
//! (NIP-43).
//!
//! ```text
//! Moderation (what is) --+
//!                        +-> what differs -> signed, verified -> admitter -> disk, subscribers
//! store (what was told) -+
//! ```
//!
//! These events do not come by the queue of the verifiers: there they would wait behind whatever a
//! policy program has not decided, and be judged by rules that are for others.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, ensure};
use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};
use zeolite_policy::{Notice, PublishedRoles, Tags, Topic};
use zeolite_proto::{
    Event, EventParser, EventRef, Filter, Kind, PubKey, Reader, TagRef, TagStr, Timestamp, Verified,
};
use zeolite_schnorr::Verifier;
use zeolite_store::{Scan, ScanOptions, SliceBudget, Store};

use crate::clock;
use crate::core::Core;
use crate::inbox::AdmitterIn;
use crate::limits::HERALD_PERIOD;
use crate::policy_cell::PolicyCell;
use crate::secret_key::SecretKey;

/// The file of the relay's own key, in the store's directory.
const FILE: &str = "relay.key";

/// Says what only the relay may say.
pub(crate) struct Herald {
    dir: PathBuf,
    store: Store,
    policy: Arc<PolicyCell>,
    admitter: Sender<AdmitterIn>,
    verifier: Verifier,
    key: OnceLock<SecretKey>,
    /// Taken before the roles are looked at, so that the later decision is published later.
    publishing: Mutex<()>,
}

/// What is stored of the relay's own.
struct Stored {
    roles: PublishedRoles,
    /// When the newest of it was signed.
    newest: Timestamp,
}

impl Herald {
    /// Reads the relay's own key, which there is as soon as roles were used.
    pub(crate) fn open(dir: &Path, core: &Core) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        let key = OnceLock::new();
        if path.try_exists().with_context(|| format!("look for {}", path.display()))? {
            let read = SecretKey::read_private(&path)?;
            key.get_or_init(|| read);
        }
        let herald = Self {
            dir: dir.into(),
            store: core.store().clone(),
            policy: Arc::clone(&core.hub().policy),
            admitter: core.admitter().clone(),
            verifier: Verifier::new(1),
            key,
            publishing: Mutex::default(),
        };
        if !herald.policy.current().moderation.roles().is_empty() {
            herald.key_or_make()?;
        }
        Ok(herald)
    }

    /// NIP-11's `self`.
    pub(crate) fn pubkey(&self) -> Option<PubKey> {
        self.key.get().map(SecretKey::pubkey)
    }

    /// Publishes what differs from what is stored. Repeating it changes nothing, so it heals what a
    /// crash left half done. Takes as long as a commit.
    pub(crate) fn publish(&self) -> anyhow::Result<()> {
        let _turn = self.publishing.lock();
        let moderation = Arc::clone(&self.policy.current().moderation);
        let roles = moderation.roles();
        if roles.is_empty() && self.key.get().is_none() {
            return Ok(());
        }
        let key = self.key_or_make()?;
        let stored = self.stored(key.pubkey()).context("read what was published")?;
        let notices = roles.due_notices(&stored.roles, &key.pubkey());
        if notices.is_empty() {
            return Ok(());
        }
        // Later than all before, so that it replaces them, and no deletion of the same second
        // concerns it.
        let at = clock::now().max(stored.newest.saturating_add(1));
        let events =
            notices.iter().map(|notice| sign(key, notice, at)).collect::<Result<_, _>>()?;
        self.admit(events)
    }

    /// Only who publishes makes a key, one at a time.
    fn key_or_make(&self) -> anyhow::Result<&SecretKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let made = SecretKey::make_private(&self.dir, FILE);
        let made = made.with_context(|| format!("make {}", self.dir.join(FILE).display()))?;
        Ok(self.key.get_or_init(|| made))
    }

    fn stored(&self, author: PubKey) -> anyhow::Result<Stored> {
        let of_kinds = |kinds: &[Kind]| Filter {
            authors: Some([author].into()),
            kinds: Some(kinds.iter().copied().collect()),
            ..Filter::default()
        };
        let newest_deletion = Filter { limit: Some(1), ..of_kinds(&[Kind::DELETION]) };
        let filters = [of_kinds(&Topic::KINDS), newest_deletion];
        let options = ScanOptions { default_limit: None, max_limit: None };
        let reader = Reader::of_everything().into();
        let mut scan = Scan::new(&self.store, &filters, options, &reader)?;
        let mut stored = Stored { roles: PublishedRoles::default(), newest: Timestamp(0) };
        scan.slice(clock::now(), SliceBudget::UNLIMITED, &mut |_, event| {
            stored.newest = stored.newest.max(event.created_at());
            stored.roles.add(Notice { kind: event.kind(), tags: tags(event) });
            true
        })?;
        Ok(stored)
    }

    fn admit(&self, events: Vec<Event>) -> anyhow::Result<()> {
        let verified = Verified::check_all(events, &self.verifier).into_iter();
        let events: Result<Vec<_>, Event> = verified.collect();
        let events = events.map_err(|_| anyhow!("the relay's own signature is wrong"))?;
        let (done, is_done) = bounded(1);
        let is_sent = self.admitter.send(AdmitterIn::Own { events, done }).is_ok();
        ensure!(is_sent && is_done.recv().is_ok(), "the store did not take all of it; see the log");
        Ok(())
    }
}

/// Publishes what differs, at once and from time to time.
pub(crate) async fn keep_published(herald: Arc<Herald>) {
    let mut period = interval(HERALD_PERIOD);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        period.tick().await;
        let publishing = Arc::clone(&herald);
        let published = tokio::task::spawn_blocking(move || publishing.publish()).await;
        if let Ok(Err(error)) = published {
            tracing::error!("the roles are not published: {error:#}");
        }
    }
}

fn sign(key: &SecretKey, notice: &Notice, at: Timestamp) -> anyhow::Result<Event> {
    let (_, event) = key.sign(notice.kind, &json!(notice.tags), at);
    EventParser::new().parse(&event.to_string()).context("the relay's own event is malformed")
}

fn tags(event: EventRef<'_>) -> Tags {
    let text = |text: TagStr<'_>| String::from_utf8_lossy(&text.to_bytes()).into_owned();
    let texts = |tag: TagRef<'_>| tag.strings().map(text).collect();
    event.tags().map(texts).collect()
}
