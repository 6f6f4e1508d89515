//! Who may read an event, by the plainest reading of NIPs 04, 17 and 59.

use serde_json::Value;

/// Whether a client that has logged in with these keys may be shown the event, where events of the
/// gated kinds are for their recipients and authors, and gift wraps for recipients alone.
pub fn oracle_may_read(event: &Value, gated_kinds: &[u64], logins: &[String]) -> bool {
    let kind = event["kind"].as_u64().expect("an event has a kind");
    if !gated_kinds.contains(&kind) {
        return true;
    }
    let tags = event["tags"].as_array().expect("an event has tags");
    let recipients = tags.iter().filter(|tag| tag[0] == "p").filter_map(|tag| tag[1].as_str());
    let author = event["pubkey"].as_str().filter(|_| kind != 1059 && kind != 21_059);
    recipients.chain(author).any(|party| logins.iter().any(|login| login == party))
}
