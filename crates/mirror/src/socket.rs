//! The WebSocket to another relay: connect, read messages in batches, write frames in batches.
//!
//! ```text
//! dial (TCP, TLS) -> HTTP upgrade -> Reader: one read, all messages in it, where they lie
//!                                 -> Writer: frames into one buffer, written at once
//! ```
//!
//! Every wait up to the upgrade is within one time-out. The halves of an open socket can be on two
//! tasks.

mod dial;
mod frames;
mod information;
mod reader;
mod tls;
mod writer;

pub use dial::{ConnectError, Connector};
pub use frames::{FrameError, Message};
pub use information::RelayInformation;
pub use reader::{Reader, SocketEnd};
pub use tls::{Tls, TlsError};
pub use writer::Writer;
