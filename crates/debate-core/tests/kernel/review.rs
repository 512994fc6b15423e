//! Review debates as tables (rules V1–V6, K6, K7, K14).

use debate_core::call::Usage;
use debate_core::event::{CallAnswered, Event, ReplyFacts};
use debate_core::fork::Change;
use debate_core::format::Format;
use debate_core::formats::review::Review;
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::outcome::ReviewResult;
use debate_core::policy::insights::{self, Threshold};
use debate_core::prose::{Prose, Texts};
use debate_core::stop::Completeness;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scenario::{START, Stage, check};

fn result(stage: &Stage<Review>) -> ReviewResult {
    Review::outcome(&stage.debate, Texts::Shown)
}

fn json_of(stage: &Stage<Review>) -> Value {
    serde_json::to_value(result(stage)).unwrap()
}

#[test]
fn v3_a_pair_argues_and_rebuts_in_order_and_pairs_go_side_by_side() {
    let stage = check::<Review>(
        "given    started targets=env,disk
         phase    pair/2
         wants    argue/1/ada argue/2/ada
         sees     argue/1/ada     nothing
         when     answer argue/1/ada: Env must be guarded. It holds keys.
         logged   call_answered speech_made
         wants    argue/1/bo argue/2/ada
         sees     argue/1/bo      argue/1/ada
         when     answer argue/1/bo
         wants    rebut/1/ada argue/2/ada
         sees     rebut/1/ada     argue/1/ada argue/1/bo
         when     answer argue/2/ada
         when     answer rebut/1/ada
         sees     rebut/1/bo      argue/1/ada argue/1/bo rebut/1/ada
         when     answer rebut/1/bo
         wants    judge/1/judge argue/2/bo
         when     answer judge/1/judge: ada=8.2 bo=5.5 winner=ada
         logged   call_answered pair_judged phase_closed
         when     answer argue/2/bo
         when     answer rebut/2/ada
         when     answer rebut/2/bo
         when     answer judge/2/judge: ada=4 bo=9 winner=bo
         logged   call_answered pair_judged phase_closed stop_rule_fired concluded
         stopped  concluded, 2 against 2
         concluded concluded full",
    );
    let found = json_of(&stage);
    let feedback = |role: &str, score: f64| {
        json!({
            "role": role,
            "argument_quality_score": score,
            "argument_labels": ["well-reasoned", format!("{role}-like")],
            "policy_signal": format!("{role} should cite lines"),
        })
    };
    // Ten requests of 10 tokens in and 50 out.
    assert_eq!(
        found["debate_log"],
        json!({
            "ran": true,
            "pairs": [
                {
                    "role_a": "ada", "role_b": "bo", "conflict": "Add vs Remove on 'env'",
                    "winner": "ada", "judge_scores": {"ada": 8.2, "bo": 5.5},
                },
                {
                    "role_a": "ada", "role_b": "bo", "conflict": "Add vs Remove on 'disk'",
                    "winner": "bo", "judge_scores": {"ada": 4.0, "bo": 9.0},
                },
            ],
            "judge_feedback": [
                feedback("ada", 8.2), feedback("bo", 5.5), feedback("ada", 4.0), feedback("bo", 9.0),
            ],
            "cost": {"input_tokens": 100, "output_tokens": 500},
        }),
        "the predecessor's shape, nothing more"
    );
    let first = &found["debates"][0];
    assert_eq!(first["role_a_argument"], "Env must be guarded. It holds keys.");
    assert_eq!(first["conflict_description"], "ada (AddConstraint) vs bo (RemoveConstraint) on 'env'");
    assert_eq!(first["usage"], json!({"input": 40, "output": 200}));
    assert_eq!(first["judgement"]["usage"], json!({"input": 10, "output": 50}));
    assert_eq!(first["judgement"]["feedback"][1]["winner"], "role_a");
    assert_eq!(found["total_tokens"], 600);
    assert_eq!(found["not_run"], Value::Null);
}

#[test]
fn v1_no_pair_debates_unless_enabled_and_the_log_says_why() {
    for (words, why, reason) in [
        ("enabled=no targets=env", "disabled", "debate.enabled is false"),
        ("seed=1", "too_few_conflicts", "0 conflicts; 1 start a debate"),
        ("targets=env min_conflicts_to_trigger=2", "too_few_conflicts", "1 conflicts; 2 start a debate"),
    ] {
        let stage = check::<Review>(&format!(
            "given    started {words}
             wants    nothing
             logged   opened review_skipped stop_rule_fired concluded
             concluded concluded full"
        ));
        let found = json_of(&stage);
        assert_eq!(found["debate_log"], Value::Null, "{words}");
        assert_eq!(found["not_run"], json!({"why": why, "reason": reason}));
        assert_eq!(found["metadata"]["calls"], 0);
    }
}

