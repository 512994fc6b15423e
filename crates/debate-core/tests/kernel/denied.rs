//! Events that stand where they cannot, or deny what is before them: a log that holds one is corrupt (rules K1, K15).

use std::collections::BTreeSet;

use debate_core::call::{Cause, Reserved};
use debate_core::codec::{Author, Head, seal_records};
use debate_core::debate::Debate;
use debate_core::event::{
    AbandonReason, AnswerRejected, AttemptAbandoned, AttemptFailed, AttemptRef, CallAnswered, CallStarted,
    CallVoided, Event, FailureKind, FailureProse, KernelEvent, PromptRef, ReplyFacts, ReplyProse,
    ToolStarted, TurnAnswered, TurnProse,
};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::Digest;
use debate_core::policy::event::{
    PolicyEvent, ProposalAccepted, ProposalFailed, ProposalMade, ProposalStarted, ProposalWritten,
};
use debate_core::policy::proposal_log::{ProposalLog, ProposalLogError};
use debate_core::prose::Prose;
use serde_json::json;

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

/// Returns every event that ends an attempt.
fn ends(attempt: &AttemptRef) -> [KernelEvent; 4] {
    let (attempt, reply) = (|| attempt.clone(), ReplyFacts::default);
    let words = ReplyProse { text: String::new(), ..ReplyProse::default() };
    let prose = Prose::new(TurnProse { reply: words.clone(), arguments: Vec::new() });
    let failure = Prose::new(FailureProse { message: String::new(), text: None });
    [
        CallAnswered { attempt: attempt(), reply: reply(), prose: Prose::new(words) }.into(),
        TurnAnswered { attempt: attempt(), tools: Vec::new(), reply: reply(), prose }.into(),
        AttemptFailed {
            attempt: attempt(),
            failure: FailureKind::Truncated,
            last: true,
            reply: reply(),
            prose: failure,
        }
        .into(),
        AttemptAbandoned { attempt: attempt(), reason: AbandonReason::Unwanted }.into(),
    ]
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
        thinking: debate_core::call::Thinking::default(),
    }
}

