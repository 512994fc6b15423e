//! The investigation, rule by rule, as tables.

use debate_core::event::Event;
use debate_core::format::Format as _;
use debate_core::formats::investigation::fact::{Fact, ViolationFound};
use debate_core::formats::investigation::visible::Task;
use debate_core::formats::investigation::{Investigation, outcome::InvestigationResult};
use debate_core::prose::Texts;
use proptest::prelude::*;

use crate::scenario::{Stage, check};

fn result(stage: &Stage<Investigation>) -> InvestigationResult {
    Investigation::outcome(&stage.debate, Texts::Shown)
}

fn violations(stage: &Stage<Investigation>) -> Vec<String> {
    let described = |found: &ViolationFound| {
        format!("{} {} {}", found.by, found.violation.as_str(), found.consequence.as_str())
    };
    stage.debate.state().violations().map(described).collect()
}

fn confidences(stage: &Stage<Investigation>) -> Vec<f64> {
    result(stage).hypotheses.iter().map(|hypothesis| hypothesis.confidence).collect()
}

#[test]
fn i7_a_strong_hypothesis_without_open_challenges_stops_early() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        phase   debate/1
        wants   report/1/ann report/1/bo
        when    answer report/1/bo: c=4
        wants   report/1/ann
        when    answer report/1/ann: c=8
        sees    challenge/1/devils_advocate report/1/ann report/1/bo
        wants   challenge/1/devils_advocate
        when    answer challenge/1/devils_advocate: to=1
        wants   respond/1/ann
        sees    respond/1/ann report/1/ann challenge/1/devils_advocate
        when    answer respond/1/ann: c=8
        wants   status/1/synthesizer
        when    answer status/1/synthesizer
        stopped confidence, 8 against 8
        wants   verdict/1/synthesizer
        when    answer verdict/1/synthesizer
        wants   convey/1/lead
        when    answer convey/1/lead
        concluded confidence full
        ",
    );
    let result = result(&stage);
    let verdict = result.verdict.unwrap();
    assert_eq!((verdict.hypothesis, &*verdict.statement), (1, "Cause ann"));
    assert_eq!(verdict.evidence_for, ["H1.E1", "H1.E2"]);
    assert_eq!(result.metadata.rounds, 1);
}

#[test]
fn i7_an_open_challenge_or_an_absent_challenger_keeps_a_strong_hypothesis_from_stopping() {
    check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: c=8
        when    answer report/1/bo: c=6
        when    answer challenge/1/devils_advocate: to=1
        when    answer respond/1/ann: c=8
        when    answer status/1/synthesizer: answered=none
        phase   debate/2
        wants   report/2/ann report/2/bo
        sees    report/2/ann report/1/ann challenge/1/devils_advocate respond/1/ann status/1/synthesizer
        sees    report/2/bo report/1/bo challenge/1/devils_advocate status/1/synthesizer
        ",
    );
    check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: c=9
        when    answer report/1/bo: c=8
        when    fail challenge/1/devils_advocate: denied
        when    answer status/1/synthesizer
        phase   debate/2
        ",
    );
}

/// Plays whole rounds in which two hypotheses are reported with the confidences given.
fn rounds(confidences: &[(u32, u32)]) -> Stage<Investigation> {
    let mut table = "given started by=ann,bo\n".to_owned();
    for ((first, second), round) in confidences.iter().zip(1..) {
        table.push_str(&format!(
            "when answer report/{round}/ann: c={first}\nwhen answer report/{round}/bo: c={second}\n\
             when answer challenge/{round}/devils_advocate\nwhen answer status/{round}/synthesizer\n"
        ));
    }
    check(&table)
}

#[test]
fn i7_a_clear_lead_gives_exactly_one_confirming_round_and_otherwise_the_synthesizer_rules_after_three() {
    type Row = (&'static [(u32, u32)], &'static str, bool);
    let table: [Row; 7] = [
        (&[(8, 7)], "confidence, 8 against 8", false),
        (&[(6, 3), (6, 3)], "convergence, 3 against 3", true),
        (&[(6, 3), (4, 4)], "convergence, 3 against 3", false),
        (&[(5, 4), (7, 3), (7, 2)], "convergence, 4 against 3", true),
        (&[(5, 4), (5, 3), (7, 3)], "convergence, 4 against 3", false),
        (&[(5, 4), (5, 3), (5, 3)], "max_rounds, 3 against 3", false),
        (&[(6, 3), (9, 3)], "confidence, 9 against 8", true),
    ];
    for (confidences, rule, confirmed) in table {
        for played in 1..confidences.len() {
            let stage = rounds(&confidences[..played]);
            assert!(stage.debate.stop().is_none(), "{confidences:?} went on after round {played}");
        }
        let stage = rounds(confidences);
        let fired = stage.debate.stop().unwrap();
        assert_eq!(format!("{}, {} against {}", fired.name(), fired.statistic, fired.threshold), rule);
        let result = result(&stage);
        assert_eq!(result.metadata.rounds as usize, confidences.len());
        assert_eq!(result.verdict.unwrap().confirmed, confirmed, "{confidences:?}");
    }
}

