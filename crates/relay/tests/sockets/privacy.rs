//! Who sees what: every way of reading, for every reader, over sockets (NIP-04, 17, 42, 59, 70).

use serde_json::{Value, json};
use zeolite_proto::{Kind, PubKey};
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, login, now, relay};

const AUTHOR: usize = 0;
const RECIPIENT: usize = 1;
const STRANGER: usize = 2;
const KEEPER: usize = 3;
const PUBLISHER: usize = 4;

/// A kind that the test's operator gates beside the usual ones.
const DRAFT: u16 = 31_234;

fn key(factory: &mut Factory, author: usize) -> PubKey {
    PubKey::from_hex(&factory.pubkey(author)).unwrap()
}

fn private_relay() -> (TestRelay, Factory) {
    let mut factory = Factory::new(7);
    let keeper = key(&mut factory, KEEPER);
    let relay = relay(|config| {
        config.auth.gated_kinds.insert(Kind(DRAFT));
        config.auth.keepers = [keeper].into();
    });
    (relay, factory)
}

/// A client that has logged in as these.
fn client(relay: &TestRelay, factory: &mut Factory, logins: &[usize]) -> Client {
    let mut client = relay.client();
    if !logins.is_empty() {
        let challenge = client.challenge();
        logins.iter().for_each(|author| client.login(factory, *author, &challenge));
    }
    client
}

/// The ids of a REQ's stored events, whether it ends with EOSE or CLOSED.
fn stored(client: &mut Client, filter: &Value) -> Vec<Value> {
    client.send(&json!(["REQ", "stored", filter]));
    let mut ids = Vec::new();
    loop {
        let message = client.recv();
        match message[0].as_str().unwrap() {
            "EVENT" => ids.push(message[2]["id"].clone()),
            "AUTH" => {}
            "EOSE" | "CLOSED" => break,
            other => panic!("unexpected {other}"),
        }
    }
    client.send(&json!(["CLOSE", "stored"]));
    ids
}

/// The number that a COUNT gives; none if it is refused.
fn counted(client: &mut Client, filter: &Value) -> u64 {
    client.send(&json!(["COUNT", "count", filter]));
    loop {
        let message = client.recv();
        match message[0].as_str().unwrap() {
            "COUNT" => return message[2]["count"].as_u64().unwrap(),
            "CLOSED" => return 0,
            "AUTH" => {}
            other => panic!("unexpected {other}"),
        }
    }
}

/// The relay's list of ids of a set that is small enough for one.
fn reconciled(client: &mut Client, filter: &Value) -> String {
    client.send(&json!(["NEG-OPEN", "neg", filter, "6100000200"]));
    loop {
        let message = client.recv();
        match message[0].as_str().unwrap() {
            "NEG-MSG" => {
                client.send(&json!(["NEG-CLOSE", "neg"]));
                return message[2].as_str().unwrap().to_owned();
            }
            "NEG-ERR" => return String::new(),
            "AUTH" => {}
            other => panic!("unexpected {other}"),
        }
    }
}

/// The subscriptions that are given a new event, which a note follows. Subscriptions of one event
/// are served in no fixed order, so each is waited for to show the note.
fn live(client: &mut Client, event: &Value, note: &Value, publisher: &mut Client) -> Vec<Value> {
    let kinds = json!([event["kind"], note["kind"]]);
    client.send(&json!(["REQ", "live everything", {"limit": 0}]));
    client.send(&json!(["REQ", "live kind", {"kinds": kinds, "limit": 0}]));
    let mut ended = 0;
    while ended < 2 {
        ended += usize::from(client.recv()[0] == "EOSE");
    }
    publisher.publish(event);
    publisher.publish(note);
    let (mut seen, mut noted) = (Vec::new(), 0);
    while noted < 2 {
        let message = client.recv();
        assert_eq!(message[0], "EVENT", "{message}");
        match message[2]["id"] == event["id"] {
            true => seen.push(message[1].clone()),
            false => noted += 1,
        }
    }
    client.send(&json!(["CLOSE", "live everything"]));
    client.send(&json!(["CLOSE", "live kind"]));
    seen.sort_by_key(ToString::to_string);
    seen
}

