//! Roles over HTTP (NIP-86), and the events by which the relay tells of them (NIP-43).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use nostr_sdk::JsonUtil;
use serde_json::{Value, json};
use zeolite_proto::Kind;
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::admin::{configure, order, refused_order};
use crate::support::{Client, PATIENCE, TestRelay, now, relay, relay_in};

/// What a relay says of its roles, by its key.
fn about_roles(relay: &TestRelay) -> Value {
    json!({"authors": [relay.document()["self"]], "kinds": [5, 13_534, 33_534]})
}

/// Everything that is stored of it, as kind and tags in the order of these.
fn told(relay: &TestRelay) -> Vec<Value> {
    let events = relay.client().query("told", &about_roles(relay));
    let mut told: Vec<_> = events.iter().map(said).collect();
    told.sort_by_key(Value::to_string);
    told
}

/// Kind and tags of an event that an independent verifier finds genuine.
#[track_caller]
fn said(event: &Value) -> Value {
    let parsed = nostr_sdk::Event::from_json(event.to_string()).unwrap();
    assert!(parsed.verify().is_ok(), "{event}");
    json!([event["kind"], event["tags"]])
}

/// Waits for what is told after a start, which goes on beside it.
#[track_caller]
fn await_told(relay: &TestRelay, expected: &[Value]) {
    let start = Instant::now();
    while told(relay) != expected {
        assert!(start.elapsed() < PATIENCE, "{:?}", told(relay));
    }
}

fn role(tags: Value) -> Value {
    let tags = [json!(["-"])].into_iter().chain(tags.as_array().unwrap().clone());
    json!([33_534, tags.collect::<Vec<_>>()])
}

fn members(tags: &[Value]) -> Value {
    let tags = [&[json!(["-"])], tags].concat();
    json!([13_534, tags])
}

/// R86-03, R43-01: every change of roles is a signed event for who asks and for who listens, and
/// stands in the document from the first role on.
#[test]
fn roles_are_told_to_who_asks_and_who_listens() {
    let relay = relay(configure);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let (one, two) = (factory.pubkey(1), factory.pubkey(2));
    assert!(relay.document().get("self").is_none());
    assert_eq!(order(&relay, "createrole", json!(["mod", "Mods", "", 200, 1])), true);
    let own = relay.document()["self"].as_str().unwrap().to_owned();
    let mods = role(json!([["d", "mod"], ["label", "Mods"], ["color", "200"], ["order", "1"]]));
    assert_eq!(told(&relay), [members(&[]), mods.clone()]);
    let nips = relay.document()["supported_nips"].as_array().unwrap().clone();
    assert!(!nips.contains(&json!(43)), "nobody can ask to be let in");

    let stored = client.query("live", &about_roles(&relay));
    let mut newest = stored[0]["created_at"].as_u64().unwrap();
    assert!(newest >= now() - PATIENCE.as_secs());
    let deleted = json!([5, [["-"], ["a", format!("33534:{own}:mod")], ["k", "33534"]]]);
    let edited = role(json!([["d", "mod"], ["description", "they see to it"]]));
    for (method, params, expected) in [
        ("createrole", json!(["vip"]), vec![role(json!([["d", "vip"]]))]),
        ("assignrole", json!([one, "mod"]), vec![members(&[json!(["member", one, "mod"])])]),
        ("assignrole", json!([one, "mod"]), vec![]),
        ("assignrole", json!([one, "vip"]), vec![members(&[json!(["member", one, "mod", "vip"])])]),
        ("editrole", json!(["mod", "", "they see to it"]), vec![edited]),
        ("unassignrole", json!([one, "mod"]), vec![members(&[json!(["member", one, "vip"])])]),
        ("banpubkey", json!([one]), vec![members(&[])]),
        ("assignrole", json!([two, "mod"]), vec![members(&[json!(["member", two, "mod"])])]),
        ("deleterole", json!(["mod"]), vec![members(&[]), deleted.clone()]),
        ("createrole", json!(["mod", "Mods", "", 200, 1]), vec![mods.clone()]),
    ] {
        assert_eq!(order(&relay, method, params), true);
        let mut at = newest;
        for expected in expected {
            let live = client.recv();
            assert_eq!((&live[1], said(&live[2])), (&json!("live"), expected), "{method}");
            at = live[2]["created_at"].as_u64().unwrap();
            assert!(at > newest, "{method}: a client would keep the older one");
        }
        newest = at;
    }
    let vip = role(json!([["d", "vip"]]));
    assert_eq!(told(&relay), [members(&[]), mods, vip, deleted]);
}

