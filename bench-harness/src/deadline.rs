//! Something that happens when a time is over, unless it is called off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A running deadline. Dropping it calls it off.
#[derive(Debug)]
pub struct Deadline {
    passed: Arc<AtomicBool>,
    // Dropped first, which ends the thread's wait.
    call_off: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Deadline {
    /// Calls `action` after `time`.
    pub fn start(time: Duration, action: impl FnOnce() + Send + 'static) -> Self {
        let passed = Arc::new(AtomicBool::new(false));
        let (call_off, wait) = channel();
        let seen = Arc::clone(&passed);
        let thread = thread::spawn(move || {
            if wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                seen.store(true, Ordering::SeqCst);
                action();
            }
        });
        Self { passed, call_off: Some(call_off), thread: Some(thread) }
    }

    /// Whether the time was over.
    pub fn has_passed(&self) -> bool {
        self.passed.load(Ordering::SeqCst)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.call_off.take();
        if let Some(thread) = self.thread.take() {
            // A panic in the action has been printed already.
            let _ = thread.join();
        }
    }
}
