//! The operator's rules for what may be written, and the one judgement over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zeolite_proto::{EventRef, Kind, Prefix, PubKey, Reason, Timestamp};

use crate::moderation::Moderation;
use crate::retention::Retention;
use crate::work::{difficulty, promised_difficulty};

/// What the configuration says of events, whoever brings them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Only authors that are allowed here or by NIP-86 may write.
    pub authors_only: bool,
    /// Authors that may write where [`Self::authors_only`] is set.
    pub authors_allowed: BTreeSet<PubKey>,
    /// Authors that may not.
    pub authors_denied: BTreeSet<PubKey>,
    /// Kinds that everyone may write, whatever is said of authors: relay lists and the like, which
    /// others need to find (R17-01, R65-01).
    pub kinds_open: BTreeSet<Kind>,
    /// The only kinds that are taken, beside those that NIP-86 allows; empty: all.
    pub kinds_allowed: BTreeSet<Kind>,
    /// Kinds that are not taken.
    pub kinds_denied: BTreeSet<Kind>,
    /// Leading zero bits that an id needs (NIP-13); 0: none.
    pub work_bits_min: u32,
    /// Rules for single kinds.
    pub kinds: BTreeMap<Kind, KindRule>,
    /// How long events are kept. What would go at once is not taken.
    pub retention: Retention,
}

impl Rules {
    /// Whether writing needs what not everyone has (NIP-11's `restricted_writes`).
    pub fn restricts_writes(&self) -> bool {
        self.authors_only || !self.kinds_allowed.is_empty() || self.asks_for_work()
    }

    /// Whether events need proof of work (NIP-13).
    pub fn asks_for_work(&self) -> bool {
        let of_kinds = self.kinds.values().filter_map(|rule| rule.work_bits_min);
        of_kinds.chain([self.work_bits_min]).any(|bits| bits > 0)
    }
}

/// What is asked of one kind beyond the rules for all. What is absent is not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindRule {
    /// Bytes of content.
    pub content_bytes_max: Option<usize>,
    /// Number of tags.
    pub tags_max: Option<usize>,
    /// Seconds that an event may be old.
    pub age_s_max: Option<u64>,
    /// Leading zero bits that an id needs.
    pub work_bits_min: Option<u32>,
}

/// Rules and moderation of one moment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// From the configuration.
    pub rules: Arc<Rules>,
    /// From NIP-86.
    pub moderation: Arc<Moderation>,
    /// The time up to which events went because the store was too large, while that is so.
    pub floor: Option<Timestamp>,
}

impl Policy {
    /// Whether the operator wants this event, before its signature is checked.
    ///
    /// Requests to vanish are always taken (R62-06). The authors of gift wraps are throw-away keys,
    /// so no rule about authors concerns them (R59-06).
    pub fn judge(&self, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
        if event.kind() == Kind::VANISH {
            return Ok(());
        }
        if self.moderation.is_event_banned(&event.id()) {
            return Err(Reason::blocked("this event is banned here"));
        }
        self.judge_kind(event.kind())?;
        self.judge_author(event.kind(), &event.pubkey())?;
        self.judge_age(event, now)?;
        let rule = self.rules.kinds.get(&event.kind()).copied().unwrap_or_default();
        rule.judge(event, now)?;
        self.judge_work(event, rule.work_bits_min)
    }

    fn judge_kind(&self, kind: Kind) -> Result<(), Reason> {
        let Self { rules, moderation, .. } = self;
        let is_listed = rules.kinds_allowed.is_empty()
            || rules.kinds_allowed.contains(&kind)
            || moderation.is_kind_allowed(kind);
        let is_denied = rules.kinds_denied.contains(&kind) || moderation.is_kind_disallowed(kind);
        if is_listed && !is_denied {
            Ok(())
        } else {
            Err(Reason::blocked(format!("events of kind {kind} are not taken here")))
        }
    }

    fn judge_author(&self, kind: Kind, author: &PubKey) -> Result<(), Reason> {
        if matches!(kind, Kind::GIFT_WRAP | Kind::EPHEMERAL_GIFT_WRAP) {
            return Ok(());
        }
        let Self { rules, moderation, .. } = self;
        if rules.authors_denied.contains(author) || moderation.is_pubkey_banned(author) {
            return Err(Reason::blocked("this author may not write here"));
        }
        let is_free = !rules.authors_only
            || rules.kinds_open.contains(&kind)
            || rules.authors_allowed.contains(author)
            || moderation.is_pubkey_allowed(author);
        if is_free {
            Ok(())
        } else {
            Err(Reason::new(Prefix::Restricted, "only some authors may write here"))
        }
    }

