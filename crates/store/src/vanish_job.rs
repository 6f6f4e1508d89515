//! The removal of what a request to vanish covers, in slices.
//!
//! From the moment the request is admitted its watermark hides what is still to be removed (see
//! [`Head::vanishing`](crate::head::Head)), so that slices may take their time.

use std::collections::VecDeque;

use zeolite_proto::{TagStr, Timestamp};

use crate::draft::Draft;
use crate::error::ReadError;
use crate::keys::{IndexKey, KeyMaker, Prefix};
use crate::limits::{VANISH_SLICE_EVENTS, VANISH_SLICE_KEYS};
use crate::vanish::Vanish;

#[derive(Clone, Copy)]
struct Walk {
    prefix: Prefix,
    below: IndexKey,
}

impl Walk {
    fn new(prefix: Prefix, until: Timestamp) -> Self {
        Self { prefix, below: prefix.above(until) }
    }
}

#[derive(Clone)]
struct Job {
    vanish: Vanish,
    /// What is still to be walked: the author's events, then the gift wraps to the author.
    walks: Vec<Walk>,
}

impl Job {
    fn new(keys: &KeyMaker, vanish: Vanish) -> Self {
        let until = vanish.until;
        let own = Walk::new(keys.author(&vanish.author), until);
        let tagged = Walk::new(keys.tag(b'p', TagStr::Hex(&vanish.author.0)), until);
        Self { vanish, walks: vec![tagged, own] }
    }
}

/// The requests whose removals are not done.
#[derive(Clone, Default)]
pub(crate) struct VanishJobs(VecDeque<Job>);

impl VanishJobs {
    pub(crate) fn add(&mut self, keys: &KeyMaker, vanish: Vanish) {
        self.0.retain(|job| job.vanish.author != vanish.author);
        self.0.push_back(Job::new(keys, vanish));
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = Vanish> {
        self.0.iter().map(|job| job.vanish)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes a bounded number of events.
    pub(crate) fn work(&mut self, draft: &mut Draft<'_>) -> Result<(), ReadError> {
        let mut keys_left = VANISH_SLICE_KEYS;
        let removals_end = draft.removals() + VANISH_SLICE_EVENTS;
        while let Some(job) = self.0.front_mut() {
            while let Some(walk) = job.walks.last_mut() {
                if keys_left == 0 || draft.removals() >= removals_end {
                    draft.set_vanishing(job.vanish.author, Some(job.vanish.until));
                    return Ok(());
                }
                let max = keys_left.min(removals_end - draft.removals());
                let mut keys = Vec::new();
                let least = walk.prefix.bottom(Timestamp(0));
                let has_more = draft.snapshot.index_below(&walk.below, &least, max, &mut keys)?;
                keys_left -= keys.len();
                remove_wiped(&job.vanish, &keys, draft)?;
                match keys.last() {
                    Some(last) if has_more => walk.below = *last,
                    _ => {
                        job.walks.pop();
                    }
                }
            }
            draft.set_vanishing(job.vanish.author, None);
            self.0.pop_front();
        }
        Ok(())
    }
}

fn remove_wiped(
    vanish: &Vanish,
    keys: &[IndexKey],
    draft: &mut Draft<'_>,
) -> Result<(), ReadError> {
    let own_urls = &draft.snapshot.inner.own_urls;
    for key in keys {
        let seq = key.seq();
        if draft.removes(seq) {
            continue;
        }
        // Not by `get`: what is being wiped is dead to it.
        let event = draft.snapshot.get_unwiped(seq)?;
        if let Some(event) = event.filter(|event| vanish.wipes(*event, own_urls)) {
            draft.remove(draft.stored(seq, event), None);
        }
    }
    Ok(())
}
