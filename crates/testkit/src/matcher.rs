//! Whether an event satisfies a filter, read straight from NIP-01.

use serde_json::Value;

/// True if `event` satisfies every condition of `filter`: `ids`, `authors`, `kinds`, `#x` (any
/// of), `&x` (all of), `since`, `until`. An empty list matches nothing; `limit` and `search` are
/// no conditions here.
///
/// # Panics
/// On an unknown member: a test that asks for it has a typing error.
pub fn oracle_matches(event: &Value, filter: &Value) -> bool {
    let members = filter.as_object().expect("a filter is an object");
    members.iter().all(|(name, wanted)| match name.as_str() {
        "ids" => one_of(wanted, &event["id"]),
        "authors" => one_of(wanted, &event["pubkey"]),
        "kinds" => one_of(wanted, &event["kind"]),
        "since" => seconds(&event["created_at"]) >= seconds(wanted),
        "until" => seconds(&event["created_at"]) <= seconds(wanted),
        "limit" | "search" => true,
        tag => tag_condition(event, tag, wanted),
    })
}

fn tag_condition(event: &Value, member: &str, wanted: &Value) -> bool {
    let wanted = wanted.as_array().expect("a tag condition is a list");
    let (sign, letter) = member.split_at(1);
    assert!(letter.len() == 1 && letter.chars().all(|c| c.is_ascii_alphabetic()), "{member}");
    let on_event = |value: &Value| has_tag(event, letter, value);
    match sign {
        "#" => wanted.iter().any(on_event),
        "&" => !wanted.is_empty() && wanted.iter().all(on_event),
        _ => panic!("no filter member is called {member}"),
    }
}

/// True if a tag has this name and, at position 1, this value.
fn has_tag(event: &Value, name: &str, value: &Value) -> bool {
    let tags = event["tags"].as_array().expect("an event has tags");
    tags.iter().any(|tag| tag[0] == name && tag.get(1) == Some(value))
}

fn one_of(list: &Value, value: &Value) -> bool {
    list.as_array().expect("a list").contains(value)
}

fn seconds(value: &Value) -> i128 {
    i128::from(value.as_i64().expect("whole seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// R01-70 to R01-75, E-20 and the AND form, one row for each condition and its failure.
    #[test]
    fn every_condition_counts() {
        let event = json!({
            "id": "i", "pubkey": "a", "created_at": 5, "kind": 1,
            "tags": [["t", "x", "never"], ["t", "y"], ["E", "q"], ["alone"], ["d", ""]],
        });
        for (filter, expected) in [
            (json!({}), true),
            (json!({"ids": ["i", "j"]}), true),
            (json!({"ids": ["j"]}), false),
            (json!({"ids": []}), false),
            (json!({"authors": ["a"], "kinds": [1]}), true),
            (json!({"authors": ["b"], "kinds": [1]}), false),
            (json!({"kinds": [0, 2]}), false),
            (json!({"since": 5, "until": 5}), true),
            (json!({"since": 6}), false),
            (json!({"until": 4}), false),
            (json!({"#t": ["z", "y"]}), true),
            (json!({"#t": ["never"]}), false),
            (json!({"#t": ["x"], "#E": ["q"]}), true),
            (json!({"#t": ["x"], "#e": ["q"]}), false),
            (json!({"#t": []}), false),
            (json!({"#d": [""]}), true),
            (json!({"&t": ["x", "y"]}), true),
            (json!({"&t": ["x", "z"]}), false),
            (json!({"&t": []}), false),
            (json!({"limit": 0}), true),
        ] {
            assert_eq!(oracle_matches(&event, &filter), expected, "{filter}");
        }
    }
}
