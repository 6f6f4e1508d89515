//! Policies as programs, with real children: those of `scripts/policies`, and some that misbehave.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::support::{Client, PATIENCE, relay};

const TIME: u64 = 1_700_000_000;

fn policy(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/policies").join(file);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Publishes without expecting anything, and gives the third and fourth element of the `OK`.
fn publish(client: &mut Client, event: &Value) -> (bool, String) {
    client.send(&json!(["EVENT", event]));
    let answer = client.recv();
    assert_eq!((&answer[0], &answer[1]), (&json!("OK"), &event["id"]), "{answer}");
    (answer[2].as_bool().unwrap(), answer[3].as_str().unwrap().to_owned())
}

fn ok(accepted: bool, text: &str) -> (bool, String) {
    (accepted, text.to_owned())
}

/// An allow list in shell. A request to vanish is not asked about (R62-06).
#[test]
fn a_shell_policy_runs_unchanged() {
    let mut factory = Factory::new(1);
    let command = format!("ALLOWED={} {}", factory.pubkey(0), policy("allow-list.sh"));
    let relay = relay(|config| config.policy.plugin = Some(command));
    let mut client = relay.client();
    let trick = r#"","event":{"id":"#;
    let refused = ok(false, "blocked: not on the allow list");
    for (author, content, expected) in [
        (0, "one", ok(true, "")),
        (1, "two", refused.clone()),
        (1, trick, refused),
        (0, trick, ok(true, "")),
    ] {
        let note = factory.note(author, TIME, content);
        assert_eq!(publish(&mut client, &note), expected, "{content} of {author}");
    }
    let vanish = factory.draft(1).at(TIME).kind(62).tag(&["relay", "ALL_RELAYS"]).build();
    client.publish(&vanish);
    assert_eq!(client.query("all", &json!({})).len(), 3);
    assert_eq!(relay.metric("zeolite_events_total{verdict=\"rejected\"}"), 2);
}

/// What existing policies read as `authed`: the author's key if the client has logged in with it,
/// else the first that it did log in with.
#[test]
fn a_policy_is_told_who_has_logged_in() {
    let mut factory = Factory::new(1);
    let known = format!(r#""authed":"{}""#, factory.pubkey(0));
    let command = format!(
        r#"while read -r line; do
             id=${{line#*\"id\":\"}}; id=${{id%%\"*}}
             case $line in *'{known}'*) action=accept ;; *) action=reject ;; esac
             echo "{{\"id\":\"$id\",\"action\":\"$action\",\"msg\":\"blocked: who are you\"}}"
           done"#
    );
    let relay = relay(|config| config.policy.plugin = Some(command));
    let mut client = relay.client();
    let note = factory.note(1, TIME, "x");
    assert_eq!(publish(&mut client, &note), ok(false, "blocked: who are you"));
    let challenge = client.challenge();
    client.login(&mut factory, 0, &challenge);
    assert_eq!(publish(&mut client, &note), ok(true, ""));
    client.login(&mut factory, 1, &challenge);
    let other = factory.note(1, TIME, "y");
    assert_eq!(publish(&mut client, &other), ok(false, "blocked: who are you"));
}

/// True if the interpreter is there; a machine without it runs the other tests.
fn has(interpreter: &str) -> bool {
    let version = Command::new(interpreter).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

#[test]
fn a_python_policy_runs_unchanged() {
    if !has("python3") {
        return;
    }
    let command = format!("EVENTS_PER_MINUTE=3 {}", policy("rate-limit.py"));
    let relay = relay(|config| patiently(config, &command));
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let answers = (0..5).map(|at| publish(&mut client, &factory.note(at, TIME, "x")));
    let mut expected = vec![ok(true, ""); 3];
    expected.extend(vec![ok(false, "rate-limited: slow down"); 2]);
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

/// What is dropped looks to its sender as if it had been taken.
#[test]
fn a_node_policy_runs_unchanged() {
    if !has("node") {
        return;
    }
    let command = format!("UNWANTED=casino,pills {}", policy("content-filter.mjs"));
    let relay = relay(|config| patiently(config, &command));
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    for content in ["hello", "a casino", "bye"] {
        client.publish(&factory.note(0, TIME, content));
    }
    let stored = client.query("all", &json!({}));
    assert_eq!(stored.len(), 2, "{stored:?}");
    assert_eq!(relay.metric("zeolite_events_total{verdict=\"shadowed\"}"), 1);
}

/// An interpreter may take its time to start on a loaded machine.
fn patiently(config: &mut Config, command: &str) {
    config.policy.plugin = Some(command.to_owned());
    config.policy.plugin_answer_ms_max = u64::try_from(PATIENCE.as_millis()).unwrap();
}

/// A shell loop that answers each question by this command; `$id` is the event's.
fn each(answer: &str) -> String {
    format!(
        r#"sh -c 'while read -r line; do id=${{line#*\"id\":\"}}; id=${{id%%\"*}}; {answer}; done'"#
    )
}

const ACCEPT: &str = r#"echo "{\"id\":\"$id\",\"action\":\"accept\"}""#;

/// Case 63: whatever the program does, every event has its `OK` within the time that is given, and
/// meanwhile others read as if nothing was.
#[test]
fn a_broken_policy_fails_as_configured() {
    let garbage = format!("echo oops; {ACCEPT}");
    let sleepy = format!("sleep 100; {ACCEPT}");
    for (name, command, fault) in [
        ("reads nothing", "sleep 100".to_owned(), "late"),
        ("answers nothing", "sh -c 'cat >/dev/null'".to_owned(), "late"),
        ("answers late", each(&sleepy), "late"),
        ("writes garbage", each(&garbage), "garbage"),
        ("ends", "true".to_owned(), "died"),
        ("is not there", "no-such-program-here".to_owned(), "died"),
        ("closes its output", "exec >&-; sleep 100".to_owned(), "died"),
    ] {
        for fail in ["closed", "open"] {
            let relay = relay(|config| {
                config.policy.plugin = Some(command.clone());
                // Whatever does not wait for the time to pass is told by itself, however busy the machine.
                let patience = if fault == "late" { 300 } else { PATIENCE.as_millis() as u64 };
                config.policy.plugin_answer_ms_max = patience;
                config.policy.plugin_fail = match fail {
                    "open" => zeolite_relay::config::FailMode::Open,
                    _ => zeolite_relay::config::FailMode::Closed,
                };
            });
            let (mut client, mut factory) = (relay.client(), Factory::new(1));
            let notes: Vec<_> = (0..50).map(|at| factory.note(0, TIME + at, "x")).collect();
            let messages: Vec<_> = notes.iter().map(|note| json!(["EVENT", note])).collect();
            client.send_all(&messages);
            let mut reader = relay.client();
            assert_eq!(reader.query("q", &json!({"kinds": [7]})), Vec::<Value>::new(), "{name}");
            let expected = match fail {
                "open" => ok(true, ""),
                _ => ok(false, "error: the policy gave no answer"),
            };
            for note in &notes {
                let answer = client.recv();
                let found = ok(answer[2].as_bool().unwrap(), answer[3].as_str().unwrap());
                assert_eq!((&answer[1], &found), (&note["id"], &expected), "{name}, {fail}");
            }
            let series = format!("zeolite_policy_faults_total{{fault=\"{fault}\"}}");
            assert!(relay.metric(&series) >= 1, "{name}, {fail}");
        }
    }
}

/// Answers out of order reach the events they are about, and each connection's own order is kept.
#[test]
fn answers_may_come_in_any_order() {
    let command = r#"sh -c 'while read -r a && read -r b; do
        for line in "$b" "$a"; do
            id=${line#*\"id\":\"}; id=${id%%\"*}
            case $line in
                *unwanted*) echo "{\"id\":\"$id\",\"action\":\"reject\",\"msg\":\"blocked: no\"}";;
                *) echo "{\"id\":\"$id\",\"action\":\"accept\"}";;
            esac
        done
    done'"#;
    let relay = relay(|config| patiently(config, command));
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let contents = ["a", "unwanted", "unwanted", "b"];
    let notes: Vec<_> = contents.iter().map(|text| factory.note(0, TIME, text)).collect();
    let messages: Vec<_> = notes.iter().map(|note| json!(["EVENT", note])).collect();
    client.send_all(&messages);
    for (note, content) in notes.iter().zip(contents) {
        let (accepted, text) =
            if content == "unwanted" { (false, "blocked: no") } else { (true, "") };
        client.expect(json!(["OK", note["id"], accepted, text]));
    }
}

/// A program that is edited is started anew, as strfry's are, without a restart of the relay.
#[test]
fn an_edited_policy_takes_over() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.sh");
    let write = |answer: &str| {
        let script = format!("#!/bin/sh\nexec {}\n", each(answer));
        let fresh = dir.path().join("fresh");
        std::fs::write(&fresh, script).unwrap();
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
    };
    write(ACCEPT);
    let relay = relay(|config| patiently(config, path.to_str().unwrap()));
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    client.publish(&factory.note(0, TIME, "first"));
    write(r#"echo "{\"id\":\"$id\",\"action\":\"reject\",\"msg\":\"blocked: new rules\"}""#);
    let start = Instant::now();
    for at in 1.. {
        let (accepted, _) = publish(&mut client, &factory.note(0, TIME + at, "later"));
        if !accepted {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "the edited policy never took over");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
