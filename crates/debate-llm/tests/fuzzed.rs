//! What `fuzz/` tries for hours, tried for a moment: streams and replies, their seeds, and their seeds with bytes changed.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../../fuzz/checks/reply.rs"]
mod reply;
#[path = "../../../fuzz/checks/seeds.rs"]
mod seeds;
#[path = "../../../fuzz/checks/sse.rs"]
mod sse;

static REPLIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seeds::of("reply"));
static STREAMS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seeds::of("sse"));

#[test]
fn the_seeds_of_fuzzing_hold() {
    assert!(REPLIES.len() > 4 && STREAMS.len() > 1, "the seeds are there");
    REPLIES.iter().for_each(|seed| reply::check(seed));
    STREAMS.iter().for_each(|seed| sse::check(seed));
}

/// Puts `put` in the place of some bytes of a seed.
fn edited(seeds: &[Vec<u8>], seed: Index, (at, removed, put): &(Index, usize, Vec<u8>)) -> Vec<u8> {
    let mut bytes = seed.get(seeds).clone();
    let at = at.index(bytes.len() + 1);
    let end = bytes.len().min(at + removed);
    bytes.splice(at..end, put.iter().copied());
    bytes
}

fn edit(of: &'static [u8]) -> impl Strategy<Value = (Index, usize, Vec<u8>)> {
    let put = prop_oneof![
        prop::collection::vec(prop::sample::select(of), 0..4),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    (any::<Index>(), 0..40_usize, put)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_with_bytes_changed_is_cut_into_events_alike_wherever_it_was_split(
        seed in any::<Index>(), edit in edit(b"data:evntirp \r\n\xef\xbb\xbf"),
    ) {
        sse::check(&edited(&STREAMS, seed, &edit));
    }

    #[test]
    fn a_reply_with_bytes_changed_is_mended_and_says_so_or_is_refused(
        seed in any::<Index>(), edit in edit(b"{}[]\",:\\`0-.e \nnulltrue"),
    ) {
        reply::check(&edited(&REPLIES, seed, &edit));
    }
}
