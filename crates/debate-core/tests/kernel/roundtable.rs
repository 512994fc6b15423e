//! Roundtables as tables (rules T1–T6, K6, K7, K14, K17).

use std::collections::BTreeSet;

use debate_core::call::{Want, Work};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{Event, KernelEvent};
use debate_core::format::Format;
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::agent::Stance;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::fact::Fact;
use debate_core::formats::roundtable::markdown;
use debate_core::formats::roundtable::outcome::{Consensus, NextStep, RoundtableResult};
use debate_core::id::Digest;
use debate_core::prose::{REDACTED, Texts};
use debate_core::stop::Completeness;
use proptest::prelude::*;

use crate::scenario::{Stage, check};

fn result(stage: &Stage<Roundtable>) -> RoundtableResult {
    Roundtable::outcome(&stage.debate, Texts::Shown)
}

#[test]
fn t4_full_modes_hear_earlier_rounds_but_not_their_own() {
    for mode in ["collaborative", "expert-panel", "delphi", "red-team-blue-team"] {
        let stage = check::<Roundtable>(&format!(
            "given    started agents=ada,bo,cy rounds=2 mode={mode}
             phase    round/1
             wants    respond/1/ada respond/1/bo respond/1/cy
             when     answer respond/1/cy
             wants    respond/1/ada respond/1/bo
             sees     respond/1/bo    nothing
             when     answer respond/1/ada
             when     answer respond/1/bo
             logged   call_answered response_given round_judged phase_closed phase_opened
             phase    round/2
             wants    respond/2/ada respond/2/bo respond/2/cy
             sees     respond/2/bo    respond/1/ada respond/1/bo respond/1/cy
             when     answer respond/2/bo
             sees     respond/2/cy    respond/1/ada respond/1/bo respond/1/cy
             when     answer respond/2/cy
             when     answer respond/2/ada
             logged   call_answered response_given round_judged phase_closed stop_rule_fired concluded
             stopped  max_rounds, 2 against 2
             concluded max_rounds full"
        ));
        assert_eq!(result(&stage).metadata.rounds_held, 2, "{mode}");
    }
}

#[test]
fn t4_sequential_modes_hear_those_before_them() {
    for mode in ["adversarial", "socratic", "devils-advocate"] {
        check::<Roundtable>(&format!(
            "given    started agents=ada,bo,cy rounds=2 mode={mode}
             wants    respond/1/ada
             when     answer respond/1/ada
             wants    respond/1/bo
             sees     respond/1/bo    respond/1/ada
             when     answer respond/1/bo
             sees     respond/1/cy    respond/1/ada respond/1/bo
             when     answer respond/1/cy
             wants    respond/2/ada
             sees     respond/2/ada   respond/1/ada respond/1/bo respond/1/cy
             when     answer respond/2/ada
             sees     respond/2/bo    respond/1/ada respond/1/bo respond/1/cy respond/2/ada
             when     answer respond/2/bo
             when     answer respond/2/cy
             concluded max_rounds full"
        ));
    }
}

#[test]
fn t4_last_only_runs_all_but_the_last_who_hears_them_all() {
    check::<Roundtable>(
        "given    started agents=ada,bo,cy,di rounds=1 mode=devils-advocate sequential_parallelization.enabled=true
         wants    respond/1/ada respond/1/bo respond/1/cy
         sees     respond/1/cy    nothing
         when     answer respond/1/cy
         when     answer respond/1/ada
         wants    respond/1/bo
         when     answer respond/1/bo
         wants    respond/1/di
         sees     respond/1/di    respond/1/ada respond/1/bo respond/1/cy
         when     answer respond/1/di
         concluded max_rounds full",
    );
}

