//! Whole roundtables with the simulated model, one for each example.

use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::outcome::RoundtableResult;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_prompts::roundtable::RoundtablePrompts;

use crate::stage::{self, Ended};

fn example(mode: Mode) -> Accepted<Roundtable> {
    let (folder, mode) = (env!("CARGO_MANIFEST_DIR"), mode.as_str());
    let path = format!("{folder}/../../examples/roundtable-{mode}.json");
    let read = accept(&std::fs::read_to_string(path).unwrap()).unwrap();
    let AcceptedRequest::Roundtable(accepted) = read else { panic!("not a roundtable") };
    *accepted
}

fn run(mode: Mode, settings: &str) -> (Ended<Roundtable>, RoundtableResult) {
    let ended = stage::run(&RoundtablePrompts, &example(mode), &stage::model(settings));
    let result = Roundtable::outcome(&ended.debate, Texts::Shown);
    (ended, result)
}

#[test]
fn t1_the_example_of_every_mode_runs_to_its_end_and_is_simulated() {
    for mode in Mode::ALL {
        let (ended, result) = run(mode, "simulated:1");
        assert_eq!((result.mode, &result.completeness), (mode, &Completeness::Full));
        assert!(result.simulated && result.usage_complete);
        assert_eq!(result.agent_responses.len(), ended.debate.config().agents.len());
        for exchange in &ended.exchanges {
            let reply = exchange.reply.as_ref().unwrap();
            let asks_for_tools = reply.contains(r#""tool_calls":[{"#);
            assert!(asks_for_tools || reply.contains("(simulated)"), "{exchange:?}");
            assert_eq!(exchange.repairs, Ok(Vec::new()), "the reply is strict JSON");
        }
        assert_eq!(ended.rejections, Vec::<Vec<String>>::new(), "it takes the stance that it has to take");
    }
}

#[test]
fn t3_what_the_simulated_model_says_is_of_its_mode() {
    for seed in 0..5 {
        let settings = format!("simulated:{seed}");
        let (_, devils) = run(Mode::DevilsAdvocate, &settings);
        assert!(devils.decision.cautions.iter().all(|caution| !caution.contains("forced")));
        let (socratic, result) = run(Mode::Socratic, &settings);
        assert!(socratic.exchanges.iter().all(|one| one.reply.as_ref().unwrap().contains('?')));
        assert!(result.evidence.interaction.question_response_pairs > 0);
        let (_, delphi) = run(Mode::Delphi, &settings);
        assert!(delphi.agent_responses.iter().all(|agent| agent.shown_as.is_some()));
        let has_heard_others = delphi.metadata.rounds_held > 1;
        let refers = delphi.evidence.interaction.cross_references > 0;
        assert_eq!(refers, has_heard_others, "labels count as names");
    }
}

#[test]
fn t5_some_roundtables_agree_and_some_do_not() {
    let levels: Vec<f64> = (0..10)
        .map(|seed| run(Mode::Collaborative, &format!("simulated:{seed}")).1.decision.agreement_level)
        .collect();
    assert!(levels.iter().any(|level| *level > 0.9) && levels.iter().any(|level| *level < 0.9), "{levels:?}");
}

#[test]
fn k6_an_absent_agent_is_missing() {
    let (_, result) = run(Mode::Adversarial, "absent_role=gemini");
    assert!(
        matches!(result.completeness, Completeness::Partial { ref missing, .. } if missing == &["gemini"])
    );
}