#[test]
fn v3_a_failed_pair_is_listed_and_the_others_go_on() {
    let stage = check::<Review>(
        "given    started targets=env,disk attempts_max=2
         when     answer argue/1/ada
         when     fail argue/1/bo
         wants    argue/1/bo argue/2/ada
         when     fail argue/1/bo
         logged   attempt_failed pair_failed phase_closed
         wants    argue/2/ada
         when     answer argue/2/ada
         when     answer argue/2/bo
         when     answer rebut/2/ada
         when     answer rebut/2/bo
         when     answer judge/2/judge: winner=bo
         concluded concluded partial without argue/1/bo",
    );
    let found = json_of(&stage);
    assert_eq!(
        found["failed_pairs"],
        json!([{
            "pair": 1, "role_a": "ada", "role_b": "bo",
            "why": "argue/1/bo has no usable answer after its retries",
        }])
    );
    assert_eq!(found["debate_log"]["pairs"].as_array().unwrap().len(), 1);
    assert_eq!(found["debate_log"]["pairs"][0]["winner"], "bo");
}

#[test]
fn v6_a_failing_model_and_a_failing_judge_leave_the_input_as_it_is() {
    let model = check::<Review>(
        "given    started targets=env attempts_max=1
         when     fail argue/1/ada: denied
         concluded concluded partial without argue/1/ada",
    );
    let judge = check::<Review>(
        "given    started targets=env attempts_max=1
         when     answer argue/1/ada
         when     answer argue/1/bo
         when     answer rebut/1/ada
         when     answer rebut/1/bo
         when     fail judge/1/judge
         concluded concluded partial without judge/1/judge",
    );
    let whole = check::<Review>("given started targets=env enabled=no");
    let input = |stage: &Stage<Review>| result(stage).critiques.as_str().to_owned();
    assert_eq!((input(&model), input(&judge)), (input(&whole), input(&whole)));
    let (model, judge) = (json_of(&model), json_of(&judge));
    assert_eq!(
        model["debate_log"],
        json!({"ran": true, "pairs": [], "judge_feedback": [], "cost": {"input_tokens": 0, "output_tokens": 0}})
    );
    let pair = &judge["debate_log"]["pairs"][0];
    assert_eq!((&pair["winner"], &pair["judge_scores"]), (&Value::Null, &json!({})));
    assert_eq!(judge["completeness"]["why"], json!(["judge/1/judge has no usable answer after its retries"]));
}

#[test]
fn v3_a_speech_of_another_length_is_asked_for_once_more_and_then_stands() {
    let stage = check::<Review>(
        "given    started targets=env
         when     answer argue/1/ada: Just one.
         logged   call_answered speech_made answer_rejected
         wants    argue/1/ada
         when     answer argue/1/ada: One. Two. Three. Four.
         cause    argue/1/ada  first reask
         wants    argue/1/bo
         when     answer argue/1/bo: It is so! Is it not?
         wants    rebut/1/ada",
    );
    let debated = &result(&stage).debates[0];
    assert_eq!(debated.off_length, ["argue/1/ada"]);
    assert_eq!(debated.role_a_argument.as_deref(), Some("One. Two. Three. Four."));
}

fn judged(passes: &str) -> Stage<Review> {
    check::<Review>(&format!(
        "given    started targets=env judge_passes=2 seed=1 attempts_max=1
         when     answer argue/1/ada
         when     answer argue/1/bo
         when     answer rebut/1/ada
         when     answer rebut/1/bo
         wants    judge/1/judge judge/1/judge/2
         {passes}"
    ))
}

#[test]
fn v4_two_passes_see_the_sides_both_ways_and_their_disagreement_is_a_tie() {
    let stage = judged(
        "sees     judge/1/judge    argue/1/ada argue/1/bo rebut/1/ada rebut/1/bo
         sees     judge/1/judge/2  argue/1/bo argue/1/ada rebut/1/bo rebut/1/ada
         when     answer judge/1/judge: ada=8 bo=6 winner=ada
         when     answer judge/1/judge/2: ada=5 bo=7 winner=bo
         concluded concluded full",
    );
    let found = json_of(&stage);
    let pair = &found["debate_log"]["pairs"][0];
    assert_eq!((&pair["winner"], &pair["judge_scores"]), (&json!("tie"), &json!({"ada": 6.5, "bo": 6.5})));
    let judgement = &found["debates"][0]["judgement"];
    assert!(judgement["note"].as_str().unwrap().contains("counts as a tie"));
    let shown: Vec<&Value> =
        judgement["passes"].as_array().unwrap().iter().map(|pass| &pass["shown_first"]).collect();
    assert_eq!(shown, ["ada", "bo"]);
}

