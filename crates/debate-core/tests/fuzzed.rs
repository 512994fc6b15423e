//! What `fuzz/` tries for hours, tried for a moment: its seeds, and its seeds with bytes changed.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../../fuzz/checks/event.rs"]
mod event;
#[path = "../../../fuzz/checks/request.rs"]
mod request;

static REQUESTS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| [files("examples"), files("fuzz/seeds/request")].concat());
static EVENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| files("fuzz/seeds/event"));

/// Returns the files of a folder of this workspace, in the order of their names.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn the_seeds_of_fuzzing_hold() {
    assert!(REQUESTS.len() > 5 && EVENTS.len() > 20, "the seeds are there");
    REQUESTS.iter().for_each(|seed| request::check(seed));
    EVENTS.iter().for_each(|seed| event::check(seed));
}

/// A part of a seed that is replaced.
type Edit = (Index, usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let bytes = prop_oneof![
        prop::collection::vec(prop::sample::select(b"0123456789-.eE\"\\{}[]:,/ \nnulltrue".to_vec()), 0..3),
        prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec((any::<Index>(), 0..4_usize, bytes), 1..4)
}

fn edited(seed: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (at, removed, put) in edits {
        let at = at.index(bytes.len() + 1);
        let end = bytes.len().min(at + removed);
        bytes.splice(at..end, put.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k12_a_request_with_bytes_changed_is_refused_or_can_be_stored(seed in any::<Index>(), edits in edits()) {
        request::check(&edited(&REQUESTS[seed.index(REQUESTS.len())], &edits));
    }

    #[test]
    fn k1_an_event_with_bytes_changed_is_refused_or_written_as_it_is_read(seed in any::<Index>(), edits in edits()) {
        event::check(&edited(&EVENTS[seed.index(EVENTS.len())], &edits));
    }
}
