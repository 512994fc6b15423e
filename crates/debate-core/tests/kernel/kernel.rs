//! What the kernel promises whatever the format, shown on prediction debates (rules K2, K8, K9, K14, K17).

use std::collections::BTreeSet;

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::event::Recorded;
use debate_core::fork::Change;
use debate_core::format::Format;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Seq;
use debate_core::prose::Texts;
use serde_json::Value;

use crate::scenario::{Cast, Stage, check};

#[test]
fn p3_a_debate_asks_argues_scores_and_sums_up() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist,judge rounds=2
         phase    opening/1
         wants    argue/1/optimist argue/1/pessimist argue/1/judge
         sees     argue/1/judge         nothing
         when     answer argue/1/optimist
         logged   call_answered argument_made
         wants    argue/1/pessimist argue/1/judge score/1/optimist
         sees     score/1/optimist      argue/1/optimist
         when     answer argue/1/pessimist
         when     answer argue/1/judge
         when     answer score/1/optimist
         when     answer score/1/pessimist
         when     answer score/1/judge
         logged   call_answered argument_scored round_summarised phase_closed phase_opened
         phase    closing/2
         wants    argue/2/optimist argue/2/pessimist
         when     answer argue/2/optimist
         when     answer argue/2/pessimist
         wants    argue/2/judge score/2/optimist score/2/pessimist
         when     answer argue/2/judge
         when     answer score/2/judge
         when     answer score/2/optimist
         when     answer score/2/pessimist
         logged   call_answered argument_scored round_summarised phase_closed stop_rule_fired
         phase    none
         wants    synthesise/2/judge
         when     answer synthesise/2/judge
         logged   call_answered judgement_rendered concluded
         wants    nothing
         concluded max_rounds full",
    );
}

#[test]
fn k2_an_answer_to_a_call_never_begun_is_refused() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist
         refused  finish argue/1/optimist because attempt 1 of argue/1/optimist is not open
         refused  begin score/1/optimist because Turn { want: Want { call: CallKey { kind: \"score\", round: 1, role: Role(\"optimist\"), pass: 1 }, revision: 0 }, turn: 1 } is not wanted
         when     answer argue/1/optimist
         refused  finish argue/1/optimist because attempt 1 of argue/1/optimist is not open
         refused  lose argue/1/pessimist because attempt 1 of argue/1/pessimist is not open
         wants    argue/1/pessimist score/1/optimist",
    );
}

#[test]
fn k2_a_start_that_was_lost_is_repeated_with_its_cause() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist
         when     begin argue/1/optimist
         wants    argue/1/optimist argue/1/pessimist
         when     begin argue/1/optimist
         cause    argue/1/optimist      first lost
         when     finish argue/1/optimist
         wants    argue/1/pessimist score/1/optimist
         when     fail argue/1/pessimist
         when     answer argue/1/pessimist
         cause    argue/1/pessimist     first reask
         when     begin score/1/optimist
         when     hedge score/1/optimist
         cause    score/1/optimist      first hedge
         when     finish score/1/optimist
         logged   call_answered attempt_abandoned argument_scored",
    );
    assert!(!stage.debate.spend().complete, "what a lost attempt has used is not known");
}

#[test]
fn p6_a_rejected_argument_is_asked_again_once_and_its_score_with_it() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist
         when     answer argue/1/optimist
         when     answer score/1/optimist: score=0.1
         logged   call_answered argument_scored answer_rejected
         wants    argue/1/optimist argue/1/pessimist
         when     answer argue/1/optimist
         cause    argue/1/optimist      first reask
         when     answer score/1/optimist: score=0.15
         logged   call_answered argument_scored
         wants    argue/1/pessimist",
    );
}

#[test]
fn k2_failed_attempts_are_bounded() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist,historian attempts_max=2
         when     fail argue/1/optimist
         wants    argue/1/optimist argue/1/pessimist argue/1/historian
         when     answer argue/1/optimist: p=0
         logged   attempt_failed
         wants    argue/1/pessimist argue/1/historian
         when     fail argue/1/pessimist: denied
         logged   attempt_failed stop_rule_fired round_summarised phase_closed concluded
         concluded failed void",
    );
}

