//! Rules as data, and the planner against an oracle that knows nothing of it.

use rand::RngExt;
use zeolite_proto::{Event, EventParser};
use zeolite_testkit::{Factory, TestRng, run_seeds};

use super::*;
use crate::kind_ranges::KindRange;

const NOW: u64 = 1_700_000_000;
const DAY: u64 = 86_400;

fn event(factory: &mut Factory, kind: u16, author: usize, at: u64) -> Event {
    let json = factory.draft(author).kind(kind).at(at).build().to_string();
    EventParser::new().parse(&json).expect("an event")
}

fn author(number: usize) -> PubKey {
    PubKey::from_hex(&Factory::unsigned(1).pubkey(number)).expect("a key")
}

fn kinds(texts: &[&str]) -> KindRanges {
    texts.iter().map(|text| text.parse::<KindRange>().expect(text)).collect()
}

/// Kind, author, age in days, and what becomes of it.
type Case = (u16, usize, u64, Fate);

fn check(rules: Vec<RetentionRule>, cases: &[Case]) {
    let retention = Retention { rules, ..Retention::default() };
    let mut factory = Factory::unsigned(1);
    for &(kind, number, days, expected) in cases {
        let event = event(&mut factory, kind, number, NOW - days * DAY);
        let fate = retention.fate(event.view(), Timestamp(NOW));
        assert_eq!(fate, expected, "kind {kind} by {number}, {days} days old");
        let floor = Timestamp(NOW - 100 * DAY);
        for (floor, expected) in [
            (None, matches!(fate, Fate::TooOld(_))),
            (Some(floor), fate != Fate::Kept && (days >= 100 || fate != Fate::Free)),
        ] {
            let refused = retention.refuses(event.view(), Timestamp(NOW), floor);
            assert_eq!(refused, expected, "kind {kind}, {days} days old, floor {floor:?}");
        }
    }
}

fn days(days: u64) -> Option<u64> {
    Some(days * DAY)
}

use Fate::{Free, Kept, TooOld};

/// Without rules only a floor speaks against an event, and never against what is always kept.
#[test]
fn without_rules_only_size_counts() {
    let old = 200;
    check(vec![], &[(1, 0, old, Free), (0, 0, old, Kept), (10_002, 0, old, Kept)]);
    check(vec![], &[(5, 0, old, Kept), (62, 0, old, Kept), (30_023, 0, old, Free)]);
}

/// The first rule that concerns an event decides, also when it keeps it.
#[test]
fn the_first_rule_decides() {
    let rules = || {
        vec![
            RetentionRule { authors: [author(1)].into(), ..RetentionRule::default() },
            RetentionRule {
                kinds: kinds(&["7", "1000-1999"]),
                age_s_max: days(7),
                ..RetentionRule::default()
            },
            RetentionRule { age_s_max: days(30), ..RetentionRule::default() },
        ]
    };
    check(
        rules(),
        &[
            (7, 0, 6, Free),
            (7, 0, 7, Free),
            (7, 0, 8, TooOld(1)),
            (7, 1, 200, Kept),
            (0, 1, 200, Kept),
            (1, 0, 8, Free),
            (1, 0, 31, TooOld(2)),
            (1500, 0, 8, TooOld(1)),
            (2000, 0, 8, Free),
            (5, 0, 200, Kept),
            (62, 0, 200, Kept),
            (0, 0, 200, Kept),
            (3, 0, 200, Kept),
            (10_002, 0, 200, Kept),
            (30_023, 0, 200, TooOld(2)),
        ],
    );
}

/// Exceptions are not the rule's business; the next rule is asked about them.
#[test]
fn exceptions_go_to_the_next_rule() {
    let rule = RetentionRule {
        except_kinds: kinds(&["40-44"]),
        except_authors: [author(1)].into(),
        age_s_max: days(10),
        ..RetentionRule::default()
    };
    let last = RetentionRule { age_s_max: days(50), ..RetentionRule::default() };
    let cases = [(1, 0, 20, TooOld(0)), (41, 0, 20, Free), (1, 1, 20, Free)];
    check(vec![rule.clone()], &cases);
    check(vec![rule, last], &[(41, 0, 60, TooOld(1)), (1, 1, 60, TooOld(1)), (1, 1, 40, Free)]);
}

/// Profiles and lists go only where they are named; deletions and requests to vanish not even
/// then.
#[test]
fn replaceable_kinds_are_named_or_kept() {
    let all = RetentionRule {
        kinds: kinds(&["0-65535"]),
        age_s_max: days(1),
        ..RetentionRule::default()
    };
    check(
        vec![all],
        &[(0, 0, 2, TooOld(0)), (10_002, 0, 2, TooOld(0)), (5, 0, 2, Kept), (62, 0, 2, Kept)],
    );
}