#[test]
fn t3_a_stance_that_is_missing_is_asked_for_again_then_forced_and_marked() {
    let stage = check::<Roundtable>(
        "given    started agents=ada,bo,cy rounds=1 mode=devils-advocate
         when     answer respond/1/ada: Move. | | YES
         when     answer respond/1/bo: Stay. | | -
         logged   call_answered response_given answer_rejected
         wants    respond/1/bo
         when     answer respond/1/bo: Stay! | | YES
         cause    respond/1/bo    first reask
         wants    respond/1/cy
         sees     respond/1/cy    respond/1/ada respond/1/bo
         when     answer respond/1/cy: Maybe. | | YES
         when     fail respond/1/cy: timeout
         when     fail respond/1/cy: timeout
         when     fail respond/1/cy: timeout
         concluded max_rounds full",
    );
    let result = result(&stage);
    let responses: Vec<_> = result
        .agent_responses
        .iter()
        .map(|agent| {
            (
                agent.role.unwrap(),
                agent.response.stance.unwrap(),
                agent.response.stance_forced,
                agent.response.stated_stance,
            )
        })
        .collect();
    assert_eq!(
        responses,
        [
            ("primary", Stance::Yes, false, None),
            ("opposition", Stance::No, true, Some(Stance::Yes)),
            ("evaluator", Stance::Neutral, true, Some(Stance::Yes)),
        ]
    );
    assert_eq!(result.agent_responses[1].response.position, "Stay!", "the second answer stands");
    assert_eq!(
        result.agent_responses[2].response.position, "Maybe.",
        "no second one came, so the first stands"
    );
    assert_eq!(result.decision.cautions, ["2 stances were forced and are not those that agents gave"]);
}

#[test]
fn t2_confidence_is_brought_into_range_and_what_was_stated_is_kept() {
    let stage = check::<Roundtable>(
        "given    started agents=ada,bo rounds=1 mode=collaborative
         when     answer respond/1/ada: Move. | | 85
         when     answer respond/1/bo: Move. | | -0.5
         concluded max_rounds full",
    );
    let given: Vec<_> = stage.debate.state().round(stage.debate.config(), 1, Kind::Respond).collect();
    assert_eq!((given[0].confidence, given[0].stated_confidence), (1.0, Some(85.0)));
    assert_eq!((given[1].confidence, given[1].stated_confidence), (0.0, Some(-0.5)));
}

const SURE: &str = "Move the office to the harbour. | It is cheap. | YES 0.9";

fn agreeing(flags: &str) -> String {
    format!(
        "given    started agents=ada,bo rounds=3 mode=collaborative {flags}
         when     answer respond/1/ada: {SURE}
         when     answer respond/1/bo: {SURE}"
    )
}

#[test]
fn t6_groupthink_warns_and_confidence_does_not_hide_it() {
    let stage = check::<Roundtable>(&format!(
        "{}
         stopped  confidence, 0.9 against 0.85
         concluded confidence full",
        agreeing("exit_criteria.enabled=true exit_criteria.consensus_threshold=1 exit_criteria.convergence_rounds=2")
            .replace("ada: Move the office", "ada: Let us remain at the old place; it is cheap and known to all and near the office")
    ));
    let outcome = result(&stage);
    let found = outcome.evidence.groupthink.unwrap();
    assert!(found.detected);
    assert_eq!(
        found.indicators,
        ["All agents show high confidence (≥80%)", "No dissenting stances detected"]
    );
    assert_eq!(
        found.recommendation,
        "Consider additional rounds with devil's advocate role or manual review"
    );
    assert_eq!(
        outcome.decision.cautions,
        ["signs of groupthink in round 1; the debate ended on confidence, which is one of its signs"]
    );
    assert_eq!(outcome.metadata.exit.unwrap().details, "All agents confidence >= 0.85");
    assert_eq!(outcome.decision.action, NextStep::QueryDetail);
}

