//! Deliberations as tables (rules D1, D2, D4, D6–D8, K6, K7).

use debate_core::format::Format;
use debate_core::formats::deliberation::config::{Brief, LoadedSkill, Mode, Phase};
use debate_core::formats::deliberation::outcome::DeliberationResult;
use debate_core::formats::deliberation::{Deliberation, skills};
use debate_core::prose::{REDACTED, Texts};
use debate_core::stop::Completeness;

use crate::scenario::{Stage, check};

fn result(stage: &Stage<Deliberation>) -> DeliberationResult {
    Deliberation::outcome(&stage.debate, Texts::Shown)
}

#[test]
fn d4_strong_and_sequential_hears_those_before() {
    let stage = check(
        "given    started participants=ada,bo,cy orchestrator=mo
         phase    initial/1
         wants    initial/1/ada
         sees     initial/1/ada     nothing
         when     answer initial/1/ada: Move.
         wants    initial/1/bo
         sees     initial/1/bo      nothing
         when     answer initial/1/bo: Stay.
         wants    initial/1/cy
         when     answer initial/1/cy: Wait.
         logged   call_answered contribution_made phase_closed phase_opened
         phase    rebuttal/2
         wants    rebuttal/2/ada
         sees     rebuttal/2/ada    initial/1/bo initial/1/cy
         when     answer rebuttal/2/ada
         wants    rebuttal/2/bo
         sees     rebuttal/2/bo     initial/1/ada initial/1/cy rebuttal/2/ada
         when     answer rebuttal/2/bo
         sees     rebuttal/2/cy     initial/1/ada initial/1/bo rebuttal/2/ada rebuttal/2/bo
         when     answer rebuttal/2/cy
         phase    revised/3
         wants    revised/3/ada
         sees     revised/3/ada     initial/1/ada initial/1/bo initial/1/cy rebuttal/2/ada rebuttal/2/bo rebuttal/2/cy
         when     answer revised/3/ada: I NOW AGREE with bo.
         sees     revised/3/bo      initial/1/ada initial/1/bo initial/1/cy rebuttal/2/ada rebuttal/2/bo rebuttal/2/cy revised/3/ada
         when     answer revised/3/bo: I hold on.
         when     answer revised/3/cy: After reviewing all, I wait.
         phase    consensus/4
         wants    consensus/4/mo
         sees     consensus/4/mo    initial/1/ada initial/1/bo initial/1/cy rebuttal/2/ada rebuttal/2/bo rebuttal/2/cy revised/3/ada revised/3/bo revised/3/cy
         when     answer consensus/4/mo: 1. Agreement / - All like it / 2. Unresolved disagreements / - When / - How / 3. Final recommendation / - Soon
         logged   call_answered consensus_reached phase_closed stop_rule_fired concluded
         wants    nothing
         concluded concluded full",
    );
    let result = result(&stage);
    assert_eq!(result.phase_sequence, Phase::ALL);
    assert_eq!((result.round_count, result.turn_count), (4, 10));
    assert_eq!(result.position_changes, ["ada".into(), "cy".into()]);
    assert_eq!(result.disagreements, ["When", "How"]);
    assert_eq!(result.disagreement_count, 2);
    assert!(result.consensus.unwrap().starts_with("1. Agreement\n- All like it"));
    assert_eq!(result.phases[0].contributions[1].content, "Stay.");
    assert_eq!((result.metadata.calls, result.metadata.tokens.output), (10, 500));
    assert_eq!((result.stop_reason.as_str(), result.mode), ("concluded", Mode::Strong));
    assert!(result.simulated && result.usage_complete && !result.redacted);
}

#[test]
fn d4_parallel_hears_the_phases_before() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo concurrency=parallel
         wants    initial/1/ada initial/1/bo
         when     answer initial/1/bo
         wants    initial/1/ada
         phase    initial/1
         when     answer initial/1/ada
         wants    rebuttal/2/ada rebuttal/2/bo
         sees     rebuttal/2/ada    initial/1/bo
         when     answer rebuttal/2/ada
         wants    rebuttal/2/bo
         sees     rebuttal/2/bo     initial/1/ada
         when     answer rebuttal/2/bo
         when     answer revised/3/bo
         sees     revised/3/ada     initial/1/ada initial/1/bo rebuttal/2/ada rebuttal/2/bo
         when     answer revised/3/ada
         sees     consensus/4/mo    initial/1/ada initial/1/bo rebuttal/2/ada rebuttal/2/bo revised/3/ada revised/3/bo
         when     answer consensus/4/mo
         concluded concluded full",
    );
}