/// NIP-59: a wrap may be dated two days back and is given those two days.
#[test]
fn gift_wraps_are_given_their_two_days() {
    let rule = RetentionRule { age_s_max: days(7), ..RetentionRule::default() };
    check(vec![rule], &[(1059, 0, 9, Free), (1059, 0, 10, TooOld(0)), (1, 0, 9, TooOld(0))]);
}

/// Ephemeral events are never stored, so nothing is asked of them.
#[test]
fn ephemeral_events_are_not_refused() {
    let rule = RetentionRule { age_s_max: days(7), ..RetentionRule::default() };
    let retention = Retention { rules: vec![rule], bytes_max: Some(1), ..Retention::default() };
    let event = event(&mut Factory::unsigned(1), 20_001, 0, NOW - 100 * DAY);
    assert!(!retention.refuses(event.view(), Timestamp(NOW), Some(Timestamp(NOW))));
}

#[test]
fn size_has_slack_and_a_floor() {
    let retention = Retention { rules: vec![], bytes_max: Some(1_600), ..Retention::default() };
    for (stored, excess, upholds) in
        [(0, 0, false), (1_200, 0, false), (1_201, 0, true), (1_600, 0, true), (1_601, 101, true)]
    {
        assert_eq!(retention.excess_bytes(stored), excess, "{stored}");
        assert_eq!(retention.upholds_floor(stored), upholds, "{stored}");
    }
    assert_eq!(Retention::default().excess_bytes(u64::MAX), 0);
}

/// A rule's filter leaves out nothing that the rule takes.
#[test]
fn filters_find_what_rules_take() {
    let rules = [
        RetentionRule { age_s_max: days(5), ..RetentionRule::default() },
        RetentionRule {
            kinds: kinds(&["1-9"]),
            authors: [author(1)].into(),
            age_s_max: days(5),
            ..RetentionRule::default()
        },
        RetentionRule {
            kinds: kinds(&["0-65535"]),
            age_s_max: days(5),
            ..RetentionRule::default()
        },
    ];
    let mut factory = Factory::unsigned(1);
    let mut taken = 0;
    for rule in rules {
        let retention = Retention { rules: vec![rule.clone()], ..Retention::default() };
        let filter = rule.filter(Timestamp(NOW)).expect("it has an age");
        for (kind, author, age) in
            [(1, 1, 5 * DAY + 1), (1, 1, 5 * DAY), (1, 0, 9 * DAY), (0, 1, 9 * DAY)]
        {
            let event = event(&mut factory, kind, author, NOW - age);
            if retention.fate(event.view(), Timestamp(NOW)) == TooOld(0) {
                taken += 1;
                assert!(filter.matches(event.view()), "{rule}: kind {kind}, {age} s");
            }
        }
        assert_eq!(rule.filter(Timestamp(5 * DAY)), None, "nothing is that old");
    }
    assert_eq!(taken, 2 + 1 + 3);
    assert_eq!(RetentionRule::default().filter(Timestamp(NOW)), None);
}

