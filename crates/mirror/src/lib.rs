//! Mirroring between relays (NIP-77).

#![forbid(unsafe_code)]

mod address;
mod machine;
mod socket;

pub use address::{AddressError, RelayAddress};
pub use machine::{
    Counts, Direction, Effect, End, Input, JobId, Limits, Machine, Method, Mode, Outcome, PeerLimits,
    Phase, Progress, ReconcileFault, ReconcileStep, Settings, Verdict,
};
pub use socket::{
    ConnectError, Connector, FrameError, Message, Reader, RelayInformation, SocketEnd, Tls,
    TlsError, Writer,
};
