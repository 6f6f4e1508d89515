//! The limit on open files, raised at start.

use std::io;

use crate::limits::DESCRIPTORS_RESERVED;

/// Raises the soft limit as far as `sockets` need it and the hard limit lets it, and says how many
/// sockets there is room for. Never an error: a relay with fewer sockets is still a relay
/// (case 66).
pub(crate) fn raise(sockets: usize) -> usize {
    let wanted = sockets as u64 + DESCRIPTORS_RESERVED;
    let allowed = match raise_to(wanted) {
        Ok(allowed) => allowed,
        Err(error) => {
            tracing::warn!(%error, "the limit on open files could not be read or raised");
            return sockets;
        }
    };
    let room = usize::try_from(allowed.saturating_sub(DESCRIPTORS_RESERVED)).unwrap_or(sockets);
    if room < sockets {
        tracing::warn!(
            wanted = sockets,
            room,
            "the hard limit on open files allows fewer connections than configured"
        );
    }
    sockets.min(room)
}

#[allow(unsafe_code, reason = "the standard library has no call for resource limits")]
fn raise_to(wanted: u64) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live value of the type the call fills.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur >= wanted {
        return Ok(limit.rlim_cur);
    }
    limit.rlim_cur = wanted.min(limit.rlim_max);
    // SAFETY: the pointer is to a live value of the type the call reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(limit.rlim_cur)
}
