//! Whole rehearsals: walls that can be reckoned by hand, the same ones from the same seed, calls that take too long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::time::Duration;

use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::prediction::config::Schedule;
use debate_engine::Hedge;
use debate_rehearsal::{Held, Latencies, Rehearsal, RoundtableTools, Summary, Way};

const STRICT: Way = Way { schedule: Some(Schedule::Strict), hedge: Hedge::Off };
const PIPELINED: Way = Way { schedule: Some(Schedule::Pipelined), hedge: Hedge::Off };
const RACED: Way = Way { schedule: Some(Schedule::Pipelined), hedge: Hedge::P75 };

fn example(name: &str) -> AcceptedRequest {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    accept(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rehearsal(request: AcceptedRequest, median: Duration, sigma: f64, debates: usize) -> Rehearsal {
    let latencies = Latencies::LogNormal { median, sigma };
    let tools = RoundtableTools::default();
    Rehearsal {
        request,
        model: "openai:m".to_owned(),
        latencies,
        hedge_share_max: 0.08,
        debates,
        seed: 1,
        tools,
    }
}

fn hold(rehearsal: &Rehearsal, way: Way) -> Vec<Held> {
    rehearsal.hold(way, &|| {}).unwrap()
}

#[test]
fn calls_of_one_second_make_eight_under_strict_and_six_under_pipelined() {
    let steady = rehearsal(example("ice.json"), Duration::from_secs(1), 0.0, 2);
    for (way, chain) in [(STRICT, 8), (PIPELINED, 6)] {
        for held in hold(&steady, way) {
            let over = held.wall.abs_diff(Duration::from_secs(chain));
            assert!(over < Duration::from_millis(50), "{way:?}: {:?}", held.wall);
            assert_eq!((held.calls, held.latencies.len(), held.is_full), (31, 31, true), "{way:?}");
        }
    }
    assert_eq!((steady.calls_expected(), steady.deadline()), (31, Duration::from_millis(110_000)));
}

#[test]
fn the_same_seed_gives_the_same_debates_and_another_one_others() {
    let first = rehearsal(example("ice.json"), Duration::from_secs(5), 0.5, 8);
    let ended = Cell::new(0);
    let held = first.hold(RACED, &|| ended.set(ended.get() + 1)).unwrap();
    assert_eq!(ended.get(), 8);
    assert_eq!(held, hold(&first, RACED));
    assert_ne!(held, hold(&Rehearsal { seed: 2, ..first.clone() }, RACED));
    assert!(held.iter().any(|held| held.calls > 31), "nothing was raced");
}

#[test]
fn a_deliberation_has_one_schedule_and_is_raced_alike() {
    let steady = rehearsal(example("deliberation.json"), Duration::from_secs(1), 0.0, 1);
    let ways = Way::all(&steady.request);
    assert_eq!(ways.iter().map(|way| way.schedule_name()).collect::<Vec<_>>(), ["-"; 4]);
    let held = hold(&steady, ways[0]);
    assert_eq!(held[0].calls, steady.calls_expected());
    assert!(held[0].is_full);
}

#[test]
fn t4_levels_shorten_the_critical_path_of_a_roundtable_as_the_plan_says() {
    // Three agents, two rounds, a second a call: 6 after each other, or 2 a round, or 1 a round.
    for (flags, chain) in [
        ("{}", 6),
        (r#"{"sequential_parallelization": {"enabled": true, "level": "last-only"}}"#, 4),
        (r#"{"sequential_parallelization": {"enabled": true, "level": "full"}}"#, 2),
    ] {
        let request = format!(
            r#"{{"format": "roundtable", "topic": "Should we move?", "mode": "adversarial", "rounds": 2,
                "agents": ["ada", "bo", "cy"], "flags": {flags}}}"#
        );
        let steady = rehearsal(accept(&request).unwrap(), Duration::from_secs(1), 0.0, 1);
        let held = hold(&steady, Way::all(&steady.request)[0]);
        let over = held[0].wall.abs_diff(Duration::from_secs(chain));
        assert!(over < Duration::from_millis(50), "{flags}: {:?}", held[0].wall);
        assert_eq!((held[0].calls, held[0].is_full), (6, true), "{flags}");
    }
}

#[test]
fn calls_that_take_longer_than_a_call_may_are_given_up_and_the_outcome_is_not_full() {
    let slow = rehearsal(example("ice.json"), Duration::from_secs(601), 0.0, 1);
    let held = hold(&slow, PIPELINED);
    let summary = Summary::of(&held, slow.calls_expected(), slow.deadline());
    assert_eq!((summary.full, held[0].latencies.len()), (0.0, 0));
    assert!(summary.over_deadline > 0.99, "{summary:?}");
}

#[test]
fn a_request_may_name_models_that_no_one_has_configured() {
    let AcceptedRequest::Prediction(mut accepted) = example("ice.json") else { panic!("a prediction") };
    accepted.config.models.purposes.insert("score".to_owned(), vec!["openai:small".to_owned()]);
    let named = rehearsal(AcceptedRequest::Prediction(accepted), Duration::from_secs(1), 0.0, 1);
    assert!(hold(&named, PIPELINED)[0].is_full);
}

#[test]
fn races_shorten_the_longest_debates_and_stay_within_their_share_of_calls_and_tokens() {
    let adaptive = Way { hedge: Hedge::Adaptive, ..PIPELINED };
    let varying = rehearsal(example("ice.json"), Duration::from_secs(1), 0.5, 60);
    let [strict, raced] = [STRICT, adaptive].map(|way| {
        let held = hold(&varying, way);
        Summary::of(&held, varying.calls_expected(), varying.deadline())
    });
    assert_eq!((strict.extra_calls, strict.extra_tokens), (0.0, 0.0));
    let ratio = raced.p99.as_secs_f64() / strict.p99.as_secs_f64();
    assert!(ratio <= 0.78, "{ratio:.3}: {:?} of {:?}", raced.p99, strict.p99);
    for extra in [raced.extra_calls, raced.extra_tokens] {
        assert!(extra > 0.04 && extra <= 0.08 + 1e-9, "{raced:?}");
    }
}
