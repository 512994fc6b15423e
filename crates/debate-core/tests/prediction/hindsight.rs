//! What can be computed from the log of a debate once it is over: scores against what happened, and what each voice
//! weighed.

use std::collections::BTreeSet;
use std::sync::Arc;

use debate_core::call::Want;
use debate_core::command::{Command, DecideError};
use debate_core::event::Resolved;
use debate_core::formats::prediction::answer::{Answer, OutcomeRef};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::Config;
use debate_core::formats::prediction::influence::{Influence, LeftOut};
use debate_core::formats::prediction::scores::Resolution;
use debate_core::formats::prediction::track_record::{
    CalibrationReport, Case, Comparison, Finding, Forecaster, QUESTIONS_MIN, Source, TrackRecord,
};
use debate_core::id::Timestamp;
use debate_core::measures::distribution::Distribution;
use debate_core::models::ModelPlan;

use crate::stage::{Line, Play, blameless, config, play, tell};

fn close_to(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

fn resolve(debate: &mut Play, outcome: &str) {
    let command = Command::Resolve(Resolved::new(outcome.into()));
    tell(debate, Timestamp(9_000), command);
}

/// The optimist grows surer at the end; everybody else says the same all along.
fn sure_optimist(debate: &Play, want: &Want) -> Line {
    let mut answer = blameless(debate, want);
    if let (Some(Call::Argue { round: 3, role }), Answer::Argue(said)) = (Call::of(&want.call), &mut answer)
        && role.as_str() == "optimist"
    {
        said.probabilities = vec![(OutcomeRef::Known(0), 0.9), (OutcomeRef::Known(1), 0.1)];
    }
    Ok(answer)
}

#[test]
fn k16_every_forecast_of_a_resolved_debate_is_scored_from_its_log() {
    let (mut debate, _) = play(config(3), sure_optimist);
    assert_eq!(Resolution::of(&debate), None);
    resolve(&mut debate, "yes");
    let resolution = Resolution::of(&debate).unwrap();
    assert_eq!(resolution.outcome.as_str(), "yes");
    assert_eq!(resolution.resolved_at, "1970-01-01T00:00:09.000Z");
    let scores = resolution.scores.unwrap();
    // 0.9, 0.2, 0.4, 0.3, 0.5: mean 0.46; the judge 0.35; 0.6 · 0.35 + 0.4 · 0.46 = 0.394; blind 0.44.
    let briers: Vec<f64> = scores.roles.iter().map(|entry| entry.scores.brier).collect();
    for (found, expected) in briers.iter().zip([0.01, 0.64, 0.36, 0.49, 0.25]) {
        close_to(*found, expected);
    }
    close_to(scores.judge.unwrap().brier, 0.4225);
    close_to(scores.consensus.brier, 0.2916);
    close_to(scores.r#final.brier, 0.367_236);
    close_to(scores.r#final.log_bits, -libm::log2(0.394));
    close_to(scores.blind.unwrap().brier, 0.3136);
    close_to(scores.uplift.unwrap().brier, 0.3136 - 0.367_236);
    // The openings are pooled as they are averaged here, so pooling gains nothing; the debate did, and the judge lost it.
    let steps = scores.steps.unwrap();
    close_to(steps.pooling.brier, 0.0);
    close_to(steps.debate.brier, 0.3136 - 0.2916);
    close_to(steps.judge.brier, 0.2916 - 0.367_236);
}

#[test]
fn s1_rounds_after_the_answer_change_no_forecast_that_is_scored() {
    let (mut debate, _) = play(config(3), sure_optimist);
    resolve(&mut debate, "yes");
    let before = Resolution::of(&debate).unwrap();
    tell(&mut debate, Timestamp(9_500), Command::Continue { rounds: 1, focus: None });
    assert_eq!(Resolution::of(&debate), Some(before));
    let report = counted(&[(&debate, "")]).report(None, true);
    close_to(report.forecasts[0].brier_mean, 0.367_236);
}

#[test]
fn s16_an_answer_recorded_again_keeps_its_moment() {
    let (mut debate, _) = play(config(3), sure_optimist);
    let happened_at = Some(Timestamp(5_000));
    let answer = |outcome: &str, happened_at| Resolved { happened_at, ..Resolved::new(outcome.into()) };
    tell(&mut debate, Timestamp(9_000), Command::Resolve(answer("yes", happened_at)));
    let market = Distribution::new(vec![0.7, 0.3]).unwrap();
    let again = Resolved { market: Some(market), ..answer("yes", None) };
    tell(&mut debate, Timestamp(9_001), Command::Resolve(again));
    assert_eq!(debate.resolved().unwrap().0.happened_at, happened_at);
    resolve(&mut debate, "no");
    assert_eq!(debate.resolved().unwrap().0.happened_at, None, "it was the moment of another answer");
}

#[test]
fn k16_a_correction_counts_and_not_what_it_corrects() {
    let (mut debate, _) = play(config(3), sure_optimist);
    resolve(&mut debate, "yes");
    resolve(&mut debate, "no");
    let resolution = Resolution::of(&debate).unwrap();
    assert_eq!(resolution.outcome.as_str(), "no");
    close_to(resolution.scores.unwrap().r#final.brier, 0.394 * 0.394);
}

#[test]
fn k16_a_track_record_holds_resolved_debates_alone() {
    let (unresolved, _) = play(config(3), sure_optimist);
    let (mut right, _) = play(config(3), sure_optimist);
    let mut wrong = right.clone();
    let (mut void, _) = play(config(1), |_, _| Err(debate_core::event::FailureKind::Refused));
    resolve(&mut right, "no");
    resolve(&mut wrong, "yes");
    resolve(&mut void, "yes");
    assert_eq!(Case::of(&unresolved, BTreeSet::new()), None);
    let report = counted(&[(&right, ""), (&wrong, ""), (&void, "")]).report(None, true);
    assert_eq!((report.resolved, report.void, report.real, report.simulated), (3, 1, 3, 0));
    let of: Vec<&Forecaster> = report.forecasts.iter().map(|found| &found.forecaster).collect();
    use Forecaster::{Blind, Consensus, Final, Judge, Opened};
    assert_eq!(of[..5], [&Final, &Consensus, &Judge, &Blind, &Opened]);
    let roles = ["contrarian", "historian", "judge", "optimist", "pessimist"];
    assert_eq!(of[5..10], roles.map(|role| Forecaster::Role(role.into())).each_ref()[..]);
    assert_eq!(of[10..], roles.map(|role| Forecaster::Opening(role.into())).each_ref()[..]);
    let last = &report.forecasts[0];
    assert_eq!(last.debates, 2);
    close_to(last.brier_mean, f64::midpoint(0.394 * 0.394, 0.606 * 0.606));
    let counts: Vec<u64> = last.calibration.iter().map(|bin| bin.count).collect();
    assert_eq!(counts, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
    close_to(last.calibration[3].share_happened.unwrap(), 0.5);
    // The optimist ends at 0.9 and opened at what everybody says of it there.
    close_to(report.forecasts[8].brier_mean, f64::midpoint(0.81, 0.01));
    assert!(report.forecasts[13].brier_mean < report.forecasts[8].brier_mean);
    let uplift = over(&report, &Blind);
    assert_eq!((uplift.debates, uplift.questions, uplift.finding), (2, 1, Finding::TooFew));
    assert_eq!((uplift.brier, uplift.log_bits), (None, None), "too few questions for a finding");
    assert_eq!((last.brier, last.log_bits), (None, None), "and no loss is taken apart");
}

fn counted(debates: &[(&Play, &str)]) -> TrackRecord {
    let mut record = TrackRecord::default();
    for (debate, prompt) in debates {
        let prompts = [(*prompt).to_owned()].into();
        record.add(Arc::new(Case::of(debate, prompts).expect("it is resolved")));
    }
    record
}

fn over<'r>(report: &'r CalibrationReport, other: &Forecaster) -> &'r Comparison {
    report.comparisons.iter().find(|found| found.over == *other).unwrap()
}

/// Returns debates on so many questions, to each of which the answer is no. The market is right where they are, and surer.
fn answered(questions: u64) -> Vec<Play> {
    let market = Distribution::new(vec![0.1, 0.9]).ok();
    let resolved = Resolved { market, ..Resolved::new("no".into()) };
    let question = |number: u64| {
        let config = Config { task_id: format!("task-{number}"), ..config(1) };
        let (mut debate, _) = play(config, |debate, want| Ok(blameless(debate, want)));
        tell(&mut debate, Timestamp(9_000), Command::Resolve(resolved.clone()));
        debate
    };
    (0..questions).map(question).collect()
}

#[test]
fn k16_gains_need_enough_questions_overall_and_by_prompt() {
    let debates = answered(QUESTIONS_MIN);
    let prompts = ["prediction/argue@1", "prediction/argue@2"];
    let all: Vec<(&Play, &str)> = debates.iter().zip(prompts.into_iter().cycle()).collect();
    let report = counted(&all).report(None, true);
    assert_eq!((report.source, report.questions), (Source::Real, QUESTIONS_MIN));
    assert_eq!(over(&report, &Forecaster::Market).finding, Finding::Worse);
    let optimist = over(&report, &Forecaster::Role("optimist".into()));
    assert_eq!(optimist.finding, Finding::Better);
    let last = &report.forecasts[0];
    let gain = report.forecasts.iter().find(|found| found.forecaster == optimist.over).unwrap().brier_mean;
    close_to(optimist.brier.unwrap().mean, gain - last.brier_mean);
    let apart = last.brier.unwrap();
    assert_eq!(apart.forecasts, QUESTIONS_MIN);
    close_to(apart.loss, last.brier_mean);
    let groups: Vec<_> = report.groups.iter().map(|group| (&*group.prompts[0], group.debates)).collect();
    assert_eq!(groups, [(prompts[0], QUESTIONS_MIN / 2), (prompts[1], QUESTIONS_MIN / 2)]);
    close_to(report.groups[0].brier, last.brier_mean);
    let uplift = report.groups[0].uplift.as_ref().unwrap();
    assert_eq!((uplift.finding, uplift.brier), (Finding::TooFew, None));
}

#[test]
fn k16_the_same_question_debated_again_is_no_further_case() {
    let debates = answered(QUESTIONS_MIN - 1);
    let twice: Vec<(&Play, &str)> = debates.iter().chain(&debates).map(|debate| (debate, "")).collect();
    let report = counted(&twice).report(None, true);
    assert_eq!((report.resolved, report.questions), (2 * report.questions, QUESTIONS_MIN - 1));
    assert_eq!(over(&report, &Forecaster::Market).finding, Finding::TooFew);
    let more = answered(QUESTIONS_MIN);
    let once: Vec<(&Play, &str)> = more.iter().map(|debate| (debate, "")).collect();
    let again: Vec<(&Play, &str)> = [once.clone(), once.clone()].concat();
    let [once, again] = [once, again].map(|debates| counted(&debates).report(None, true));
    let width = |report: &CalibrationReport| {
        let gain = over(report, &Forecaster::Market).brier.unwrap();
        gain.high - gain.low
    };
    close_to(width(&again), width(&once));
}

#[test]
fn k16_what_a_program_made_up_is_never_mixed_with_what_models_said() {
    let real = answered(2);
    let models = ModelPlan { default: vec!["simulated:7".to_owned()], ..ModelPlan::default() };
    let (mut made_up, _) = play(Config { models, ..config(1) }, |debate, want| Ok(blameless(debate, want)));
    resolve(&mut made_up, "yes");
    let all = counted(&[(&real[0], ""), (&made_up, ""), (&real[1], "")]);
    let by_default = all.report(None, true);
    assert_eq!(by_default, all.report(Some(Source::Real), true));
    assert_eq!((by_default.resolved, by_default.real, by_default.simulated), (2, 2, 1));
    let simulated = all.report(Some(Source::Simulated), true);
    assert_eq!((simulated.source, simulated.resolved), (Source::Simulated, 1));
    assert_eq!(simulated.groups[0].models, "simulated:7");
    assert_eq!(
        counted(&[(&made_up, "")]).report(None, true).source,
        Source::Simulated,
        "where there is nothing else"
    );
}

#[test]
fn s10_partial_debates_are_counted_and_can_be_left_out() {
    let (mut full, _) = play(config(1), |debate, want| Ok(blameless(debate, want)));
    let (mut partial, _) = play(config(1), |debate, want| match want.call.role.as_str() {
        "optimist" => Err(debate_core::event::FailureKind::Denied),
        _ => Ok(blameless(debate, want)),
    });
    resolve(&mut full, "yes");
    resolve(&mut partial, "yes");
    let record = counted(&[(&full, ""), (&partial, "")]);
    let counts = |with_partial| {
        let report = record.report(None, with_partial);
        (report.resolved, report.partial, report.forecasts[0].debates)
    };
    assert_eq!((counts(true), counts(false)), ((2, 1, 2), (1, 0, 1)));
}

#[test]
fn s20_debates_that_are_not_read_are_counted() {
    assert_eq!(TrackRecord::new(3).report(None, true).left_out, 3);
}

#[test]
fn k16_a_market_is_recorded_with_the_answer_and_outlives_its_correction() {
    let (mut debate, _) = play(config(3), sure_optimist);
    let market = |probabilities: &[f64]| Distribution::new(probabilities.to_vec()).ok();
    let answer = |outcome: &str, market| Resolved { market, ..Resolved::new(outcome.into()) };
    let refused = |debate: &Play, resolved| debate.decide(Timestamp(9_000), Command::Resolve(resolved)).err();
    let three = answer("yes", market(&[0.2, 0.3, 0.5]));
    assert_eq!(refused(&debate, three), Some(DecideError::Market { given: 3, outcomes: 2 }));
    tell(&mut debate, Timestamp(9_000), Command::Resolve(answer("yes", market(&[0.2, 0.8]))));
    assert_eq!(refused(&debate, answer("yes", None)), Some(DecideError::Resolved("yes".into())));
    resolve(&mut debate, "no");
    let (resolved, _) = debate.resolved().unwrap();
    assert_eq!((resolved.outcome.as_str(), &resolved.market), ("no", &market(&[0.2, 0.8])));
}

fn entry<'a>(influence: &'a Influence, role: &str, argument: Option<&str>) -> &'a LeftOut {
    let is_it = |left: &&LeftOut| left.role.as_str() == role && left.argument.as_deref() == argument;
    influence.left_out.iter().find(is_it).unwrap()
}

#[test]
fn k14_what_a_voice_weighs_is_the_move_without_it_and_the_weightiest_comes_first() {
    let (debate, _) = play(config(3), sure_optimist);
    let influence = Influence::of(&debate).unwrap();
    assert_eq!(influence.held_fixed, "the judge's words held fixed");
    close_to(influence.r#final[0].probability, 0.394);
    // Without the optimist the others' mean is 0.35, and 0.6 · 0.35 + 0.4 · 0.35 = 0.35.
    for (role, without) in [
        ("optimist", 0.35),
        ("pessimist", 0.6f64.mul_add(0.35, 0.4 * 0.525)),
        ("contrarian", 0.6f64.mul_add(0.35, 0.4 * 0.475)),
        ("historian", 0.6f64.mul_add(0.35, 0.4 * 0.5)),
        ("judge", 0.6f64.mul_add(0.35, 0.4 * 0.45)),
    ] {
        let left = entry(&influence, role, None);
        close_to(left.outcomes[0].probability, without);
        close_to(left.outcomes[0].change, without - 0.394);
        close_to(left.outcomes[1].change, 0.394 - without);
        close_to(left.size, (without - 0.394).abs());
    }
    // Without its last argument the optimist still says 0.8: 0.6 · 0.35 + 0.4 · 0.44.
    let last = entry(&influence, "optimist", Some("r3.optimist"));
    close_to(last.outcomes[0].probability, 0.386);
    close_to(last.outcomes[0].log_odds_change, libm::log(0.386 / 0.614) - libm::log(0.394 / 0.606));
    // An argument that the same role followed up moves nothing.
    close_to(entry(&influence, "optimist", Some("r1.optimist")).size, 0.0);
    assert_eq!(influence.left_out.len(), 5 + 15);
    let order: Vec<_> = influence.left_out.iter().take(3).map(|left| left.role.as_str()).collect();
    assert_eq!(order, ["optimist", "pessimist", "historian"]);
    assert!(influence.left_out.is_sorted_by(|one, other| one.size >= other.size));
}

#[test]
fn k14_nothing_weighs_in_a_void_debate() {
    let (debate, _) = play(config(1), |_, _| Err(debate_core::event::FailureKind::Refused));
    assert_eq!(Influence::of(&debate), None);
}