#[test]
fn t6_a_repoll_asks_everybody_once_more_blind_and_keeps_both_answers() {
    let stage = check::<Roundtable>(&format!(
        "{}
         logged   call_answered response_given round_judged
         phase    round/1
         wants    repoll/1/ada repoll/1/bo
         sees     repoll/1/bo    nothing
         when     answer repoll/1/bo: Stay where we are for now. | | NO 0.4
         wants    repoll/1/ada
         when     answer repoll/1/ada: {SURE}
         logged   call_answered response_given round_judged phase_closed phase_opened
         phase    round/2
         sees     respond/2/ada  respond/1/ada respond/1/bo repoll/1/ada repoll/1/bo
         when     answer respond/2/ada: Move in spring. | | 0.5
         when     answer respond/2/bo: Wait a year. | | 0.5
         phase    round/3
         when     answer respond/3/ada: Move in spring. | | 0.5
         when     answer respond/3/bo: Wait a year. | | 0.5
         concluded max_rounds full",
        agreeing("groupthink_detection.action=repoll")
    ));
    let outcome = result(&stage);
    let first = &outcome.evidence.rounds[0];
    let spoken: Vec<_> =
        first.responses.iter().map(|spoken| (spoken.agent.as_str(), spoken.response.kind)).collect();
    let (respond, repoll) = (Kind::Respond, Kind::Repoll);
    assert_eq!(spoken, [("ada", respond), ("bo", respond), ("ada", repoll), ("bo", repoll)]);
    let levels: Vec<f64> = first.judgements.iter().map(|judged| judged.agreement_level).collect();
    assert_eq!(levels[0], 1.0);
    assert!(levels[1] < 0.5, "{levels:?}");
    let found = outcome.evidence.groupthink.unwrap();
    assert_eq!((found.detected, found.after_repoll, found.rounds), (true, Some(false), vec![1]));
    assert_eq!(outcome.evidence.convergence_round, Some(2));
}

#[test]
fn t6_in_shadow_groupthink_is_in_the_log_alone() {
    let stage = check::<Roundtable>(&agreeing("groupthink_detection.action=shadow"));
    let judged = stage.debate.state().judged(1, Kind::Respond).unwrap();
    assert!(judged.groupthink.as_ref().unwrap().detected);
    assert_eq!(result(&stage).evidence.groupthink, None);
    let stage = check::<Roundtable>(&agreeing("groupthink_detection.enabled=false"));
    assert_eq!(stage.debate.state().judged(1, Kind::Respond).unwrap().groupthink, None);
}

#[test]
fn t5_exit_rules_fire_in_order_and_consensus_is_first() {
    let stage = check::<Roundtable>(&format!(
        "{}
         stopped  consensus, 1 against 0.9
         concluded consensus full",
        agreeing("exit_criteria.enabled=true")
    ));
    let outcome = result(&stage);
    assert_eq!(outcome.metadata.exit.unwrap().details, "Agreement level 1 >= threshold 0.9");
    assert_eq!((outcome.decision.consensus, outcome.decision.action), (Consensus::High, NextStep::Verify));
    assert_eq!(outcome.decision.position.as_deref(), Some("Move the office to the harbour."));
}

#[test]
fn t5_convergence_needs_one_round_more_than_it_looks_back() {
    let round = |number: u32| {
        format!(
            "
         when     answer respond/{number}/ada: Move the office to the harbour. | | 0.5
         when     answer respond/{number}/bo: Stay at home for another year, please. | | 0.6"
        )
    };
    let start = "given started agents=ada,bo rounds=9 mode=collaborative exit_criteria.enabled=true";
    let stage = check::<Roundtable>(&format!("{start}{}{}\n phase round/3", round(1), round(2)));
    assert_eq!(stage.debate.stop(), None);
    let stage = check::<Roundtable>(&format!(
        "{start}{}{}{}\n stopped convergence, 2 against 2\n concluded convergence full",
        round(1),
        round(2),
        round(3)
    ));
    let outcome = result(&stage);
    assert_eq!(outcome.metadata.exit.unwrap().details, "Positions stable for 2 rounds");
    assert_eq!(outcome.evidence.convergence_round, Some(1));
}

