//! Import into a store that this process owns: admission in input order, commits beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, ensure};
use crossbeam_channel::{Receiver, Sender, bounded, select};
use zeolite_proto::{Event, Verified};
use zeolite_store::{Admitter, Committer, Outcome, PendingBatch};

use super::check::Checked;
use super::pipeline::Item;
use super::tally::{Place, Tally, Verdict};
use crate::clock::now;

/// Batches between admitter and committer; the admitter waits when it is full. A commit takes
/// all that wait: 2,048 events of 1 kB, which is 20 ms of work at 100,000 events/s and so longer
/// than the wait for the disk.
///
/// What is admitted and not committed is at most twice this and two more batches, 5 MiB. That is
/// less than the eighth that a store of 64 MiB keeps free, so that a full store is noticed before
/// a commit fails.
const BATCHES_MAX: usize = 4;

/// What goes to the committer: a batch, and what to count once it is on disk.
type Commit = (PendingBatch, Tally);

/// How an import ended.
pub(crate) struct Ended {
    /// What is on disk.
    pub(crate) tally: Tally,
    /// True if the user stopped it.
    pub(crate) interrupted: bool,
    /// Why it stopped early, if it did.
    pub(crate) failure: Option<anyhow::Error>,
    /// Inputs that could not be read to their end, with the reason.
    pub(crate) unread: Vec<(usize, std::io::Error)>,
}

/// Admits what the pipeline gives until it ends, `stop` is disconnected or the store fails.
/// Whatever was admitted is committed before this returns, unless the commit itself fails.
pub(crate) fn run(
    ordered: Receiver<Item<Checked<Verified<Event>>>>,
    mut admitter: Admitter,
    committer: Committer,
    stop: &Receiver<()>,
    progress: Arc<AtomicU64>,
) -> anyhow::Result<Ended> {
    let (commits, inbox) = bounded(BATCHES_MAX);
    let thread = spawn_committer(committer, inbox, progress)?;
    let mut unread = Vec::new();
    let mut feed = Feed { ordered, stop, unread: &mut unread };
    let mut failure = None;
    let interrupted = loop {
        match feed.next() {
            Next::Chunk(checked) => {
                if let Err(error) = admit(&mut admitter, checked, &commits) {
                    failure = Some(error);
                    break false;
                }
            }
            Next::End => break false,
            Next::Stopped => break true,
        }
    };
    if failure.is_none() {
        failure = finish_removals(&mut admitter, &commits).err();
    }
    drop((feed, commits));
    let (tally, committed) =
        thread.join().map_err(|_| anyhow::anyhow!("the committer panicked"))?;
    // A failed commit is the cause, a refused admission its consequence.
    let failure = committed.err().or(failure);
    Ok(Ended { tally, interrupted, failure, unread })
}

fn admit(
    admitter: &mut Admitter,
    checked: Checked<Verified<Event>>,
    commits: &Sender<Commit>,
) -> anyhow::Result<()> {
    let Checked { mut tally, events } = checked;
    let (places, events): (Vec<Place>, Vec<_>) = events.into_iter().unzip();
    let admitted = admitter.admit(events, now())?;
    let mut is_full = false;
    for (place, outcome) in places.into_iter().zip(&admitted.outcomes) {
        match verdict(outcome) {
            Some(verdict) => tally.add(verdict, place),
            None => is_full = true,
        }
    }
    commits.send((admitted.pending, tally)).context("the committer stopped")?;
    ensure!(!is_full, "the store is full: raise store.map_bytes, or make room with delete");
    Ok(())
}

/// `None` if the store has no room, which says nothing of the event.
fn verdict(outcome: &Outcome) -> Option<Verdict> {
    Some(match outcome {
        Outcome::Stored(_) => Verdict::Stored,
        Outcome::Duplicate => Verdict::Duplicate,
        Outcome::Superseded => Verdict::Superseded,
        Outcome::Deleted => Verdict::Deleted,
        Outcome::Vanished => Verdict::Vanished,
        Outcome::Expired => Verdict::Expired,
        Outcome::Full => return None,
    })
}

/// Ends what requests to vanish in the input have begun.
fn finish_removals(admitter: &mut Admitter, commits: &Sender<Commit>) -> anyhow::Result<()> {
    while admitter.has_unfinished_removals() {
        let admitted = admitter.admit(Vec::new(), now())?;
        commits.send((admitted.pending, Tally::default())).context("the committer stopped")?;
    }
    Ok(())
}

type Committed = (Tally, anyhow::Result<()>);

/// Commits batches until the admitter hangs up, then writes out what waits in memory, so that
/// the next opening is quick.
fn spawn_committer(
    mut committer: Committer,
    inbox: Receiver<Commit>,
    progress: Arc<AtomicU64>,
) -> anyhow::Result<JoinHandle<Committed>> {
    let body = move || {
        let mut total = Tally::default();
        let result = commit_all(&mut committer, &inbox, &mut total, &progress);
        (total, result)
    };
    Ok(thread::Builder::new().name("import-commit".to_owned()).spawn(body)?)
}

fn commit_all(
    committer: &mut Committer,
    inbox: &Receiver<Commit>,
    total: &mut Tally,
    progress: &AtomicU64,
) -> anyhow::Result<()> {
    while let Ok(first) = inbox.recv() {
        let waiting = inbox.try_iter().take(BATCHES_MAX);
        let (batches, tallies): (Vec<_>, Vec<_>) = std::iter::once(first).chain(waiting).unzip();
        committer.commit(batches).context("a commit failed; nothing of it is stored")?;
        for tally in tallies {
            progress.fetch_add(tally.total(), Ordering::Relaxed);
            total.merge(tally);
        }
    }
    committer.flush_all().context("the indexes could not be written out")
}

/// The pipeline's end and the user's wish to stop, as one sequence.
struct Feed<'a> {
    ordered: Receiver<Item<Checked<Verified<Event>>>>,
    stop: &'a Receiver<()>,
    unread: &'a mut Vec<(usize, std::io::Error)>,
}

enum Next {
    Chunk(Checked<Verified<Event>>),
    End,
    Stopped,
}

impl Feed<'_> {
    fn next(&mut self) -> Next {
        loop {
            let item = select! {
                recv(self.stop) -> _ => return Next::Stopped,
                recv(self.ordered) -> item => item,
            };
            match item {
                Err(_) => return Next::End,
                Ok(Item::Failed { file, error }) => self.unread.push((file, error)),
                Ok(Item::Chunk(slot)) => {
                    let slot_result = select! {
                        recv(self.stop) -> _ => return Next::Stopped,
                        recv(slot) -> result => result,
                    };
                    return Next::Chunk(slot_result.expect("a worker answers every chunk"));
                }
            }
        }
    }
}
