//! Server-sent events, cut anywhere.

#![no_main]

#[path = "../checks/sse.rs"]
mod sse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sse::check(data));
