//! A WebSocket client made for load: many frames in one write, one shared buffer for all reads.
//!
//! A [`Socket`] reads and a [`Sender`] writes the same connection. Everything that is sent passes
//! one buffer under a lock, so that tasks and a pacing thread can send on one connection without
//! their frames mixing. A read takes what the kernel has into a buffer that all sockets of the
//! thread share; only the beginning of an unfinished message is kept per connection, so that
//! 15,000 idle sockets cost no buffers.

mod client;
mod deframe;
mod frame;
mod handshake;
mod json;
mod message;
mod sender;
mod source;

pub use client::{Socket, SocketError};
pub use deframe::{Deframer, Incoming, Side};
pub use frame::{FrameError, Opcode, mask_key, push_masked, push_plain, push_plain_parts};
pub use json::{find_member, find_value, skip_space, skip_value};
pub use message::Message;
pub use sender::Sender;
pub use source::{Address, AddressError};
