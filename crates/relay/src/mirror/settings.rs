//! From a configured mirror to what it is built with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zeolite_mirror::{Connector, Limits, RelayAddress, Settings, SignsLogins, Tls, TlsError};

use crate::config::MirrorConfig;
use crate::secret_key::SecretKey;

/// The longest message taken from an upstream. Reconciliation frames of known relays take 1 MB;
/// an event above our own limit is refused by itself, and must not end the connection.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// How to connect to this upstream.
pub(crate) fn connector(
    address: &RelayAddress,
    mirror: &MirrorConfig,
    ca: Option<&Path>,
) -> Result<Connector, TlsError> {
    let tls = address.is_tls().then(|| Tls::new(ca)).transpose()?;
    let connect_max = Duration::from_secs(mirror.timeout_s);
    Ok(Connector { tls, connect_max, message_bytes_max: MESSAGE_BYTES_MAX })
}

/// The key to log in with, if one is configured.
pub(crate) fn login(mirror: &MirrorConfig) -> anyhow::Result<Option<Arc<dyn SignsLogins>>> {
    let Some(path) = &mirror.auth_key_file else { return Ok(None) };
    let key: Arc<dyn SignsLogins> = Arc::new(SecretKey::read_private(path)?);
    Ok(Some(key))
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
        limits: limits(Duration::from_secs(mirror.timeout_s)),
        ..Settings::default()
    }
}

fn limits(patience: Duration) -> Limits {
    let usual = Limits::default();
    Limits {
        idle_max: patience,
        first_frame_max: patience,
        tail_eose_max: patience.min(usual.tail_eose_max),
        ..usual
    }
}

/// Spreads the reconnects of several mirrors, and of one mirror in several processes.
fn seed(name: &str) -> u64 {
    let named = name.bytes().fold(0_u64, |seed, byte| seed.rotate_left(9) ^ u64::from(byte));
    named ^ u64::from(std::process::id()) << 32
}
