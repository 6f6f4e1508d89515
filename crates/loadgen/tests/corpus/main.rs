//! Corpora as others see them: their bytes, their shape, their signatures, their effective sets.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod bytes;
mod command_line;
mod effective;
mod files;