/// Whatever an id or a text holds, it is told as it was given, and found again to be deleted.
#[test]
fn odd_texts_are_told_and_deleted() {
    let relay = relay(configure);
    let key = "ab".repeat(32);
    let odd = "\\\"é\"\n\t\u{1}\u{7f}";
    for id in ["a:b:", &key, "\\\"é\""] {
        order(&relay, "createrole", json!([id, odd, key]));
        let tags = role(json!([["d", id], ["label", odd], ["description", key]]));
        assert!(told(&relay).contains(&tags), "{id:?}");
        order(&relay, "deleterole", json!([id]));
        assert!(!told(&relay).iter().any(|said| said[0] == 33_534), "{id:?}");
    }
}

/// Case 73 for roles: a restart changes nothing, also one without administrators.
#[test]
fn roles_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    let member = Factory::new(1).pubkey(1);
    order(&relay, "createrole", json!(["mod"]));
    order(&relay, "assignrole", json!([member, "mod"]));
    let stored = |relay: &TestRelay| relay.client().query("q", &about_roles(relay));
    let before = stored(&relay);
    assert_eq!(before.len(), 2);
    drop(relay);
    let relay = relay_in(dir.path(), |_| {});
    assert_eq!(stored(&relay), before);
    drop(relay);
    let relay = relay_in(dir.path(), configure);
    order(&relay, "unassignrole", json!([member, "mod"]));
    assert_eq!(told(&relay), [members(&[]), role(json!([["d", "mod"]]))]);
}

/// What was decided and not told, because of a crash between the two or a store that is gone, is
/// told after the next start.
#[test]
fn a_start_tells_what_was_not_told() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    for id in ["gone", "kept"] {
        order(&relay, "createrole", json!([id]));
    }
    let own = relay.document()["self"].as_str().unwrap().to_owned();
    drop(relay);
    let path = dir.path().join("store/moderation.json");
    let mut decided: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let roles = decided["roles"].as_object_mut().unwrap();
    roles.remove("gone");
    roles.insert("new".to_owned(), json!({}));
    fs::write(&path, decided.to_string()).unwrap();
    let relay = relay_in(dir.path(), configure);
    let current = [members(&[]), role(json!([["d", "kept"]])), role(json!([["d", "new"]]))];
    let deleted = json!([5, [["-"], ["a", format!("33534:{own}:gone")], ["k", "33534"]]]);
    await_told(&relay, &[&current[..], &[deleted]].concat());
    drop(relay);

    for file in fs::read_dir(dir.path().join("store")).unwrap() {
        let file = file.unwrap();
        if !["moderation.json", "relay.key"].contains(&file.file_name().to_str().unwrap()) {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let relay = relay_in(dir.path(), configure);
    assert_eq!(relay.document()["self"], own);
    await_told(&relay, &current);
}

/// The longest list that there can be is one event, as large as others may be by default.
#[test]
fn the_longest_list_fits_into_an_event() {
    let dir = tempfile::tempdir().unwrap();
    let id = "\"".repeat(64);
    let keys: Vec<_> = (0..2_000).map(|at| format!("{at:064x}")).collect();
    let listed: serde_json::Map<_, _> = keys.iter().map(|key| (key.clone(), json!([id]))).collect();
    fs::create_dir(dir.path().join("store")).unwrap();
    let decided = json!({"roles": {&id: {}}, "members": listed}).to_string();
    fs::write(dir.path().join("store/moderation.json"), decided).unwrap();
    let relay = relay_in(dir.path(), configure);
    let tags: Vec<_> = keys.iter().map(|key| json!(["member", key, id])).collect();
    await_told(&relay, &[members(&tags), role(json!([["d", id]]))]);
    let limit = Config::default().limits.message_bytes_max;
    assert!(told(&relay)[0].to_string().len() < limit);
    let error = refused_order(&relay, "assignrole", json!(["f".repeat(64), id]));
    assert!(error.contains("2000 times"), "{error}");
}

/// A decision that could not be told stands, its error says so, and the next one tells both.
#[test]
fn what_was_not_told_is_told_with_the_next_decision() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    let in_the_way = dir.path().join("store/relay.key.new");
    fs::create_dir(&in_the_way).unwrap();
    let error = refused_order(&relay, "createrole", json!(["one"]));
    assert!(error.starts_with("decided, but not published yet"), "{error}");
    assert!(relay.document().get("self").is_none());
    fs::remove_dir(&in_the_way).unwrap();
    let error = refused_order(&relay, "createrole", json!(["one"]));
    assert_eq!(error, "there is a role \"one\" already; editrole changes it");
    order(&relay, "createrole", json!(["two"]));
    let roles = ["one", "two"].map(|id| role(json!([["d", id]])));
    assert_eq!(told(&relay), [&[members(&[])], &roles[..]].concat());
}

