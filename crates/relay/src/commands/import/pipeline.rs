//! Reader and workers: from inputs to work done on chunks, in the order of the input.
//!
//! ```text
//! reader --jobs--> worker 1..n --one slot per chunk--+
//!    |                                              v
//!    +------- ordered: the slots, in input order --> consumer
//! ```
//!
//! Both queues are bounded: the reader waits for the workers, and for the consumer. A consumer
//! that drops its end stops the reader at the next chunk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::input;
use super::lines::{self, Chunk};

/// Chunks under way per worker: one it works on, one it takes next, and as many finished ones
/// that wait for an earlier chunk. A chunk takes up to about 1.5 MiB with what is made of it.
const CHUNKS_PER_WORKER: usize = 4;

/// What the consumer receives, in the order of the input.
pub(crate) enum Item<T> {
    /// A slot into which a worker puts its result.
    Chunk(Receiver<T>),
    /// This input could not be read, or not to its end.
    Failed {
        /// Which input, counted from 0.
        file: usize,
        /// What the system said.
        error: io::Error,
    },
}

/// What is read, and in what pieces.
pub(crate) struct Inputs {
    /// Files, in order.
    pub(crate) paths: Vec<PathBuf>,
    /// Bytes of one event.
    pub(crate) event_bytes_max: usize,
    /// Counts what was read, still compressed.
    pub(crate) read_bytes: Arc<AtomicU64>,
}

/// Starts the threads. `worker` is called once per worker thread to make what does the work.
///
/// The threads end when the input does, or soon after the returned end was dropped; a reader that
/// waits for standard input ends with the process.
pub(crate) fn start<T, W>(inputs: Inputs, worker: impl Fn() -> W) -> io::Result<Receiver<Item<T>>>
where
    T: Send + 'static,
    W: FnMut(Chunk) -> T + Send + 'static,
{
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (job_sender, jobs) = bounded::<(Chunk, Sender<T>)>(workers);
    let (ordered_sender, ordered) = bounded(workers * CHUNKS_PER_WORKER);
    for number in 0..workers {
        let (jobs, mut work) = (jobs.clone(), worker());
        let body = move || {
            for (chunk, slot) in jobs {
                // A consumer that is gone wants no result.
                let _ = slot.send(work(chunk));
            }
        };
        thread::Builder::new().name(format!("import-{number}")).spawn(body)?;
    }
    let body = move || read_all(&inputs, &job_sender, &ordered_sender);
    thread::Builder::new().name("import-read".to_owned()).spawn(body)?;
    Ok(ordered)
}

fn read_all<T>(inputs: &Inputs, jobs: &Sender<(Chunk, Sender<T>)>, ordered: &Sender<Item<T>>) {
    let mut sink = |chunk| {
        let (slot, result) = bounded(1);
        ordered.send(Item::Chunk(result)).is_ok() && jobs.send((chunk, slot)).is_ok()
    };
    for (file, path) in inputs.paths.iter().enumerate() {
        let read = input::open(path, Arc::clone(&inputs.read_bytes)).and_then(|mut input| {
            lines::read(&mut *input, file, inputs.event_bytes_max, &mut sink)
        });
        if let Err(error) = read
            && ordered.send(Item::Failed { file, error }).is_err()
        {
            return;
        }
    }
}
