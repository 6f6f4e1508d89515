//! What the clients of one address may hold and spend, over all their connections, and what each
//! connection may.

mod forwarded;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zeolite_policy::{Budget, client_group};

pub(crate) use forwarded::Proxies;

use crate::limits::CLIENTS_MAX;

/// A steady rate, and what may be saved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens a second.
    pub per_s: u64,
    /// Tokens at most.
    pub burst: u64,
}

/// What may be spent; `None`: any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Events, one token each.
    pub events: Option<Rate>,
    /// Queries, by their cost.
    pub queries: Option<Rate>,
    /// Bytes received.
    pub bytes: Option<Rate>,
}

/// What clients are allowed; `None`: any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open sockets of one address.
    pub connections_max: Option<usize>,
    /// What one address may spend over all its connections.
    pub address: Rates,
    /// What one connection may spend of that.
    pub connection: Rates,
}

/// What is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Good {
    Events,
    Queries,
    Bytes,
}

impl Rates {
    fn of(&self, good: Good) -> Option<Rate> {
        match good {
            Good::Events => self.events,
            Good::Queries => self.queries,
            Good::Bytes => self.bytes,
        }
    }
}

/// What is left to spend.
#[derive(Debug, Default)]
struct Buckets {
    events: Mutex<Budget>,
    queries: Mutex<Budget>,
    bytes: Mutex<Budget>,
}

impl Buckets {
    fn of(&self, good: Good) -> &Mutex<Budget> {
        match good {
            Good::Events => &self.events,
            Good::Queries => &self.queries,
            Good::Bytes => &self.bytes,
        }
    }

    fn are_full(&self, now: Duration) -> bool {
        [&self.events, &self.queries, &self.bytes].iter().all(|one| one.lock().is_full(now))
    }
}

/// What is the same for all.
#[derive(Debug)]
struct Terms {
    limits: ClientLimits,
    start: Instant,
}

/// Everyone who is connected, or was and has not paid off what they spent.
pub(crate) struct Clients {
    terms: Arc<Terms>,
    proxies: Proxies,
    by_group: Mutex<HashMap<IpAddr, Arc<Client>>>,
}

/// One address; of IPv6 a /64.
#[derive(Debug, Default)]
pub(crate) struct Client {
    connections: AtomicUsize,
    buckets: Buckets,
}

/// Where a connection comes from.
#[derive(Debug)]
pub struct Visitor {
    /// Its address: of the client itself, not of a proxy that is trusted.
    pub address: IpAddr,
    /// What it may spend; `None`: anything.
    pub(crate) account: Option<Account>,
}

impl Visitor {
    /// Somebody who may spend anything.
    pub fn free(address: IpAddr) -> Self {
        Self { address, account: None }
    }
}

/// What a connection has by itself, and its share in its client.
#[derive(Debug)]
pub(crate) struct Account {
    own: Buckets,
    client: Arc<Client>,
    terms: Arc<Terms>,
}

impl Drop for Account {
    fn drop(&mut self) {
        self.client.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits, proxies: Proxies) -> Self {
        let terms = Arc::new(Terms { limits, start: Instant::now() });
        Self { terms, proxies, by_group: Mutex::default() }
    }

    /// Who is asked where clients are.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// An account for one more connection from there, unless it has too many.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<Account> {
        let client = self.client(client_group(address));
        let before = client.connections.fetch_add(1, Ordering::Relaxed);
        // Dropped if it is refused, which takes it off again.
        let account = Account { own: Buckets::default(), client, terms: Arc::clone(&self.terms) };
        (before < self.terms.limits.connections_max.unwrap_or(usize::MAX)).then_some(account)
    }

    /// When there are too many to remember, the rest share one account.
    fn client(&self, group: IpAddr) -> Arc<Client> {
        let mut by_group = self.by_group.lock();
        if by_group.len() >= CLIENTS_MAX && !by_group.contains_key(&group) {
            let the_rest = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            return Arc::clone(by_group.entry(the_rest).or_default());
        }
        Arc::clone(by_group.entry(group).or_default())
    }

    /// Forgets who has left and owes nothing. To be called from time to time.
    pub(crate) fn sweep(&self) {
        let now = self.terms.start.elapsed();
        self.by_group
            .lock()
            .retain(|_, client| Arc::strong_count(client) > 1 || !client.buckets.are_full(now));
    }
}

impl Account {
    /// Whether events cost anything.
    pub(crate) fn limits_events(&self) -> bool {
        let ClientLimits { address, connection, .. } = &self.terms.limits;
        address.events.is_some() || connection.events.is_some()
    }

    /// Pays for an event, or says how long it takes until it could.
    pub(crate) fn pay_event(&self) -> Result<(), Duration> {
        self.pay(Good::Events, 1)
    }

    /// Pays for a query, or says how long it takes until it could.
    pub(crate) fn pay_query(&self, cost: u64) -> Result<(), Duration> {
        self.pay(Good::Queries, cost)
    }

    /// Charges for bytes that were received, and says how long to wait before more are read.
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Duration {
        let waits = self.purses(Good::Bytes).map(|(rate, bucket)| {
            let Some(Rate { per_s, burst }) = rate else { return Duration::ZERO };
            bucket.lock().charge(self.terms.start.elapsed(), bytes as u64, per_s, burst)
        });
        waits.into_iter().max().unwrap_or_default()
    }

