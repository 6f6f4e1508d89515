//! An independent client, the nostr-sdk crate, uses the relay as applications do: it publishes,
//! queries, follows live, deletes and counts.

#![allow(missing_docs, reason = "a test crate has no callers")]

use std::time::Duration;

use nostr_sdk::prelude::*;
use zeolite_relay::RunningRelay;
use zeolite_relay::config::Config;

/// Longer than anything here takes; it only bounds a failing run.
const PATIENCE: Duration = Duration::from_secs(20);

struct World {
    relay: RunningRelay,
    _dir: tempfile::TempDir,
}

impl World {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let listen = ([127, 0, 0, 1], 0).into();
        let config = Config { listen, db: dir.path().join("db"), ..Config::default() };
        let relay = zeolite_relay::start(config).expect("the relay starts");
        Self { relay, _dir: dir }
    }

    async fn client(&self, keys: Keys) -> Client {
        self.connect(Client::new(keys)).await
    }

    async fn connect(&self, client: Client) -> Client {
        let url = format!("ws://{}", self.relay.addr);
        client.add_relay(url).await.expect("a relay URL");
        let connected = client.try_connect(PATIENCE).await;
        assert!(connected.failed.is_empty(), "{:?}", connected.failed);
        client
    }
}

/// The next notification that `pick` takes.
async fn next<T>(
    notifications: &mut tokio::sync::broadcast::Receiver<RelayPoolNotification>,
    pick: impl Fn(RelayPoolNotification) -> Option<T>,
) -> T {
    let search = async {
        loop {
            let notification = notifications.recv().await.expect("the pool lives");
            if let Some(found) = pick(notification) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, search).await.expect("the notification comes")
}

async fn count(client: &Client, filter: Filter) -> usize {
    let mut notifications = client.notifications();
    let id = SubscriptionId::generate();
    let message = ClientMessage::count(id.clone(), filter);
    client.pool().send_msg_to(client.relays().await.keys(), message).await.expect("sent");
    next(&mut notifications, |notification| match notification {
        RelayPoolNotification::Message {
            message: RelayMessage::Count { subscription_id, count },
            ..
        } if *subscription_id == id => Some(count),
        _ => None,
    })
    .await
}

#[test]
fn nostr_sdk_publishes_queries_follows_deletes_and_counts() {
    // The relay brings its own runtime; the clients get another.
    let world = World::start();
    let clients = tokio::runtime::Runtime::new().expect("a runtime");
    clients.block_on(use_relay(&world));
}

async fn use_relay(world: &World) {
    let alice_keys = Keys::generate();
    let alice = world.client(alice_keys.clone()).await;
    let bob = world.client(Keys::generate()).await;

    // Bob follows Alice before she writes, and sees her events as they come.
    let mut at_bob = bob.notifications();
    let alices = Filter::new().author(alice_keys.public_key());
    bob.subscribe(alices.clone(), None).await.expect("a subscription");
    next(&mut at_bob, |notification| match notification {
        RelayPoolNotification::Message { message: RelayMessage::EndOfStoredEvents(_), .. } => {
            Some(())
        }
        _ => None,
    })
    .await;
    let mut notes = Vec::new();
    for text in ["one", "two \u{1F600} \"quoted\"\n", "three"] {
        let note = EventBuilder::text_note(text).tag(Tag::hashtag("zeolite"));
        let sent = alice.send_event_builder(note).await.expect("accepted");
        assert!(sent.failed.is_empty(), "{:?}", sent.failed);
        notes.push(sent.val);
    }
    for note in &notes {
        let event = next(&mut at_bob, |notification| match notification {
            RelayPoolNotification::Event { event, .. } => Some(event),
            _ => None,
        })
        .await;
        assert_eq!(event.id, *note, "live events come in the order of publication");
        event.verify().expect("what is served verifies");
    }

    // Queries by author, hashtag, id, and with a limit.
    let by_tag = Filter::new().hashtag("zeolite").kind(Kind::TextNote);
    assert_eq!(bob.fetch_events(by_tag.clone(), PATIENCE).await.expect("an answer").len(), 3);
    let by_id = Filter::new().ids([notes[1]]);
    let found = bob.fetch_events(by_id, PATIENCE).await.expect("an answer");
    assert_eq!(found.first().map(|event| &*event.content), Some("two \u{1F600} \"quoted\"\n"));
    let limited = bob.fetch_events(alices.clone().limit(2), PATIENCE).await.expect("an answer");
    assert_eq!(limited.len(), 2);

    // A profile replaces the one before.
    for (name, at) in [("old", 1_700_000_000), ("new", 1_700_000_001)] {
        let profile = EventBuilder::metadata(&Metadata::new().name(name));
        let profile = profile.custom_created_at(Timestamp::from(at));
        alice.send_event_builder(profile).await.expect("accepted");
    }
    let profiles = alices.clone().kind(Kind::Metadata);
    let found = bob.fetch_events(profiles.clone(), PATIENCE).await.expect("an answer");
    assert_eq!(found.len(), 1);
    assert!(found.first().is_some_and(|event| event.content.contains("new")));
    assert_eq!(count(&bob, profiles).await, 1);

    // Bob cannot delete what Alice wrote; she can.
    let request = || EventBuilder::delete(EventDeletionRequest::new().ids([notes[0], notes[1]]));
    bob.send_event_builder(request()).await.expect("accepted");
    assert_eq!(count(&bob, by_tag.clone()).await, 3);
    alice.send_event_builder(request()).await.expect("accepted");
    assert_eq!(count(&bob, by_tag.clone()).await, 1);
    let left = bob.fetch_events(by_tag, PATIENCE).await.expect("an answer");
    assert_eq!(left.iter().map(|event| event.id).collect::<Vec<_>>(), [notes[2]]);

    alice.shutdown().await;
    bob.shutdown().await;
}

/// R42-01 to R42-08, R59-01, R70-02: an independent client answers the challenge when it comes and
/// goes on where it was refused.
#[test]
fn nostr_sdk_logs_in_when_it_must() {
    let world = World::start();
    let clients = tokio::runtime::Runtime::new().expect("a runtime");
    clients.block_on(async {
        let (alice_keys, bob_keys) = (Keys::generate(), Keys::generate());
        let alice = world.client(alice_keys.clone()).await;
        let bob = world.client(bob_keys.clone()).await;

        // A protected event is refused, and accepted after the login that the refusal asks for.
        let protected = EventBuilder::text_note("mine").tag(Tag::protected());
        let sent = alice.send_event_builder(protected).await.expect("accepted");
        assert!(sent.failed.is_empty(), "{:?}", sent.failed);

        // A gift wrap of a throw-away key reaches Bob and nobody else.
        let wrap = EventBuilder::new(Kind::GiftWrap, "sealed")
            .tag(Tag::public_key(bob_keys.public_key()))
            .sign_with_keys(&Keys::generate())
            .expect("signed");
        let sent = alice.send_event(&wrap).await.expect("accepted");
        assert!(sent.failed.is_empty(), "{:?}", sent.failed);
        let wraps = Filter::new().kind(Kind::GiftWrap).pubkey(bob_keys.public_key());
        let found = bob.fetch_events(wraps.clone(), PATIENCE).await.expect("an answer");
        assert_eq!(found.first().map(|event| event.id), Some(wrap.id));
        let everything = Filter::new().kinds([Kind::GiftWrap, Kind::TextNote]);
        let found = alice.fetch_events(everything, PATIENCE).await.expect("an answer");
        assert_eq!(found.first().map(|event| &*event.content), Some("mine"));
        assert_eq!(found.len(), 1, "Alice sent the wrap, and may not read it");
    });
}

/// Both directions of NIP-77 with an independent client: what it lacks comes down, what the relay
/// lacks goes up, and a second round has nothing to do.
#[test]
fn nostr_sdk_reconciles_both_ways() {
    let world = World::start();
    let clients = tokio::runtime::Runtime::new().expect("a runtime");
    clients.block_on(reconcile(&world));
}

async fn reconcile(world: &World) {
    let keys = Keys::generate();
    let note = |number: u64| {
        let note = EventBuilder::text_note(number.to_string());
        let note = note.custom_created_at(Timestamp::from(1_700_000_000 + number / 3));
        note.sign_with_keys(&keys).expect("a key can sign")
    };
    let alice = world.client(keys.clone()).await;
    let (mut at_relay, mut at_client) = (Vec::new(), Vec::new());
    for number in 0..150 {
        let event = note(number);
        if number % 5 != 0 {
            let sent = alice.send_event(&event).await.expect("accepted");
            assert!(sent.failed.is_empty(), "{:?}", sent.failed);
            at_relay.push(event.id);
        }
        if number % 3 != 0 {
            at_client.push(event);
        }
    }
    let options = MemoryDatabaseOptions { events: true, max_events: None };
    let builder = Client::builder().database(MemoryDatabase::with_opts(options));
    let bob = world.connect(builder.signer(Keys::generate()).build()).await;
    for event in &at_client {
        bob.database().save_event(event).await.expect("memory can be written");
    }
    let filter = Filter::new().author(keys.public_key()).kind(Kind::TextNote);
    let both = SyncOptions::default().direction(SyncDirection::Both);
    let expected_down = at_relay.iter().filter(|id| at_client.iter().all(|event| event.id != **id));
    let expected_down = expected_down.count();
    let expected_up = at_client.iter().filter(|event| !at_relay.contains(&event.id)).count();
    assert!(expected_down > 30 && expected_up > 15);
    let report = bob.sync(filter.clone(), &both).await.expect("a reconciliation").val;
    assert_eq!((report.received.len(), report.sent.len()), (expected_down, expected_up));
    assert!(report.send_failures.is_empty(), "{:?}", report.send_failures);
    let again = bob.sync(filter.clone(), &both).await.expect("a reconciliation").val;
    assert_eq!((again.local.len(), again.remote.len()), (0, 0));
    assert_eq!(count(&alice, filter).await, expected_up + at_relay.len());
    alice.shutdown().await;
    bob.shutdown().await;
}
