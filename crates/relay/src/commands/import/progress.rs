//! The progress bar: how far the input is read, how many events are done.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use indicatif::{ProgressBar, ProgressStyle};

/// Time after which a bar appears: short runs end without one.
const QUIET: Duration = Duration::from_secs(2);

/// Time between two looks at the counters.
const TICK: Duration = Duration::from_millis(200);

/// What the bar shows; others count.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    /// Bytes of the input, as they lie on disk.
    pub(crate) read_bytes: Arc<AtomicU64>,
    /// Events that are done, whatever became of them.
    pub(crate) events: Arc<AtomicU64>,
}

/// A bar on a terminal; nothing anywhere else. It goes away when this is dropped.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to watch the counters. The length is known if every input is a file.
    pub(crate) fn start(counters: Counters, paths: &[PathBuf]) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { thread: None };
        }
        let lengths = paths.iter().map(|path| path.metadata().ok().filter(|file| file.is_file()));
        let length: Option<u64> = lengths.map(|file| file.map(|file| file.len())).sum();
        let (hang_up, done) = bounded(0);
        let body = move || watch(&counters, length, &done);
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(body);
        Self { thread: thread.ok().map(|thread| (hang_up, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((hang_up, thread)) = self.thread.take() {
            drop(hang_up);
            // A bar that failed to draw is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn watch(counters: &Counters, length: Option<u64>, done: &Receiver<()>) {
    let start = Instant::now();
    if done.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let bar = bar(length).with_elapsed(start.elapsed());
    while done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let events = counters.events.load(Ordering::Relaxed);
        let rate = events as f64 / start.elapsed().as_secs_f64();
        bar.set_position(counters.read_bytes.load(Ordering::Relaxed));
        bar.set_message(format!("{events} events, {rate:.0}/s"));
    }
    bar.finish_and_clear();
}

fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "[{elapsed_precise}] {wide_bar} {bytes}/{total_bytes} {msg} (left: {eta})",
        ),
        None => (ProgressBar::no_length(), "[{elapsed_precise}] {spinner} {bytes} {msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is well formed"))
}
