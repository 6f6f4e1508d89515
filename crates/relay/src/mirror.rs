//! Mirroring: this store as the local side of a mirror, and the mirrors that a relay runs.

mod follow;
mod local;

pub(crate) use local::StoreSide;
