//! Administration over HTTP: who may, and what follows at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zeolite_proto::PubKey;
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, relay, relay_in};

const TIME: u64 = 1_700_000_000;
const ADMIN: usize = 100;
const STRANGER: usize = 101;

/// Names the administrator of these tests.
pub(crate) fn configure(config: &mut Config) {
    let key = PubKey::from_hex(&Factory::new(1).pubkey(ADMIN)).unwrap();
    config.admin.pubkeys = [key].into();
}

fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// A token by this author for this body.
fn token(relay: &TestRelay, author: usize, body: &str) -> String {
    let payload = faster_hex::hex_string(&Sha256::digest(body));
    let url = format!("http://{}/", relay.addr);
    let mut factory = Factory::new(1);
    let draft = factory.draft(author).at(now()).kind(27_235);
    static TOKENS: AtomicUsize = AtomicUsize::new(0);
    let once = TOKENS.fetch_add(1, Ordering::Relaxed).to_string();
    let draft = draft
        .tag(&["nonce", &once])
        .tag(&["u", &url])
        .tag(&["method", "POST"])
        .tag(&["payload", &payload]);
    format!("Nostr {}", STANDARD.encode(draft.build().to_string()))
}

/// The status and the JSON of the answer.
fn post(relay: &TestRelay, token: &str, body: &str) -> (u16, Value) {
    let answer = relay.http(&format!(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {token}\r\n\
         Content-Type: application/nostr+json+rpc\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Gives an order as the administrator; the result.
#[track_caller]
pub(crate) fn order(relay: &TestRelay, method: &str, params: Value) -> Value {
    let answer = answer(relay, method, params);
    assert_eq!(answer["error"], Value::Null);
    answer["result"].clone()
}

/// Gives an order as the administrator; the error.
#[track_caller]
pub(crate) fn refused_order(relay: &TestRelay, method: &str, params: Value) -> String {
    let answer = answer(relay, method, params);
    answer["error"].as_str().unwrap_or_else(|| panic!("{method}: {answer}")).to_owned()
}

#[track_caller]
fn answer(relay: &TestRelay, method: &str, params: Value) -> Value {
    let body = json!({"method": method, "params": params}).to_string();
    let (status, answer) = post(relay, &token(relay, ADMIN, &body), &body);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// R86-02, R98-01, case 73: every way of not being allowed, and a token works once.
#[test]
fn only_administrators_give_orders() {
    let relay = relay(configure);
    let body = r#"{"method":"supportedmethods","params":[]}"#;
    let other = r#"{"method":"banpubkey","params":[]}"#;
    let good = token(&relay, ADMIN, body);
    for (name, token, body, status) in [
        ("nothing", String::new(), body, 401),
        ("a stranger", token(&relay, STRANGER, body), body, 403),
        ("another body", good.clone(), other, 401),
        ("good", good.clone(), body, 200),
        ("used before", good, body, 401),
    ] {
        let (found, answer) = post(&relay, &token, body);
        assert_eq!(found, status, "{name}: {answer}");
        assert!(
            answer[if status == 200 { "result" } else { "error" }].is_array() == (status == 200)
        );
    }
    let large = "x".repeat((1 << 20) + 1);
    assert_eq!(post(&relay, "Nostr x", &large).0, 413);
    let unknown = r#"{"method":"reboot","params":[]}"#;
    let (status, answer) = post(&relay, &token(&relay, ADMIN, unknown), unknown);
    assert_eq!(status, 200);
    assert!(answer["error"].as_str().unwrap().starts_with("unknown method \"reboot\""));
}

/// A signature that is not the administrator's is found out, whatever the event says.
#[test]
fn forged_tokens_are_found() {
    let relay = relay(configure);
    let body = r#"{"method":"supportedmethods","params":[]}"#;
    let token = token(&relay, ADMIN, body);
    let json = STANDARD.decode(&token[6..]).unwrap();
    let mut event: Value = serde_json::from_slice(&json).unwrap();
    event["sig"] = "0".repeat(128).into();
    let forged = format!("Nostr {}", STANDARD.encode(event.to_string()));
    assert_eq!(post(&relay, &forged, body).0, 401);
}

/// Without administrators nothing is offered, and NIP-11 says so.
#[test]
fn without_administrators_there_are_no_orders() {
    for (relay, offered) in [(relay(|_| {}), false), (relay(configure), true)] {
        let body = r#"{"method":"supportedmethods","params":[]}"#;
        let status = post(&relay, &token(&relay, ADMIN, body), body).0;
        assert_eq!(status, if offered { 200 } else { 405 });
        let nips = relay.document()["supported_nips"].as_array().unwrap().clone();
        assert_eq!(nips.contains(&json!(86)), offered);
    }
}

/// Waits until a filter finds nothing: removals go through the admitter.
fn await_nothing(client: &mut Client, filter: &Value) {
    let start = std::time::Instant::now();
    while !client.query("q", filter).is_empty() {
        assert!(start.elapsed() < crate::support::PATIENCE, "{filter} is still answered");
    }
}

#[track_caller]
fn check_blocked(client: &mut Client, event: &Value) {
    client.send(&json!(["EVENT", event]));
    let answer = client.recv();
    assert_eq!(answer[2], false, "{answer}");
    assert!(answer[3].as_str().unwrap().starts_with("blocked: "), "{answer}");
}

/// R86-05: bans act on what is stored and on what comes, survive a restart, and can be taken back.
#[test]
fn bans_act_at_once_and_survive() {
    let dir = tempfile::tempdir().unwrap();
    let relay = relay_in(dir.path(), configure);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let note = factory.note(0, TIME, "bad");
    let by_spammer: Vec<_> = (0..600).map(|at| factory.note(1, TIME + at, "spam")).collect();
    let messages: Vec<_> = by_spammer.iter().map(|note| json!(["EVENT", note])).collect();
    client.publish(&note);
    client.send_all(&messages);
    (0..600).for_each(|_| _ = client.recv());
    let key = factory.pubkey(1);
    assert_eq!(order(&relay, "banevent", json!([note["id"], "off topic"])), json!(true));
    assert_eq!(order(&relay, "banpubkey", json!([key])), json!(true));
    check_blocked(&mut client, &note);
    check_blocked(&mut client, &factory.note(1, TIME, "more"));
    await_nothing(&mut client, &json!({"limit": 1}));
    drop((client, relay));

    let relay = relay_in(dir.path(), configure);
    let mut client = relay.client();
    check_blocked(&mut client, &note);
    check_blocked(&mut client, &by_spammer[0]);
    let banned = order(&relay, "listbannedevents", json!([]));
    assert_eq!(banned, json!([{"id": note["id"], "reason": "off topic"}]));
    order(&relay, "allowevent", json!([note["id"]]));
    order(&relay, "unbanpubkey", json!([key]));
    client.publish(&note);
    client.publish(&by_spammer[0]);
}

/// R86-05: NIP-11 and the page show a new name at once.
#[test]
fn texts_change_at_once() {
    let relay = relay(configure);
    order(&relay, "changerelayname", json!(["A <new> name"]));
    order(&relay, "changerelaydescription", json!(["for tests"]));
    let document = relay.document();
    assert_eq!(
        (&document["name"], &document["description"]),
        (&json!("A <new> name"), &json!("for tests"))
    );
    let page = relay.http("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(page.contains("<h1>A &lt;new&gt; name</h1>"), "{page}");
}

/// A blocked address loses its connections and gets no new ones.
#[test]
fn blocked_addresses_are_cut_off() {
    let relay = relay(configure);
    let mut client = relay.client();
    client.query("q", &json!({}));
    order(&relay, "blockip", json!(["127.0.0.0/8"]));
    assert_eq!(client.close_code(), 1008);
    let mut socket = relay.raw();
    let mut byte = [0];
    assert!(!matches!(std::io::Read::read(&mut socket, &mut byte), Ok(1..)), "nobody serves it");
}

/// NIP-56: what users reported is listed until somebody decides.
#[test]
fn reports_are_listed_until_settled() {
    let relay = relay(configure);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let (bad, fine) = (factory.note(0, TIME, "bad"), factory.note(0, TIME + 1, "fine"));
    for event in [&bad, &fine] {
        client.publish(event);
        for reason in ["spam", "nudity"] {
            let id = event["id"].as_str().unwrap();
            let report = factory.draft(2).at(TIME).kind(1984).tag(&["e", id, reason]).build();
            client.publish(&report);
        }
    }
    let ids = |list: Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
    };
    let list = order(&relay, "listeventsneedingmoderation", json!([]));
    assert_eq!(ids(list.clone()).len(), 2);
    let reason = list[0]["reason"].as_str().unwrap();
    assert!(reason.contains("spam") && reason.contains("nudity"), "{reason}");
    order(&relay, "allowevent", json!([fine["id"]]));
    let list = order(&relay, "listeventsneedingmoderation", json!([]));
    assert_eq!(ids(list), [bad["id"].clone()]);
    order(&relay, "banevent", json!([bad["id"]]));
    assert_eq!(order(&relay, "listeventsneedingmoderation", json!([])), json!([]));
}
