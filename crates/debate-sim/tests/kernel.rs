//! The kernel itself, driven by hand through the probe: what no engine does yet (hedges), and the smallest cases of
//! what simulated worlds found.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod table;

use debate_core::call::Cause;
use debate_core::command::DecideError;
use debate_core::event::FailureKind;
use debate_core::stop::StopRule;

use crate::table::Table;

#[test]
fn two_attempts_may_be_open_at_once_and_the_first_to_answer_wins() {
    let mut table = Table::of(["ann", "bob"]);
    let first = table.begin("say/1/ann");
    let second = table.hedge("say/1/ann");
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(table.causes("say/1/ann"), [Cause::First, Cause::Hedge]);
    table.answer(&second, 40).unwrap();
    assert_eq!(table.kinds_since("call_answered"), ["call_answered", "attempt_abandoned", "said"]);
    assert_eq!(table.said(1, "ann"), Some(40));
    let late = table.answer(&first, 60).unwrap_err();
    assert!(matches!(late, DecideError::NotOpen(_)), "{late}");
    assert_eq!(table.said(1, "ann"), Some(40));
}

#[test]
fn a_hedge_that_fails_leaves_the_other_attempt_its_chance() {
    let mut table = Table::of(["ann", "bob"]);
    let first = table.begin("say/1/ann");
    let second = table.hedge("say/1/ann");
    table.fail(&second, FailureKind::Denied).unwrap();
    assert!(!table.has_failed("say/1/ann"));
    table.answer(&first, 40).unwrap();
    assert_eq!(table.said(1, "ann"), Some(40));
}

#[test]
fn k2_a_race_that_both_lose_is_one_failure_of_the_question() {
    let mut table = Table::of(["ann", "bob"]);
    let first = table.begin("say/1/ann");
    let second = table.hedge("say/1/ann");
    table.fail(&first, FailureKind::Refused).unwrap();
    table.fail(&second, FailureKind::Refused).unwrap();
    for _ in 0..2 {
        assert!(!table.has_failed("say/1/ann"));
        let again = table.begin("say/1/ann");
        assert_eq!(table.causes("say/1/ann").last(), Some(&Cause::Reask));
        table.fail(&again, FailureKind::Refused).unwrap();
    }
    assert!(table.has_failed("say/1/ann"), "three failures are the most");
}

#[test]
fn a_hedge_of_nothing_is_a_first_start() {
    let mut table = Table::of(["ann", "bob"]);
    table.hedge("say/1/ann");
    assert_eq!(table.causes("say/1/ann"), [Cause::First]);
}

#[test]
fn k8_a_hedge_that_is_too_dear_is_refused_and_ends_nothing() {
    let mut table = Table::with(["ann", "bob"], |limits| limits.calls_max = 2);
    table.begin("say/1/ann");
    let refused = table.try_begin("say/1/ann", true).unwrap_err();
    assert!(matches!(refused, DecideError::NotWanted(_)), "{refused}");
    assert_eq!(table.stop_rule(), None);
}

#[test]
fn k2_a_hedge_too_many_is_refused_and_ends_nothing() {
    let mut table = Table::with(["ann", "bob"], |limits| limits.starts_max = 1);
    let first = table.begin("say/1/ann");
    assert!(table.try_begin("say/1/ann", true).is_err());
    assert!(!table.has_failed("say/1/ann"));
    table.answer(&first, 40).unwrap();
}

#[test]
fn k2_an_attempt_that_was_lost_is_begun_again_and_its_late_answer_is_refused() {
    let mut table = Table::of(["ann", "bob"]);
    let lost = table.begin("say/1/ann");
    let again = table.begin("say/1/ann");
    assert_eq!(table.causes("say/1/ann"), [Cause::First, Cause::Lost]);
    assert!(table.answer(&lost, 60).is_err());
    table.answer(&again, 40).unwrap();
    assert_eq!(table.said(1, "ann"), Some(40));
}

#[test]
fn k2_an_answer_to_a_call_never_begun_is_refused() {
    let mut table = Table::of(["ann", "bob"]);
    let mut never = table.begin("say/1/ann");
    never.call = "say/1/bob".parse().unwrap();
    assert!(matches!(table.answer(&never, 60), Err(DecideError::NotOpen(_))));
}

#[test]
fn a_hedge_may_race_a_turn_after_tools() {
    let mut table = Table::of(["ann", "bob"]);
    let first = table.begin("say/1/ann");
    table.ask_tool(&first).unwrap();
    let tool = table.wanted("say/1/ann");
    table.begin_tool(&tool).unwrap();
    table.finish_tool(&tool).unwrap();
    let second = table.begin("say/1/ann");
    let hedge = table.hedge("say/1/ann");
    assert_eq!((second.turn, hedge.turn), (2, 2));
    assert_eq!(table.causes("say/1/ann"), [Cause::First, Cause::First, Cause::Hedge]);
    table.answer(&hedge, 40).unwrap();
    assert!(table.answer(&second, 60).is_err());
}

