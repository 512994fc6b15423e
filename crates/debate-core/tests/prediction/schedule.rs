//! The pipelined schedule against the strict one (rule P21): another order of work, the same result.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use debate_core::call::{Reserved, Tokens, Usage, Want, Work};
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::Lifecycle;
use debate_core::event::{AttemptRef, Event, FailureKind, KernelEvent, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::{Answer, OutcomeRef};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::{Config, Schedule};
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::formats::prediction::visible::Visible;
use debate_core::id::{Digest, Timestamp};
use proptest::prelude::*;

use crate::stage::{self, Line, Play};

/// Numbers in [0, 1) that follow from a text.
fn lot(seed: u64, text: &str) -> f64 {
    let digest = Digest::of_parts([seed.to_le_bytes().as_slice(), text.as_bytes()]);
    (digest.as_seed() >> 11) as f64 / (1_u64 << 53) as f64
}

/// What the models say: a function of what they are shown and of how often they failed, of nothing else.
fn reply(seed: u64, debate: &Play, want: &Want, visible: &Visible) -> Line {
    let call = debate.call(&want.call).filter(|call| call.revision == want.revision);
    let failures = call.map_or(0, |call| call.failures);
    let shown = format!("{visible:?}/{failures}");
    let lot = |what: &str| lot(seed, &format!("{what}/{shown}"));
    if lot("failure") < 0.08 {
        return Err(FailureKind::Unreadable);
    }
    Ok(match Call::of(&want.call).unwrap() {
        Call::Argue { round, role } => {
            let mut argument = stage::argument(debate, round, role.as_str());
            argument.argument = format!("{} {:.9}", argument.argument, lot("words"));
            let yes = lot("yes");
            argument.probabilities = vec![(OutcomeRef::Known(0), yes), (OutcomeRef::Known(1), 1.0 - yes)];
            if lot("rebuts") < 0.05 {
                argument.rebuts.clear();
            }
            Answer::Argue(argument)
        }
        Call::Score { .. } => {
            let poor = lot("poor") < 0.15;
            Answer::Score(stage::scores(if poor { 0.19 * lot("how poor") } else { 0.5 }))
        }
        Call::Synthesise { .. } => {
            let mut synthesis = stage::synthesis();
            synthesis.confidence = lot("confidence");
            Answer::Synthesise(synthesis)
        }
    })
}

/// Plays a debate with many calls under way at once that end in an order drawn from `order`.
fn play(schedule: Schedule, seed: u64, order: u64) -> (Play, Vec<Event<Prediction>>) {
    let (mut debate, mut events) = stage::open(Config { schedule, ..stage::config(3) });
    let mut aloft: BTreeMap<Work, (AttemptRef, Line)> = BTreeMap::new();
    for step in 0.. {
        let wanted = debate.wanted_work();
        aloft.retain(|work, (attempt, _)| {
            let kept = wanted.contains(work);
            if !kept {
                match debate.decide(AT, Command::AbandonCall(attempt.clone())) {
                    Ok(abandoned) => fold(&mut debate, &mut events, abandoned),
                    Err(error) => assert!(matches!(error, DecideError::NotOpen(_)), "{error}"),
                }
            }
            kept
        });
        for work in wanted {
            if let Entry::Vacant(place) = aloft.entry(work.clone()) {
                let flight = begin(&mut debate, &mut events, seed, &work);
                place.insert(flight);
            }
        }
        if debate.lifecycle() == Lifecycle::Concluded {
            return (debate, events);
        }
        assert!(!aloft.is_empty(), "a running debate wants work");
        let place = (lot(order, &step.to_string()) * aloft.len() as f64) as usize;
        let work = aloft.keys().nth(place).unwrap().clone();
        let (attempt, line) = aloft.remove(&work).unwrap();
        let ended = debate.decide(AT, end(attempt, line)).unwrap();
        fold(&mut debate, &mut events, ended);
    }
    unreachable!("a debate ends")
}

const AT: Timestamp = Timestamp(1_000);

fn begin(
    debate: &mut Play,
    events: &mut Vec<Event<Prediction>>,
    seed: u64,
    work: &Work,
) -> (AttemptRef, Line) {
    let want = work.want();
    let visible = Prediction::visible(debate, want);
    let line = reply(seed, debate, want, &visible);
    let prompt = PromptRef {
        version: "test@1".to_owned(),
        digest: Digest::of_text(&format!("{visible:?}")),
        tokens: 100,
        ..PromptRef::default()
    };
    let begin = BeginCall {
        work: work.clone(),
        hedge: None,
        model: "scripted:test".to_owned(),
        prompt,
        reserved: Reserved::default(),
        thinking: debate_core::call::Thinking::default(),
    };
    let begun = debate.decide(AT, Command::BeginCall(begin)).unwrap();
    fold(debate, events, begun);
    let attempt = debate.call(&want.call).unwrap().attempt;
    (AttemptRef { call: want.call.clone(), revision: want.revision, attempt, turn: 1 }, line)
}

fn end(attempt: AttemptRef, line: Line) -> Command<Prediction> {
    let usage = Usage { input: Some(100), output: Some(50), cached: None, reasoning: None };
    let reply = ReplyFacts { usage, ..ReplyFacts::default() };
    match line {
        Ok(answer) => {
            let prose = ReplyProse { text: "raw".to_owned(), ..ReplyProse::default() };
            Command::FinishCall { attempt, reply, prose, answer }
        }
        Err(failure) => {
            Command::FailCall { attempt, failure, reply, message: "failed".to_owned(), text: None }
        }
    }
}

fn fold(debate: &mut Play, events: &mut Vec<Event<Prediction>>, more: Vec<Event<Prediction>>) {
    for event in more {
        debate.apply(AT, &event).unwrap();
        events.push(event);
    }
}

/// Says where two results differ first.
fn difference(one: &DebateResult, other: &DebateResult) -> Option<String> {
    let text = |result| serde_json::to_string_pretty(result).unwrap();
    let (one, other) = (text(one), text(other));
    let mut lines = one.lines().zip(other.lines()).enumerate();
    let (number, (one, other)) = lines.find(|(_, (one, other))| one != other)?;
    Some(format!("line {number}: {one} or {other}"))
}

/// The result without what it cost.
fn result(debate: &Play) -> DebateResult {
    let mut result = stage::result(debate);
    result.metadata.sonnet_calls = 0;
    result.metadata.sonnet_tokens_used = Tokens::default();
    result.extra.usage_complete = true;
    result
}

fn voids(events: &[Event<Prediction>]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Kernel(KernelEvent::CallVoided(_)))).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn p6_p21_a_pipelined_debate_ends_as_the_strict_one_for_the_same_replies(seed: u64, one: u64, other: u64) {
        let (strict, _) = play(Schedule::Strict, seed, one);
        let (pipelined, _) = play(Schedule::Pipelined, seed, other);
        prop_assert_eq!(difference(&result(&strict), &result(&pipelined)), None);
    }
}

