//! Mirroring between relays (NIP-77).

#![forbid(unsafe_code)]

mod address;
mod socket;

pub use address::{AddressError, RelayAddress};
pub use socket::{
    ConnectError, Connector, FrameError, Message, Reader, RelayInformation, SocketEnd, Tls,
    TlsError, Writer,
};
