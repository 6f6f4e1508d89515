//! Batches made of whatever the fuzzer says, compared with k256's single verification.
#![no_main]

#[path = "../../tests/adversary/mod.rs"]
mod adversary;
#[path = "../input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::check(data));
