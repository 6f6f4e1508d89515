//! A crowd that listens while notes are published.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::crowd::{Crowd, Listening};
use super::ledger::{Audience, Ledger};
use super::notes::Notes;
use super::pace::Schedule;
use crate::row::Row;
use crate::socket::Message;

/// Listening sockets and the ledger of what they receive.
pub(crate) struct Live {
    ledger: Rc<RefCell<Ledger>>,
    listening: Listening,
    closed: Rc<RefCell<Vec<String>>>,
}

impl Live {
    /// Reads all members of the crowd from here on.
    pub(crate) fn start(
        crowd: Crowd,
        notes: Arc<Notes>,
        schedule: Schedule,
        audience: Audience,
    ) -> Self {
        let ledger = Rc::new(RefCell::new(Ledger::new(notes, schedule, audience)));
        let closed = Rc::new(RefCell::new(Vec::new()));
        let (deliveries, ended) = (ledger.clone(), closed.clone());
        let listening = crowd.listen(move |member, message, now: Instant| match message {
            Message::Event(_, id, _) => {
                deliveries.borrow_mut().take(member, &id, now);
            }
            Message::Closed(_, text) => ended.borrow_mut().push(text),
            _ => {}
        });
        Self { ledger, listening, closed }
    }

    /// Deliveries that must come.
    pub(crate) fn expected(&self) -> u64 {
        self.ledger.borrow().expected()
    }

    /// Deliveries that came.
    pub(crate) fn arrived(&self) -> u64 {
        self.ledger.borrow().counts().delivered
    }

    /// The time that this share of the deliveries took at most, in microseconds.
    pub(crate) fn delivery_us(&self, share: f64) -> f64 {
        self.ledger.borrow().delivery.at_us(share)
    }

    /// Each event once for everyone, and nobody closed or lost.
    pub(crate) fn report(&self, row: &mut Row) {
        let ledger = self.ledger.borrow();
        ledger.check(row);
        row.latency("delivery", &ledger.delivery)
            .check("lost_sockets", 0, self.listening.lost())
            .check("closed_subscriptions", 0, self.closed.borrow().len());
        if let Some(loss) = self.listening.first_loss() {
            row.warn(loss);
        }
        if let Some(text) = self.closed.borrow().first() {
            row.warn(format!("a subscription was closed: {text}"));
        }
    }

    /// Adds when the first and the last subscriber received each event.
    pub(crate) fn report_edges(&self, row: &mut Row) {
        let ledger = self.ledger.borrow();
        row.latency("first", &ledger.first_arrivals()).latency("last", &ledger.last_arrivals());
    }
}