#[test]
fn k2_a_tool_that_is_lost_every_time_is_given_up() {
    let mut table = Table::with(["ann", "bob"], |limits| limits.starts_max = 3);
    let first = table.begin("say/1/ann");
    table.ask_tool(&first).unwrap();
    let tool = table.wanted("say/1/ann");
    for _ in 0..3 {
        table.begin_tool(&tool).unwrap();
    }
    table.begin_tool(&tool).unwrap();
    assert_eq!(table.count("tool_started"), 3);
    assert_eq!(table.count("tool_answered"), 1);
    assert_ne!(table.wanted("say/1/ann"), tool, "the conversation goes on without it");
}

#[test]
fn a_failure_on_what_no_longer_stands_is_void() {
    let mut table = Table::of(["ann", "bob"]);
    table.say_and_weigh("ann", 40, 80);
    let bob = table.begin("say/1/bob");
    table.answer(&bob, 60).unwrap();
    for _ in 0..3 {
        let tally = table.begin("tally/1/chair");
        table.fail(&tally, FailureKind::Refused).unwrap();
    }
    assert!(table.has_failed("tally/1/chair"));
    let weigh = table.begin("weigh/1/bob");
    table.answer(&weigh, 1).unwrap();
    let again = table.begin("say/1/bob");
    table.answer(&again, 61).unwrap();
    assert!(!table.has_failed("tally/1/chair"), "it failed on words that no longer stand");
    let tally = table.begin("tally/1/chair");
    assert_eq!((tally.revision, table.causes("tally/1/chair")[3]), (1, Cause::Void));
}

#[test]
fn a_void_answer_takes_its_rejections_with_it() {
    let mut table = Table::of(["ann", "bob"]);
    table.say_and_weigh("ann", 40, 80);
    let bob = table.begin("say/1/bob");
    table.answer(&bob, 60).unwrap();
    let tally = table.begin("tally/1/chair");
    table.answer(&tally, 26).unwrap();
    assert_eq!(table.count("answer_rejected"), 1, "an unlucky tally is asked for again");
    let tally = table.begin("tally/1/chair");
    table.answer(&tally, 39).unwrap();
    assert_eq!(table.count("answer_rejected"), 1, "once");
    let weigh = table.begin("weigh/1/bob");
    table.answer(&weigh, 1).unwrap();
    let again = table.begin("say/1/bob");
    table.answer(&again, 61).unwrap();
    let tally = table.begin("tally/1/chair");
    table.answer(&tally, 52).unwrap();
    assert_eq!(table.count("answer_rejected"), 3, "bob's saying, and the new tally on it");
}

#[test]
fn a_rejection_of_what_was_built_on_void_words_is_void_too() {
    let mut table = Table::of(["ann", "bob"]);
    table.say_and_weigh("ann", 40, 80);
    let bob = table.begin("say/1/bob");
    table.answer(&bob, 60).unwrap();
    let tally = table.begin("tally/1/chair");
    table.answer(&tally, 26).unwrap();
    assert_eq!(table.count("answer_rejected"), 1);
    let weigh = table.begin("weigh/1/bob");
    table.answer(&weigh, 1).unwrap();
    let again = table.begin("say/1/bob");
    table.answer(&again, 61).unwrap();
    let tally = table.begin("tally/1/chair");
    assert_eq!((tally.revision, table.causes("tally/1/chair")[1]), (2, Cause::Void));
    assert!(!table.shows_rejection("tally/1/chair"), "the reason was for an answer on other words");
}

#[test]
fn voids_cascade_to_what_was_built_on_the_void() {
    let mut table = Table::of(["ann", "bob"]);
    table.say_and_weigh("ann", 40, 80);
    let bob = table.begin("say/1/bob");
    table.answer(&bob, 60).unwrap();
    let tally = table.begin("tally/1/chair");
    table.answer(&tally, 50).unwrap();
    let note = table.begin("note/1/chair");
    let weigh = table.begin("weigh/1/bob");
    table.answer(&weigh, 1).unwrap();
    let again = table.begin("say/1/bob");
    table.answer(&again, 61).unwrap();
    assert_eq!(table.kinds_since("said"), ["said", "call_voided", "attempt_abandoned", "call_voided"]);
    assert!(table.answer(&note, 50).is_err(), "the note was on a tally that is void");
}

#[test]
fn k7_a_rule_in_shadow_is_recorded_once_a_round_and_not_obeyed() {
    let mut table = Table::of(["ann", "bob"]);
    table.whole_round(1);
    assert_eq!(table.shadows(), [StopRule::Convergence]);
    assert_eq!(table.stop_rule(), Some(StopRule::MaxRounds));
}
