//! What a connection spends, and how it is slowed down when it wants more than that.
//!
//! Refusing is cheap, but not free: a message by itself costs a wake-up of the socket's task and a
//! write, ten times what looking at it costs. So a client that was refused is not read until it may
//! again, for [`OVER_BUDGET_PAUSE_MAX`] at most. What it sends meanwhile waits in its socket and is
//! then refused together, and one that asks again as soon as it is refused cannot turn in a circle.
//!
//! The pauses differ: of a thousand clients that were refused in one moment all would be read again in
//! one moment, and who keeps within their budget would wait behind them, every time.

use std::time::Duration;

use metrics::Counter;

use crate::clients::Account;
use crate::limits::{OVER_BUDGET_AT_ONCE, OVER_BUDGET_PAUSE_JITTER, OVER_BUDGET_PAUSE_MAX};
use crate::metrics::OverBudget;
use crate::random::random_bytes;

/// What a connection has to make good. Small: every idle connection has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Purse {
    /// Messages that were not paid for since the last pause.
    unpaid: u16,
    pause_ms: u16,
    /// The event of the message at hand is paid for.
    pub(super) event_is_paid: bool,
}

/// A purse in the hand: with what is in it, and who counts.
pub(super) struct Spending<'a> {
    pub(super) purse: &'a mut Purse,
    /// Without one, anything may be spent.
    pub(super) account: Option<&'a Account>,
    pub(super) counters: &'a OverBudget,
}

impl Purse {
    /// How long to read nothing, if it is time for that: there were enough refusals, or there is
    /// nothing more to read for the moment.
    pub(super) fn pause(&mut self, has_more: bool) -> Option<Duration> {
        if self.pause_ms == 0 || has_more && self.unpaid < OVER_BUDGET_AT_ONCE {
            return None;
        }
        self.unpaid = 0;
        let longest =
            OVER_BUDGET_PAUSE_MAX.mul_f64(1.0 - random_share() * OVER_BUDGET_PAUSE_JITTER);
        Some(longest.min(Duration::from_millis(std::mem::take(&mut self.pause_ms).into())))
    }
}

impl Spending<'_> {
    /// Whether events cost anything, so that it is worth asking before one is parsed.
    pub(super) fn limits_events(&self) -> bool {
        self.account.is_some_and(Account::limits_events)
    }

    /// Pays for an event. False: it is to be refused.
    pub(super) fn pay_event(&mut self) -> bool {
        let paid = self.account.map_or(Ok(()), Account::pay_event);
        self.settle(paid, &self.counters.events)
    }

    /// Pays for a query. False: it is to be refused.
    pub(super) fn pay_query(&mut self, cost: u64) -> bool {
        let paid = self.account.map_or(Ok(()), |account| account.pay_query(cost));
        self.settle(paid, &self.counters.queries)
    }

    /// Charges for bytes that were read, and says how long to wait before more are.
    pub(super) fn charge_bytes(&self, bytes: usize) -> Option<Duration> {
        let wait = self.account?.charge_bytes(bytes);
        if wait.is_zero() {
            return None;
        }
        self.counters.bytes.increment(1);
        Some(wait)
    }

    fn settle(&mut self, paid: Result<(), Duration>, counter: &Counter) -> bool {
        let Err(wait) = paid else { return true };
        counter.increment(1);
        self.purse.unpaid = self.purse.unpaid.saturating_add(1);
        let pause_ms = wait.min(OVER_BUDGET_PAUSE_MAX).as_millis().max(1);
        self.purse.pause_ms = u16::try_from(pause_ms).expect("the longest pause is under a minute");
        false
    }
}

/// From 0 to 1.
fn random_share() -> f64 {
    u64::from_ne_bytes(random_bytes()) as f64 / u64::MAX as f64
}

/// Whether a message is an `EVENT`, as far as can be told without reading it.
pub(super) fn names_event(text: &str) -> bool {
    let elements = text.trim_start().strip_prefix('[');
    elements.is_some_and(|elements| elements.trim_start().starts_with("\"EVENT\""))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;
    use crate::clients::{ClientLimits, Clients, Proxies, Rate, Rates};

    /// More than is ever there.
    const TOO_DEAR: u64 = 1_000;

    /// Case 51: refusals are followed by a pause, once; what is paid for is not. A flood of them does
    /// not wait until there is nothing more to read.
    #[test]
    fn refusals_are_followed_by_a_pause() {
        let [events, queries, bytes] = [(); 3].map(|()| Counter::noop());
        let counters = OverBudget { events, queries, bytes };
        let queries = Some(Rate { per_s: 1, burst: 10 });
        let address = Rates { queries, ..Rates::default() };
        let limits = ClientLimits { address, ..ClientLimits::default() };
        let header = HeaderName::from_static("x-forwarded-for");
        let clients = Clients::new(limits, Proxies::new(Vec::new(), header));
        let account = clients.enter("192.0.2.1".parse().unwrap()).unwrap();
        let mut purse = Purse::default();
        let spend = |purse: &mut Purse, price: u64| {
            let account = Some(&account);
            Spending { purse, account, counters: &counters }.pay_query(price)
        };
        assert!(spend(&mut purse, 1));
        assert_eq!(purse.pause(false), None);
        assert!(!spend(&mut purse, TOO_DEAR));
        assert_eq!(purse.pause(true), None);
        let is_long = |pause: Option<Duration>| {
            let least = OVER_BUDGET_PAUSE_MAX / 2;
            pause.is_some_and(|pause| (least..=OVER_BUDGET_PAUSE_MAX).contains(&pause))
        };
        assert!(is_long(purse.pause(false)));
        assert_eq!(purse.pause(false), None);
        assert!((0..OVER_BUDGET_AT_ONCE).all(|_| !spend(&mut purse, TOO_DEAR)));
        assert!(is_long(purse.pause(true)));
        let pauses = (0..64).map(|_| {
            assert!(!spend(&mut purse, TOO_DEAR));
            purse.pause(false).filter(|pause| is_long(Some(*pause)))
        });
        let pauses: std::collections::BTreeSet<_> = pauses.map(Option::unwrap).collect();
        assert!(pauses.len() > 32, "who is refused together does not come back together");
        let mut free = Spending { purse: &mut purse, account: None, counters: &counters };
        assert!(free.pay_query(TOO_DEAR) && free.pay_event());
        assert!(free.charge_bytes(usize::MAX).is_none() && !free.limits_events());
        assert_eq!(purse.pause(false), None);
    }

    #[test]
    fn events_are_told_by_their_verb() {
        for (text, expected) in [
            (r#"["EVENT",{}]"#, true),
            (" [\n\"EVENT\" , {}]", true),
            (r#"["EVENTS",{}]"#, false),
            (r#"["REQ","EVENT"]"#, false),
            (r#"{"EVENT":1}"#, false),
            ("", false),
        ] {
            assert_eq!(names_event(text), expected, "{text}");
        }
    }
}
