//! Mirroring between relays (NIP-77).

#![forbid(unsafe_code)]

mod address;
mod local;
mod login;
mod machine;
mod socket;
mod worker;

pub use address::{AddressError, RelayAddress};
pub use local::{Local, LocalError, LocalSet, start_on, step_on};
pub use login::{Login, SignsLogins};
pub use machine::{
    Counts, Direction, Effect, End, Input, JobId, Limits, Machine, Method, Mode, Outcome, Pair,
    PeerLimits, Phase, Progress, ReconcileFault, ReconcileStep, Settings, Side, Verdict,
};
pub use socket::{
    ConnectError, Connector, FrameError, Message, Reader, RelayInformation, SocketEnd, Tls,
    TlsError, Writer,
};
pub use worker::{Ended, Mirror, PairMirror, Refusals};
