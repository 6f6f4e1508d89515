//! Sets for reconciliation (NIP-77): what a filter matches, in the order of time and id.
//!
//! The set of everything, and that of any span of time, is kept all along: a [`LiveSet`] builds
//! nothing and holds nothing, and each of its views is the store as of one moment. Any other
//! filter's set is built by an index scan into a vector, in slices, up to a number of items.
//!
//! Dead and expired events are in no set. Neither is what the reader may not read; and the sets that
//! are kept hold no event of a gated kind, whoever reads, but for the operator.

mod build;
mod live;
mod read_bucket;
mod view;

use std::sync::Arc;

use zeolite_proto::{Filter, Reader};

pub use self::build::{BuildState, SetBuild};
pub use self::live::LiveSet;
pub use self::view::LiveView;
use crate::Store;
use crate::error::ReadError;

/// What a set is to hold.
#[derive(Clone, Copy, Debug)]
pub struct SetOptions<'a> {
    /// For whom. Sets are kept for somebody from whom nothing is withheld, or the store's
    /// [gated kinds](crate::Options::gated_kinds); for other gates they are built.
    pub reader: &'a Arc<Reader>,
    /// How many items a set may have that must be built. Sets that are kept have no bound.
    pub items_max: usize,
}

/// How a filter's set is had.
#[allow(clippy::large_enum_variant, reason = "there is one for each session")]
pub enum ReconcileSet {
    /// It is kept: take a view for each message.
    Live(LiveSet),
    /// It must be built first.
    Build(SetBuild),
}

impl Store {
    /// The set of the events that `filter` matches. With a `limit` it is the newest so many, ties
    /// by the lowest id (R77-11). Nothing is read yet.
    pub fn reconcile_set(
        &self,
        filter: &Filter,
        options: SetOptions<'_>,
    ) -> Result<ReconcileSet, ReadError> {
        match LiveSet::of(self, filter, options.reader.gates().kinds()) {
            Some(live) => Ok(ReconcileSet::Live(live)),
            None => SetBuild::new(self, filter, options).map(ReconcileSet::Build),
        }
    }
}
