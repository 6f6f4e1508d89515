//! Publishing at a fixed rate, whatever comes back.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::set_current_timer_slack;

use super::error::DriveError;
use super::notes::Notes;
use crate::socket::Sender;

/// How late the kernel may wake the publishing thread; its default is 50 us.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(1_000).expect("a constant that is not zero");

/// The thread sleeps at least so long. At higher rates it sends what is due in between together,
/// up to this much late, instead of keeping a processor from the relay: an event that was late
/// counts as late.
const SLEEP_MIN: Duration = Duration::from_micros(200);

/// How long to wait when the kernel takes no more bytes of a connection.
const FULL_WAIT: Duration = Duration::from_micros(100);

/// When each event is due: an open loop is timed from here, so that waiting counts as latency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    start: Instant,
    interval_s: f64,
}

impl Schedule {
    /// `rate_per_s` events a second, the first at `start`.
    pub(crate) fn new(start: Instant, rate_per_s: f64) -> Self {
        Self { start, interval_s: 1.0 / rate_per_s }
    }

    /// When the event at this place is due.
    pub(crate) fn due(&self, place: usize) -> Instant {
        self.start + Duration::from_secs_f64(place as f64 * self.interval_s)
    }

    /// How many events are due at this time.
    pub(crate) fn due_by(&self, now: Instant) -> usize {
        match now.checked_duration_since(self.start) {
            Some(elapsed) => (elapsed.as_secs_f64() / self.interval_s) as usize + 1,
            None => 0,
        }
    }
}

/// A thread that publishes notes on schedule, in turn over its connections.
pub(crate) struct Pacer {
    thread: Option<JoinHandle<std::io::Result<()>>>,
    stop: Arc<AtomicBool>,
}

impl Pacer {
    /// Starts the thread. It ends with the last note.
    pub(crate) fn start(senders: Vec<Sender>, notes: Arc<Notes>, schedule: Schedule) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let publish = move || publish(&senders, &notes, schedule, &stopped);
        Self { thread: Some(std::thread::spawn(publish)), stop }
    }

    /// Waits for the thread, after all answers have come or nobody waits for them any more.
    pub(crate) fn finish(mut self) -> Result<(), DriveError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join() {
            Ok(result) => Ok(result?),
            Err(_) => Err(DriveError::Program("the publishing thread panicked".into())),
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn publish(
    senders: &[Sender],
    notes: &Notes,
    schedule: Schedule,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    // Without it the thread only wakes a little later.
    let _ = set_current_timer_slack(Some(TIMER_SLACK_NS));
    let mut next = 0;
    while next < notes.len() && !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        let due = schedule.due_by(now).min(notes.len());
        for place in next..due {
            senders[place % senders.len()].queue(notes.event(place).message());
        }
        for place in (next..due).take(senders.len()) {
            let sender = &senders[place % senders.len()];
            while !sender.try_flush()? {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(FULL_WAIT);
            }
        }
        next = due;
        let wake = schedule.due(next).max(now + SLEEP_MIN);
        std::thread::sleep(wake.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first event is due at once, the others at equal distances.
    #[test]
    fn schedules_are_even() {
        let start = Instant::now();
        let schedule = Schedule::new(start, 100.0);
        assert_eq!(schedule.due(0), start);
        assert_eq!(schedule.due(150), start + Duration::from_millis(1_500));
        for (after_ms, due) in [(0, 1), (9, 1), (11, 2), (1_001, 101)] {
            assert_eq!(schedule.due_by(start + Duration::from_millis(after_ms)), due, "{after_ms}");
        }
        assert_eq!(schedule.due_by(start - Duration::from_millis(1)), 0);
    }
}