#[test]
fn k7_rules_in_shadow_are_recorded_once_each_and_not_obeyed() {
    let stage = check::<Roundtable>(&format!(
        "{}
         logged   call_answered response_given round_judged phase_closed stop_rule_fired stop_rule_fired phase_opened
         phase    round/2
         when     answer respond/2/ada: {SURE}
         when     answer respond/2/bo: {SURE}
         logged   call_answered response_given round_judged phase_closed phase_opened
         when     answer respond/3/ada: {SURE}
         when     answer respond/3/bo: {SURE}
         concluded max_rounds full",
        agreeing("exit_criteria.shadow=true exit_criteria.enabled=true")
    ));
    let outcome = result(&stage);
    let shadows: Vec<&str> = outcome.metadata.shadow_exits.iter().map(|exit| exit.reason).collect();
    assert_eq!(shadows, ["consensus", "confidence", "convergence"]);
}

#[test]
fn t11_who_refers_to_whom_is_recorded_and_counted() {
    let stage = check::<Roundtable>(
        "given    started agents=ada,bo,cy rounds=3 mode=socratic
         when     answer respond/1/ada: What would a migration cost us per year?
         when     answer respond/1/bo: Ada asks well. | I disagree with waiting.
         when     answer respond/1/cy: Silence.
         when     answer respond/2/ada: Nothing new.
         when     answer respond/2/bo: Nothing new.
         when     answer respond/2/cy: The migration will cost a million a year.
         when     answer respond/3/ada: As cy said, it is dear.
         when     answer respond/3/bo: Nothing new.
         when     answer respond/3/cy: Nothing new.
         concluded max_rounds full",
    );
    let outcome = result(&stage);
    let interaction = outcome.evidence.interaction;
    assert_eq!(
        (interaction.cross_references, interaction.rebuttal_depth, interaction.question_response_pairs),
        (2, 1, 1)
    );
    assert_eq!(outcome.evidence.rounds[0].responses[1].response.refers_to, ["ada".into()]);
}

#[test]
fn k6_an_agent_that_fails_is_missing_and_one_alone_is_no_roundtable() {
    let failing = |name: &str| format!("when fail respond/1/{name}: denied\n");
    let stage = check::<Roundtable>(&format!(
        "given    started agents=ada,bo,cy rounds=2 mode=adversarial
         {}
         wants    respond/1/bo
         when     answer respond/1/bo
         when     answer respond/1/cy
         wants    respond/2/bo
         when     answer respond/2/bo
         when     answer respond/2/cy
         concluded max_rounds partial without ada",
        failing("ada")
    ));
    assert_eq!(result(&stage).agent_responses.len(), 2);
    check::<Roundtable>(&format!(
        "given    started agents=ada,bo rounds=2 mode=delphi
         {}
         logged   attempt_failed stop_rule_fired phase_closed concluded
         concluded failed void",
        failing("ada")
    ));
    let stage = check::<Roundtable>(
        "given    started agents=ada,bo rounds=2 mode=delphi
         when     answer respond/1/ada: Move now. | | 0.5
         when     answer respond/1/bo: Move soon. | | 0.5
         when     answer respond/2/bo: Move soon. | | 0.9
         when     cancel
         logged   cancelled stop_rule_fired round_judged phase_closed concluded
         concluded cancelled partial without respond/2/ada",
    );
    assert_eq!(result(&stage).decision.cautions, ["the result is partial"]);
}

#[test]
fn k17_continued_rounds_come_after_those_that_were_held_and_old_exits_do_not_end_them() {
    let stage = check::<Roundtable>(&format!(
        "{}
         concluded consensus full
         refused  continue 10 because 10 more rounds are not allowed
         when     continue 2
         logged   continued phase_opened
         phase    round/2
         wants    respond/2/ada respond/2/bo
         when     answer respond/2/ada: Wait until next year.
         when     answer respond/2/bo: Sell everything today.
         phase    round/3
         when     answer respond/3/ada: Wait until next year.
         when     answer respond/3/bo: Sell everything today.
         stopped  max_rounds, 3 against 3
         concluded max_rounds full",
        agreeing("exit_criteria.enabled=true")
    ));
    assert_eq!(stage.debate.conclusion().unwrap().0.revision, 2);
    // A round that was cut short is held to its end first.
    check::<Roundtable>(
        "given    started agents=ada,bo rounds=2 mode=collaborative
         when     answer respond/1/ada: Move now.
         when     cancel
         concluded cancelled void
         when     continue 1
         phase    round/1
         wants    respond/1/bo
         when     answer respond/1/bo: Move now.
         phase    round/2
         when     answer respond/2/ada: Move now.
         when     answer respond/2/bo: Move now.
         concluded max_rounds full",
    );
}

