//! Events that stand where they cannot, or deny what is before them: a log that holds one is corrupt (rules K1, K15).

use std::collections::BTreeSet;

use debate_core::call::{Cause, Reserved};
use debate_core::debate::Debate;
use debate_core::event::{
    AbandonReason, AnswerRejected, AttemptAbandoned, AttemptRef, CallStarted, CallVoided, Event, KernelEvent,
    PromptRef, ToolStarted,
};
use debate_core::formats::prediction::Prediction;
use debate_core::prose::Prose;

use crate::envelopes::{PREDICTION, asking, course};
use crate::scenario::{START, check};

const OPTIMIST: &str = "argue/1/optimist";

/// Returns the kinds of events that a debate does not admit as it is, whatever else they say.
fn barred(table: &str) -> BTreeSet<&'static str> {
    let debate = check::<Prediction>(table).debate;
    let why = format!("the debate is {}", debate.lifecycle().as_str());
    let is_barred =
        |event: &Event<Prediction>| debate.clone().apply(START, event).is_err_and(|error| error.why == why);
    every_kind().iter().filter(|event| is_barred(event)).map(Event::kind).collect()
}

/// Returns events of every kind, but for the one that opens a debate.
fn every_kind() -> Vec<Event<Prediction>> {
    let facts = check::<Prediction>(PREDICTION).log.into_iter().map(|recorded| recorded.event);
    let kernel = asking().into_iter().chain(course()).map(Event::Kernel);
    kernel.chain(facts.filter(|event| matches!(event, Event::Fact(_)))).collect()
}

#[test]
fn k15_nothing_follows_a_conclusion_but_rounds_forks_answers_of_the_world_and_deletions() {
    let running = "given    started roles=optimist,pessimist rounds=1";
    let kinds = |kinds: &[&'static str]| kinds.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(barred(running), kinds(&["continued", "redacted", "resolved", "resumed"]));
    let paused = kinds(&["call_started", "continued", "paused", "redacted", "resolved", "tool_started"]);
    assert_eq!(barred(&format!("{running}\nwhen pause")), paused);
    let follows = kinds(&["continued", "forked", "redacted", "resolved"]);
    let others = every_kind().iter().map(Event::kind).filter(|kind| !follows.contains(kind)).collect();
    assert_eq!(barred(&format!("{running}\nwhen cancel")), others);
}

/// Returns why an event cannot have happened to a debate.
fn why(debate: &Debate<Prediction>, event: impl Into<KernelEvent>) -> String {
    debate.clone().apply(START, &Event::Kernel(event.into())).unwrap_err().why
}

fn attempt(call: &str, revision: u32, attempt: u32) -> AttemptAbandoned {
    let attempt = AttemptRef { call: call.parse().unwrap(), revision, attempt, turn: 1 };
    AttemptAbandoned { attempt, reason: AbandonReason::Unwanted }
}

fn started(revision: u32, attempt: u32, turn: u32) -> CallStarted {
    CallStarted {
        call: OPTIMIST.parse().unwrap(),
        revision,
        attempt,
        turn,
        cause: Cause::First,
        model: "simulated:1".to_owned(),
        sees: Vec::new(),
        prompt: PromptRef::default(),
        reserved: Reserved::NOTHING,
    }
}

fn rejected(revision: u32) -> AnswerRejected {
    AnswerRejected {
        call: OPTIMIST.parse().unwrap(),
        revision,
        rules: Vec::new(),
        prose: Prose::new(String::new()),
    }
}

fn voided(revision: u32) -> CallVoided {
    CallVoided { call: OPTIMIST.parse().unwrap(), revision, sees: Vec::new() }
}

#[test]
fn k15_events_of_calls_that_deny_what_is_before_them_are_not_folded() {
    let asked_again = "given    started roles=optimist,pessimist
         when     answer argue/1/optimist
         when     answer score/1/optimist: score=0.1";
    let debate = check::<Prediction>(asked_again).debate;
    assert_eq!(why(&debate, started(0, 2, 1)), "revision 0 is past; 1 is asked for");
    assert_eq!(why(&debate, started(1, 2, 1)), "attempt 2 of turn 1 is out of order");
    assert_eq!(why(&debate, started(1, 1, 2)), "attempt 1 of turn 2 is out of order");
    assert_eq!(why(&debate, rejected(1)), "revision 1 has no answer to reject");
    assert_eq!(why(&debate, voided(0)), "revision 0 is not the one that stands");
    assert_eq!(why(&debate, attempt("argue/1/x", 0, 1)), "call argue/1/x was never begun");

    let under_way = check::<Prediction>(&format!("{asked_again}\nwhen begin {OPTIMIST}")).debate;
    assert_eq!(why(&under_way, attempt(OPTIMIST, 0, 1)), "revision 0 is not open; 1 is");
    assert_eq!(why(&under_way, attempt(OPTIMIST, 1, 2)), "attempt 2 of turn 1 is not open");
    assert_eq!(why(&under_way, voided(1)), "an attempt at it is still open");
    let tool = ToolStarted {
        call: OPTIMIST.parse().unwrap(),
        revision: 1,
        turn: 1,
        index: 0,
        attempt: 1,
        cause: Cause::First,
    };
    assert_eq!(why(&under_way, tool), "turn 1 has no tool use 0 (0 turns so far)");

    for settled in ["answer", "fail"] {
        let how = if settled == "fail" { ": denied" } else { "" };
        let debate = check::<Prediction>(&format!("{asked_again}\nwhen {settled} {OPTIMIST}{how}")).debate;
        assert_eq!(why(&debate, started(1, 2, 1)), "revision 1 is settled", "{settled}");
    }
}