#[test]
fn k2_lost_starts_are_bounded() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist,historian starts_max=3
         when     begin argue/1/optimist
         when     begin argue/1/optimist
         when     begin argue/1/optimist
         cause    argue/1/optimist      first lost lost
         when     begin argue/1/optimist
         logged   attempt_failed
         cause    argue/1/optimist      first lost lost
         wants    argue/1/pessimist argue/1/historian
         refused  finish argue/1/optimist because attempt 3 of argue/1/optimist is not open
         refused  fail argue/1/optimist because attempt 3 of argue/1/optimist is not open
         when     lose argue/1/optimist
         logged   attempt_abandoned",
    );
}

#[test]
fn k17_pause_keeps_what_runs_and_starts_nothing() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist deadline_ms=10000 closing_ms=0
         when     begin argue/1/optimist
         when     clock 1000
         when     pause
         left_ms  9000
         wants    nothing
         keeps    argue/1/optimist argue/1/pessimist
         refused  pause because the debate is paused
         when     finish argue/1/optimist
         wants    nothing
         when     clock 60000
         left_ms  9000
         when     resume
         left_ms  9000
         wants    argue/1/pessimist score/1/optimist
         refused  resume because the debate is not paused
         when     clock 8999
         wants    argue/1/pessimist score/1/optimist
         when     clock 1
         wants    nothing
         concluded deadline void",
    );
}

#[test]
fn k9_cancel_gives_up_what_runs_and_concludes() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist
         when     answer argue/1/optimist
         when     begin argue/1/pessimist
         when     begin score/1/optimist
         when     cancel
         logged   cancelled stop_rule_fired round_summarised phase_closed attempt_abandoned attempt_abandoned concluded
         wants    nothing
         keeps    nothing
         concluded cancelled void
         refused  cancel because the debate has concluded
         refused  finish argue/1/pessimist because the debate has concluded",
    );
}

#[test]
fn k9_cancel_ends_a_pause() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist
         when     pause
         when     cancel
         concluded cancelled void",
    );
}

#[test]
fn k9_a_deadline_first_closes_and_then_stops() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist rounds=2 deadline_ms=1000 closing_ms=300
         when     answer argue/1/optimist
         when     answer argue/1/pessimist
         when     clock 699
         wants    score/1/optimist score/1/pessimist
         when     clock 1
         logged   stop_rule_fired round_summarised phase_closed
         wants    synthesise/1/judge
         when     begin synthesise/1/judge
         when     clock 299
         wants    synthesise/1/judge
         when     clock 1
         logged   stop_rule_fired attempt_abandoned concluded
         concluded deadline partial without score/1/optimist score/1/pessimist argue/2/optimist argue/2/pessimist synthesis",
    );
}

#[test]
fn k8_a_used_up_budget_leads_to_the_synthesis() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist calls_max=4
         when     answer argue/1/optimist
         when     answer argue/1/pessimist
         when     answer score/1/optimist
         when     begin score/1/pessimist
         logged   stop_rule_fired round_summarised phase_closed
         wants    synthesise/1/judge
         when     answer synthesise/1/judge
         concluded budget partial without score/1/pessimist",
    );
}

#[test]
fn k8_tokens_are_reserved_before_and_settled_after() {
    // Each request reserves 100 output tokens and uses 50; 100 are kept for the synthesis.
    check::<Prediction>(
        "given    started roles=optimist,pessimist output_max=300 closing_output=100
         when     begin argue/1/optimist
         when     begin argue/1/pessimist
         when     finish argue/1/optimist
         when     finish argue/1/pessimist
         when     begin score/1/optimist
         logged   call_started
         when     begin score/1/pessimist
         logged   stop_rule_fired round_summarised phase_closed
         when     answer synthesise/1/judge
         logged   call_answered judgement_rendered attempt_abandoned concluded
         concluded budget partial without score/1/optimist score/1/pessimist",
    );
}

#[test]
fn k8_not_even_the_reserve_is_overspent() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist calls_max=1
         when     begin argue/1/optimist
         logged   stop_rule_fired round_summarised phase_closed concluded
         concluded budget void",
    );
    check::<Prediction>(
        "given    started roles=optimist,pessimist output_max=250 closing_output=0
         when     answer argue/1/optimist
         when     answer argue/1/pessimist
         when     begin score/1/optimist
         when     begin score/1/pessimist
         logged   stop_rule_fired round_summarised phase_closed
         when     begin synthesise/1/judge
         logged   attempt_failed attempt_abandoned concluded
         concluded budget partial without score/1/optimist score/1/pessimist synthesis",
    );
}