/// Returns a failure of an attempt that was not sent.
fn unsent(revision: u32, attempt: u32, turn: u32) -> AttemptFailed {
    AttemptFailed {
        attempt: AttemptRef { call: OPTIMIST.parse().unwrap(), revision, attempt, turn },
        failure: FailureKind::StartsExhausted,
        last: true,
        reply: ReplyFacts::default(),
        prose: Prose::new(FailureProse { message: String::new(), text: None }),
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
    let under_way = check::<Prediction>(&format!("{asked_again}\nwhen begin {OPTIMIST}")).debate;
    for (debate, (revision, attempt, turn), denied) in [
        (&debate, (0, 2, 1), "revision 0 is past; 1 is asked for"),
        (&debate, (1, 2, 1), "attempt 2 of turn 1 is out of order"),
        (&debate, (1, 1, 2), "attempt 1 of turn 2 is out of order"),
        (&under_way, (1, 1, 1), "attempt 1 of turn 1 is out of order"),
    ] {
        assert_eq!(why(debate, started(revision, attempt, turn)), denied);
        assert_eq!(why(debate, unsent(revision, attempt, turn)), denied);
    }
    assert_eq!(why(&debate, rejected(0)), "revision 0 has no answer to reject");
    assert_eq!(why(&debate, rejected(1)), "revision 1 has no answer to reject");
    assert_eq!(why(&debate, voided(0)), "revision 0 is not the one that stands");
    let never_begun = || "argue/1/x".parse().unwrap();
    let denied = "call argue/1/x was never begun";
    assert_eq!(why(&debate, AnswerRejected { call: never_begun(), ..rejected(0) }), denied);
    assert_eq!(why(&debate, CallVoided { call: never_begun(), ..voided(0) }), denied);
    for (debate, call, revision, attempt, turn, denied) in [
        (&debate, "argue/1/x", 0, 1, 1, "call argue/1/x was never begun"),
        (&debate, OPTIMIST, 1, 1, 1, "attempt 1 of turn 1 is not open"),
        (&under_way, OPTIMIST, 0, 1, 1, "revision 0 is not open; 1 is"),
        (&under_way, OPTIMIST, 1, 2, 1, "attempt 2 of turn 1 is not open"),
        (&under_way, OPTIMIST, 1, 1, 2, "attempt 1 of turn 2 is not open"),
    ] {
        for event in ends(&AttemptRef { call: call.parse().unwrap(), revision, attempt, turn }) {
            let kind = Event::<Prediction>::Kernel(event.clone()).kind();
            assert_eq!(why(debate, event), denied, "{kind}");
        }
    }
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

    for (settled, how, denied) in [
        ("answer", "", "revision 0 is not the one that stands"),
        ("fail", ": denied", "revision 0 has no answer to reject"),
    ] {
        let debate = check::<Prediction>(&format!("{asked_again}\nwhen {settled} {OPTIMIST}{how}")).debate;
        assert_eq!(why(&debate, started(1, 2, 1)), "revision 1 is settled", "{settled}");
        assert_eq!(why(&debate, unsent(1, 2, 1)), "revision 1 is settled", "{settled}");
        assert_eq!(why(&debate, rejected(0)), denied, "{settled}");
    }
}

#[test]
fn k15_of_attempts_that_race_each_other_one_comes_to_something_and_the_others_are_given_up() {
    let raced = format!(
        "given    started roles=optimist,pessimist
         when     begin {OPTIMIST}
         when     hedge {OPTIMIST}"
    );
    let raced = check::<Prediction>(&raced).debate;
    let attempt = |attempt| AttemptRef { call: OPTIMIST.parse().unwrap(), revision: 0, attempt, turn: 1 };
    let [answered, asks_for_tools, failed, _] = ends(&attempt(1));
    // The first was lost with its process, and could not be sent once more.
    let unsent = KernelEvent::from(unsent(0, 3, 1));
    let (settled, unanswered) = ("revision 0 is settled", "revision 0 has no answer to reject");
    for (first, denied, not_rejected) in [
        (answered, settled, "an attempt at it is still open"),
        (asks_for_tools, "turn 1 has been answered", unanswered),
        (failed, settled, unanswered),
        (unsent, settled, unanswered),
    ] {
        let mut debate = raced.clone();
        debate.apply(START, &Event::Kernel(first.clone())).unwrap();
        let [answered, asks_for_tools, failed, abandoned] = ends(&attempt(2));
        for second in [answered, asks_for_tools, failed] {
            assert_eq!(why(&debate, second), denied, "{first:?}");
        }
        assert_eq!(why(&debate, rejected(0)), not_rejected, "{first:?}");
        debate.apply(START, &Event::Kernel(abandoned)).unwrap();
    }
}

#[test]
fn k15_the_last_revision_that_a_number_holds_is_followed_by_none() {
    let opened = check::<Prediction>("given    started roles=optimist,pessimist").debate;
    let last = AttemptRef { call: OPTIMIST.parse().unwrap(), revision: u32::MAX, attempt: 1, turn: 1 };
    let [answered, _, _, abandoned] = ends(&last);
    let then = |event: KernelEvent| {
        let mut debate = opened.clone();
        debate.apply(START, &Event::Kernel(started(u32::MAX, 1, 1).into())).unwrap();
        debate.apply(START, &Event::Kernel(event)).unwrap();
        debate
    };
    let denied = "there is no revision after 4294967295";
    assert_eq!(why(&then(answered), rejected(u32::MAX)), denied);
    assert_eq!(why(&then(abandoned), voided(u32::MAX)), denied);
}

/// Folds a log of proposals; of one that is not folded returns the number of the event at fault.
fn folded(events: &[PolicyEvent]) -> Result<ProposalLog, u64> {
    let author = Author { tenant: String::new(), actor: "alice".to_owned(), trace: None };
    let stream = "security".parse::<ReviewerName>().unwrap().stream("");
    let sealed = seal_records(stream, Head::NONE, &author, START, events, || [3; 16]);
    let log: Vec<_> = sealed.into_envelopes().into_iter().map(|envelope| (*envelope).clone()).collect();
    ProposalLog::replay(&log).map_err(|error| match error {
        ProposalLogError::Order { seq, .. } => seq,
        ProposalLogError::Chain(_) | ProposalLogError::Record { .. } => panic!("{error}"),
    })
}

fn asked(number: u32, attempt: u32) -> PolicyEvent {
    asked_for("security", number, attempt)
}

fn asked_for(role: &str, number: u32, attempt: u32) -> PolicyEvent {
    let started = json!({
        "role": role, "number": number, "attempt": attempt, "days": 30, "model": "simulated:0",
        "evidence": {
            "avg_argument_quality": 4.25, "debates": 6, "pairs": 8, "wins": 1, "ties": 2, "common_labels": [],
            "needs_update": true, "threshold": {"debates_min": 5, "score_min": 7.0}, "simulated": 0,
        },
        "current": Digest::of_text("current"), "prompt": PromptRef::default(), "reserved": Reserved::NOTHING,
    });
    serde_json::from_value::<ProposalStarted>(started).unwrap().into()
}

fn made(number: u32, attempt: u32) -> PolicyEvent {
    let (reply, digest) = (ReplyFacts::default(), Digest::of_text("proposed"));
    ProposalMade { number, attempt, digest, reply, prose: Prose::default() }.into()
}

fn failed(number: u32, attempt: u32) -> PolicyEvent {
    let (failure, reply) = (FailureKind::Unreadable, ReplyFacts::default());
    ProposalFailed { number, attempt, failure, reply, prose: Prose::default() }.into()
}

fn written(number: u32, text: &str) -> PolicyEvent {
    ProposalWritten { number, digest: Digest::of_text(text) }.into()
}

fn accepted(number: u32, text: &str) -> PolicyEvent {
    ProposalAccepted { number, digest: Digest::of_text(text) }.into()
}

#[test]
fn k15_events_of_proposals_that_deny_what_is_before_them_are_not_folded() {
    let (written_so, accepted_so) = (|| written(1, "proposed"), || accepted(1, "proposed"));
    let log = [
        asked(1, 1),
        failed(1, 1),
        asked(1, 2),
        made(1, 2),
        written_so(),
        accepted_so(),
        asked(2, 1),
        asked(2, 2),
    ];
    assert_eq!(folded(&log).unwrap().next_number(), 3);
    let first_of = |before: &[PolicyEvent], event: PolicyEvent| folded(&[before, &[event]].concat()).err();
    for (before, denied) in [
        (
            vec![],
            vec![
                made(1, 1),
                failed(1, 1),
                written_so(),
                accepted_so(),
                asked(1, 2),
                asked(2, 1),
                asked(u32::MAX, 1),
            ],
        ),
        (vec![], vec![asked_for("pessimist", 1, 1), asked_for("_security", 1, 1)]),
        (
            vec![asked(1, 1)],
            vec![
                asked(1, 1),
                asked(1, 3),
                made(1, 2),
                failed(1, 2),
                asked(3, 1),
                written_so(),
                accepted_so(),
            ],
        ),
        (
            vec![asked(1, 1), failed(1, 1)],
            vec![made(1, 1), failed(1, 1), written_so(), accepted_so(), asked(1, 1), asked(1, 3)],
        ),
        (
            vec![asked(1, 1), made(1, 1)],
            vec![asked(1, 2), made(1, 1), failed(1, 1), written(1, "another"), accepted(1, "another")],
        ),
    ] {
        for event in denied {
            assert_eq!(
                first_of(&before, event.clone()),
                Some(before.len() as u64 + 1),
                "{before:?} {event:?}"
            );
        }
    }
    assert_eq!(first_of(&[asked(1, 1), made(1, 1), accepted_so()], accepted_so()), Some(4));
}
