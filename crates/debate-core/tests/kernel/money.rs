//! Budgets in money (rule K8): each request reserves 100 millionths and costs 50, one that overruns 200 or what is said.

use debate_core::event::{Event, KernelEvent};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::prediction::Prediction;
use debate_core::stop::{Budget, Completeness};

use crate::scenario::check;

#[test]
fn k8_money_is_reserved_before_and_settled_after() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist priced=yes cost_max=300 closing_cost=100
         when     begin argue/1/optimist
         cost     unknown
         when     begin argue/1/pessimist
         when     finish argue/1/optimist
         cost     50, at most 50
         when     finish argue/1/pessimist
         cost     100, at most 100
         when     begin score/1/optimist
         logged   call_started
         when     begin score/1/pessimist
         logged   stop_rule_fired round_summarised phase_closed
         stopped  budget of cost_micros, 400 against 300
         wants    synthesise/1/judge
         when     answer synthesise/1/judge
         cost     150 or more, at most 250
         concluded budget partial without score/1/optimist score/1/pessimist",
    );
}

#[test]
fn k8_money_that_is_used_up_leads_to_the_consensus_and_the_result_says_so() {
    let stage = check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo priced=yes cost_max=260 closing_cost=100
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     begin rebuttal/2/ada
         logged   stop_rule_fired phase_closed phase_opened
         when     answer consensus/4/mo
         cost     150, at most 150
         concluded budget partial without rebuttal/2/ada rebuttal/2/bo revised/3/ada revised/3/bo",
    );
    let (concluded, _) = stage.debate.conclusion().unwrap();
    let Completeness::Partial { why, .. } = &concluded.completeness else { panic!("{concluded:?}") };
    assert_eq!(why, &["stopped by budget of cost_micros"]);
    assert_eq!(concluded.spend, Some(stage.debate.spend()));
    let fired = stage.log.iter().find_map(|recorded| match &recorded.event {
        Event::Kernel(KernelEvent::StopRuleFired(fired)) => fired.budget,
        Event::Opened(_) | Event::Kernel(_) | Event::Fact(_) => None,
    });
    assert_eq!(fired, Some(Budget::CostMicros));
}

#[test]
fn k8_not_even_the_money_kept_for_the_synthesis_is_overspent() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist priced=yes cost_max=250 closing_cost=0
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
fn k8_what_a_provider_counts_beyond_what_was_reserved_is_booked_and_no_more_is_asked_than_is_left() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist priced=yes cost_max=400 closing_cost=100
         when     begin argue/1/optimist
         when     begin argue/1/pessimist
         when     overrun argue/1/optimist
         cost     200, at most 200
         when     overrun argue/1/pessimist
         cost     400, at most 400
         when     begin score/1/optimist
         logged   stop_rule_fired round_summarised phase_closed
         stopped  budget of cost_micros, 600 against 400
         when     begin synthesise/1/judge
         logged   attempt_failed concluded
         cost     400, at most 400",
    );
}

#[test]
fn k8_money_beyond_what_a_number_holds_is_over_every_limit() {
    // One question has cost all that a number holds, one is under way, and one more is begun.
    check::<Prediction>(
        "given    started roles=optimist,pessimist,historian priced=yes cost_max=500 closing_cost=100
         when     begin argue/1/optimist
         when     begin argue/1/pessimist
         when     overrun argue/1/optimist: 18446744073709551615
         cost     18446744073709551615, at most 18446744073709551615
         when     begin argue/1/historian
         stopped  budget of cost_micros, 18446744073709552000 against 500",
    );
}

#[test]
fn k8_an_attempt_that_failed_is_booked_where_the_provider_may_charge_for_it() {
    let cost_of = |failure: &str, cost: &str| {
        check::<Prediction>(&format!(
            "given    started roles=optimist,pessimist priced=yes cost_max=1000
             when     fail argue/1/optimist: {failure}
             cost     {cost}"
        ));
    };
    for may_be_charged in ["unreadable", "unusable", "refused", "truncated", "timeout"] {
        cost_of(may_be_charged, "0 or more, at most 100");
        cost_of(&format!("{may_be_charged} usage"), "50, at most 50");
    }
    for failed_itself in ["overloaded", "unavailable", "denied"] {
        cost_of(failed_itself, "unknown");
        cost_of(&format!("{failed_itself} begun"), "0 or more, at most 100");
        cost_of(&format!("{failed_itself} begun usage"), "50, at most 50");
    }
}

#[test]
fn k8_answers_that_break_off_use_up_the_money() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist priced=yes cost_max=300 closing_cost=100
         when     answer argue/1/pessimist
         when     fail argue/1/optimist: unavailable begun
         cost     50 or more, at most 150
         when     begin argue/1/optimist
         logged   stop_rule_fired round_summarised phase_closed
         stopped  budget of cost_micros, 350 against 300
         wants    synthesise/1/judge",
    );
}

#[test]
fn k8_what_older_logs_say_of_failures_means_what_it_meant() {
    // They book nothing for a provider that failed, whatever usage it reported, and their conclusions say so.
    check::<Prediction>(
        "given    started roles=optimist,pessimist priced=yes cost_max=1000
         when     fail argue/1/optimist: unavailable usage
         cost     unknown",
    );
}

#[test]
fn k8_a_second_racing_request_never_uses_up_the_money() {
    // Five questions without faults, each of at most 100; another 100 are kept for the last of them.
    let table = |cost_max: u64| {
        format!(
            "given    started roles=optimist,pessimist priced=yes cost_max={cost_max} closing_cost=100
             when     begin argue/1/optimist"
        )
    };
    let dear = format!("{}\nrefused hedge argue/1/optimist because {NOT_WANTED}", table(699));
    let stage = check::<Prediction>(&dear);
    assert!(stage.debate.stop().is_none(), "a refused race ends nothing");
    check::<Prediction>(&format!("{}\nwhen hedge argue/1/optimist\nlogged call_started", table(700)));
}

const NOT_WANTED: &str = "Turn { want: Want { call: CallKey { kind: \"argue\", round: 1, role: Role(\"optimist\"), pass: 1 }, revision: 0 }, turn: 1 } is not wanted";

#[test]
fn k8_a_model_without_a_price_is_not_asked_where_money_is_limited() {
    check::<Prediction>(
        "given    started roles=optimist,pessimist cost_max=1000
         when     begin argue/1/optimist
         logged   attempt_failed stop_rule_fired round_summarised phase_closed concluded
         cost     unknown
         concluded failed void",
    );
}

#[test]
fn k8_what_a_model_without_a_price_costs_is_unknown_and_not_nothing() {
    let stage = check::<Prediction>(
        "given    started roles=optimist,pessimist
         when     answer argue/1/optimist
         cost     unknown",
    );
    assert_eq!(stage.debate.spend().unpriced_calls, 1);
    assert!(stage.debate.unpriced_models().contains("simulated:1"));
}
