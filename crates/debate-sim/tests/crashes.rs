//! The same debate again and again, crashed once at each place of its log: it ends, and with the same outcome.

use debate_sim::run::{self, Report};
use debate_sim::scenario::{Kind, Scenario};

/// Crashes the first `count` comparable debates of a kind everywhere; returns how many runs that were.
fn crash_everywhere(kind: Kind, count: usize, runs_min: u64) {
    let of_kind = |seed: &u64| {
        let scenario = Scenario::of(*seed);
        scenario.kind == kind && scenario.is_comparable()
    };
    let mut all = Report::default();
    for seed in (1..).filter(of_kind).take(count) {
        match run::crash_everywhere(seed) {
            Ok(report) => all.add(&report),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(all.runs >= runs_min, "{} runs", all.runs);
    assert_eq!(u64::from(all.lives), all.runs * 2, "each run has one crash");
}

#[test]
fn k2_a_probe_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Probe, 20, 1_600);
}

#[test]
fn k2_a_prediction_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Prediction, 3, 300);
}

#[test]
fn k2_a_deliberation_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Deliberation, 3, 100);
}

#[test]
fn k2_a_roundtable_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Roundtable, 3, 100);
}

#[test]
fn k2_a_review_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Review, 4, 100);
}

#[test]
fn k2_an_investigation_crashed_anywhere_comes_to_the_same_outcome() {
    crash_everywhere(Kind::Investigation, 3, 150);
}