/// R70-01, R43-05: nobody else brings the relay's own events, or others that look like them.
#[test]
fn only_the_relay_speaks_for_itself() {
    let relay = relay(configure);
    order(&relay, "createrole", json!(["mod"]));
    let mut client = relay.client();
    let own = client.query("own", &about_roles(&relay));
    let mut factory = Factory::new(1);
    let draft = factory.draft(1).at(now()).kind(33_534);
    let strange = draft.tag(&["-"]).tag(&["d", "mod"]).build();
    let challenge = client.challenge();
    for (login, words) in [
        (None, "auth-required: only its author may publish a protected event"),
        (Some(2), "restricted: only its author may publish a protected event"),
    ] {
        if let Some(author) = login {
            client.login(&mut factory, author, &challenge);
        }
        for event in own.iter().chain([&strange]) {
            client.send(&json!(["EVENT", event]));
            assert_eq!(refusal(&mut client), words);
        }
    }
    // Anybody may say so of a relay of their own, and is not heard as this one.
    client.login(&mut factory, 1, &challenge);
    client.publish(&strange);
    assert_eq!(told(&relay), [members(&[]), role(json!([["d", "mod"]]))]);
}

/// The words of an `OK false`.
#[track_caller]
fn refusal(client: &mut Client) -> String {
    let answer = client.recv();
    assert_eq!((&answer[0], &answer[2]), (&json!("OK"), &json!(false)), "{answer}");
    answer[3].as_str().unwrap().to_owned()
}

/// The operator's rules are for others, and so is the policy program: roles are told while it has
/// an event in hand.
#[test]
fn no_policy_stands_against_the_relay() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (asked, gate) = (path("asked"), path("gate"));
    let program = format!(
        r#"read -r line; id=${{line#*\"id\":\"}}; id=${{id%%\"*}}; : > {asked}
           while [ ! -e {gate} ]; do sleep 0.05; done
           echo "{{\"id\":\"$id\",\"action\":\"accept\"}}"; cat > /dev/null"#
    );
    let relay = relay(|config| {
        configure(config);
        config.policy.rules.kinds_allowed = [Kind(1)].into();
        config.policy.rules.authors_only = true;
        config.policy.rules.kinds_open = [Kind(1)].into();
        config.policy.plugin = Some(program);
        config.policy.plugin_answer_ms_max = u64::try_from(PATIENCE.as_millis()).unwrap() * 2;
    });
    let mut client = relay.client();
    let note = Factory::new(1).note(1, now(), "x");
    client.send(&json!(["EVENT", note]));
    await_file(&asked);
    order(&relay, "createrole", json!(["mod"]));
    assert_eq!(told(&relay), [members(&[]), role(json!([["d", "mod"]]))]);
    fs::write(gate, "").unwrap();
    client.expect(json!(["OK", note["id"], true, ""]));
}

fn await_file(path: &str) {
    let start = Instant::now();
    while !Path::new(path).exists() {
        assert!(start.elapsed() < PATIENCE, "{path} is not there");
        std::thread::yield_now();
    }
}

/// The relay's key is its owner's to read, and nothing is done with one that is not.
#[test]
fn the_relays_key_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    order(&relay, "createrole", json!(["mod"]));
    drop(relay);
    let path = dir.path().join("store/relay.key");
    let secret = fs::read_to_string(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut config = Config::default();
    config.listen.set_port(0);
    config.db = dir.path().join("store");
    let error = zeolite_relay::start(config).err().unwrap();
    let error = format!("{error:#}");
    assert!(error.contains("relay.key") && error.contains("chmod 600"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), secret, "it is not replaced");
}
