//! Mirroring between relays (NIP-77).

#![forbid(unsafe_code)]
