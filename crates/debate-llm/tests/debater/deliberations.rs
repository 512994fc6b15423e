//! Whole deliberations with the simulated model.

use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::deliberation::outcome::DeliberationResult;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_prompts::deliberation::DeliberationPrompts;

use crate::stage::{self, Ended};

fn example() -> Accepted<Deliberation> {
    let path = format!("{}/../../examples/deliberation.json", env!("CARGO_MANIFEST_DIR"));
    match accept(&std::fs::read_to_string(path).unwrap()).unwrap() {
        AcceptedRequest::Deliberation(accepted) => *accepted,
        other => panic!("a {}, not a deliberation", other.format()),
    }
}

fn run(settings: &str) -> (Ended<Deliberation>, DeliberationResult) {
    let ended = stage::run(&DeliberationPrompts, &example(), &stage::model(settings));
    let result = Deliberation::outcome(&ended.debate, Texts::Shown);
    (ended, result)
}

#[test]
fn d2_a_deliberation_runs_its_four_phases_and_is_simulated() {
    let (ended, result) = run("simulated:1");
    assert_eq!(ended.exchanges.len(), 10, "three participants in three phases, and the consensus");
    assert_eq!((result.round_count, result.turn_count), (4, 10));
    assert_eq!(result.completeness, Completeness::Full);
    assert!(result.simulated && result.usage_complete);
    assert!(ended.exchanges.iter().all(|one| one.reply.as_ref().unwrap().starts_with("(simulated)")));
}

#[test]
fn d3_every_phase_is_answered_as_its_prompt_asks() {
    for seed in 0..20 {
        let (ended, _) = run(&format!("simulated:{seed}"));
        let said = |kind: &str| -> Vec<&str> {
            let of_kind = ended.exchanges.iter().filter(|one| one.want.call.kind == kind);
            of_kind.map(|one| one.reply.as_deref().unwrap()).collect()
        };
        for text in said("initial") {
            assert!(
                ["recommendation", "Reasoning:", "Risks:"].iter().all(|part| text.contains(part)),
                "{text}"
            );
        }
        for text in said("rebuttal").into_iter().skip(1) {
            assert!(text.contains("counterexample") && text.contains("fails if"), "{text}");
            assert!(!text.contains("Good point"), "{text}");
        }
        assert!(said("revised").iter().all(|text| text.contains("Final recommendation")));
        let consensus = said("consensus")[0];
        let headings = [
            "1. Points of agreement",
            "2. Unresolved disagreements",
            "3. Final recommendation",
            "4. Cautions",
        ];
        let places: Vec<usize> = headings.iter().filter_map(|heading| consensus.find(heading)).collect();
        assert!(places.len() == 4 && places.is_sorted(), "{consensus}");
    }
}

#[test]
fn d6_some_change_their_position_and_say_so_and_some_do_not() {
    let changes: Vec<usize> =
        (0..20).map(|seed| run(&format!("simulated:{seed}")).1.position_changes.len()).collect();
    assert!(changes.contains(&0) && changes.iter().any(|count| *count > 0), "{changes:?}");
}

#[test]
fn d7_disagreements_name_each_position_that_is_still_held() {
    let mut counts = Vec::new();
    for seed in 0..20 {
        let (_, result) = run(&format!("simulated:{seed}"));
        assert_ne!(result.disagreements.len(), 1, "one position alone is none: {:?}", result.disagreements);
        assert!(result.disagreements.iter().all(|line| line.contains(": ")), "{:?}", result.disagreements);
        counts.push(result.disagreements.len());
    }
    assert!(counts.contains(&0) && counts.iter().any(|count| *count >= 2), "{counts:?}");
}

#[test]
fn d2_an_absent_participant_is_missing() {
    let (_, result) = run("absent_role=security");
    assert!(
        matches!(result.completeness, Completeness::Partial { ref missing, .. } if missing == &["security"])
    );
}