#[test]
fn k17_however_late_a_round_was_held_as_a_log_says_there_are_no_more_than_the_rules_have() {
    let mut stage = check::<Roundtable>(
        "given    started agents=ada,bo rounds=1 mode=collaborative
         when     answer respond/1/ada: Move now.
         when     answer respond/1/bo: Move now.
         concluded max_rounds full",
    );
    for recorded in &mut stage.log {
        if let Event::Fact(Fact::RoundJudged(judged)) = &mut recorded.event {
            judged.round = 100;
        }
    }
    stage.debate = Debate::replay(&stage.log).unwrap();
    stage.act("continue 9");
    assert_eq!((stage.debate.config().rounds, stage.debate.state().rounds_max()), (10, 10));
}

#[test]
fn k17_continued_rounds_deal_with_their_focus_and_those_before_know_nothing_of_it() {
    let stage = check::<Roundtable>(&format!(
        "{}
         concluded consensus full
         when     continue 1: What would it cost?
         logged   continued phase_opened
         when     answer respond/2/ada: Wait until next year.
         when     answer respond/2/bo: Sell everything today.
         concluded max_rounds full
         when     continue 1
         when     answer respond/3/ada: Wait until next year.
         when     answer respond/3/bo: Sell everything today.
         concluded max_rounds full",
        agreeing("exit_criteria.enabled=true")
    ));
    let focus = |round: u32| {
        let call = format!("respond/{round}/ada").parse().unwrap();
        let want = Want { call, revision: 0 };
        Roundtable::visible(&stage.debate, &want).focus
    };
    assert_eq!((focus(1), focus(3)), (None, None));
    assert_eq!(focus(2).unwrap().shown().unwrap(), "What would it cost?");
    let result = |texts| Roundtable::outcome(&stage.debate, texts);
    let focuses =
        |texts| result(texts).evidence.rounds.into_iter().map(|round| round.focus).collect::<Vec<_>>();
    assert_eq!(focuses(Texts::Shown), [None, Some("What would it cost?".to_owned()), None]);
    assert_eq!(focuses(Texts::Withheld), [None, Some(REDACTED.to_owned()), None]);
    assert!(markdown::document(&result(Texts::Shown)).contains("Focus:\n\n> What would it cost?\n"));
}

#[test]
fn k15_a_redacted_roundtable_keeps_its_numbers() {
    let stage = check::<Roundtable>(&format!(
        "{}
         concluded consensus full
         when     redact 1",
        agreeing("exit_criteria.enabled=true")
    ));
    let withheld = Roundtable::outcome(&stage.debate, Texts::Withheld);
    assert_eq!((withheld.topic.as_str(), withheld.decision.position.as_deref()), (REDACTED, Some(REDACTED)));
    assert_eq!(withheld.decision.agreement_level, 1.0);
    assert_eq!(withheld.evidence.citations, []);
}