/// The ways of reading by which this client sees an event that is published for it to see.
fn seen(relay: &TestRelay, factory: &mut Factory, kind: u16, logins: &[usize]) -> Vec<String> {
    let mut client = client(relay, factory, logins);
    let recipient = factory.pubkey(RECIPIENT);
    let text = format!("{kind} for {logins:?}");
    let draft = factory.draft(AUTHOR).kind(kind).at(now()).content(&text);
    let event = draft.tag(&["p", &recipient]).tag(&["d", &text]).build();
    let note = factory.draft(PUBLISHER).at(now()).content(&text).build();
    let mut seen: Vec<String> = live(&mut client, &event, &note, &mut relay.client())
        .iter()
        .map(|sub| sub.as_str().unwrap().to_owned())
        .collect();
    for (way, filter) in [
        ("everything", json!({})),
        ("id", json!({"ids": [event["id"]]})),
        ("kind", json!({"kinds": [kind]})),
        ("kinds", json!({"kinds": [kind, 1]})),
        ("author", json!({"authors": [event["pubkey"]]})),
        ("recipient", json!({"#p": [recipient]})),
    ] {
        if stored(&mut client, &filter).contains(&event["id"]) {
            seen.push(format!("req {way}"));
        }
        if reconciled(&mut client, &filter).contains(event["id"].as_str().unwrap()) {
            seen.push(format!("neg {way}"));
        }
    }
    if counted(&mut client, &json!({"ids": [event["id"]]})) > 0 {
        seen.push("count id".to_owned());
    }
    // The note is the only other event.
    if counted(&mut client, &json!({})) > 1 {
        seen.push("count everything".to_owned());
    }
    seen.sort_unstable();
    seen
}

/// By which ways an event is seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sees {
    Nothing,
    /// What is never stored can only be seen live.
    Live,
    /// Everything but the set of everything, which the store keeps without gated kinds.
    Theirs,
    /// As the operator does.
    All,
}

const WAYS: [&str; 16] = [
    "count everything",
    "count id",
    "live everything",
    "live kind",
    "neg author",
    "neg everything",
    "neg id",
    "neg kind",
    "neg kinds",
    "neg recipient",
    "req author",
    "req everything",
    "req id",
    "req kind",
    "req kinds",
    "req recipient",
];

impl Sees {
    fn ways(self) -> Vec<&'static str> {
        let is_seen = |way: &str| match self {
            Self::Nothing => false,
            Self::Live => way.starts_with("live"),
            Self::Theirs => way != "neg everything",
            Self::All => true,
        };
        WAYS.into_iter().filter(|way| is_seen(way)).collect()
    }
}

/// R59-01, R04-01, R42-04, R42-08, R77-10, E-60 to E-62, case 22: who sees what, by which way.
#[test]
fn nobody_sees_what_is_for_others() {
    for (kind, logins, expected) in [
        (4, &[][..], Sees::Nothing),
        (4, &[STRANGER], Sees::Nothing),
        (4, &[RECIPIENT], Sees::Theirs),
        (4, &[AUTHOR], Sees::Theirs),
        (4, &[STRANGER, RECIPIENT], Sees::Theirs),
        (4, &[KEEPER], Sees::All),
        (1059, &[], Sees::Nothing),
        (1059, &[STRANGER], Sees::Nothing),
        (1059, &[RECIPIENT], Sees::Theirs),
        (1059, &[AUTHOR], Sees::Nothing),
        (1059, &[STRANGER, KEEPER], Sees::All),
        (21_059, &[], Sees::Nothing),
        (21_059, &[STRANGER], Sees::Nothing),
        (21_059, &[AUTHOR], Sees::Nothing),
        (21_059, &[RECIPIENT], Sees::Live),
        (DRAFT, &[], Sees::Nothing),
        (DRAFT, &[STRANGER], Sees::Nothing),
        (DRAFT, &[AUTHOR], Sees::Theirs),
        (1, &[], Sees::All),
    ] {
        let (relay, mut factory) = private_relay();
        let found = seen(&relay, &mut factory, kind, logins);
        assert_eq!(found, expected.ways(), "{kind} for {logins:?}");
    }
}

/// R42-01, R42-08, R59-02, E-61, and what the design says of it: what is public is sent, then it is
/// said that there is more for who logs in, if it was asked for by kind or id; the challenge comes
/// once, before that.
#[test]
fn what_was_withheld_is_said_to_who_asked_for_it() {
    let (relay, mut factory) = private_relay();
    let recipient = factory.pubkey(RECIPIENT);
    let message = factory.draft(AUTHOR).kind(4).at(now()).tag(&["p", &recipient]).build();
    let note = factory.draft(AUTHOR).at(now()).build();
    let mut author = relay.client();
    author.publish(&message);
    author.publish(&note);
    let mut client = relay.client();
    let withheld = "auth-required: some of what matches is for its recipients only";
    // Met among others: nothing is said, whatever other filters ask for.
    let met = json!({"authors": [message["pubkey"]]});
    assert_eq!(client.query("s", &met), std::slice::from_ref(&note));
    client.send(&json!(["REQ", "s", met, {"kinds": [1059]}]));
    assert_eq!(client.until_eose("s"), std::slice::from_ref(&note));
    client.send(&json!(["REQ", "s", {"kinds": [1, 4]}]));
    client.expect(json!(["EVENT", "s", note]));
    let challenge = client.recv();
    assert_eq!((&challenge[0], challenge[1].as_str().unwrap().len()), (&json!("AUTH"), 32));
    client.expect(json!(["CLOSED", "s", withheld]));
    client.send(&json!(["REQ", "s", {"ids": [message["id"]]}]));
    client.expect(json!(["CLOSED", "s", withheld]));
    // Nothing withheld, nothing said.
    assert_eq!(client.query("s", &json!({"kinds": [1, 1059]})), [note]);
    client.login(&mut factory, RECIPIENT, challenge[1].as_str().unwrap());
    let own = json!({"kinds": [4]});
    assert_eq!(client.query("s", &own), std::slice::from_ref(&message));
    client.send(
        &json!(["REQ", "s", {"kinds": [4], "#p": [message["pubkey"]], "authors": [recipient]}]),
    );
    assert_eq!(client.until_eose("s"), [] as [Value; 0]);
}