    /// M-04: what retention removes is told apart when it is offered again, so that no mirror stores
    /// it anew with each sync.
    fn judge_age(&self, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
        if self.rules.retention.refuses(event, now, self.floor) {
            return Err(Reason::blocked("older than this relay keeps"));
        }
        Ok(())
    }

    /// R13-02, R13-03: enough work, and not by luck where a target is told.
    fn judge_work(&self, event: EventRef<'_>, of_kind: Option<u32>) -> Result<(), Reason> {
        let needed = of_kind.unwrap_or(self.rules.work_bits_min);
        if needed == 0 {
            return Ok(());
        }
        let found = difficulty(&event.id());
        let promised = promised_difficulty(event).unwrap_or(found);
        let counted = found.min(promised);
        if counted >= needed {
            Ok(())
        } else {
            let text = format!("difficulty {counted} is less than {needed}");
            Err(Reason::new(Prefix::Pow, text))
        }
    }
}

impl KindRule {
    fn judge(&self, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
        let kind = event.kind();
        if let Some(max) = self.content_bytes_max
            && event.content().len() > max
        {
            let text = format!("the content of kind {kind} may have {max} bytes");
            return Err(Reason::invalid(text));
        }
        if let Some(max) = self.tags_max
            && event.tags().nth(max).is_some()
        {
            return Err(Reason::invalid(format!("an event of kind {kind} may have {max} tags")));
        }
        if let Some(max) = self.age_s_max
            && event.created_at() < now.saturating_sub(max)
        {
            return Err(Reason::invalid(format!("an event of kind {kind} may be {max} s old")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use zeolite_proto::{Event, EventParser};
    use zeolite_testkit::Factory;

    use super::*;
    use crate::management::Command;
    use crate::retention::RetentionRule;

    const NOW: u64 = 1_700_000_000;

    /// A kind, its author's number, and what the relay says: the prefix of a refusal.
    type Case = (u16, usize, Option<Prefix>);

    fn event(kind: u16, author: usize) -> Event {
        let mut factory = Factory::unsigned(1);
        let draft = factory.draft(author).at(NOW - 100).kind(kind).content("12345");
        let json = draft.tag(&["relay", "ALL_RELAYS"]).build().to_string();
        EventParser::new().parse(&json).expect("an event")
    }

    fn author(number: usize) -> PubKey {
        event(1, number).view().pubkey()
    }

    fn check(rules: Rules, commands: Vec<Command>, cases: &[Case]) {
        let mut moderation = Moderation::default();
        for command in commands {
            assert!(command.apply(&mut moderation).is_ok());
        }
        let policy =
            Policy { rules: rules.into(), moderation: moderation.into(), ..Policy::default() };
        for &(kind, number, expected) in cases {
            let verdict = policy.judge(event(kind, number).view(), Timestamp(NOW));
            assert_eq!(verdict.err().map(|reason| reason.prefix), expected, "{kind} by {number}");
        }
    }

    const BLOCKED: Option<Prefix> = Some(Prefix::Blocked);
    const RESTRICTED: Option<Prefix> = Some(Prefix::Restricted);
    const INVALID: Option<Prefix> = Some(Prefix::Invalid);

    #[test]
    fn without_rules_everything_is_taken() {
        check(Rules::default(), vec![], &[(1, 0, None), (62, 0, None), (1059, 0, None)]);
    }

    /// R59-06, R62-06, R17-01: whoever may write, gift wraps, requests to vanish and open kinds
    /// pass.
    #[test]
    fn authors_are_told_apart() {
        let rules = || Rules {
            authors_only: true,
            authors_allowed: [author(1)].into(),
            authors_denied: [author(2)].into(),
            kinds_open: [Kind(10_002)].into(),
            ..Rules::default()
        };
        check(
            rules(),
            vec![Command::AllowPubkey(author(3), String::new())],
            &[
                (1, 0, RESTRICTED),
                (1, 1, None),
                (1, 2, BLOCKED),
                (1, 3, None),
                (10_002, 0, None),
                (10_002, 2, BLOCKED),
                (62, 2, None),
                (1059, 2, None),
                (21_059, 0, None),
            ],
        );
    }

    /// Case 73: the later decision of an administrator stands, either way.
    #[test]
    fn administrators_can_change_their_mind() {
        let (ban, allow) = (
            || Command::BanPubkey(author(0), String::new()),
            || Command::AllowPubkey(author(0), String::new()),
        );
        let unban = || Command::UnbanPubkey(author(0));
        for (commands, expected) in [
            (vec![ban()], BLOCKED),
            (vec![ban(), unban()], None),
            (vec![ban(), allow()], None),
            (vec![allow(), ban()], BLOCKED),
            (vec![Command::DisallowKind(Kind(1))], BLOCKED),
            (vec![Command::DisallowKind(Kind(1)), Command::AllowKind(Kind(1))], None),
            (vec![Command::AllowKind(Kind(1)), Command::DisallowKind(Kind(1))], BLOCKED),
            (vec![Command::AllowKind(Kind(7))], None),
            (vec![Command::BanEvent(event(1, 0).view().id(), String::new())], BLOCKED),
        ] {
            check(Rules::default(), commands, &[(1, 0, expected)]);
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let rules = Rules {
            kinds_allowed: [Kind(1), Kind(7)].into(),
            kinds_denied: [Kind(7)].into(),
            ..Rules::default()
        };
        let cases = [(1, 0, None), (7, 0, BLOCKED), (9, 0, BLOCKED), (6, 0, None)];
        check(rules, vec![Command::AllowKind(Kind(6))], &cases);
    }

    /// M-04: what is older than a rule keeps, or than what went for the store's size, is refused.
    #[test]
    fn what_is_not_kept_is_not_taken() {
        let rule = |age_s_max| RetentionRule { age_s_max: Some(age_s_max), ..Default::default() };
        for (ages, floor, expected) in [
            (vec![], None, None),
            (vec![100], None, None),
            (vec![99], None, Some("older than this relay keeps")),
            (vec![100], Some(NOW - 101), None),
            (vec![100], Some(NOW - 100), Some("older than this relay keeps")),
        ] {
            let rules = ages.into_iter().map(rule).collect();
            let retention = Retention { rules, ..Retention::default() };
            let rules = Rules { retention, ..Rules::default() };
            let floor = floor.map(Timestamp);
            let policy = Policy { rules: rules.into(), floor, ..Policy::default() };
            let verdict = |kind| policy.judge(event(kind, 0).view(), Timestamp(NOW)).err();
            assert_eq!(verdict(1).map(|reason| reason.text), expected.map(Into::into));
            assert_eq!(
                (verdict(5), verdict(0), verdict(62), verdict(20_001)),
                (None, None, None, None)
            );
        }
    }

    #[test]
    fn a_kind_has_rules_of_its_own() {
        let with = |rule: KindRule| Rules { kinds: [(Kind(1), rule)].into(), ..Rules::default() };
        for (rule, expected) in [
            (KindRule { content_bytes_max: Some(5), ..KindRule::default() }, None),
            (KindRule { content_bytes_max: Some(4), ..KindRule::default() }, INVALID),
            (KindRule { tags_max: Some(1), ..KindRule::default() }, None),
            (KindRule { tags_max: Some(0), ..KindRule::default() }, INVALID),
            (KindRule { age_s_max: Some(100), ..KindRule::default() }, None),
            (KindRule { age_s_max: Some(99), ..KindRule::default() }, INVALID),
            (KindRule { work_bits_min: Some(250), ..KindRule::default() }, Some(Prefix::Pow)),
        ] {
            check(with(rule), vec![], &[(1, 0, expected), (2, 0, None)]);
        }
    }

    /// R13-02, R13-03: work counts as far as it was promised. The kind's own rule goes before the
    /// general one.
    #[test]
    fn work_is_asked_for() {
        let mut factory = Factory::unsigned(1);
        let mut mined = |target: &str, bits: u32| {
            (0..).find_map(|nonce: u32| {
                let draft = factory.draft(0).tag(&["nonce", &nonce.to_string(), target]);
                let json = draft.build().to_string();
                let event = EventParser::new().parse(&json).expect("an event");
                (difficulty(&event.view().id()) >= bits).then_some(event)
            })
        };
        for (target, bits, needed, expected) in [
            ("8", 8, 8, None),
            ("4", 8, 8, Some("difficulty 4 is less than 8")),
            ("200", 8, 8, None),
            ("x", 8, 8, None),
        ] {
            let event = mined(target, bits).expect("work is found in the end");
            let rules = Rules { work_bits_min: needed, ..Rules::default() };
            let policy = Policy { rules: rules.into(), ..Policy::default() };
            let verdict = policy.judge(event.view(), Timestamp(NOW)).err();
            assert_eq!(verdict.map(|reason| reason.text), expected.map(Into::into), "{target}");
        }
    }
}
