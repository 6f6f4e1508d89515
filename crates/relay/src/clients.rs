//! What the clients of one address may hold and spend, over all their connections.

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

/// What one address is allowed; `None`: any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open sockets.
    pub connections_max: Option<usize>,
    /// Events, one token each.
    pub events: Option<Rate>,
    /// Queries, by their cost.
    pub queries: Option<Rate>,
    /// Bytes received.
    pub bytes: Option<Rate>,
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
    events: Mutex<Budget>,
    queries: Mutex<Budget>,
    bytes: Mutex<Budget>,
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

/// A connection's share in its client.
#[derive(Debug)]
pub(crate) struct Account {
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
        let account = Account { client, terms: Arc::clone(&self.terms) };
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
        self.by_group.lock().retain(|_, client| {
            let owes = [&client.events, &client.queries, &client.bytes];
            Arc::strong_count(client) > 1 || owes.iter().any(|one| !one.lock().is_full(now))
        });
    }
}

impl Account {
    /// Whether events cost anything.
    pub(crate) fn limits_events(&self) -> bool {
        self.terms.limits.events.is_some()
    }

    /// Pays for an event, or says how long it takes until it could.
    pub(crate) fn pay_event(&self) -> Result<(), Duration> {
        self.pay(self.terms.limits.events, &self.client.events, 1)
    }

    /// Pays for a query, or says how long it takes until it could.
    pub(crate) fn pay_query(&self, cost: u64) -> Result<(), Duration> {
        self.pay(self.terms.limits.queries, &self.client.queries, cost)
    }

    /// Charges for bytes that were received, and says how long to wait before more are read.
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Duration {
        let Some(Rate { per_s, burst }) = self.terms.limits.bytes else { return Duration::ZERO };
        let now = self.terms.start.elapsed();
        self.client.bytes.lock().charge(now, bytes as u64, per_s, burst)
    }

    fn pay(&self, rate: Option<Rate>, budget: &Mutex<Budget>, cost: u64) -> Result<(), Duration> {
        match rate {
            None => Ok(()),
            Some(Rate { per_s, burst }) => {
                budget.lock().take(self.terms.start.elapsed(), cost, per_s, burst)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<Rate> = Some(Rate { per_s: 1, burst: 3 });

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
        let clients = clients(ClientLimits { events: SLOW, ..ClientLimits::default() });
        let first = clients.enter(address("2001:db8::1")).unwrap();
        let second = clients.enter(address("2001:db8::2")).unwrap();
        let other = clients.enter(address("2001:db8:0:1::1")).unwrap();
        let pays = |account: &Account| account.pay_event().is_ok();
        assert!(pays(&first) && pays(&second) && pays(&first));
        assert!(!pays(&second) && !pays(&first));
        assert!(pays(&other) && other.limits_events());
        assert!(other.pay_query(1_000_000).is_ok() && other.charge_bytes(1 << 30).is_zero());
    }

    /// Who leaves and comes back has what he had: reconnecting fills no bucket.
    #[test]
    fn leaving_pays_no_debts() {
        let clients = clients(ClientLimits { queries: SLOW, ..ClientLimits::default() });
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
        let clients = clients(ClientLimits { events: SLOW, ..ClientLimits::default() });
        let addresses = (0..CLIENTS_MAX + 100).map(|at| IpAddr::V4((at as u32 + 1).into()));
        let accounts: Vec<_> = addresses.map(|at| clients.enter(at).unwrap()).collect();
        assert_eq!(clients.by_group.lock().len(), CLIENTS_MAX + 1);
        let paid = accounts.iter().rev().take(100).filter(|one| one.pay_event().is_ok()).count();
        assert_eq!(paid, 3);
    }
}
