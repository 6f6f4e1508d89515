//! Seeded runs: random, repeatable, and with the command that repeats a failure.

use rand::{RngExt, SeedableRng};

use crate::TestRng;

/// Runs `check` with the seeds `0..runs`. With `ZEOLITE_SEED=n` in the environment it runs that
/// seed alone; with `ZEOLITE_SEEDS=n` it runs n seeds instead of `runs`.
///
/// `name` is the name of the calling test: a failing seed prints the command that replays it.
pub fn run_seeds(name: &str, runs: u64, mut check: impl FnMut(&mut TestRng)) {
    let seeds = match (number_from_env("ZEOLITE_SEED"), number_from_env("ZEOLITE_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, runs_wanted) => 0..runs_wanted.unwrap_or(runs),
    };
    for seed in seeds {
        let _report = ReplayOnPanic { name, seed };
        check(&mut TestRng::seed_from_u64(seed));
    }
}

fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Prints the replay command when the run it guards panics.
struct ReplayOnPanic<'n> {
    name: &'n str,
    seed: u64,
}

impl Drop for ReplayOnPanic<'_> {
    #[allow(clippy::print_stderr, reason = "the report of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", replay_command(self.name, self.seed));
        }
    }
}

fn replay_command(name: &str, seed: u64) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "PACKAGE".to_owned());
    format!("replay with: ZEOLITE_SEED={seed} cargo test -p {package} {name} -- --nocapture")
}

/// Draws which of several actors moves next, and keeps the trace of what it drew.
///
/// A simulation asks it at every step; when the test panics the last steps are printed.
pub struct Scheduler<'r> {
    rng: &'r mut TestRng,
    trace: Vec<String>,
}

/// How many of the latest steps a failure prints.
const TRACE_PRINTED_MAX: usize = 60;

impl<'r> Scheduler<'r> {
    /// A scheduler on the generator of one seeded run.
    pub fn new(rng: &'r mut TestRng) -> Self {
        Self { rng, trace: Vec::new() }
    }

    /// The generator, for draws that are no step of their own.
    pub fn rng(&mut self) -> &mut TestRng {
        self.rng
    }

    /// Draws one of the choices, each as often as its weight says.
    ///
    /// # Panics
    /// If no choice has a weight.
    pub fn choose<'c>(&mut self, choices: &[(&'c str, u32)]) -> &'c str {
        let total: u32 = choices.iter().map(|(_, weight)| weight).sum();
        let mut draw = self.rng.random_range(0..total);
        for &(name, weight) in choices {
            if draw < weight {
                self.trace.push(name.to_owned());
                return name;
            }
            draw -= weight;
        }
        unreachable!("the draw is below the sum of the weights")
    }

    /// Adds to the trace what the latest step did.
    pub fn note(&mut self, text: impl std::fmt::Display) {
        self.trace.push(format!("  {text}"));
    }
}

impl Drop for Scheduler<'_> {
    #[allow(clippy::print_stderr, reason = "the report of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let first = self.trace.len().saturating_sub(TRACE_PRINTED_MAX);
            eprintln!("the last steps of {}:", self.trace.len());
            for step in &self.trace[first..] {
                eprintln!("{step}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failing seed panics on, and its command names the seed, the package and the test.
    #[test]
    fn a_failing_seed_can_be_replayed() {
        let failed = std::panic::catch_unwind(|| {
            run_seeds("a_failing_seed_can_be_replayed", 3, |_| panic!("on purpose"));
        });
        assert!(failed.is_err());
        assert_eq!(
            replay_command("some_test", 12),
            "replay with: ZEOLITE_SEED=12 cargo test -p zeolite-testkit some_test -- --nocapture"
        );
    }

    #[test]
    fn choices_follow_their_weights() {
        let mut rng = TestRng::seed_from_u64(1);
        let mut scheduler = Scheduler::new(&mut rng);
        let drawn: Vec<_> = (0..1000)
            .map(|_| scheduler.choose(&[("never", 0), ("rare", 1), ("often", 9)]))
            .collect();
        let rare = drawn.iter().filter(|&&name| name == "rare").count();
        assert!(!drawn.contains(&"never") && (50..200).contains(&rare), "{rare} of 1000");
    }
}