#[test]
fn d2_weak_goes_from_positions_to_consensus() {
    let stage = check(
        "given    started participants=ada,bo orchestrator=bo mode=weak
         when     answer initial/1/ada
         when     answer initial/1/bo
         phase    consensus/2
         wants    consensus/2/bo
         sees     consensus/2/bo    initial/1/ada initial/1/bo
         when     answer consensus/2/bo
         concluded concluded full",
    );
    assert_eq!(result(&stage).phase_sequence, [Phase::Initial, Phase::Consensus]);
    let stage = check(
        "given    started participants=ada,bo orchestrator=mo mode=weak concurrency=parallel
         wants    initial/1/ada initial/1/bo
         when     answer initial/1/bo
         when     answer initial/1/ada
         when     answer consensus/2/mo
         concluded concluded full",
    );
    assert_eq!(result(&stage).position_changes, []);
}

#[test]
fn d2_without_an_orchestrator_it_ends_before_the_consensus() {
    let stage = check(
        "given    started participants=ada,bo mode=weak
         when     answer initial/1/ada
         when     answer initial/1/bo
         logged   call_answered contribution_made phase_closed stop_rule_fired concluded
         concluded concluded full",
    );
    assert_eq!(result(&stage).consensus, None);
    assert_eq!(result(&stage).round_count, 1);
}

#[test]
fn d1_max_rounds_cuts_phases_off() {
    let stage = check(
        "given    started participants=ada,bo orchestrator=mo max_rounds=2
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     answer rebuttal/2/ada
         when     answer rebuttal/2/bo
         concluded max_rounds full",
    );
    assert_eq!(result(&stage).phase_sequence, [Phase::Initial, Phase::Rebuttal]);
    check::<Deliberation>(
        "given    started participants=ada,bo max_rounds=3
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     answer rebuttal/2/ada
         when     answer rebuttal/2/bo
         when     answer revised/3/ada
         when     answer revised/3/bo
         concluded concluded full",
    );
}

#[test]
fn k6_a_participant_who_fails_is_missing_from_then_on() {
    let stage = check(
        "given    started participants=ada,bo,cy orchestrator=mo attempts_max=2
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     answer initial/1/cy
         when     answer rebuttal/2/ada
         when     fail rebuttal/2/bo
         wants    rebuttal/2/bo
         when     fail rebuttal/2/bo
         wants    rebuttal/2/cy
         sees     rebuttal/2/cy     initial/1/ada initial/1/bo rebuttal/2/ada
         cause    rebuttal/2/bo     first reask
         when     answer rebuttal/2/cy
         when     answer revised/3/ada
         wants    revised/3/cy
         when     answer revised/3/cy
         when     answer consensus/4/mo
         concluded concluded partial without bo",
    );
    let Completeness::Partial { why, .. } = result(&stage).completeness else { panic!() };
    assert_eq!(why, ["bo gave no usable answer after its retries"]);
}

#[test]
fn k6_one_participant_left_is_no_debate() {
    let stage = check(
        "given    started participants=ada,bo,cy orchestrator=mo concurrency=parallel
         when     fail initial/1/cy: denied
         wants    initial/1/ada initial/1/bo
         when     begin initial/1/bo
         when     fail initial/1/ada: denied
         logged   attempt_failed stop_rule_fired phase_closed attempt_abandoned concluded
         concluded failed void",
    );
    assert_eq!(result(&stage).phase_sequence, []);
}

#[test]
fn k6_a_consensus_that_cannot_be_had_is_missing() {
    let stage = check(
        "given    started participants=ada,bo orchestrator=mo mode=weak
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     fail consensus/2/mo: denied
         concluded concluded partial without consensus",
    );
    assert_eq!(result(&stage).phase_sequence, [Phase::Initial]);
}

#[test]
fn k8_a_deadline_leads_to_the_consensus_with_what_there_is() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo deadline_ms=1000 closing_ms=200
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     begin rebuttal/2/ada
         when     clock 800
         logged   stop_rule_fired phase_closed phase_opened
         phase    consensus/4
         wants    consensus/4/mo
         sees     consensus/4/mo    initial/1/ada initial/1/bo
         when     answer consensus/4/mo
         logged   call_answered consensus_reached phase_closed attempt_abandoned concluded
         concluded deadline partial without rebuttal/2/ada rebuttal/2/bo revised/3/ada revised/3/bo",
    );
}

