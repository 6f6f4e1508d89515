//! What sets that were built for sessions may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count of bytes with a bound.
#[derive(Debug)]
pub(super) struct Purse {
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl Purse {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), bytes_max }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes `more` bytes if they are there.
    fn take(&self, more: usize) -> bool {
        let fits = |bytes: usize| bytes.checked_add(more).filter(|sum| *sum <= self.bytes_max);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one session holds of the relay's memory, given back on drop.
#[derive(Debug)]
pub(super) struct Holding {
    purse: Arc<Purse>,
    bytes: usize,
}

impl Holding {
    pub(super) fn new(purse: Arc<Purse>) -> Self {
        Self { purse, bytes: 0 }
    }

    /// Holds `bytes` from here on instead of what it held. False, and nothing changes, if they are
    /// not there.
    pub(super) fn set(&mut self, bytes: usize) -> bool {
        match bytes.checked_sub(self.bytes) {
            Some(more) if !self.purse.take(more) => return false,
            Some(_) => {}
            None => self.purse.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.purse.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holdings_are_bounded_and_given_back() {
        let purse = Arc::new(Purse::new(100));
        let mut one = Holding::new(Arc::clone(&purse));
        let mut two = Holding::new(Arc::clone(&purse));
        assert!(one.set(60) && two.set(40) && purse.bytes() == 100);
        assert!(!two.set(41) && !one.set(usize::MAX) && purse.bytes() == 100);
        assert!(one.set(10) && two.set(90));
        drop(two);
        assert_eq!(purse.bytes(), 10);
        drop(one);
        assert_eq!(purse.bytes(), 0);
    }
}
