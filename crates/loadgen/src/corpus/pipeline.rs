//! Work on all cores, results in order.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle, available_parallelism};

use crossbeam_channel::{Receiver, Sender, bounded};

/// How many threads a wish for `threads` means: 0 is one for each core.
pub(crate) fn thread_count(threads: usize) -> usize {
    match threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// The results of a parallel map, in the order of its inputs.
///
/// One thread draws the inputs, `threads` others work. At most `3 * threads` items are on their way;
/// whoever is ahead waits. Dropped early, it stops and joins its threads.
pub(crate) struct Ordered<Out> {
    results: Option<Receiver<Receiver<Out>>>,
    threads: Vec<JoinHandle<()>>,
}

/// An input, and where its result belongs.
type Job<In, Out> = (In, Sender<Out>);

impl<Out: Send + 'static> Ordered<Out> {
    /// Starts the threads.
    pub(crate) fn start<In: Send + 'static>(
        threads: usize,
        source: impl Iterator<Item = In> + Send + 'static,
        work: impl Fn(In) -> Out + Send + Sync + 'static,
    ) -> Self {
        let threads = thread_count(threads);
        let (jobs_in, jobs) = bounded::<Job<In, Out>>(threads);
        let (results_in, results) = bounded(threads);
        let work = Arc::new(work);
        let mut handles: Vec<_> = (0..threads)
            .map(|_| {
                let (jobs, work) = (jobs.clone(), Arc::clone(&work));
                thread::spawn(move || {
                    for (input, result) in jobs {
                        // Nobody may be waiting any more; the next job will not come then.
                        let _ = result.send(work(input));
                    }
                })
            })
            .collect();
        handles.push(thread::spawn(move || feed(source, &jobs_in, &results_in)));
        Self { results: Some(results), threads: handles }
    }

    /// Waits for the threads; one that panicked passes its panic on, so that a broken run never
    /// looks like a short one.
    fn join(&mut self) {
        self.results = None;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && !thread::panicking()
            {
                resume_unwind(panic);
            }
        }
    }
}

fn feed<In, Out>(
    source: impl Iterator<Item = In>,
    jobs: &Sender<Job<In, Out>>,
    results: &Sender<Receiver<Out>>,
) {
    for input in source {
        let (result_in, result) = bounded(1);
        if results.send(result).is_err() || jobs.send((input, result_in)).is_err() {
            return;
        }
    }
}

impl<Out: Send + 'static> Iterator for Ordered<Out> {
    type Item = Out;

    fn next(&mut self) -> Option<Out> {
        let result = self.results.as_ref().and_then(|results| results.recv().ok()?.recv().ok());
        if result.is_none() {
            self.join();
        }
        result
    }
}

impl<Out> Drop for Ordered<Out> {
    fn drop(&mut self) {
        self.results = None;
        for thread in self.threads.drain(..) {
            // A panic of a thread whose results nobody wants has already printed its message.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for threads in [1, 2, 7] {
            let squares = Ordered::start(threads, 0..1000u64, |n| n * n);
            assert!(squares.eq((0..1000).map(|n| n * n)));
        }
    }

    /// Whoever stops reading gets its threads back.
    #[test]
    fn it_can_be_dropped_early() {
        let mut endless = Ordered::start(2, 0u64.., |n| n);
        assert_eq!((endless.next(), endless.next()), (Some(0), Some(1)));
    }

    #[test]
    #[should_panic(expected = "five")]
    fn panics_are_passed_on() {
        let work = |n| if n == 5 { panic!("five") } else { n };
        Ordered::start(2, 0..1000u64, work).for_each(drop);
    }
}