    /// Takes from both buckets or from none.
    fn pay(&self, good: Good, cost: u64) -> Result<(), Duration> {
        let mut paid: Option<(&Mutex<Budget>, Budget)> = None;
        for (rate, bucket) in self.purses(good) {
            let Some(Rate { per_s, burst }) = rate else { continue };
            let mut budget = bucket.lock();
            let before = *budget;
            if let Err(wait) = budget.take(self.terms.start.elapsed(), cost, per_s, burst) {
                if let Some((own, before)) = paid {
                    *own.lock() = before;
                }
                return Err(wait);
            }
            paid = Some((bucket, before));
        }
        Ok(())
    }

    /// The connection's own, which nobody else takes from, and its client's.
    fn purses(&self, good: Good) -> [(Option<Rate>, &Mutex<Budget>); 2] {
        let ClientLimits { address, connection, .. } = &self.terms.limits;
        [(connection.of(good), self.own.of(good)), (address.of(good), self.client.buckets.of(good))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<Rate> = Some(Rate { per_s: 1, burst: 3 });

    fn of_address(address: Rates) -> ClientLimits {
        ClientLimits { address, ..ClientLimits::default() }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn clients(limits: ClientLimits) -> Clients {
        let header = hyper::header::HeaderName::from_static("x-forwarded-for");
        Clients::new(limits, Proxies::new(Vec::new(), header))
    }

    /// One IPv4 address, and one /64, share what they have over all their connections.
    #[test]
    fn an_address_has_one_account() {
        let clients = clients(of_address(Rates { events: SLOW, ..Rates::default() }));
        let first = clients.enter(address("2001:db8::1")).unwrap();
        let second = clients.enter(address("2001:db8::2")).unwrap();
        let other = clients.enter(address("2001:db8:0:1::1")).unwrap();
        let pays = |account: &Account| account.pay_event().is_ok();
        assert!(pays(&first) && pays(&second) && pays(&first));
        assert!(!pays(&second) && !pays(&first));
        assert!(pays(&other) && other.limits_events());
        assert!(other.pay_query(1_000_000).is_ok() && other.charge_bytes(1 << 30).is_zero());
    }

    /// Each connection spends what it has by itself, and all together what the address has. What one
    /// of the two refuses costs nothing of the other.
    #[test]
    fn a_connection_has_its_own_budget_too() {
        let rate = |burst| Some(Rate { per_s: 1, burst });
        let clients = clients(ClientLimits {
            address: Rates { events: rate(5), bytes: rate(200), ..Rates::default() },
            connection: Rates { events: rate(3), queries: rate(2), bytes: rate(100) },
            ..ClientLimits::default()
        });
        let enter = || clients.enter(address("192.0.2.1")).unwrap();
        let paid = |account: &Account| (0..10).filter(|_| account.pay_event().is_ok()).count();
        let (first, second, third) = (enter(), enter(), enter());
        assert_eq!(paid(&first), 3, "its own budget");
        assert_eq!(paid(&second), 2, "what the first one left of the address's");
        assert_eq!(paid(&third), 0);
        assert_eq!(
            *third.own.events.lock(),
            Budget::default(),
            "refused by the address, it paid nothing"
        );
        assert!(third.pay_query(2).is_ok() && third.pay_query(1).is_err());
        assert!(enter().pay_query(2).is_ok(), "the address has no budget for queries");
        assert!(first.charge_bytes(100).is_zero() && second.charge_bytes(100).is_zero());
        assert!(!first.charge_bytes(1).is_zero(), "its own");
        assert!(!third.charge_bytes(1).is_zero(), "the address's");
        let only_own = ClientLimits {
            connection: Rates { events: SLOW, ..Rates::default() },
            ..ClientLimits::default()
        };
        assert!(super::tests::clients(only_own).enter(address("::1")).unwrap().limits_events());
    }

    /// Who leaves and comes back has what he had: reconnecting fills no bucket.
    #[test]
    fn leaving_pays_no_debts() {
        let clients = clients(of_address(Rates { queries: SLOW, ..Rates::default() }));
        let account = clients.enter(address("192.0.2.1")).unwrap();
        assert!(account.pay_query(3).is_ok() && account.pay_query(1).is_err());
        drop(account);
        clients.sweep();
        let account = clients.enter(address("192.0.2.1")).unwrap();
        assert!(account.pay_query(3).is_err());
        let idle = clients.enter(address("192.0.2.2")).unwrap();
        drop(idle);
        clients.sweep();
        assert_eq!(clients.by_group.lock().len(), 1, "who owes nothing is forgotten");
    }

    #[test]
    fn connections_are_counted() {
        let clients = clients(ClientLimits { connections_max: Some(2), ..ClientLimits::default() });
        let first = clients.enter(address("192.0.2.1")).unwrap();
        let _second = clients.enter(address("::ffff:192.0.2.1")).unwrap();
        assert!(clients.enter(address("192.0.2.1")).is_none());
        assert!(clients.enter(address("192.0.2.2")).is_some());
        drop(first);
        assert!(clients.enter(address("192.0.2.1")).is_some());
    }

    /// The table is bounded whatever addresses turn up; those beyond it share one account.
    #[test]
    fn the_table_is_bounded() {
        let clients = clients(of_address(Rates { events: SLOW, ..Rates::default() }));
        let addresses = (0..CLIENTS_MAX + 100).map(|at| IpAddr::V4((at as u32 + 1).into()));
        let accounts: Vec<_> = addresses.map(|at| clients.enter(at).unwrap()).collect();
        assert_eq!(clients.by_group.lock().len(), CLIENTS_MAX + 1);
        let paid = accounts.iter().rev().take(100).filter(|one| one.pay_event().is_ok()).count();
        assert_eq!(paid, 3);
    }
}
