//! Building the head from the log: what every opening does.
//!
//! The log is the truth. Whatever follows `indexed_through` may or may not be in LMDB's indexes, so
//! its keys are made again; those that are there already are the same keys.

use std::ops::Bound;
use std::sync::Arc;

use heed::RoTxn;
use zeolite_proto::{EventRef, PubKey, Seq};

use crate::env::{Meta, Tables, seq_key, seq_of_key, time_of_value};
use crate::error::{OpenError, ReadError};
use crate::head::Head;
use crate::keys::KeyMaker;
use crate::limits::RECOVERY_RUN_EVENTS;
use crate::options::Options;
use crate::run::Run;
use crate::sums;
use crate::vanish::Vanish;

/// What was found in the tail of the log when the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Events in the tail, damaged ones aside.
    pub events: usize,
    /// Records of the tail that cannot be read. They are left alone and not shown.
    pub damaged: Vec<Seq>,
}

/// The head that covers what the indexes may not. Without options, which is how a store is read
/// beside its writer, it has no sums: they could not follow what is removed.
pub(crate) fn rebuild_head(
    tables: &Tables,
    txn: &RoTxn<'_>,
    keys: &KeyMaker,
    options: Option<&Options>,
    meta: &Meta,
) -> Result<(Head, Recovery), OpenError> {
    let mut head = Head { last_seq: meta.last_seq, ..Head::default() };
    let mut recovery = Recovery::default();
    let mut chunk = Vec::with_capacity(RECOVERY_RUN_EVENTS);
    let after = seq_key(meta.indexed_through);
    for entry in tables.log.range(txn, &(Bound::Excluded(&after[..]), Bound::Unbounded))? {
        let (key, record) = entry?;
        let Ok(seq) = seq_of_key("log", key) else {
            tracing::warn!(?key, "the log has a key that is no seq");
            continue;
        };
        head.last_seq = head.last_seq.max(seq);
        match EventRef::new(record) {
            Ok(event) => chunk.push((seq, event)),
            Err(error) => {
                tracing::warn!(%seq, %error, "a record in the tail of the log is damaged");
                recovery.damaged.push(seq);
            }
        }
        if chunk.len() == RECOVERY_RUN_EVENTS {
            push_run(keys, &mut chunk, &mut head, &mut recovery);
        }
    }
    push_run(keys, &mut chunk, &mut head, &mut recovery);
    head.vanishing = unfinished_vanishes(tables, txn).map_err(|error| match error {
        ReadError::Lmdb(error) => OpenError::Lmdb(error),
        _ => OpenError::DamagedMeta("vanishing"),
    })?;
    if let Some(options) = options {
        let tail = (&head.runs[..], meta.indexed_through);
        head.sums = Arc::new(sums::load(tables, txn, keys, options, tail)?);
    }
    Ok((head, recovery))
}

fn push_run(
    keys: &KeyMaker,
    chunk: &mut Vec<(Seq, EventRef<'_>)>,
    head: &mut Head,
    recovery: &mut Recovery,
) {
    let Some((last_seq, _)) = chunk.last().copied() else { return };
    recovery.events += chunk.len();
    head.runs.push(Arc::new(Run::new(keys, chunk.drain(..), last_seq)));
}

/// The requests to vanish whose removals were not done by the last commit.
pub(crate) fn unfinished_vanishes(
    tables: &Tables,
    txn: &RoTxn<'_>,
) -> Result<Arc<[Vanish]>, ReadError> {
    let mut vanishes = Vec::new();
    for entry in tables.vanishing.iter(txn)? {
        let (key, value) = entry?;
        let author = key.try_into().map_err(|_| ReadError::DamagedEntry("vanishing"))?;
        vanishes.push(Vanish { author: PubKey(author), until: time_of_value("vanishing", value)? });
    }
    Ok(vanishes.into())
}
