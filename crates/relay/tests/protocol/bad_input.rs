//! Bad input gets the right answer, the connection lives or is closed with the right code, and
//! nothing is stored.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::frame::coding::Data;
use zeolite_testkit::{Factory, canonical_id};

use crate::client::{Client, Got, with_relay};

/// A relay of small limits, so that going over them is cheap.
fn with_small_relay(body: impl FnOnce(SocketAddr)) {
    let change = |config: &mut zeolite_relay::config::Config| {
        config.limits.message_bytes_max = 20_000;
        config.limits.subscriptions_max = 3;
        config.limits.event_tags_max = 10;
        config.limits.content_chars_max = 100;
    };
    with_relay(change, |addr| {
        body(addr);
        let mut witness = Client::connect(addr);
        witness.send(r#"["COUNT","all",{}]"#);
        witness.expect("nothing was stored", r#"["COUNT","all",{"count":0}]"#);
    });
}

/// A signed note of the current time.
fn note(factory: &mut Factory) -> Value {
    factory.note(0, now(), "hello")
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after the epoch").as_secs()
}

fn id(event: &Value) -> &str {
    event["id"].as_str().expect("an id")
}

/// Each message on a connection of its own, and the start of its one answer. R01-52 to R01-60,
/// R01-71, R01-79, R01-81, R42-09, R50-06, R77-13, E-02 to E-27, E-33, E-64.
#[test]
fn messages_are_refused_and_the_connection_lives() {
    let deep = "[".repeat(9_000);
    let long = "x".repeat(65);
    let rows: &[(&str, &str, &str)] = &[
        ("R01-60", "", r#"["NOTICE","invalid: "#),
        ("R01-60", "hello", r#"["NOTICE","invalid: "#),
        ("R01-60", "{}", r#"["NOTICE","invalid: "#),
        ("R01-60", "[]", r#"["NOTICE","invalid: "#),
        ("R01-60", r#"["HELLO"]"#, r#"["NOTICE","invalid: unknown message type \"HELLO\""]"#),
        ("R01-60: too deep", &deep, r#"["NOTICE","invalid: "#),
        ("E-05", "\u{feff}[\"CLOSE\",\"a\"]", r#"["NOTICE","invalid: "#),
        ("E-07", r#"["CLOSE","a"]]"#, r#"["NOTICE","invalid: "#),
        (
            "E-02",
            "[\"EVENT\",{\"id\":\"x\",\"content\":\"\\ud800\"}]",
            r#"["OK","x",false,"invalid: "#,
        ),
        ("E-33", r#"["EVENT",{"id":"x"}]"#, r#"["OK","x",false,"invalid: "#),
        ("E-33", r#"["EVENT",{}]"#, r#"["NOTICE","invalid: "#),
        ("R01-42", r#"["EVENT"]"#, r#"["NOTICE","invalid: "#),
        ("R01-45", r#"["REQ","",{}]"#, r#"["NOTICE","invalid: "#),
        (
            "R01-45",
            &format!("[\"REQ\",\"{long}\",{{}}]"),
            &format!("[\"CLOSED\",\"{long}\",\"invalid: "),
        ),
        ("E-25", r#"["REQ",5,{}]"#, r#"["NOTICE","invalid: "#),
        ("E-26", "[\"REQ\",\"\\\"😀\\n\",5]", "[\"CLOSED\",\"\\\"😀\\n\",\"invalid: "),
        ("R01-81", r#"["REQ","a"]"#, r#"["CLOSED","a","invalid: "#),
        ("E-23", r#"["REQ","a",{"ids":["ABC"]}]"#, r#"["CLOSED","a","invalid: "#),
        ("E-13", r#"["REQ","a",{"limit":-1}]"#, r#"["CLOSED","a","invalid: "#),
        ("E-13", r#"["REQ","a",{"since":"1"}]"#, r#"["CLOSED","a","invalid: "#),
        ("E-06", r#"["REQ","a",{"limit":1,"limit":2}]"#, r#"["CLOSED","a","invalid: "#),
        ("R01-79", r#"["REQ","a",{},{"foo":1}]"#, r#"["CLOSED","a","unsupported: "#),
        ("case 41", r##"["REQ","a",{"#name":["v"]}]"##, r#"["CLOSED","a","unsupported: "#),
        ("R50-06", r#"["REQ","a",{"search":"x"}]"#, r#"["CLOSED","a","unsupported: "#),
        ("R45-03", r#"["COUNT","a",{"kinds":["x"]}]"#, r#"["CLOSED","a","invalid: "#),
        ("R42-09", r#"["AUTH","x"]"#, r#"["NOTICE","invalid: "#),
        ("E-64", r#"["NEG-OPEN","n",{},""]"#, r#"["NEG-ERR","n","invalid: "#),
        ("E-64", r#"["NEG-OPEN","n",{},"6100"]"#, r#"["NEG-ERR","n","invalid: "#),
        ("E-64", r#"["NEG-OPEN","n",{},"61000003"]"#, r#"["NEG-ERR","n","invalid: "#),
        ("E-64", r#"["NEG-OPEN","n",{},"6101210000"]"#, r#"["NEG-ERR","n","invalid: "#),
        (
            "E-64, N-15",
            r#"["NEG-OPEN","n",{},"61000002908080808080808000"]"#,
            r#"["NEG-ERR","n","invalid: "#,
        ),
        (
            "case 17",
            r#"["NEG-OPEN","n",{"kinds":[1]},"61ffffffffffffffffffffffff"]"#,
            r#"["NEG-ERR","n","invalid: "#,
        ),
        ("case 17", r#"["NEG-OPEN","n",{},"610"]"#, r#"["NEG-ERR","n","invalid: "#),
        ("case 17", r#"["NEG-OPEN","n",5,"61"]"#, r#"["NEG-ERR","n","invalid: "#),
        ("case 17", r#"["NEG-OPEN","n",{}]"#, r#"["NEG-ERR","n","invalid: "#),
        ("R77-12", r#"["NEG-MSG","n","61"]"#, r#"["NEG-ERR","n","closed: "#),
        ("E-20: and this is none", r#"["REQ","a",{"ids":[]}]"#, r#"["EOSE","a",["finish"]]"#),
    ];
    with_small_relay(|addr| {
        for (rule, message, answer) in rows {
            let mut client = Client::connect(addr);
            client.send(message);
            client.expect(rule, answer);
            client.expect_silence(rule);
        }
        let mut client = Client::connect(addr);
        for (rule, message, answer) in rows.iter().filter(|row| !row.2.contains("EOSE")) {
            client.send(message);
            client.expect(&format!("{rule}, over one connection"), answer);
        }
        client.expect_silence("after all of them");
    });
}

/// Events that must not come in, each with the reason's beginning. R01-01 to R01-04, R40-02,
/// R42-07, R62-01, R70-01, R70-04, E-06, E-10, E-12, E-35, E-50, case 29, case 37.
#[test]
fn events_are_refused() {
    with_small_relay(|addr| {
        let mut factory = Factory::new(1);
        let good = note(&mut factory);
        let with = |member: &str, value: Value| {
            let mut event = good.clone();
            event[member] = value;
            event
        };
        let mut wrong_author = with("pubkey", factory.pubkey(1).into());
        wrong_author["id"] = canonical_id(&wrong_author).into();
        let mut no_point = with("pubkey", "f".repeat(64).into());
        no_point["id"] = canonical_id(&no_point).into();
        let mut make = |kind: u16, tags: Value, content: &str| {
            factory.draft(0).at(now()).kind(kind).tags(tags).content(content).build()
        };
        let protected = make(1, json!([["-"]]), "");
        let rows: Vec<(&str, Value, &str)> = vec![
            ("R01-03", with("sig", "0".repeat(128).into()), "invalid: "),
            ("R01-03: of somebody else", wrong_author, "invalid: "),
            ("R01-03: not on the curve", no_point, "invalid: "),
            ("R01-04", with("content", "other".into()), "invalid: event id does not match"),
            ("E-12", with("kind", (-1).into()), "invalid: "),
            ("E-12", with("kind", 65_536.into()), "invalid: "),
            ("E-10", with("created_at", "now".into()), "invalid: "),
            ("E-10", with("created_at", 1.5.into()), "invalid: "),
            ("R01-10", with("tags", json!([["t", 5]])), "invalid: "),
            ("case 37", with("sig", "0".repeat(127).into()), "invalid: "),
            ("R70-01", protected.clone(), "auth-required: "),
            ("R70-04", make(6, json!([]), &json!({"tags": [["-"]]}).to_string()), "blocked: "),
            ("R42-07", make(22_242, json!([]), ""), "invalid: "),
            ("R62-01", make(62, json!([]), ""), "invalid: "),
            ("R40-02", make(1, json!([["expiration", "1000"]]), ""), "invalid: "),
            ("E-35: tags", make(1, json!(vec![["t"]; 11]), ""), "invalid: "),
            ("E-35: content", make(1, json!([]), &"x".repeat(101)), "invalid: "),
        ];
        let mut client = Client::connect(addr);
        let mut watcher = Client::connect(addr);
        watcher.send(r#"["REQ","live",{"limit":0}]"#);
        watcher.expect("the watcher", r#"["EOSE","live""#);
        for (rule, event, reason) in &rows {
            client.send(&format!("[\"EVENT\",{event}]"));
            client.expect(rule, &format!("[\"OK\",\"{}\",false,\"{reason}", id(event)));
        }
        let future = factory.draft(0).at(now() + 100_000).build();
        client.send(&format!("[\"EVENT\",{future}]"));
        client.expect("E-11", &format!("[\"OK\",\"{}\",false,\"invalid: ", id(&future)));
        watcher.expect_silence("refused events are not fanned out");
    });
}

/// Frames that end the connection, with their code. E-01, E-35, case 53.
#[test]
fn broken_frames_close_the_connection() {
    with_small_relay(|addr| {
        type Frames = Vec<(Vec<u8>, Data, bool)>;
        let rows: [(&str, Frames, u16); 4] = [
            (
                "E-01: text that is not UTF-8",
                vec![(b"[\"\xff\"]".to_vec(), Data::Text, true)],
                1007,
            ),
            ("E-01: a surrogate", vec![(b"[\"\xed\xa0\x80\"]".to_vec(), Data::Text, true)], 1007),
            ("E-35: one frame", vec![(vec![b' '; 20_001], Data::Text, true)], 1009),
            (
                "case 53: fragments",
                vec![
                    (vec![b' '; 15_000], Data::Text, false),
                    (vec![b' '; 15_000], Data::Continue, true),
                ],
                1009,
            ),
        ];
        for (rule, frames, code) in rows {
            let mut client = Client::connect(addr);
            for (bytes, data, is_final) in frames {
                client.send_frame(bytes, data, is_final);
            }
            assert_eq!(client.next(), Got::Close(code), "{rule}");
        }
    });
}

/// E-08: binary frames that are UTF-8 are read, others get a NOTICE.
#[test]
fn binary_frames_are_read_as_text() {
    with_small_relay(|addr| {
        let mut client = Client::connect(addr);
        client.send_frame(b"[\"REQ\",\"b\",{}]".to_vec(), Data::Binary, true);
        client.expect("E-08", r#"["EOSE","b""#);
        client.send_frame(vec![0xff, 0xfe], Data::Binary, true);
        client.expect("E-08", r#"["NOTICE","invalid: "#);
        client.expect_silence("E-08");
    });
}

/// E-25, case 51: one subscription too many is refused under its name, CLOSE makes room.
#[test]
fn subscriptions_are_limited() {
    with_small_relay(|addr| {
        let mut client = Client::connect(addr);
        for sub in ["a", "b", "c"] {
            client.send(&format!("[\"REQ\",\"{sub}\",{{}}]"));
            client.expect(sub, &format!("[\"EOSE\",\"{sub}\""));
        }
        client.send(r#"["REQ","d",{}]"#);
        client.expect("one too many", r#"["CLOSED","d","blocked: "#);
        client.send(r#"["CLOSE","a"]"#);
        client.send(r#"["REQ","d",{}]"#);
        client.expect("room again", r#"["EOSE","d""#);
    });
}

/// Case 64: junk by the thousand costs nobody anything.
#[test]
fn a_flood_of_junk_is_answered() {
    with_small_relay(|addr| {
        let mut client = Client::connect(addr);
        for round in 0..20 {
            for at in 0..100 {
                client.send(&format!("[\"VERB{round}-{at}\",{{}}]"));
            }
            for at in 0..100 {
                let answer =
                    format!("[\"NOTICE\",\"invalid: unknown message type \\\"VERB{round}-{at}");
                client.expect("junk", &answer);
            }
        }
        client.expect_silence("after the junk");
    });
}
