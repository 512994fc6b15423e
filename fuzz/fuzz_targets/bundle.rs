//! Bundles from strangers.

#![no_main]

#[path = "../checks/bundle.rs"]
mod bundle;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bundle::check(data));