#[test]
fn k17_continue_adds_rounds_and_concludes_anew() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist rounds=1 deadline_ms=1000 closing_ms=0
         refused  continue 1 because the debate has not concluded
         when     answer argue/1/optimist
         when     answer argue/1/pessimist
         when     answer score/1/optimist
         when     answer score/1/pessimist
         when     answer synthesise/1/judge
         concluded max_rounds full
         when     clock 5000
         refused  continue 0 because 0 more rounds are not allowed
         refused  continue 10 because 10 more rounds are not allowed
         refused  continue 1: What of it? because rounds of this format take no focus
         when     continue 1
         logged   continued phase_opened
         left_ms  1000
         phase    closing/2
         wants    argue/2/optimist argue/2/pessimist
         when     answer argue/2/optimist: p=0.9
         when     answer argue/2/pessimist: p=0.9
         when     answer score/2/optimist
         when     answer score/2/pessimist
         wants    synthesise/2/judge
         when     answer synthesise/2/judge: p=0.9
         concluded max_rounds full",
    );
    let (concluded, _) = stage.debate.conclusion().unwrap();
    assert_eq!(concluded.revision, 2);
    let outcome = Prediction::outcome(&stage.debate, Texts::Shown);
    assert_eq!(outcome.debate_log.rounds.len(), 2);
    assert!((outcome.probability_distribution[0].probability - 0.9).abs() < 1e-9);
}

#[test]
fn k16_a_concluded_debate_is_resolved_and_a_correction_is_a_new_event() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist
         refused  resolve yes because the debate has not concluded
         when     cancel
         refused  resolve snow because snow is not an outcome of this debate
         refused  resolve yes: 86400000 because 1970-01-02T00:00:00.000Z is still to come
         when     resolve yes
         refused  resolve yes because the debate is resolved as yes
         when     resolve no: 0
         refused  resolve no: 0 because the debate is resolved as no",
    );
    let (resolved, _) = stage.debate.resolved().unwrap();
    assert_eq!(
        (resolved.outcome.as_str(), resolved.happened_at),
        ("no", Some(debate_core::id::Timestamp(0)))
    );
}

#[test]
fn k15_events_of_a_concluded_debate_are_redacted_once() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist
         refused  redact 1 because the debate has not concluded
         when     cancel
         refused  redact 0 because the debate has no event 0
         refused  redact 99 because the debate has no event 99
         when     redact 1
         refused  redact 1 because event 1 is redacted
         when     redact 2",
    );
    assert_eq!(stage.debate.redacted(), &BTreeSet::from([Seq(1), Seq(2)]));
    assert!(stage.debate.is_redacted());
}

#[test]
fn k15_a_log_in_which_a_debate_rests_ends_or_goes_on_out_of_turn_is_not_folded() {
    let running = "given    started roles=optimist,pessimist rounds=1";
    let paused = format!("{running}\nwhen pause");
    let ended = format!("{paused}\nwhen resume\nwhen cancel");
    let longer = check::<Prediction>(&format!("{ended}\nwhen continue 1"));
    let stages = [running, &paused, &ended].map(check::<Prediction>);
    let mut taken = Vec::new();
    for Recorded { at, event, .. } in &longer.log {
        for Stage { debate, .. } in &stages {
            let step = (debate.lifecycle().as_str(), event.kind());
            if ["paused", "resumed", "concluded", "continued"].contains(&step.1)
                && debate.clone().apply(*at, event).is_ok()
            {
                taken.push(step);
            }
        }
    }
    let once = [
        ("running", "paused"),
        ("paused", "resumed"),
        ("running", "concluded"),
        ("paused", "concluded"),
        ("concluded", "continued"),
    ];
    assert_eq!(taken, once);
}

/// Starts whatever is wanted and answers it, until nothing is.
fn play_out<F: Cast>(stage: &mut Stage<F>) {
    for _ in 0..1_000 {
        let Some(work) = stage.debate.wanted_work().into_iter().next() else { return };
        let want: Want = work.want().clone();
        stage.begin(&want, false).unwrap();
        stage.finish(&want, "").unwrap();
    }
    panic!("the debate does not end");
}

/// Returns an outcome without the times and the spend, which a crash changes.
fn timeless<F: Format>(debate: &Debate<F>) -> Value {
    let mut outcome = serde_json::to_value(F::outcome(debate, Texts::Shown)).unwrap();
    let map = outcome.as_object_mut().unwrap();
    map.remove("completed_at");
    map.remove("metadata");
    map.remove("usage_complete");
    if let Some(extra) = map.get_mut("extra") {
        extra.as_object_mut().unwrap().remove("usage_complete");
    }
    outcome
}

