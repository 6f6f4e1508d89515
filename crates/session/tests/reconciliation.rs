//! NIP-77 as a session sees it: `NEG-OPEN`, `NEG-MSG`, `NEG-CLOSE`, and their refusals.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::{Step, World, check, text};
use zeolite_session::SessionLimits;

const UNKNOWN: &str = r#"["NEG-ERR","n","closed: no reconciliation is open under this id"]"#;
const OPEN: &str = r#"["NEG-OPEN","n",{},"6100000200"]"#;

fn check_all(limits: &SessionLimits, cases: &[(&str, &[&str], &[&str])]) {
    for (rule, messages, expected) in cases {
        let steps: Vec<Step> = messages.iter().map(|message| text(*message)).collect();
        check(rule, limits, &steps, expected);
    }
}

#[test]
fn messages_become_effects() {
    check_all(
        &SessionLimits::default(),
        &[
            (
                "R77-01, R77-02, R77-03",
                &[OPEN, r#"["NEG-MSG","n","61"]"#, r#"["NEG-CLOSE","n"]"#],
                &["reconcile #0 n [61, 00, 00, 02, 00]", "more #0 [61]", "end #0"],
            ),
            (
                "R77-01: hex in either case, and the filter's own limit",
                &[r#"["NEG-OPEN","n",{"limit":7},"61aAFf"]"#],
                &["reconcile #0 n limit 7 [61, aa, ff]"],
            ),
            (
                "R77-07, E-63: a second one under the same id ends the first",
                &[OPEN, OPEN, r#"["NEG-MSG","n","61"]"#],
                &[
                    "reconcile #0 n [61, 00, 00, 02, 00]",
                    "end #0",
                    "reconcile #1 n [61, 00, 00, 02, 00]",
                    "more #1 [61]",
                ],
            ),
            (
                "R77-06, E-63: the name spaces are apart",
                &[r#"["REQ","n",{}]"#, OPEN, r#"["CLOSE","n"]"#, r#"["NEG-CLOSE","n"]"#],
                &[
                    "query #0 n of 1",
                    "reconcile #0 n [61, 00, 00, 02, 00]",
                    "unsubscribe #0",
                    "end #0",
                ],
            ),
            (
                "R77-12, E-63, case 17: unknown ids",
                &[r#"["NEG-MSG","n","61"]"#, r#"["NEG-CLOSE","n"]"#],
                &[UNKNOWN],
            ),
            (
                "R77-03: after the end the id is unknown",
                &[OPEN, r#"["NEG-CLOSE","n"]"#, r#"["NEG-MSG","n","61"]"#],
                &["reconcile #0 n [61, 00, 00, 02, 00]", "end #0", UNKNOWN],
            ),
            // What the bytes mean is seen by whoever has the set.
            ("E-64", &[r#"["NEG-OPEN","n",{},""]"#], &["reconcile #0 n []"]),
        ],
    );
}

/// Case 17, R77-12: what is broken is told by the name that was given, and ends what had it.
#[test]
fn broken_messages_end_a_reconciliation() {
    let opened = "reconcile #0 n [61, 00, 00, 02, 00]";
    let odd = r#"["NEG-ERR","n","invalid: message has an odd number of hex digits"]"#;
    let no_hex = r#"["NEG-ERR","n","invalid: message is not hex"]"#;
    let no_filter = r#"["NEG-ERR","n","invalid: message ends before a filter"]"#;
    check_all(
        &SessionLimits::default(),
        &[
            ("odd", &[r#"["NEG-OPEN","n",{},"610"]"#], &[odd]),
            ("no hex", &[r#"["NEG-OPEN","n",{},"6g"]"#], &[no_hex]),
            ("no hex, in several bytes", &[r#"["NEG-OPEN","n",{},"é"]"#], &[no_hex]),
            (
                "R77-04",
                &[OPEN, r#"["NEG-MSG","n","610"]"#, r#"["NEG-MSG","n","61"]"#],
                &[opened, "end #0", odd, UNKNOWN],
            ),
            (
                "R77-07: also by one that is refused",
                &[OPEN, r#"["NEG-OPEN","n",{},"6g"]"#, r#"["NEG-CLOSE","n"]"#],
                &[opened, "end #0", no_hex],
            ),
            ("missing elements", &[OPEN, r#"["NEG-OPEN","n"]"#], &[opened, "end #0", no_filter]),
            (
                "no filter",
                &[r#"["NEG-OPEN","n",5,""]"#],
                &[concat!(
                    r#"["NEG-ERR","n","invalid: invalid type: integer `5`, expected "#,
                    r#"a filter object"]"#
                )],
            ),
            (
                "several filters are none",
                &[r#"["NEG-OPEN","n",[{}],"61"]"#],
                &[concat!(
                    r#"["NEG-ERR","n","invalid: invalid type: sequence, expected "#,
                    r#"a filter object"]"#
                )],
            ),
            (
                "no hex at all",
                &[r#"["NEG-OPEN","n",{}]"#, r#"["NEG-MSG","n"]"#],
                &[
                    r#"["NEG-ERR","n","invalid: message ends before a hex message"]"#,
                    r#"["NEG-ERR","n","invalid: message ends before a hex message"]"#,
                ],
            ),
            (
                "R77-12: nobody to tell by name",
                &[r#"["NEG-OPEN"]"#],
                &[r#"["NOTICE","invalid: message ends before a subscription id"]"#],
            ),
            (
                "R50-06, and no wider set than was asked for",
                &[
                    r#"["NEG-OPEN","n",{"search":" "},"61"]"#,
                    r#"["NEG-OPEN","n",{"search":"x"},"61"]"#,
                    r#"["NEG-OPEN","n",{"cats":[1]},"61"]"#,
                ],
                &[
                    "reconcile #0 n [61]",
                    "end #0",
                    r#"["NEG-ERR","n","unsupported: search is not offered"]"#,
                    r#"["NEG-ERR","n","unsupported: unknown filter member \"cats\""]"#,
                ],
            ),
        ],
    );
}

/// R77-13, case 16: switched off is told by name, to every message.
#[test]
fn what_is_off_is_told() {
    let off = r#"["NEG-ERR","n","blocked: reconciliation is not offered"]"#;
    check_all(
        &SessionLimits { reconciliations_max: 0, ..SessionLimits::default() },
        &[
            ("R77-13", &[OPEN, r#"["NEG-MSG","n","61"]"#, r#"["NEG-CLOSE","n"]"#], &[off, off]),
            (
                "R77-06",
                &[r#"["REQ","n",{}]"#, OPEN, r#"["CLOSE","n"]"#],
                &["query #0 n of 1", off, "unsubscribe #0"],
            ),
        ],
    );
}

/// Sessions and the values of their filters are bounded, and an end gives back the room.
#[test]
fn room_is_bounded_and_given_back() {
    let limits = SessionLimits {
        reconciliations_max: 2,
        filter_values_max: 4,
        subscriptions_max: 1,
        ..SessionLimits::default()
    };
    let open = |sub: &str, filter: &str| text(format!(r#"["NEG-OPEN","{sub}",{filter},"61"]"#));
    check(
        "sessions of one connection",
        &limits,
        &[
            open("a", "{}"),
            open("b", "{}"),
            open("c", "{}"),
            // The id that is open is replaced, whatever the room.
            open("a", "{}"),
            text(r#"["NEG-CLOSE","b"]"#),
            open("c", "{}"),
            Step::NegEnded(2),
            // A key that is gone ends nothing.
            Step::NegEnded(2),
            Step::NegEnded(9),
            open("d", "{}"),
        ],
        &[
            "reconcile #0 a [61]",
            "reconcile #1 b [61]",
            r#"["NEG-ERR","c","closed: more than 2 open reconciliations"]"#,
            "end #0",
            "reconcile #2 a [61]",
            "end #1",
            "reconcile #3 c [61]",
            "reconcile #4 d [61]",
        ],
    );
    check(
        "list entries of their filters, apart from those of subscriptions",
        &limits,
        &[
            text(r#"["REQ","s",{"kinds":[1,2,3]}]"#),
            open("a", r#"{"kinds":[1,2,3]}"#),
            open("b", r#"{"kinds":[1,2]}"#),
            open("a", "{}"),
            open("b", r#"{"kinds":[1,2]}"#),
        ],
        &[
            "query #0 s of 1",
            "reconcile #0 a [61]",
            r#"["NEG-ERR","b","closed: open reconciliations hold more than 4 values"]"#,
            "end #0",
            "reconcile #1 a [61]",
            "reconcile #2 b [61]",
        ],
    );
}

/// The relay's own end frees the id and the room, and the client's next message is told.
#[test]
fn an_end_by_the_relay_frees_the_id() {
    let mut world = World::new(SessionLimits::default());
    world.step(&text(OPEN));
    assert_eq!(world.session().reconciliations(), 1);
    world.step(&Step::NegEnded(0));
    assert_eq!(world.session().reconciliations(), 0);
    assert_eq!(world.step(&text(r#"["NEG-MSG","n","61"]"#)), [UNKNOWN]);
    assert_eq!(world.step(&text(r#"["NEG-CLOSE","n"]"#)), Vec::<String>::new());
}
