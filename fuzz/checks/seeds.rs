//! The seeds of the targets, for tests that try them without a fuzzer.

use std::fs;
use std::path::Path;

/// Returns the seeds of a target, in the order of their names.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}
