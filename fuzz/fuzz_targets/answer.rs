//! Replies of models, as each format reads and records them.

#![no_main]

#[path = "../checks/answer.rs"]
mod answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| answer::check(data));
