//! What `fuzz/` tries for hours, tried for a moment: its seeds, and its seeds with bytes changed.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../../fuzz/checks/answer.rs"]
mod answer;
#[path = "../../../fuzz/checks/port.rs"]
mod port;
#[path = "../../../fuzz/checks/seeds.rs"]
mod seeds;
#[path = "../../../fuzz/checks/wire.rs"]
mod wire;

static ANSWERS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seeds::of("answer"));
static CONNECTIONS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seeds::of("port"));
static MESSAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seeds::of("wire"));

#[test]
fn the_seeds_of_fuzzing_hold() {
    assert!(ANSWERS.len() > 4 && CONNECTIONS.len() > 4 && MESSAGES.len() > 2, "the seeds are there");
    ANSWERS.iter().for_each(|seed| answer::check(seed));
    CONNECTIONS.iter().for_each(|seed| port::check(seed));
    MESSAGES.iter().for_each(|seed| wire::check(seed));
}

/// A part of a seed that is replaced.
type Edit = (Index, usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let bytes = prop_oneof![
        prop::collection::vec(prop::sample::select(b"0123456789-.eE\"\\{}[]:,/ \r\nnulltrue".to_vec()), 0..3),
        prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec((any::<Index>(), 0..4_usize, bytes), 1..4)
}

fn edited(seeds: &[Vec<u8>], seed: Index, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = seed.get(seeds).clone();
    for (at, removed, put) in edits {
        let at = at.index(bytes.len() + 1);
        let end = bytes.len().min(at + removed);
        bytes.splice(at..end, put.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k12_a_reply_with_bytes_changed_is_refused_or_recorded(seed in any::<Index>(), edits in edits()) {
        answer::check(&edited(&ANSWERS, seed, &edits));
    }

    #[test]
    fn k12_a_message_with_bytes_changed_is_refused_or_opens_a_debate(seed in any::<Index>(), edits in edits()) {
        wire::check(&edited(&MESSAGES, seed, &edits));
    }

    #[test]
    fn a_connection_with_bytes_changed_leaves_the_server_as_it_was(seed in any::<Index>(), edits in edits()) {
        port::check(&edited(&CONNECTIONS, seed, &edits));
    }
}
