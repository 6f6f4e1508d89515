//! Whatever the fuzzer says, as a message to a responder and as an answer to an initiator.
#![no_main]

#[path = "../input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|data: &[u8]| { let _ = input::check(data); });