#[test]
fn p21_rejected_arguments_make_what_was_built_on_them_void_and_are_met_in_the_property_above() {
    let counted: Vec<usize> = (0..20).map(|seed| voids(&play(Schedule::Pipelined, seed, seed).1)).collect();
    let with_voids = counted.iter().filter(|voids| **voids > 0).count();
    assert!((5..20).contains(&with_voids), "{counted:?}");
}

#[test]
fn p3_p21_a_round_begins_before_the_scores_of_the_one_before_are_there() {
    let (mut debate, mut events) = stage::open(Config { schedule: Schedule::Pipelined, ..stage::config(3) });
    let mut wanted_at = Vec::new();
    loop {
        let arguing: Vec<Work> =
            debate.wanted_work().into_iter().filter(|work| work.want().call.kind == "argue").collect();
        if arguing.is_empty() {
            break;
        }
        wanted_at.push(arguing.len());
        for work in arguing {
            let (attempt, _) = begin(&mut debate, &mut events, 0, &work);
            let line = Ok(stage::blameless(&debate, work.want()));
            let ended = debate.decide(AT, end(attempt, line)).unwrap();
            fold(&mut debate, &mut events, ended);
        }
    }
    assert_eq!(wanted_at, [5, 5, 4, 1], "four steps of argument without a single score");
    assert_eq!(debate.wanted_work().len(), 15, "all scores are still to come");
}

#[test]
fn p3_p21_a_debate_without_faults_makes_31_calls_under_either_schedule() {
    for schedule in [Schedule::Strict, Schedule::Pipelined] {
        let (debate, _) = stage::play(Config { schedule, ..stage::config(3) }, |debate, want| {
            Ok(stage::blameless(debate, want))
        });
        assert_eq!(debate.spend().calls, 31, "{schedule:?}");
    }
}