#[test]
fn i7_a_verdict_may_say_that_more_must_be_known_and_then_says_what() {
    let mut stage = rounds(&[(5, 4), (5, 4), (5, 4)]);
    let want = stage.want("verdict/3/synthesizer");
    stage.begin(&want, false).unwrap();
    stage.finish(&want, "name=2 more=yes").unwrap();
    assert_eq!(stage.log.last().unwrap().event.kind(), "attempt_failed", "it does not say what is missing");
    stage.begin(&want, false).unwrap();
    stage.finish(&want, "name=2 more=yes missing=heap_dump for=H2.E1,H2.E9,H1.E1").unwrap();
    let verdict = result(&stage).verdict.unwrap();
    assert_eq!((verdict.hypothesis, verdict.needs_more_information), (2, true));
    assert_eq!(verdict.missing, ["heap_dump"]);
    assert_eq!(verdict.evidence_for, ["H2.E1"], "only what was brought on it");
}

#[test]
fn i9_a_verdict_without_a_name_is_ended_by_the_lead_with_the_strongest() {
    let mut stage = rounds(&[(4, 5), (4, 5), (4, 5)]);
    let want = stage.want("verdict/3/synthesizer");
    stage.begin(&want, false).unwrap();
    stage.finish(&want, "name=none").unwrap();
    assert_eq!(violations(&stage), ["synthesizer convergence_broken ended_by_lead"]);
    let verdict = result(&stage).verdict.unwrap();
    assert_eq!((verdict.hypothesis, verdict.named_by.as_str()), (2, "standing"));
}

#[test]
fn i7_the_lead_proposes_what_can_be_tested_and_seats_without_a_hypothesis_stay_empty() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo,cy lead=yes
        phase   proposal/1
        wants   propose/1/lead
        when    answer propose/1/lead: count=1 vague=2
        logged  attempt_failed
        when    answer propose/1/lead: count=2 vague=1
        phase   debate/1
        wants   report/1/ann report/1/bo
        sees    report/1/ann nothing
        ",
    );
    assert_eq!(stage.debate.state().proposed().unwrap().refused, 1);
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo lead=yes
        when    fail propose/1/lead: denied
        concluded failed void
        ",
    );
    assert_eq!(result(&stage).verdict, None);
}

#[test]
fn i2_confidence_does_not_rise_without_evidence_and_evidence_that_is_none_is_ignored() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo,cy
        when    answer report/1/ann: c=7 at=none
        when    answer report/1/bo: c=7 at=somewhere
        when    answer report/1/cy: c=7 at=x.rs:1,nowhere
        ",
    );
    assert_eq!(confidences(&stage), [0.0, 0.0, 7.0]);
    assert_eq!(
        violations(&stage),
        ["ann no_evidence claim_ignored", "bo no_evidence claim_ignored", "cy no_evidence claim_ignored"]
    );
    let ignored: Vec<bool> = result(&stage).hypotheses[2].evidence.iter().map(|one| one.ignored).collect();
    assert_eq!(ignored, [false, true]);
}

#[test]
fn i5_reports_say_confidence_before_and_after_and_a_refuted_hypothesis_counts_for_nothing() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: c=7 against=b.rs:4
        when    answer report/1/bo: c=5
        when    answer challenge/1/devils_advocate: to=1
        when    answer respond/1/ann: c=4
        when    answer status/1/synthesizer
        when    answer report/2/ann: c=9 status=refuted
        ",
    );
    let reports = &result(&stage).hypotheses[0].reports;
    let stated: Vec<_> = reports.iter().map(|one| (one.before, one.stated, one.confidence)).collect();
    assert_eq!(stated, [(0.0, Some(7.0), 7.0), (7.0, Some(4.0), 4.0), (4.0, Some(9.0), 0.0)]);
    let against = result(&stage).hypotheses[0].evidence.iter().filter(|one| !one.supports).count();
    assert_eq!(against, 1);
}