/// An event and a rule as plain numbers, for the oracle.
#[derive(Clone, Debug)]
struct PlainEvent {
    kind: u16,
    author: usize,
    at: u64,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct PlainRule {
    kinds: Vec<(u16, u16)>,
    authors: Vec<usize>,
    except_kinds: Vec<(u16, u16)>,
    except_authors: Vec<usize>,
    age: Option<u64>,
}

/// The rule that decides, said the long way round: each rule strikes from a list of all events
/// those that it is about.
fn oracle_ages(events: &[PlainEvent], rules: &[PlainRule]) -> Vec<Fate> {
    let is_replaceable = |kind: u16| [0, 3].contains(&kind) || (10_000..20_000).contains(&kind);
    let mut fates: Vec<Option<Fate>> =
        events.iter().map(|event| (event.kind == 5 || event.kind == 62).then_some(Kept)).collect();
    for (number, rule) in rules.iter().enumerate() {
        for (event, fate) in events.iter().zip(&mut fates) {
            let within = |ranges: &[(u16, u16)]| {
                ranges.iter().any(|(low, high)| *low <= event.kind && event.kind <= *high)
            };
            let has_kind = match rule.kinds.is_empty() {
                true => rule.age.is_none() || !is_replaceable(event.kind),
                false => within(&rule.kinds),
            };
            let has_author = rule.authors.is_empty() || rule.authors.contains(&event.author);
            let is_excepted =
                within(&rule.except_kinds) || rule.except_authors.contains(&event.author);
            if fate.is_some() || !has_kind || !has_author || is_excepted {
                continue;
            }
            let grace = if event.kind == 1059 { 2 * DAY } else { 0 };
            *fate = Some(match rule.age {
                None => Kept,
                Some(age) if event.at + age + grace < NOW => TooOld(number),
                Some(_) => Free,
            });
        }
    }
    let rest = |event: &PlainEvent| if is_replaceable(event.kind) { Kept } else { Free };
    events.iter().zip(fates).map(|(event, fate)| fate.unwrap_or_else(|| rest(event))).collect()
}

/// The least time up to which all that may go is enough, found by trying every time.
fn oracle_size(events: &[PlainEvent], fates: &[Fate], excess: u64) -> Option<u64> {
    let freed = |through: u64| -> u64 {
        let free =
            events.iter().zip(fates).filter(|(event, fate)| **fate == Free && event.at <= through);
        free.map(|(event, _)| event.bytes).sum()
    };
    let mut times: Vec<u64> = events.iter().map(|event| event.at).collect();
    times.sort_unstable();
    times.into_iter().find(|time| freed(*time) >= excess)
}

fn draw<T: Clone>(rng: &mut TestRng, from: &[T], max: usize) -> Vec<T> {
    let count = rng.random_range(0..=max);
    (0..count).map(|_| from[rng.random_range(0..from.len())].clone()).collect()
}

fn rule(rng: &mut TestRng) -> PlainRule {
    let ranges = [(1, 1), (0, 0), (3, 7), (5, 5), (10_000, 10_010), (0, u16::MAX), (1059, 1059)];
    PlainRule {
        kinds: draw(rng, &ranges, 2),
        authors: draw(rng, &[0, 1, 2], 2),
        except_kinds: draw(rng, &ranges[..5], 1),
        except_authors: draw(rng, &[0, 1, 2], 1),
        age: rng.random_bool(0.7).then(|| rng.random_range(1..20) * DAY / 2),
    }
}

fn real(rule: &PlainRule) -> RetentionRule {
    let ranges = |ranges: &[(u16, u16)]| {
        let text = |(low, high): &(u16, u16)| format!("{low}-{high}");
        ranges.iter().map(|range| text(range).parse::<KindRange>().expect("a range")).collect()
    };
    let authors = |numbers: &[usize]| numbers.iter().map(|number| author(*number)).collect();
    RetentionRule {
        kinds: ranges(&rule.kinds),
        authors: authors(&rule.authors),
        except_kinds: ranges(&rule.except_kinds),
        except_authors: authors(&rule.except_authors),
        age_s_max: rule.age,
    }
}

/// Over random rules and events the planner takes what the oracle takes, by age and by size, and
/// refuses what it took.
#[test]
fn the_planner_agrees_with_the_oracle() {
    let all_kinds = [0, 1, 3, 5, 7, 62, 1059, 10_002, 30_023];
    let mut factory = Factory::unsigned(1);
    run_seeds("the_planner_agrees_with_the_oracle", 150, |rng| {
        let rules: Vec<_> = (0..rng.random_range(0..4)).map(|_| rule(rng)).collect();
        let mut events: Vec<_> = (0..60)
            .map(|_| PlainEvent {
                kind: all_kinds[rng.random_range(0..all_kinds.len())],
                author: rng.random_range(0..3),
                at: NOW - rng.random_range(0..24) * DAY / 2,
                bytes: rng.random_range(1..100),
            })
            .collect();
        events.sort_by_key(|event| event.at);
        let fates = oracle_ages(&events, &rules);
        let excess = rng.random_range(0..3_000);
        let through = oracle_size(&events, &fates, excess).filter(|_| excess > 0);
        let retention = Retention {
            rules: rules.iter().map(real).collect(),
            bytes_max: Some(1),
            ..Retention::default()
        };
        let mut plan = SizePlan::new(excess);
        let mut is_over = false;
        for (plain, expected) in events.iter().zip(&fates) {
            let event = event(&mut factory, plain.kind, plain.author, plain.at);
            let fate = retention.fate(event.view(), Timestamp(NOW));
            assert_eq!(fate, *expected, "{plain:?} under {rules:?}");
            let step = match is_over {
                true => SizeStep::Enough,
                false => plan.step(Timestamp(plain.at), fate, plain.bytes),
            };
            is_over = step == SizeStep::Enough;
            let is_reached = excess > 0 && through.is_none_or(|through| plain.at <= through);
            assert_eq!(step == SizeStep::Goes, fate == Free && is_reached, "{plain:?}, {excess}");
            let floor = through.map(Timestamp);
            let goes = fate != Kept && (fate != Free || (through.is_some() && is_reached));
            assert_eq!(retention.refuses(event.view(), Timestamp(NOW), floor), goes, "{plain:?}");
        }
        assert_eq!(plan.left_bytes() == 0, excess == 0 || through.is_some());
    });
}
