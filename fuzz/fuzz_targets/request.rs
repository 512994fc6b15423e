//! Requests of any format, from bytes.

#![no_main]

#[path = "../checks/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|data: &[u8]| request::check(data));
