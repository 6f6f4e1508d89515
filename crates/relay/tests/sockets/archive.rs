//! The archive beside a running relay: nobody sees it, and who is banned or vanishes leaves it.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use zeolite_proto::PubKey;
use zeolite_relay::config::Config;
use zeolite_store::{ArchiveWalk, SliceBudget, Store};
use zeolite_testkit::Factory;

use crate::admin::order;
use crate::support::{PATIENCE, TestRelay, relay_in};

const TIME: u64 = 1_700_000_000;
const ADMIN: usize = 100;

fn configure(config: &mut Config) {
    config.admin.pubkeys = [PubKey::from_hex(&Factory::new(1).pubkey(ADMIN)).unwrap()].into();
    config.store.archive = true;
}

/// The ids in the archive, sorted.
fn archived(dir: &Path) -> Vec<String> {
    let store = Store::open_read_only(&dir.join("store")).unwrap();
    let mut ids = Vec::new();
    let mut sink = |_, event: zeolite_proto::EventRef<'_>| {
        ids.push(event.id().to_string());
        true
    };
    assert!(!ArchiveWalk::new(&store).slice(SliceBudget::UNLIMITED, &mut sink).unwrap());
    ids.sort_unstable();
    ids
}

fn await_metric(relay: &TestRelay, name: &str, value: u64) {
    let start = Instant::now();
    while relay.metric(name) != value {
        assert!(start.elapsed() < PATIENCE, "{name} is not {value}");
        std::thread::yield_now();
    }
}

fn await_archived(relay: &TestRelay, count: u64) {
    await_metric(relay, "zeolite_archived_events", count);
}

/// Six authors replace a profile and delete a note. No way to ask shows the old ones; then one author
/// vanishes, one is banned, one archived event is banned. Retention takes what is old, and a restart
/// changes nothing.
#[test]
fn nobody_sees_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let mut gone = Vec::new();
    for author in 0..6 {
        let old = factory.draft(author).kind(0).at(TIME).content("old").build();
        let new = factory.draft(author).kind(0).at(TIME + 1).content("new").build();
        let note = factory.note(author, TIME, "regretted");
        let id = note["id"].as_str().unwrap();
        let request = factory.draft(author).kind(5).at(TIME + 2).tag(&["e", id]).build();
        [&old, &new, &note, &request].into_iter().for_each(|event| client.publish(event));
        gone.push([old, note]);
    }
    await_archived(&relay, 12);
    let ids: Vec<_> = gone.iter().flatten().map(|event| &event["id"]).collect();
    let seen = |filter: Value| relay.client().query("q", &filter).len();
    assert_eq!(seen(json!({"ids": ids})), 0);
    assert_eq!((seen(json!({"kinds": [0]})), seen(json!({"kinds": [1]}))), (6, 0));
    assert_eq!(seen(json!({})), 12);
    client.send(&json!(["COUNT", "n", {"ids": ids}]));
    client.expect(json!(["COUNT", "n", {"count": 0}]));
    client.send(&json!(["EVENT", gone[0][1]]));
    client.expect(json!(["OK", gone[0][1]["id"], false, "blocked: deleted by its author"]));

    let vanish = factory.draft(0).kind(62).at(TIME + 9).tag(&["relay", "ALL_RELAYS"]).build();
    client.publish(&vanish);
    await_archived(&relay, 10);
    order(&relay, "banpubkey", json!([factory.pubkey(1), "spam"]));
    await_archived(&relay, 8);
    order(&relay, "banevent", json!([gone[2][0]["id"], "illegal"]));
    await_archived(&relay, 7);
    relay.relay.unwrap().stop();

    let mut left: Vec<_> = gone[2..].iter().flatten().skip(1).map(|e| e["id"].clone()).collect();
    left.sort_unstable_by_key(Value::to_string);
    let left: Vec<_> = left.iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(archived(dir.path()), left);
    let relay = relay_in(dir.path(), configure);
    assert_eq!(relay.metric("zeolite_archived_events"), 7);
    relay.relay.unwrap().stop();
    let relay = relay_in(dir.path(), |config| {
        config.policy.rules.retention.archive_age_s_max = Some(1);
        config.store.retention_s = 1;
    });
    await_archived(&relay, 0);
    await_metric(&relay, "zeolite_retention_removed_total{rule=\"archive\"}", 7);
    relay.relay.unwrap().stop();
    assert_eq!(archived(dir.path()), [""; 0]);
    let store = Store::open_read_only(&dir.path().join("store")).unwrap();
    assert!(store.check(&mut |_| {}).unwrap().is_clean());
}

/// R86-05: a crash between a ban and the removal that follows leaves nothing of it behind: the next start
/// removes what is stored and archived. What is others' stays.
#[test]
fn a_start_removes_what_is_banned() {
    let dir = tempfile::tempdir().unwrap();
    let archive = |config: &mut Config| config.store.archive = true;
    let relay = relay_in(dir.path(), archive);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let mut profiles = Vec::new();
    for author in 0..3 {
        let versions = [TIME, TIME + 1].map(|at| factory.draft(author).kind(0).at(at).build());
        versions.iter().for_each(|version| client.publish(version));
        profiles.push(versions);
    }
    let (bad, good) = (factory.note(1, TIME, "bad"), factory.note(1, TIME, "good"));
    [&bad, &good].into_iter().for_each(|note| client.publish(note));
    await_archived(&relay, 3);
    relay.relay.unwrap().stop();
    let bans = json!({
        "banned_pubkeys": [{"what": factory.pubkey(0)}],
        "banned_events": [{"what": bad["id"]}, {"what": profiles[1][0]["id"]}],
    });
    std::fs::write(dir.path().join("store/moderation.json"), bans.to_string()).unwrap();
    let relay = relay_in(dir.path(), archive);
    await_archived(&relay, 1);
    let mut left: Vec<_> = relay.client().query("q", &json!({}));
    left.sort_by_key(|event| event["id"].to_string());
    let mut expected = vec![profiles[1][1].clone(), profiles[2][1].clone(), good];
    expected.sort_by_key(|event| event["id"].to_string());
    assert_eq!(left, expected);
    relay.relay.unwrap().stop();
    assert_eq!(archived(dir.path()), [profiles[2][0]["id"].as_str().unwrap()]);
}
