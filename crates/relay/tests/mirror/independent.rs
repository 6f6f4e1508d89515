//! With peers that share no code with the project: a relay with NIP-77, and a client that syncs.

use nostr_relay_builder::prelude::{LocalRelay, RateLimit, RelayBuilder};
use nostr_sdk::prelude::{
    Client as SdkClient, EventBuilder, Filter, Keys, MemoryDatabase, MemoryDatabaseOptions,
    NostrDatabase, SyncDirection, SyncOptions, Timestamp,
};
use serde_json::json;

use crate::support::{BASE, Ids, Mirror, PATIENCE, Relay, ids_at, ids_of, notes, publish};

/// Enough for an answer over several frames, and more than one page.
const EVENTS: u64 = 1200;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

/// The relay of the nostr-relay-builder crate, as it comes but for its limit of a note a second.
pub(crate) async fn independent_relay() -> (LocalRelay, String) {
    let rate_limit = RateLimit { notes_per_minute: u32::MAX, ..RateLimit::default() };
    let relay = LocalRelay::new(RelayBuilder::default().rate_limit(rate_limit));
    relay.run().await.expect("it starts");
    let url = relay.url().await.to_string();
    (relay, url.trim_end_matches('/').to_owned())
}

/// Down by NIP-77 and page by page, up, and both: the sets become equal.
#[test]
fn an_independent_relay_is_mirrored_every_way() {
    let runtime = runtime();
    let (_relay, url) = runtime.block_on(independent_relay());
    let theirs = notes(31, BASE, EVENTS);
    publish(&url, &theirs);
    for mode in ["negentropy", "req"] {
        let mirror = Mirror::new();
        let summary = mirror.ok(&url, &["--once", "--mode", mode]);
        assert_eq!(summary["stored"], EVENTS, "{mode}: {summary}");
        assert_eq!(mirror.ids(), ids_of(&theirs), "{mode}");
    }
    let ours = notes(32, BASE + 100, EVENTS);
    let relay = Relay::start("");
    publish(&relay.url, &ours);
    let mirror = Mirror::new();
    mirror.ok(&relay.url, &["--once"]);
    let summary = mirror.ok(&url, &["--once", "--dir", "both"]);
    assert_eq!((&summary["stored"], &summary["accepted"]), (&json!(EVENTS), &json!(EVENTS)));
    let again = mirror.ok(&url, &["--dry-run", "--dir", "both"]);
    assert_eq!((&again["offered_down"], &again["offered_up"]), (&json!(0), &json!(0)), "{again}");
}

/// The nostr-sdk crate reconciles with this relay in both directions.
#[test]
fn an_independent_client_syncs_with_this_relay() {
    let relay = Relay::start("");
    let theirs = notes(33, BASE, EVENTS);
    publish(&relay.url, &theirs);
    let mut expected = ids_of(&theirs);
    let synced: Ids = runtime().block_on(async {
        let options = MemoryDatabaseOptions { events: true, max_events: None };
        let database = MemoryDatabase::with_opts(options);
        let keys = Keys::generate();
        for at in 0..EVENTS {
            let time = Timestamp::from(BASE + at);
            let note = EventBuilder::text_note(format!("ours {at}")).custom_created_at(time);
            let event = note.sign_with_keys(&keys).expect("it signs");
            expected.insert(event.id.to_hex());
            database.save_event(&event).await.expect("it is in memory");
        }
        let client = SdkClient::builder().database(database).build();
        client.add_relay(&relay.url).await.expect("a URL");
        client.try_connect(PATIENCE).await;
        let both = SyncOptions::default().direction(SyncDirection::Both);
        client.sync(Filter::new(), &both).await.expect("it syncs");
        let held = client.database().query(Filter::new()).await.expect("it is in memory");
        held.into_iter().map(|event| event.id.to_hex()).collect()
    });
    assert_eq!(synced, expected);
    assert_eq!(ids_at(&relay.url), expected);
}
