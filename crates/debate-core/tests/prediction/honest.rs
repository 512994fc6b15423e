//! Numbers that say what is known and no more (rules P16, P26, P27, P29, K18).

use debate_core::call::{CUT, Usage, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::event::{
    AttemptFailed, AttemptRef, Event, FailureKind, KernelEvent, PromptRef, ReplyFacts, ReplyProse,
};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::{Answer, OutcomeRef};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::{Config, Prior};
use debate_core::formats::prediction::notes::RepairEntry;
use debate_core::id::Timestamp;
use debate_core::stop::{Completeness, StopRule};

use crate::stage::{
    Line, Play, argument, blameless, config, open, open_on, play, play_out, result, scores, tell,
};

const A: OutcomeRef = OutcomeRef::Known(0);
const B: OutcomeRef = OutcomeRef::Known(1);

/// Plays a debate of one round in which one call is always answered otherwise.
fn play_with(call: &str, line: impl Fn(&Play) -> Line) -> (Play, Vec<Event<Prediction>>) {
    play(
        config(1),
        |debate, want| {
            if want.call.to_string() == call { line(debate) } else { Ok(blameless(debate, want)) }
        },
    )
}

/// Returns why attempts at a call were unusable, in order.
fn reasons(events: &[Event<Prediction>], call: &str) -> Vec<String> {
    let failed = events.iter().filter_map(|event| match event {
        Event::Kernel(KernelEvent::AttemptFailed(AttemptFailed { attempt, failure, prose, .. }))
            if attempt.call.to_string() == call && *failure == FailureKind::Unusable =>
        {
            prose.shown().map(|prose| prose.message.clone())
        }
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    failed.collect()
}

fn missing(completeness: &Completeness) -> &[String] {
    match completeness {
        Completeness::Partial { missing, .. } => missing,
        Completeness::Full | Completeness::Void { .. } => &[],
    }
}

fn repaired(call: &str, repairs: &[&str]) -> RepairEntry {
    RepairEntry { call: call.to_owned(), repairs: repairs.iter().map(ToString::to_string).collect() }
}

#[test]
fn p26_a_score_off_the_scale_discredits_the_others() {
    for (wrong, reason) in [
        (955_559.0, "P26: each number must be from 0 to 1; you wrote 955559 for logical_strength"),
        (3.2, "P26: each number must be from 0 to 1; you wrote 3.2 for logical_strength"),
        (-0.1, "P26: each number must be from 0 to 1; you wrote -0.1 for logical_strength"),
    ] {
        let (debate, events) = play_with("score/1/optimist", |_| {
            let mut answer = scores(0.6);
            answer.scores[0].1 = wrong;
            Ok(Answer::Score(answer))
        });
        assert_eq!(reasons(&events, "score/1/optimist"), [reason; 3]);
        let result = result(&debate);
        let scores = &result.debate_log.rounds[0].arguments[0].scores;
        assert!(scores.composite.is_none() && scores.criteria.values().all(serde_json::Value::is_null));
        assert_eq!(missing(&result.extra.completeness), ["score/1/optimist"]);
        assert!((result.extra.confidence - 0.8 * 0.9).abs() < 1e-12, "of five scores one is missing");
    }
}

#[test]
fn p26_a_missing_score_is_asked_for_again_and_then_counts() {
    let (debate, events) = play(config(1), |debate, want| {
        let mut answer = blameless(debate, want);
        if let Answer::Score(scores) = &mut answer
            && want.call.to_string() == "score/1/judge"
            && debate.call(&want.call).is_none_or(|call| call.failures == 0)
        {
            scores.scores.retain(|(name, _)| name != "novelty");
        }
        Ok(answer)
    });
    let reason = "P26: each criterion needs a number from 0 to 1; novelty has none";
    assert_eq!(reasons(&events, "score/1/judge"), [reason]);
    assert_eq!(result(&debate).extra.completeness, Completeness::Full);
}

#[test]
fn p29_a_sum_far_from_1_is_asked_again_with_the_sum() {
    for (stated, reason) in [
        (
            vec![(A, 2.11), (B, 0.09)],
            "P29: the probabilities must be from 0 to 1 and sum to 1; they sum to 2.2",
        ),
        (
            vec![(A, 100.0), (B, 100.0)],
            "P29: the probabilities must be from 0 to 1 and sum to 1; they sum to 200",
        ),
        (
            vec![(A, 0.5), (B, 0.4)],
            "P29: the probabilities must be from 0 to 1 and sum to 1; they sum to 0.9",
        ),
        (vec![(A, 1.2), (B, -0.2)], "P29: each probability must be from 0 to 1; one is -0.2"),
        (vec![(A, 0.0), (B, 0.0)], "P29: the probabilities sum to 0"),
    ] {
        let (debate, events) = play_with("argue/1/optimist", |debate| {
            let mut answer = argument(debate, 1, "optimist");
            answer.probabilities.clone_from(&stated);
            Ok(Answer::Argue(answer))
        });
        assert_eq!(reasons(&events, "argue/1/optimist"), [reason; 3]);
        assert_eq!(missing(&result(&debate).extra.completeness), ["optimist"]);
    }
}

#[test]
fn p29_repairs_of_distributions_are_in_the_result() {
    let (debate, _) = play(config(1), |debate, want| {
        Ok(match (Call::of(&want.call).unwrap(), blameless(debate, want)) {
            (Call::Argue { role, .. }, Answer::Argue(mut answer)) => {
                match role.as_str() {
                    "optimist" => answer.probabilities = vec![(A, 0.62), (B, 0.4)],
                    "historian" => drop(answer.probabilities.pop()),
                    _ => {}
                }
                Answer::Argue(answer)
            }
            (Call::Synthesise { .. }, Answer::Synthesise(mut answer)) => {
                answer.probabilities = vec![(A, 1.0), (B, -0.01)];
                Answer::Synthesise(answer)
            }
            (_, answer) => answer,
        })
    });
    let extra = result(&debate).extra;
    assert_eq!(extra.completeness, Completeness::Full);
    assert_eq!(
        extra.repairs,
        [
            repaired("argue/1/optimist", &["normalized"]),
            repaired("argue/1/historian", &["completed"]),
            repaired("synthesise/1/judge", &["negative_clipped"]),
        ]
    );
}

#[test]
fn k18_an_answer_from_a_cut_reply_is_named_in_the_result() {
    let (mut debate, _) = open(config(1));
    let work = debate.wanted_work().remove(0);
    let Work::Turn { want, turn } = work.clone() else { panic!("no tools here") };
    let begin = BeginCall {
        work,
        hedge: None,
        model: "scripted:test".to_owned(),
        prompt: PromptRef::default(),
        reserved: Default::default(),
        thinking: Default::default(),
    };
    tell(&mut debate, Timestamp(1_000), Command::BeginCall(begin));
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt: 1, turn };
    let reply = ReplyFacts {
        usage: Usage { input: Some(100), output: Some(50), cached: None, reasoning: None },
        repairs: vec!["code_fence".to_owned(), CUT.to_owned()],
        ..ReplyFacts::default()
    };
    let answer = blameless(&debate, &want);
    let command = Command::FinishCall { attempt, reply, prose: ReplyProse::default(), answer };
    tell(&mut debate, Timestamp(1_000), command);
    play_out(&mut debate, &|debate, want| Ok(blameless(debate, want)));
    assert_eq!(result(&debate).extra.repairs, [repaired("argue/1/optimist", &[CUT])]);
    assert_eq!(debate.calls_cut().map(ToString::to_string).collect::<Vec<_>>(), ["argue/1/optimist"]);
}

/// Plays a debate of three rounds in which all but the optimist fail from the second round on.
fn play_failing(config: Config, judge_answers: bool) -> Play {
    let (debate, _) = play(config, |debate, want| match Call::of(&want.call).unwrap() {
        Call::Argue { round, role } if round > 1 && role.as_str() != "optimist" => Err(FailureKind::Timeout),
        Call::Synthesise { .. } if !judge_answers => Err(FailureKind::Timeout),
        Call::Argue { .. } | Call::Score { .. } | Call::Synthesise { .. } => Ok(blameless(debate, want)),
    });
    debate
}

#[test]
fn p16_roles_that_failed_later_count_with_their_last_round() {
    let debate = play_failing(config(3), true);
    assert_eq!(debate.stop_rule(), Some(StopRule::Failed));
    let result = result(&debate);
    let Completeness::Partial { missing, why } = &result.extra.completeness else { panic!("it is partial") };
    let failed = ["pessimist", "contrarian", "historian", "judge"];
    assert_eq!(missing, &[&failed[..], &["argue/3/optimist"]].concat());
    let of_judge = "judge gave no usable answer after its retries; its distribution of round 1 counts";
    assert_eq!(why[3], of_judge);
    let yes = &result.probability_distribution[0];
    assert_eq!((yes.role_assessments.len(), yes.judge_probability), (5, Some(0.35)));
    assert!((yes.consensus_probability - 0.44).abs() < 1e-12);
    assert!((result.extra.confidence - 0.8 * 6.0 / 15.0).abs() < 1e-12);
}

#[test]
fn p16_confidence_is_halved_without_a_synthesis() {
    let result = result(&play_failing(config(3), false));
    let yes = &result.probability_distribution[0];
    assert_eq!((yes.judge_probability, yes.probability), (None, yes.consensus_probability));
    assert!((result.extra.confidence - 0.7 * 6.0 / 15.0 * 0.5).abs() < 1e-12);
}

#[test]
fn p16_debates_of_rules_0_keep_their_results() {
    let debate = play_failing(Config { rules: 0, ..config(3) }, true);
    let failed = result(&debate);
    assert!(matches!(failed.extra.completeness, Completeness::Void { .. }));
    assert!(failed.probability_distribution.is_empty());
    let (debate, _) = play(Config { rules: 0, ..config(1) }, |debate, want| {
        let scored = &*want.call.kind == "score";
        if scored { Err(FailureKind::Refused) } else { Ok(alike(debate, want, 0.5)) }
    });
    let extra = result(&debate).extra;
    assert_eq!((extra.confidence, extra.notes.len(), extra.repairs.len()), (0.8, 0, 0));
    let text = serde_json::to_string(debate.config()).unwrap();
    assert!(!text.contains("rules"), "{text}");
}

/// Answers like everybody else, with the same distribution.
fn alike(debate: &Play, want: &debate_core::call::Want, yes: f64) -> Answer {
    let mut answer = blameless(debate, want);
    if let Answer::Argue(answer) = &mut answer {
        answer.probabilities = vec![(A, yes), (B, 1.0 - yes)];
    }
    answer
}

#[test]
fn p27_equal_distributions_are_noted_in_the_result() {
    let (debate, _) = play(config(2), |debate, want| Ok(alike(debate, want, 0.5)));
    assert_eq!(
        result(&debate).extra.notes,
        [
            "all 5 roles gave the same distribution in the blind opening",
            "the last distributions of all 5 roles are the same",
        ]
    );
    let (debate, _) = play(config(2), |debate, want| Ok(blameless(debate, want)));
    assert_eq!(result(&debate).extra.notes, [""; 0]);
}

#[test]
fn p27_a_distribution_equal_to_the_shown_prior_is_noted() {
    let config = config(1);
    let prior =
        |(id, probability): (&debate_core::id::OutcomeId, f64)| Prior { outcome_id: id.clone(), probability };
    let priors = config.outcomes.iter().zip([0.204, 0.796]).map(prior).collect();
    let (mut debate, _) = open_on(config, |brief| brief.simulation_summary.final_distribution = priors);
    play_out(&mut debate, &|debate, want| Ok(blameless(debate, want)));
    assert_eq!(result(&debate).extra.notes, ["equal to the prior that was shown: pessimist"]);
}