/// R42-10: a subscription that was opened before a login is judged by it afterwards.
#[test]
fn a_login_opens_what_was_subscribed_before() {
    let (relay, mut factory) = private_relay();
    let recipient = factory.pubkey(RECIPIENT);
    let mut wrap =
        |n: u64| factory.draft(AUTHOR).kind(1059).at(now() - n).tag(&["p", &recipient]).build();
    let (before, after) = (wrap(1), wrap(2));
    let (mut client, mut author) = (relay.client(), relay.client());
    assert_eq!(client.query("all", &json!({})), [] as [Value; 0]);
    author.publish(&before);
    let challenge = client.challenge();
    client.login(&mut factory, RECIPIENT, &challenge);
    author.publish(&after);
    client.expect(json!(["EVENT", "all", after]));
}

/// R42-02, R42-03, R42-06, R42-09, E-60: a login is for one connection, this relay and one key.
#[test]
fn logins_cannot_be_carried_over() {
    let (relay, mut factory) = private_relay();
    let (mut one, mut two) = (relay.client(), relay.client());
    let challenge = one.challenge();
    let refuse = |client: &mut Client, login: &Value, why: &str| {
        client.send(&json!(["AUTH", login]));
        client.expect(json!(["OK", login["id"], false, format!("invalid: {why}")]));
    };
    let good = login(relay.addr, &mut factory, RECIPIENT, &challenge);
    refuse(&mut two, &good, "the challenge is not the one of this connection");
    assert_ne!(two.challenge(), challenge);
    refuse(&mut two, &good, "the challenge is not the one of this connection");
    let mut forged = good.clone();
    forged["sig"] = factory.note(0, 0, "")["sig"].clone();
    refuse(&mut one, &forged, "the signature is wrong");
    one.send(&json!(["REQ", "s", {"kinds": [4]}]));
    assert_eq!(one.recv()[0], "CLOSED", "a bad login is none");
    let other = ([127, 0, 0, 1], relay.addr.port().wrapping_add(1)).into();
    let elsewhere = login(other, &mut factory, RECIPIENT, &challenge);
    one.send(&json!(["AUTH", elsewhere]));
    assert_eq!(one.recv()[2], false);
    one.send(&json!(["AUTH", good]));
    one.expect(json!(["OK", good["id"], true, ""]));
    assert_eq!(one.query("s", &json!({"kinds": [4]})), [] as [Value; 0]);
}

/// R70-02, R70-03, R42-07: a protected event is taken from its author, who has logged in; a login
/// is seen by nobody.
#[test]
fn protected_events_come_from_their_authors() {
    let (relay, mut factory) = private_relay();
    let event = factory.draft(AUTHOR).at(now()).tag(&["-"]).build();
    let mut client = relay.client();
    let mut watcher = relay.client();
    watcher.query("all", &json!({}));
    client.send(&json!(["EVENT", event]));
    let challenge = client.recv();
    assert_eq!(challenge[0], "AUTH");
    let reason = |word: &str| format!("{word}: only its author may publish a protected event");
    client.expect(json!(["OK", event["id"], false, reason("auth-required")]));
    let challenge = challenge[1].as_str().unwrap().to_owned();
    client.login(&mut factory, STRANGER, &challenge);
    client.send(&json!(["EVENT", event]));
    client.expect(json!(["OK", event["id"], false, reason("restricted")]));
    client.login(&mut factory, AUTHOR, &challenge);
    client.publish(&event);
    watcher.expect(json!(["EVENT", "all", event]));
    assert_eq!(watcher.query("login", &json!({"kinds": [22_242]})), [] as [Value; 0]);
}

/// R11-11, R42-01: where logins are required the challenge comes at once, and nothing else before
/// a login.
#[test]
fn a_closed_relay_challenges_at_once() {
    let relay = relay(|config| config.auth.is_required = true);
    let (mut client, mut factory) = (relay.client(), Factory::new(7));
    let challenge = client.recv();
    assert_eq!(challenge[0], "AUTH");
    let needed = "auth-required: this relay answers only who has logged in";
    client.send(&json!(["REQ", "s", {}]));
    client.expect(json!(["CLOSED", "s", needed]));
    let note = factory.draft(AUTHOR).at(now()).build();
    client.send(&json!(["EVENT", note]));
    client.expect(json!(["OK", note["id"], false, needed]));
    client.login(&mut factory, STRANGER, challenge[1].as_str().unwrap());
    client.publish(&note);
    assert_eq!(client.query("s", &json!({})), [note]);
}
