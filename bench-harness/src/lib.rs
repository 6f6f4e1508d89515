//! Boots relays as processes, runs scenarios against them, and writes what was measured.

#![forbid(unsafe_code)]
