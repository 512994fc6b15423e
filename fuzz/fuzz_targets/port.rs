//! Connections to a server, byte by byte.

#![no_main]

#[path = "../checks/port.rs"]
mod port;

libfuzzer_sys::fuzz_target!(|data: &[u8]| port::check(data));
