//! Replies of models, read leniently.

#![no_main]

#[path = "../checks/reply.rs"]
mod reply;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reply::check(data));
