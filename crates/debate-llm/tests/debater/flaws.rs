//! The faults of what is said, each met by the rule that is there for it.

use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::outcome::{ArgumentEntry, DebateResult};
use debate_core::stop::Completeness;

use crate::predictions::{EXAMPLES, example, result, run};
use crate::stage::Ended;

/// Returns the arguments that carry a flag.
fn flagged<'a>(result: &'a DebateResult, flag: &str) -> Vec<&'a ArgumentEntry> {
    let entries = result.debate_log.rounds.iter().flat_map(|round| &round.arguments);
    entries.filter(|entry| entry.flags.iter().any(|raised| raised.eq_ignore_ascii_case(flag))).collect()
}

fn check_rules(ended: &Ended<Prediction>, rule: &str, count: usize) {
    assert_eq!(ended.rejections.len(), count, "{:?}", ended.rejections);
    let only = |rules: &Vec<String>| rules.len() == 1 && rules[0].eq_ignore_ascii_case(rule);
    assert!(ended.rejections.iter().all(only), "{:?}", ended.rejections);
}

#[test]
fn p6_a_weak_argument_scores_below_a_fifth_and_is_asked_again() {
    let ended = run(&example("ice"), "seed=1,weak_argument=1");
    check_rules(&ended, "p6", 15);
    let result = result(&ended);
    for entry in result.debate_log.rounds.iter().flat_map(|round| &round.arguments) {
        assert!(entry.scores.composite.unwrap() < 0.2, "{entry:?}");
    }
    assert!(result.extra.argument_quality.flagged);
    let some = run(&example("ice"), "seed=1,weak_argument=0.2");
    assert!((1..9).contains(&some.rejections.len()), "{:?}", some.rejections);
    check_rules(&some, "p6", some.rejections.len());
}

#[test]
fn p6_what_is_asked_again_can_be_better() {
    let mut mended = 0;
    for name in EXAMPLES {
        let ended = run(&example(name), "seed=2,weak_argument=0.2");
        let result = result(&ended);
        let entries = result.debate_log.rounds.iter().flat_map(|round| &round.arguments);
        let poor = entries.filter(|entry| entry.scores.composite.unwrap() < 0.2).count();
        assert!(poor <= ended.rejections.len(), "{name}");
        mended += ended.rejections.len() - poor;
    }
    assert!(mended > 0, "{mended}");
}

#[test]
fn p12_missing_precedents_are_asked_for_once_then_flagged() {
    let ended = run(&example("moon"), "seed=1,missing_precedents=1");
    check_rules(&ended, "p12", 1);
    let result = result(&ended);
    let flagged = flagged(&result, "p12");
    assert_eq!(flagged.len(), 1);
    assert_eq!(flagged[0].point, "r1.historian");
}

#[test]
fn p11_a_closing_without_a_citation_is_asked_again_then_flagged() {
    let ended = run(&example("rates"), "seed=1,missing_citation=1");
    check_rules(&ended, "p11", 5);
    let result = result(&ended);
    assert_eq!(flagged(&result, "p11").len(), 5);
    assert_eq!(result.extra.evolution_share, Some(0.0));
}

#[test]
fn p3_p7_an_unknown_outcome_is_asked_again_then_flagged() {
    let ended = run(&example("trade"), "seed=1,unknown_outcome=1");
    check_rules(&ended, "p3", 15);
    let result = result(&ended);
    assert_eq!(flagged(&result, "p3").len(), 15);
    let sum: f64 = result.probability_distribution.iter().map(|outcome| outcome.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn p16_an_absent_role_is_missing_and_the_debate_goes_on() {
    let ended = run(&example("ice"), "absent_role=pessimist");
    let result = result(&ended);
    assert!(matches!(&result.extra.completeness, Completeness::Partial { missing, .. }
        if missing.iter().any(|missing| missing.contains("pessimist"))));
    let entries = result.debate_log.rounds.iter().flat_map(|round| &round.arguments);
    assert!(entries.into_iter().all(|entry| entry.role.as_str() != "pessimist"));
}

#[test]
fn p16_an_absent_judge_neither_argues_nor_sums_up() {
    let ended = run(&example("ice"), "absent_role=judge");
    let result = result(&ended);
    assert!(matches!(result.extra.completeness, Completeness::Partial { .. }));
    assert!(result.probability_distribution.iter().all(|outcome| outcome.judge_probability.is_none()));
}

#[test]
fn p16_debates_end_whatever_goes_wrong() {
    let settings = "rate_limited=0.1,truncated=0.1,malformed=0.1,refused=0.05,weak_argument=0.1,\
                    missing_precedents=0.5,missing_citation=0.2,unknown_outcome=0.1";
    let mut unreadable = 0;
    for name in EXAMPLES {
        for seed in 0..3 {
            let ended = run(&example(name), &format!("seed={seed},{settings}"));
            unreadable += ended.exchanges.iter().filter(|one| one.repairs.is_err()).count();
            assert!(result(&ended).extra.simulated);
        }
    }
    assert!(unreadable > 20, "{unreadable}");
}
