//! Requests to start a debate, as messages of gRPC.

#![no_main]

#[path = "../checks/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::check(data));