#[test]
fn i5_hidden_adverse_evidence_shown_by_a_challenge_marks_the_hypothesis_untrusted() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: c=9 against=b.rs:4
        when    answer report/1/bo: c=3
        when    answer challenge/1/devils_advocate: to=1 hidden=b.rs:4
        when    answer respond/1/ann: c=9
        when    answer status/1/synthesizer
        stopped confidence, 9 against 8
        ",
    );
    assert!(violations(&stage).is_empty(), "what was reported is not hidden");
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: c=9
        when    answer report/1/bo: c=3
        when    answer challenge/1/devils_advocate: to=1 hidden=c.rs:9
        when    answer respond/1/ann: c=9
        when    answer status/1/synthesizer
        phase   debate/2
        when    answer report/2/ann: c=9
        when    answer report/2/bo: c=3
        when    answer challenge/2/devils_advocate
        when    answer status/2/synthesizer
        stopped convergence, 3 against 3
        when    answer verdict/2/synthesizer: name=1
        logged  attempt_failed
        when    answer verdict/2/synthesizer: name=2
        ",
    );
    assert_eq!(violations(&stage), ["ann hidden_evidence hypothesis_untrusted"]);
    assert!(!result(&stage).hypotheses[0].trusted);
}

#[test]
fn i5_evidence_not_found_in_the_workspace_is_not_hidden() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo workspace=yes
        when    answer report/1/ann: c=9
        when    answer report/1/bo: c=3
        when    answer challenge/1/devils_advocate: to=1 hidden=c.rs:9
        when    answer respond/1/ann: c=9
        when    answer status/1/synthesizer
        ",
    );
    assert!(violations(&stage).is_empty(), "{:?}", violations(&stage));
    assert!(result(&stage).hypotheses[0].trusted);
}

#[test]
fn i6_what_was_answered_stays_answered_and_is_not_asked_again() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann
        when    answer report/1/bo
        when    answer challenge/1/devils_advocate: to=1,2 say=this_is_a_correlation_and_not_a_cause
        when    answer respond/1/ann
        when    answer respond/1/bo: stance=concede
        when    answer status/1/synthesizer: answered=C1.1,C9.9
        when    answer report/2/ann
        when    answer report/2/bo
        when    answer challenge/2/devils_advocate: to=1,2 say=This_is_a_correlation,_and_not_a_cause!
        wants   status/2/synthesizer
        when    answer status/2/synthesizer: answered=none
        wants   report/3/ann report/3/bo
        ",
    );
    assert_eq!(violations(&stage), vec!["devils_advocate challenge_repeated claim_ignored"; 2]);
    assert!(result(&stage).hypotheses.iter().all(|one| one.open_challenges.is_empty()));
}

#[test]
fn i9_each_round_in_which_a_valid_challenge_is_refused_costs_one_of_ten() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo,cy
        when    answer report/1/ann: c=6
        when    answer report/1/bo: c=6
        when    answer report/1/cy: c=6
        when    answer challenge/1/devils_advocate: to=1,1,2
        wants   respond/1/ann respond/1/bo
        when    answer respond/1/ann: c=6 stance=refuse
        when    answer respond/1/bo: c=6 stance=silent
        when    answer status/1/synthesizer
        when    answer report/2/ann: c=6
        when    answer report/2/bo: c=6
        when    answer report/2/cy: c=6
        when    answer challenge/2/devils_advocate
        wants   respond/2/ann respond/2/bo
        when    answer respond/2/ann: c=6 stance=refuse
        when    answer respond/2/bo: c=6
        when    answer status/2/synthesizer
        ",
    );
    assert_eq!(confidences(&stage), [4.0, 5.0, 6.0]);
    let refused = violations(&stage);
    assert!(refused.iter().all(|line| line.ends_with("challenge_refused confidence_lowered")), "{refused:?}");
    assert_eq!(refused.len(), 5, "two challenges to ann in two rounds, one to bo in one");
}

#[test]
fn i6_a_challenge_without_reason_or_target_needs_no_answer() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann
        when    answer report/1/bo
        when    answer challenge/1/devils_advocate: to=1,9 say=think_again
        wants   status/1/synthesizer
        ",
    );
    assert_eq!(violations(&stage), vec!["devils_advocate no_evidence claim_ignored"; 2]);
}

#[test]
fn i4_a_challenge_that_tells_what_another_investigator_said_is_refused() {
    for reason in [
        "as_bo_has_seen_the_queue_is_never_empty_at_all",
        "H2_explains_all_of_this_much_better_than_yours",
        "report/1/bo_found_what_no_other_investigator_looked_for.",
    ] {
        let stage = check::<Investigation>(&format!(
            "
            given   started by=ann,bo
            when    answer report/1/ann
            when    answer report/1/bo
            when    answer challenge/1/devils_advocate: to=1 say={reason}
            wants   status/1/synthesizer
            "
        ));
        assert_eq!(violations(&stage), ["devils_advocate independence_broken act_refused"], "{reason}");
    }
}