#[test]
fn v4_passes_that_agree_have_no_note_and_one_that_fails_is_noted() {
    let agree = judged(
        "when     answer judge/1/judge/2: winner=bo
         when     answer judge/1/judge: winner=bo
         concluded concluded full",
    );
    let judgement = result(&agree).debates[0].judgement.clone().unwrap();
    assert_eq!((judgement.winner, judgement.note), (Winner::RoleB, None));
    let single = judged(
        "when     fail judge/1/judge
         when     answer judge/1/judge/2: ada=9 winner=ada
         concluded concluded partial without judge/1/judge",
    );
    let judgement = result(&single).debates[0].judgement.clone().unwrap();
    assert_eq!(judgement.winner, Winner::RoleA);
    assert!(judgement.note.unwrap().contains("only one of two passes"));
}

#[test]
fn v4_a_score_out_of_range_is_no_judgement() {
    let stage = judged(
        "when     answer judge/1/judge: ada=11
         logged   attempt_failed
         when     answer judge/1/judge/2: winner=ada",
    );
    assert_eq!(result(&stage).debates[0].judgement.as_ref().unwrap().passes.len(), 1);
}

#[test]
fn k9_at_the_deadline_whole_pairs_are_judged_and_others_are_listed() {
    let stage = check::<Review>(
        "given    started targets=env,disk deadline_ms=1000 closing_ms=400
         when     answer argue/1/ada
         when     answer argue/1/bo
         when     answer rebut/1/ada
         when     answer rebut/1/bo
         when     answer argue/2/ada
         when     clock 600
         logged   stop_rule_fired phase_closed
         wants    judge/1/judge
         when     answer judge/1/judge: winner=ada
         concluded deadline partial without argue/2/bo",
    );
    let found = result(&stage);
    assert_eq!(found.failed_pairs.len(), 1);
    assert_eq!(found.failed_pairs[0].why, "stopped by deadline");
    assert_eq!(found.debate_log.unwrap().pairs[0].winner.as_deref(), Some("ada"));
    let cancelled = check::<Review>(
        "given    started targets=env
         when     cancel
         concluded cancelled partial without argue/1/ada",
    );
    assert!(matches!(result(&cancelled).completeness, Completeness::Partial { .. }));
}

#[test]
fn k14_a_review_can_be_judged_the_other_way_round_but_not_without_a_reviewer() {
    let stage = check::<Review>("given started targets=env");
    let change = |text: &str| Review::changed(stage.debate.config(), &text.parse::<Change>().unwrap());
    assert!(change("judge_order=reversed").unwrap().judge_reversed);
    assert_eq!(change("judge_order=9").unwrap().seed, 9);
    assert_eq!(change("model.judge=a:1").unwrap().models.purposes["judge"], ["a:1"]);
    assert_eq!(change("model.roles.bo=a:1").unwrap().models.roles.len(), 1);
    for refused in ["without=ada", "pooling=linear", "model.roles.cy=a:1", "model.score=a:1"] {
        assert!(change(refused).is_err(), "{refused}");
    }
}

/// Plays a debate about one target in which the judge gives these scores.
fn scored(ada: f64, winner: &str) -> Stage<Review> {
    check::<Review>(&format!(
        "given    started targets=env
         when     answer argue/1/ada
         when     answer argue/1/bo
         when     answer rebut/1/ada
         when     answer rebut/1/bo
         when     answer judge/1/judge: ada={ada} bo=9 winner={winner}
         concluded concluded full"
    ))
}