/// Goes on from every point at which a process can have died: the log between two appends.
fn check_crashes<F: Cast>(opened: &str) {
    let mut whole = Stage::<F>::open(opened);
    play_out(&mut whole);
    let expected = timeless(&whole.debate);
    assert!(whole.appends.len() > 10);
    for append in &whole.appends {
        let mut stage = Stage::<F>::open(opened);
        stage.log = whole.log[..*append].to_vec();
        stage.appends.retain(|length| length <= append);
        stage.debate = Debate::replay(&stage.log).unwrap();
        let answered = |stage: &Stage<F>| {
            stage.log.iter().filter(|recorded| recorded.event.kind() == "call_answered").count()
        };
        play_out(&mut stage);
        assert_eq!(timeless(&stage.debate), expected, "from event {append}");
        assert_eq!(answered(&stage), answered(&whole), "an answer in the log was asked for again");
    }
}

#[test]
fn k2_from_every_point_of_the_log_the_same_loop_gives_the_same_outcome() {
    check_crashes::<Prediction>("roles=optimist,pessimist,historian,judge rounds=3");
    check_crashes::<Deliberation>("participants=ada,bo,cy orchestrator=mo");
    check_crashes::<Deliberation>("participants=ada,bo,cy orchestrator=bo concurrency=parallel");
    check_crashes::<Investigation>("by=ann,bo,cy lead=yes");
}

#[test]
fn k1_folding_a_log_step_by_step_gives_the_same_state() {
    let mut stage = Stage::<Prediction>::open("roles=optimist,pessimist,judge rounds=2");
    play_out(&mut stage);
    for end in 1..=stage.log.len() {
        let prefix = Debate::replay(&stage.log[..end]).unwrap();
        assert_eq!(prefix.head().0, end as u64);
        let mut longer = prefix.clone();
        for recorded in &stage.log[end..] {
            longer.apply(recorded.at, &recorded.event).unwrap();
        }
        assert_eq!(longer.outcome_digest(), stage.debate.outcome_digest());
    }
}

/// Checks that a fork may give another model to `somebody`, but not to a role that takes no part.
fn check_models_of_forks<F: Cast>(opened: &str, somebody: &str) {
    let stage = Stage::<F>::open(opened);
    let given = |name: &str| {
        let change: Change = format!("model.roles.{name}=a:1").parse().unwrap();
        F::changed(stage.debate.config(), &change).map(drop)
    };
    assert_eq!(given(somebody), Ok(()), "{opened}");
    let why = "there is no model for \"roles.outsider\" in this debate";
    assert_eq!(given("outsider"), Err(why.to_owned()), "{opened}");
}

#[test]
fn k14_a_fork_gives_another_model_to_those_alone_who_take_part() {
    check_models_of_forks::<Prediction>("roles=optimist,pessimist,judge", "judge");
    check_models_of_forks::<Deliberation>("participants=ada,bo orchestrator=mo", "mo");
    check_models_of_forks::<Roundtable>("agents=ada,bo rounds=1 mode=delphi", "bo");
    check_models_of_forks::<Review>("targets=env", "bo");
    check_models_of_forks::<Investigation>("by=ann,bo", "ann");
}

/// Returns which changes of the judge's order and of pooling a fork refuses.
fn refused_changes<F: Cast>(opened: &str) -> Vec<String> {
    let stage = Stage::<F>::open(opened);
    let changes = ["judge_order=reversed", "judge_order=7", "pooling=log_odds"].map(|it| it.parse().unwrap());
    changes.iter().filter_map(|change| F::changed(stage.debate.config(), change).err()).collect()
}

#[test]
fn k14_a_fork_changes_the_judges_order_and_pooling_where_there_is_a_judge_and_something_is_pooled() {
    assert_eq!(refused_changes::<Prediction>("roles=optimist,pessimist,judge"), [""; 0]);
    assert_eq!(refused_changes::<Review>("targets=env"), ["a review pools nothing"]);
    for (refused, a_format) in [
        (refused_changes::<Deliberation>("participants=ada,bo orchestrator=mo"), "a deliberation"),
        (refused_changes::<Roundtable>("agents=ada,bo rounds=1 mode=delphi"), "a roundtable"),
        (refused_changes::<Investigation>("by=ann,bo"), "an investigation"),
    ] {
        let [no_judge, pools_nothing] =
            ["has no judge", "pools nothing"].map(|why| format!("{a_format} {why}"));
        assert_eq!(refused, [no_judge.clone(), no_judge, pools_nothing]);
    }
}