#[test]
fn i1_out_of_role_acts_are_refused_recorded_and_reported() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann: strays=challenge,judge,investigate
        when    answer report/1/bo
        when    answer challenge/1/devils_advocate: strays=propose,judge
        when    answer status/1/synthesizer: strays=judge,challenge
        ",
    );
    let acts = |by: &str| {
        let found = stage.debate.state().violations().filter(|found| found.by.as_str() == by);
        found.map(|found| found.act.unwrap().as_str()).collect::<Vec<_>>()
    };
    assert_eq!(acts("ann"), ["challenge", "judge", "investigate"], "the last is on another's hypothesis");
    assert_eq!(acts("devils_advocate"), ["propose", "judge"]);
    assert_eq!(acts("synthesizer"), ["challenge"], "to judge is its own, only too early");
    let corrections = |key: &str| Investigation::visible(&stage.debate, &stage.want(key)).corrections.len();
    let calls = ["report/2/ann", "report/2/bo", "challenge/2/devils_advocate"];
    assert_eq!(calls.map(corrections), [3, 0, 2]);
    let Task::Convey(view) = Investigation::visible(&stage.debate, &stage.want("convey/1/lead")).task else {
        panic!("the lead conveys");
    };
    assert_eq!(view.violations.len(), 6);
}

#[test]
fn k6_an_investigator_that_fails_is_missing_and_all_that_fail_leave_nothing() {
    check::<Investigation>(
        "
        given   started by=ann,bo rounds=1
        when    fail report/1/ann: denied
        when    answer report/1/bo: c=6
        when    answer challenge/1/devils_advocate: to=2
        when    answer respond/1/bo
        when    fail status/1/synthesizer: denied
        wants   verdict/1/synthesizer
        when    fail verdict/1/synthesizer: denied
        when    answer convey/1/lead
        concluded convergence partial without report/1/ann status/1/synthesizer verdict/1/synthesizer
        ",
    );
    check::<Investigation>(
        "
        given   started by=ann,bo
        when    fail report/1/ann: denied
        when    fail report/1/bo: denied
        concluded failed void
        ",
    );
    check::<Investigation>(
        "
        given   started by=ann,bo
        when    answer report/1/ann
        when    answer report/1/bo
        when    answer challenge/1/devils_advocate
        when    answer status/1/synthesizer
        when    fail report/2/ann: denied
        when    fail report/2/bo: denied
        wants   verdict/1/synthesizer
        ",
    );
}

#[test]
fn k9_time_that_is_up_leads_to_the_verdict_on_what_there_is() {
    let stage = check::<Investigation>(
        "
        given   started by=ann,bo deadline_ms=1000 closing_ms=200
        when    answer report/1/ann: c=6
        when    begin report/1/bo
        when    clock 800
        wants   verdict/1/synthesizer
        when    answer verdict/1/synthesizer
        when    answer convey/1/lead
        concluded deadline partial without report/1/bo challenge/1/devils_advocate status/1/synthesizer
        ",
    );
    assert_eq!(result(&stage).rounds.len(), 1);
    check::<Investigation>(
        "
        given   started by=ann,bo
        when    begin report/1/bo
        when    cancel
        concluded cancelled void
        ",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever is answered, an investigation ends, and never holds a fourth round (rule I7).
    #[test]
    fn i7_random_replies_always_end_within_three_rounds(choices in proptest::collection::vec(any::<u16>(), 60)) {
        let mut stage = Stage::<Investigation>::open("by=ann,bo,cy lead=yes");
        let mut choices = choices.into_iter().cycle();
        for _ in 0..400 {
            let work = stage.debate.wanted_work();
            let Some(work) = work.first() else { break };
            let want = work.want().clone();
            let choice = choices.next().unwrap();
            stage.begin(&want, false).unwrap();
            let words = ["to=1,2", "stance=refuse", "stance=concede", "name=none", "hidden=z.rs:1 to=1", "at=none",
                "strays=judge", "answered=none", "status=refuted", "", "count=2", "vague=1 count=0"];
            let confidence = choice % 11;
            let words = format!("c={confidence} {}", words[usize::from(choice) / 11 % words.len()]);
            stage.finish(&want, &words).unwrap();
        }
        prop_assert!(stage.debate.conclusion().is_some());
        let rounds = stage.log.iter().filter(|recorded| matches!(&recorded.event, Event::Fact(Fact::RoundSummarised(_))));
        prop_assert!(rounds.count() <= 3);
        prop_assert!(result(&stage).metadata.rounds <= 3);
    }
}
