//! Measuring several ways by turns.

use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// A way to do the work.
pub(crate) struct Way<'a> {
    name: String,
    /// Does a round; answers how many signatures that were.
    round: Box<dyn FnMut() -> usize + 'a>,
}

impl<'a> Way<'a> {
    pub(crate) fn new(name: &str, round: impl FnMut() -> usize + 'a) -> Self {
        Self { name: name.into(), round: Box::new(round) }
    }

    /// Microseconds for each signature.
    fn time(&mut self) -> f64 {
        let start = cpu_time();
        let signatures = (self.round)();
        (cpu_time() - start).as_secs_f64() * 1e6 / signatures as f64
    }
}

/// The processor time of this thread, so that a busy machine does not count; where Linux does not say,
/// the time of day. The kernel brings its count up to date when a thread yields.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    thread::yield_now();
    let counts = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = counts.split(' ').next().and_then(|count| count.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Prints the names of the ways that rows will have.
pub(crate) fn header(first: &str, ways: &[Way<'_>]) {
    let names: String = ways.iter().map(|way| format!(" {} |", way.name)).collect();
    println!("\n| {first} |{names}\n|---|{}", "---:|".repeat(ways.len()));
}

/// Prints a row. Each cell has the median, the least, and the median of the shares of the time that the
/// first way took in the same round.
pub(crate) fn measure(row: &str, mut ways: Vec<Way<'_>>, rounds: usize) {
    let mut times = vec![Vec::new(); ways.len()];
    // The first round fills caches and buffers.
    for way in &mut ways {
        way.time();
    }
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..ways.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            times[index].push(ways[index].time());
        }
    }
    let cells = times.iter().map(|way| {
        let shares = way.iter().zip(&times[0]).map(|(time, first)| time / first);
        let (median, least) = (middle(way.clone()), way.iter().copied().fold(f64::MAX, f64::min));
        format!(" {median:.1} ({least:.1}) {:.2}x |", middle(shares.collect()))
    });
    println!("| {row} |{}", cells.collect::<String>());
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
