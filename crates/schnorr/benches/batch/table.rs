//! Measuring several ways by turns.

use std::time::Instant;

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
        let start = Instant::now();
        let signatures = (self.round)();
        start.elapsed().as_secs_f64() * 1e6 / signatures as f64
    }
}

/// Prints a row: the median and the least time of each way.
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
    let cells = ways.iter().zip(&mut times).map(|(way, times)| {
        times.sort_by(f64::total_cmp);
        format!(" {} {:.2} ({:.2}) |", way.name, times[times.len() / 2], times[0])
    });
    println!("| {row} |{}", cells.collect::<String>());
}
