//! From a configured mirror to what it is built with.

use std::path::Path;
use std::time::Duration;

use zeolite_mirror::{Connector, Settings, Tls, TlsError};

use crate::config::MirrorConfig;

/// How long a connection may take to make.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// The longest message taken from an upstream. Reconciliation frames of known relays take 1 MB;
/// an event above our own limit is refused by itself, and must not end the connection.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// How to connect to this upstream.
pub(crate) fn connector(is_tls: bool, ca: Option<&Path>) -> Result<Connector, TlsError> {
    let tls = is_tls.then(|| Tls::new(ca)).transpose()?;
    Ok(Connector { tls, connect_max: CONNECT_MAX, message_bytes_max: MESSAGE_BYTES_MAX })
}

/// What to do with it.
pub(crate) fn settings(mirror: &MirrorConfig) -> Settings {
    Settings {
        direction: mirror.direction,
        filter: mirror.filter.clone(),
        mode: mirror.mode,
        trusted: mirror.is_trusted,
        vanish: mirror.vanish,
        audit_every: Duration::from_secs(mirror.audit_s),
        seed: seed(&mirror.name),
        ..Settings::default()
    }
}

/// Spreads the reconnects of several mirrors, and of one mirror in several processes.
fn seed(name: &str) -> u64 {
    let named = name.bytes().fold(0_u64, |seed, byte| seed.rotate_left(9) ^ u64::from(byte));
    named ^ u64::from(std::process::id()) << 32
}
