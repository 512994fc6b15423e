//! The worlds are worth something: everything that can happen does happen in them, and a seed repeats its run.

use std::collections::BTreeSet;

use debate_sim::run::{self, Report};

/// Every kind of event of the kernel that these worlds bring about: `forked` opens a stream of its own, and words are
/// redacted when all is over.
const KERNEL_KINDS: [&str; 19] = [
    "opened",
    "phase_opened",
    "phase_closed",
    "call_started",
    "turn_answered",
    "tool_started",
    "tool_answered",
    "call_answered",
    "attempt_failed",
    "attempt_abandoned",
    "answer_rejected",
    "call_voided",
    "stop_rule_fired",
    "paused",
    "resumed",
    "cancelled",
    "concluded",
    "continued",
    "resolved",
];

fn report(seeds: std::ops::RangeInclusive<u64>) -> Report {
    run::run_all(seeds)
}

#[test]
fn every_kind_of_event_of_the_kernel_occurs() {
    let report = report(1..=150);
    let missing: Vec<_> = KERNEL_KINDS.iter().filter(|kind| !report.kinds.contains_key(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?} never occur");
}

#[test]
fn facts_of_every_format_occur() {
    let report = report(1..=150);
    for kind in [
        "said",
        "noted",
        "closed",
        "argument_made",
        "judgement_rendered",
        "contribution_made",
        "evidence_reported",
        "verdict_rendered",
    ] {
        assert!(report.kinds.contains_key(kind), "{kind} never occurs in {:?}", report.kinds.keys());
    }
}

#[test]
fn k2_calls_start_for_every_cause() {
    let report = report(1..=600);
    let causes: BTreeSet<&str> = report.causes.keys().map(String::as_str).collect();
    assert_eq!(causes, ["first", "hedge", "lost", "reask", "void"].into());
}

#[test]
fn k8_every_budget_is_used_up_in_some_world() {
    let report = report(1..=400);
    let budgets: BTreeSet<&str> = report.budgets.keys().map(String::as_str).collect();
    assert_eq!(budgets, ["calls", "cost_micros", "output_tokens"].into());
}

#[test]
fn a_seed_repeats_its_run_to_the_byte() {
    for seed in 1..=60 {
        let [first, again] = [0, 1].map(|_| report(seed..=seed).digest);
        assert_eq!(first, again, "seed {seed}");
    }
}
