//! What was published, as the observer knows it.

use std::collections::HashMap;

use serde_json::Value;
use zeolite_proto::Seq;

/// A stored event.
pub(crate) struct Stored {
    pub(crate) seq: Seq,
    pub(crate) id: String,
    pub(crate) json: Value,
    /// The step after which the store no longer had it.
    pub(crate) removed: Option<u64>,
}

/// Everything that was stored, and the ephemeral events beside it.
#[derive(Default)]
pub(crate) struct History {
    /// In the order of their seq.
    pub(crate) stored: Vec<Stored>,
    by_id: HashMap<String, usize>,
    /// How many ephemeral events there had been with each of them.
    pub(crate) ephemeral: HashMap<String, usize>,
}

impl History {
    pub(crate) fn add(&mut self, seq: Seq, json: Value) {
        assert!(self.stored.last().is_none_or(|last| last.seq < seq), "seqs only grow");
        let id = json["id"].as_str().expect("an id").to_owned();
        assert_eq!(self.by_id.insert(id.clone(), self.stored.len()), None, "stored twice");
        self.stored.push(Stored { seq, id, json, removed: None });
    }

    /// The event with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Stored> {
        self.by_id.get(id).map(|&at| &self.stored[at])
    }

    /// Marks what the store does not have any more.
    pub(crate) fn note_removals(&mut self, step: u64, is_there: impl Fn(Seq, &str) -> bool) {
        for stored in self.stored.iter_mut().filter(|stored| stored.removed.is_none()) {
            if !is_there(stored.seq, &stored.id) {
                stored.removed = Some(step);
            }
        }
    }
}
