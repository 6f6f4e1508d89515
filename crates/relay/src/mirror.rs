//! Mirroring: this store as the local side of a mirror, and the mirrors that a relay runs.

pub(crate) mod fleet;
mod follow;
mod local;
pub(crate) mod settings;
pub(crate) mod status;

pub(crate) use local::StoreSide;
pub(crate) use status::MirrorStatus;
