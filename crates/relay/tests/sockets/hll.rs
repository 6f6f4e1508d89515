//! The registers that come with a COUNT (NIP-45).

use std::slice::from_ref;

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::support::{Client, relay};

const TIME: u64 = 1_700_000_000;

fn count(client: &mut Client, filters: &[Value]) -> Value {
    let mut message = vec![json!("COUNT"), json!("c")];
    message.extend_from_slice(filters);
    client.send(&message.into());
    let answer = client.recv();
    assert_eq!((&answer[0], &answer[1]), (&json!("COUNT"), &json!("c")), "{answer}");
    answer[2].clone()
}

/// The registers, worked out here from the text of R45-08.
fn registers(authors: &[String], offset: usize) -> String {
    let mut registers = [0_u8; 256];
    for author in authors {
        let byte = |at: usize| u8::from_str_radix(&author[2 * at..2 * at + 2], 16).unwrap();
        let bits: String = (offset + 1..32).map(|at| format!("{:08b}", byte(at))).collect();
        let zeros = bits.find('1').unwrap_or(bits.len()) as u8;
        let register = &mut registers[usize::from(byte(offset))];
        *register = (*register).max(zeros + 1);
    }
    registers.iter().map(|value| format!("{value:02x}")).collect()
}

/// R45-06 to R45-11: registers stand beside the exact number, of different authors, by the offset
/// of what was written first; without a `#` member, or with several filters, there are none. What
/// is deleted is forgotten. Two relays' registers are merged by their maxima.
#[test]
fn registers_come_with_counts() {
    let (one, two) = (relay(|_| {}), relay(|_| {}));
    let (mut client, mut other) = (one.client(), two.client());
    let mut factory = Factory::new(1);
    let target = format!("{}a{}", "5".repeat(32), "5".repeat(31));
    let mut likes = Vec::new();
    for author in (0..8).chain(0..3) {
        let at = TIME + likes.len() as u64;
        let like = factory.draft(author).at(at).kind(7).tag(&["p", &target]).tag(&["t", "hello"]);
        likes.push(like.build());
    }
    let authors: Vec<_> = (0..8).map(|author| factory.pubkey(author)).collect();
    likes[..8].iter().for_each(|like| client.publish(like));
    likes[4..].iter().for_each(|like| other.publish(like));
    let by_key = json!({"kinds": [7], "#p": [target, "1".repeat(64)]});
    let expected = registers(&authors, 18);
    assert_eq!(count(&mut client, from_ref(&by_key)), json!({"count": 8, "hll": expected}));
    let expected = registers(&[&authors[4..8], &authors[..3]].concat(), 18);
    assert_eq!(count(&mut other, from_ref(&by_key)), json!({"count": 7, "hll": expected}));
    let merged = |a: &Value, b: &Value| -> String {
        let (a, b) = (a["hll"].as_str().unwrap(), b["hll"].as_str().unwrap());
        (0..256).map(|at| (&a[2 * at..2 * at + 2]).max(&b[2 * at..2 * at + 2])).collect()
    };
    let both = (count(&mut client, from_ref(&by_key)), count(&mut other, from_ref(&by_key)));
    assert_eq!(merged(&both.0, &both.1), registers(&authors, 18), "two relays, eight authors");
    let by_topic = json!({"#t": ["hello", "aaa"]});
    let expected = registers(&authors, 9);
    assert_eq!(count(&mut client, from_ref(&by_topic))["hll"], json!(expected));
    for filters in [vec![json!({"kinds": [7]})], vec![by_key.clone(), by_key.clone()]] {
        assert_eq!(count(&mut client, &filters), json!({"count": 8}));
    }
    assert_eq!(count(&mut client, &[json!({"#t": []})]), json!({"count": 0}));
    let id = likes[5]["id"].as_str().unwrap();
    client.publish(&factory.draft(5).at(TIME + 99).kind(5).tag(&["e", id]).build());
    let left: Vec<_> = authors.iter().filter(|author| **author != authors[5]).cloned().collect();
    let expected = registers(&left, 18);
    assert_eq!(count(&mut client, from_ref(&by_key)), json!({"count": 7, "hll": expected}));
}
