//! Who wants what: by author, or everything.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;

use super::connection::Outbox;

/// A subscription: where its messages go, and what stands before the event in them.
pub(super) struct Subscription {
    pub(super) outbox: Weak<Outbox>,
    pub(super) head: Box<[u8]>,
}

/// All subscriptions. They are filed by the hex digits of one author, and never looked at again
/// after their connection has gone.
#[derive(Default)]
pub(super) struct Register {
    by_author: RefCell<FxHashMap<Box<[u8]>, Vec<Subscription>>>,
    of_everything: RefCell<Vec<Subscription>>,
    /// Outboxes with deliveries that wait for the end of the read that brought the events.
    unflushed: RefCell<Vec<Rc<Outbox>>>,
}

impl Register {
    /// Files a subscription under its authors, or under everything if it names none.
    pub(super) fn add(&self, outbox: &Rc<Outbox>, sub: &str, authors: Option<Vec<Box<[u8]>>>) {
        let subscription = || Subscription {
            outbox: Rc::downgrade(outbox),
            head: format!("[\"EVENT\",\"{sub}\",").into_bytes().into(),
        };
        match authors {
            None => self.of_everything.borrow_mut().push(subscription()),
            Some(authors) => {
                let mut by_author = self.by_author.borrow_mut();
                for author in authors {
                    by_author.entry(author).or_default().push(subscription());
                }
            }
        }
    }

    /// Hands an event to everyone who wants it.
    pub(super) fn deliver(&self, pubkey: &[u8], event: &[u8]) {
        if let Some(subscriptions) = self.by_author.borrow_mut().get_mut(pubkey) {
            self.hand_out(subscriptions, event);
        }
        self.hand_out(&mut self.of_everything.borrow_mut(), event);
    }

    fn hand_out(&self, subscriptions: &mut Vec<Subscription>, event: &[u8]) {
        let mut unflushed = self.unflushed.borrow_mut();
        subscriptions.retain(|subscription| {
            let Some(outbox) = subscription.outbox.upgrade() else { return false };
            outbox.queue(&[&subscription.head, event, b"]"]);
            if !outbox.is_listed.replace(true) {
                unflushed.push(outbox);
            }
            true
        });
    }

    /// Writes what was delivered, once for each connection.
    pub(super) fn flush(&self) {
        for outbox in self.unflushed.borrow_mut().drain(..) {
            outbox.is_listed.set(false);
            outbox.flush();
        }
    }
}
