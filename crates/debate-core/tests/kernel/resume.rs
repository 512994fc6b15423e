//! Driving a debate again: one that is void, one that no process drove for a while, and the time kept for its closing.

use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::prediction::Prediction;

use super::scenario::check;

#[test]
fn k24_resume_of_a_void_debate_asks_what_failed_again() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist,contrarian rounds=1 attempts_max=1
         when     answer argue/1/optimist
         when     fail argue/1/pessimist: unavailable
         when     fail argue/1/contrarian: unavailable
         concluded failed void
         wants    nothing
         when     clock 90000
         when     resume
         logged   reopened phase_opened
         wants    argue/1/pessimist argue/1/contrarian score/1/optimist
         cause    argue/1/optimist first
         when     answer argue/1/pessimist
         when     answer argue/1/contrarian
         when     answer score/1/optimist
         when     answer score/1/pessimist
         when     answer score/1/contrarian
         when     answer synthesise/1/judge
         concluded max_rounds full
         refused  resume because the debate has concluded with a result; continue it, or fork it to ask again",
    );
    let (concluded, _) = stage.debate.conclusion().unwrap();
    assert_eq!(concluded.revision, 2);
}

#[test]
fn k24_resume_gives_a_void_debate_its_whole_time_again() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo deadline_ms=10000
         when     answer initial/1/ada: Yes.
         when     clock 10000
         concluded deadline void
         when     resume
         left_ms  10000
         wants    initial/1/bo",
    );
}

#[test]
fn k24_time_without_a_driver_moves_the_deadline() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist deadline_ms=10000 closing_ms=0 time=driven
         when     clock 4000
         when     begin argue/1/optimist
         when     idle 60000
         logged   driving_resumed
         left_ms  6000
         when     idle 999
         left_ms  5001
         wants    argue/1/optimist argue/1/pessimist",
    );
}

#[test]
fn k24_wall_time_runs_on_without_a_driver() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist deadline_ms=100000 closing_ms=0
         when     begin argue/1/optimist
         when     idle 60000
         left_ms  40000",
    );
}

#[test]
fn k22_closing_keeps_twice_the_longest_answer() {
    // Answers take 5 ms here: what is kept falls from 20 s to the least of 1 s.
    check::<Prediction>(
        "given    started roles=optimist,pessimist rounds=2 deadline_ms=100000 closing_ms=20000
         when     answer argue/1/optimist
         when     clock 98999
         wants    argue/1/pessimist score/1/optimist
         when     clock 1
         wants    synthesise/1/judge",
    );
    check::<Prediction>(
        "given    started roles=optimist,pessimist rounds=2 deadline_ms=100000 closing_ms=20000
         when     clock 79999
         wants    argue/1/optimist argue/1/pessimist
         when     clock 1
         wants    nothing",
    );
}