#[test]
fn k8_one_voice_is_not_summed_up() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo deadline_ms=1000 closing_ms=200
         when     answer initial/1/ada
         when     clock 800
         concluded deadline void",
    );
}

#[test]
fn k9_the_deadline_ends_a_consensus_that_does_not_come() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo mode=weak deadline_ms=1000 closing_ms=200
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     begin consensus/2/mo
         when     clock 900
         wants    consensus/2/mo
         phase    consensus/2
         when     clock 100
         logged   stop_rule_fired phase_closed attempt_abandoned concluded
         concluded deadline partial without consensus",
    );
}

#[test]
fn k8_a_budget_leads_to_the_consensus() {
    check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo calls_max=4
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     answer rebuttal/2/ada
         when     begin rebuttal/2/bo
         logged   stop_rule_fired phase_closed phase_opened
         wants    consensus/4/mo
         when     answer consensus/4/mo
         concluded budget partial without rebuttal/2/bo revised/3/ada revised/3/bo",
    );
}

#[test]
fn an_empty_contribution_is_asked_for_again() {
    check::<Deliberation>(
        "given    started participants=ada,bo
         when     answer initial/1/ada: nothing
         logged   attempt_failed
         wants    initial/1/ada
         when     answer initial/1/ada
         cause    initial/1/ada     first reask
         wants    initial/1/bo",
    );
}

#[test]
fn k17_a_deliberation_is_not_continued_and_not_resolved() {
    check::<Deliberation>(
        "given    started participants=ada,bo mode=weak
         when     answer initial/1/ada
         when     answer initial/1/bo
         refused  continue 1 because 1 more rounds are not allowed
         refused  resolve yes because yes is not an outcome of this debate",
    );
}

#[test]
fn k4_answers_in_any_order_give_the_same_outcome() {
    let opened = "given started participants=ada,bo,cy orchestrator=mo mode=weak concurrency=parallel\n";
    let play = |order: [&str; 3]| {
        let answers = order.map(|name| format!("when answer initial/1/{name}\n")).concat();
        check::<Deliberation>(&format!("{opened}{answers}when answer consensus/2/mo"))
    };
    let (one, other) = (play(["ada", "bo", "cy"]), play(["cy", "ada", "bo"]));
    assert_eq!(result(&one), result(&other));
    assert_eq!(one.debate.outcome_digest(), other.debate.outcome_digest());
}

#[test]
fn k15_facts_outlive_their_words() {
    let stage = check::<Deliberation>(
        "given    started participants=ada,bo orchestrator=mo
         when     answer initial/1/ada
         when     answer initial/1/bo
         when     answer rebuttal/2/ada
         when     answer rebuttal/2/bo
         when     answer revised/3/ada: I have revised my view.
         when     answer revised/3/bo
         when     answer consensus/4/mo: Unresolved / - When
         concluded concluded full",
    );
    let (shown, withheld) = (result(&stage), Deliberation::outcome(&stage.debate, Texts::Withheld));
    let (concluded, _) = stage.debate.conclusion().unwrap();
    assert_eq!(concluded.outcome_digest, stage.debate.outcome_digest());
    assert_eq!((withheld.topic.as_str(), withheld.consensus.as_deref()), (REDACTED, Some(REDACTED)));
    assert!(
        withheld.phases.iter().flat_map(|phase| &phase.contributions).all(|entry| entry.content == REDACTED)
    );
    assert_eq!((withheld.disagreements.len(), withheld.disagreement_count), (0, 1));
    assert_eq!(withheld.position_changes, shown.position_changes);
    assert_eq!(shown.disagreements, ["When"]);
}

#[test]
fn d8_a_skill_that_fails_to_load_is_left_out_and_recorded() {
    let stage = check::<Deliberation>(
        "given    started participants=ada,bo mode=weak skills=costing,law
         when     answer initial/1/ada
         when     answer initial/1/bo
         concluded concluded partial without skill/costing skill/law",
    );
    let mut config = stage.debate.config().clone();
    let mut brief = Brief { topic: String::new(), skills: Vec::new() };
    let skill = |name: &str| LoadedSkill {
        name: name.to_owned(),
        description: String::new(),
        content: "Obey it.".to_owned(),
    };
    skills::admit(&mut config, &mut brief, vec![skill("other"), skill("law")]);
    assert_eq!(config.skills_missing, ["costing"]);
    assert_eq!(brief.skills, [skill("law")]);
}