/// What the agents say: a function of what they are asked and shown, of nothing else.
fn words(stage: &Stage<Roundtable>, work: &Work, seed: u64) -> Option<String> {
    let want = work.want();
    let failures = stage.debate.call(&want.call).map_or(0, |call| call.failures);
    let visible = Roundtable::visible(&stage.debate, want);
    let shown = format!("{:?} {}/{}/{failures}", visible.context, want.call, want.revision);
    let digest = Digest::of_parts([seed.to_le_bytes().as_slice(), shown.as_bytes()]).as_seed();
    let choose = |among: &[&'static str], shift: u32| among[(digest >> shift) as usize % among.len()];
    if choose(&["", "", "", "", "", "", "", "", "", "fails"], 40) == "fails" {
        return None;
    }
    let position =
        choose(&["Move the office now.", "Move the office soon.", "Stay.", "Do not move the office."], 0);
    let reasoning = choose(&["", "I disagree with ada.", "What will it cost us?"], 16);
    let claims = choose(&["YES 0.9", "YES 0.9", "NO 0.8", "- 0.3", "NEUTRAL 7"], 24);
    Some(format!("{position} | {reasoning} | {claims}"))
}

/// Plays a roundtable to its end, answering in an order drawn from `order`.
fn played(opened: &str, seed: u64, order: u64) -> Stage<Roundtable> {
    let mut stage: Stage<Roundtable> = Stage::open(opened);
    for step in 0..10_000_u64 {
        if stage.debate.lifecycle() == Lifecycle::Concluded {
            return stage;
        }
        let wanted = stage.debate.wanted_work();
        let lot = Digest::of_parts([order.to_le_bytes(), step.to_le_bytes()].iter().map(<[u8; 8]>::as_slice));
        let work = wanted[lot.as_seed() as usize % wanted.len()].clone();
        let call = &work.want().call;
        let line = match words(&stage, &work, seed) {
            Some(words) => format!("answer {call}: {words}"),
            None => format!("fail {call}: timeout"),
        };
        stage.command(&line).unwrap();
    }
    panic!("{opened} does not end");
}

fn comparable(stage: &Stage<Roundtable>) -> RoundtableResult {
    let mut outcome = result(stage);
    if matches!(outcome.completeness, Completeness::Void { .. }) || outcome.stop_reason == "failed" {
        // What others had said by then is a matter of time.
        (outcome.evidence.rounds, outcome.agent_responses) = (Vec::new(), Vec::new());
    }
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn k4_every_mode_ends_and_the_order_of_answers_does_not_matter(
        seed in any::<u64>(),
        orders in any::<(u64, u64)>(),
        mode in prop::sample::select(vec![
            "collaborative", "adversarial", "socratic", "expert-panel", "devils-advocate", "delphi", "red-team-blue-team",
        ]),
        level in prop::sample::select(vec!["none", "last-only", "full"]),
        action in prop::sample::select(vec!["warn", "repoll", "shadow"]),
        exit in any::<bool>(),
    ) {
        let opened = format!(
            "agents=ada,bo,cy rounds=3 mode={mode} sequential_parallelization.enabled=true \
             sequential_parallelization.level={level} groupthink_detection.action={action} \
             exit_criteria.enabled={exit} attempts_max=2"
        );
        let (first, second) = (played(&opened, seed, orders.0), played(&opened, seed, orders.1));
        let (one, other) = (comparable(&first), comparable(&second));
        if one.stop_reason != "failed" && other.stop_reason != "failed" {
            prop_assert_eq!(one.evidence, other.evidence);
            prop_assert_eq!(one.decision, other.decision);
            prop_assert_eq!(one.agent_responses, other.agent_responses);
        }
        // No question in the log was answered twice, and no stance of a devil's advocate is free.
        let asked: Vec<String> = first.log.iter().filter_map(|recorded| match &recorded.event {
            Event::Kernel(KernelEvent::CallAnswered(answered)) => {
                Some(format!("{}/{}", answered.attempt.call, answered.attempt.revision))
            }
            Event::Opened(_) | Event::Kernel(_) | Event::Fact(_) => None,
        }).collect();
        prop_assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len());
        for recorded in &first.log {
            if let Event::Fact(Fact::ResponseGiven(given)) = &recorded.event {
                let part = first.debate.config().agent(&given.agent).unwrap().part;
                let expected = part.and_then(debate_core::formats::roundtable::agent::Part::stance);
                prop_assert!(expected.is_none() || given.stance == expected);
                prop_assert!((0.0..=1.0).contains(&given.confidence));
            }
        }
    }
}
