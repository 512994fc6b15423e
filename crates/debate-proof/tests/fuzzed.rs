//! What `fuzz/` tries for hours, tried for a moment: bundles with bytes changed, and with lines moved.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../../fuzz/checks/bundle.rs"]
mod bundle;

const SEEDS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/bundle/whole.bundle"),
    include_str!("../../../fuzz/seeds/bundle/single.bundle"),
];

#[test]
fn the_seeds_of_fuzzing_hold() {
    SEEDS.iter().for_each(|seed| bundle::check(seed.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k15_nothing_counts_as_signed_that_was_not(
        seed in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), 0..4_usize, prop::collection::vec(any::<u8>(), 0..3)), 1..4),
    ) {
        let mut bytes = seed.get(&SEEDS).as_bytes().to_vec();
        for (at, removed, put) in edits {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + removed);
            bytes.splice(at..end, put);
        }
        bundle::check(&bytes);
    }

    #[test]
    fn k15_lines_of_several_bundles_mixed_prove_nothing_new(
        picks in prop::collection::vec(any::<Index>(), 1..6),
        moves in prop::collection::vec((any::<Index>(), any::<Index>()), 0..4),
    ) {
        let all: Vec<&str> = SEEDS.iter().flat_map(|seed| seed.lines()).collect();
        let mut lines: Vec<&str> = SEEDS[picks.len() % 2].lines().collect();
        for pick in &picks[1..] {
            let at = pick.index(lines.len() + 1);
            lines.insert(at, *pick.get(&all));
        }
        for (from, to) in moves {
            let line = lines.remove(from.index(lines.len()));
            lines.insert(to.index(lines.len() + 1), line);
        }
        bundle::check(format!("{}\n", lines.join("\n")).as_bytes());
    }
}