#[test]
fn v7_v8_insights_are_means_over_debates_with_their_intervals() {
    let threshold = |debates_min, score_min| Threshold { debates_min, score_min };
    assert!(insights::of([], Threshold::default()).is_empty(), "nothing of no debates");
    let silent = check::<Review>("given started targets=env enabled=no");
    assert!(insights::of([&silent.debate], Threshold::default()).is_empty());
    let stages = [4.0, 5.0, 6.0, 7.0, 8.0].map(|score| scored(score, if score > 7.0 { "ada" } else { "bo" }));
    let found = |threshold| insights::of(stages.iter().map(|stage| &stage.debate), threshold);
    let of = |threshold| found(threshold)[&"ada".into()].clone();
    let ada = of(Threshold::default());
    assert!((ada.facts.avg_argument_quality - 6.0).abs() < 1e-12);
    let (low, high) = ada.facts.interval_95.unwrap();
    assert!((low - 4.0368).abs() < 1e-4 && (high - 7.9632).abs() < 1e-4, "{low} to {high}");
    assert_eq!((ada.facts.debates, ada.facts.pairs, ada.facts.wins, ada.facts.simulated), (5, 5, 1, 5));
    assert_eq!(ada.facts.common_labels, ["ada-like", "well-reasoned"]);
    assert_eq!(ada.policy_signal, "ada should cite lines");
    assert!(!ada.facts.needs_update, "the interval reaches over the threshold of 7");
    assert!(of(threshold(5, 8.0)).facts.needs_update);
    assert!(!of(threshold(6, 8.0)).facts.needs_update, "below the minimum nothing follows");
    let bo = &found(Threshold::default())[&"bo".into()];
    assert_eq!(bo.facts.interval_95, Some((9.0, 9.0)));
    let single = insights::of([&stages[0].debate], threshold(2, 10.0));
    assert_eq!(single[&"ada".into()].facts.interval_95, None);
    assert!(!single[&"ada".into()].facts.needs_update);
}

/// Plays a whole review, answering in an order and with faults that follow from `dice`.
fn played(dice: &[u8], faults: bool) -> Stage<Review> {
    let mut stage = Stage::<Review>::open("targets=a,b,c max_pairs=3 judge_passes=2 attempts_max=2 seed=3");
    for at in 0..400 {
        let work = stage.debate.wanted_work();
        let Some(first) = work.first() else { break };
        let die = usize::from(dice[at % dice.len()]);
        let want = work.get(die % work.len()).unwrap_or(first).want().clone();
        let fails = faults && die % 7 == 3;
        let words = if die % 5 == 1 { "Short." } else { "It holds. It is so." };
        let words = if want.call.kind == "judge" { ["winner=ada", "winner=bo"][die % 2] } else { words };
        let line =
            if fails { format!("fail {}", want.call) } else { format!("answer {}: {words}", want.call) };
        stage.act(&line);
    }
    stage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn k1_a_review_always_ends_and_its_result_adds_up(dice in proptest::collection::vec(any::<u8>(), 1..60)) {
        let stage = played(&dice, true);
        prop_assert!(stage.debate.conclusion().is_some(), "it ends");
        let found = result(&stage);
        let log = found.debate_log.unwrap();
        prop_assert_eq!(log.pairs.len() + found.failed_pairs.len(), 3);
        let untouched = result(&Stage::open("targets=a,b,c")).critiques;
        prop_assert_eq!(found.critiques, untouched);
        for debated in &found.debates {
            if let Some(judgement) = &debated.judgement {
                let flipped = judgement.passes.iter().any(|pass| pass.winner != judgement.passes[0].winner);
                prop_assert_eq!(judgement.winner == Winner::Tie, flipped);
                prop_assert!(debated.role_b_rebuttal.is_some());
            }
        }
    }

    #[test]
    fn k4_the_order_of_answers_changes_nothing(dice in proptest::collection::vec(any::<u8>(), 1..40)) {
        // The words depend on the question alone.
        let play = |dice: &[u8]| {
            let mut stage = Stage::<Review>::open("targets=a,b,c max_pairs=3 judge_passes=2 seed=3");
            let mut at = 0;
            while let Some(work) = Some(stage.debate.wanted_work()).filter(|work| !work.is_empty()) {
                let want = work[usize::from(dice[at % dice.len()]) % work.len()].want().clone();
                let words = if want.call.pass == 2 { "ada=3 winner=bo" } else { "It holds. It is so." };
                stage.act(&format!("answer {}: {words}", want.call));
                at += 1;
            }
            serde_json::to_string(&Review::outcome(&stage.debate, Texts::Withheld)).unwrap()
        };
        prop_assert_eq!(play(&dice), play(&[0]));
    }
}

#[test]
fn k8_tokens_of_both_kinds_that_are_more_than_a_number_holds_are_as_many_as_it_holds() {
    let Stage { mut debate, .. } = check::<Review>(
        "given    started targets=env
         when     begin argue/1/ada",
    );
    let call = "argue/1/ada".parse().unwrap();
    let attempt = debate.call(&call).unwrap().open_attempts(&call).remove(0);
    let usage = Usage { input: Some(u64::MAX), output: Some(2), cached: None, reasoning: None };
    let reply = ReplyFacts { usage, ..ReplyFacts::default() };
    let answered = CallAnswered { attempt, reply, prose: Prose::default() };
    debate.apply(START, &Event::Kernel(answered.into())).unwrap();
    assert_eq!(
        serde_json::to_value(Review::outcome(&debate, Texts::Shown)).unwrap()["total_tokens"],
        u64::MAX
    );
}
