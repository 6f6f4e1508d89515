//! The limit on open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::DESCRIPTORS_RESERVED;

/// Raises the limit so that `sockets` fit, as far as the system allows, and says how many do.
pub(crate) fn raise(sockets: usize) -> usize {
    let wanted = sockets as u64 + DESCRIPTORS_RESERVED;
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    let allowed = limit.maximum.unwrap_or(u64::MAX).min(wanted);
    let raised = Rlimit { current: Some(allowed), maximum: limit.maximum };
    let now = if current >= wanted {
        wanted
    } else if setrlimit(Resource::Nofile, raised).is_ok() {
        allowed
    } else {
        current
    };
    usize::try_from(now.saturating_sub(DESCRIPTORS_RESERVED)).unwrap_or(sockets).min(sockets)
}
