//! Whole investigations with the simulated model.

use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::outcome::InvestigationResult;
use debate_core::prose::Texts;
use debate_core::stop::{Completeness, StopRule};
use debate_prompts::investigation::InvestigationPrompts;
use serde_json::json;

use crate::stage::{self, Ended};

/// What a devil's advocate says that has nothing to challenge.
const NO_CHALLENGE: [&str; 2] = ["[NO CHALLENGE]", "[无挑战]"];

fn request(language: &str, is_proposed: bool) -> Accepted<Investigation> {
    let mut request = json!({
        "format": "investigation", "problem": "The nightly build hangs.", "language": language,
        "investigators": ["ann", "bo", "cy"],
    });
    if is_proposed {
        request["hypotheses"] = ["a lock", "a leak", "a full disk"]
            .map(|cause| json!({ "statement": cause, "prediction": format!("If {cause}, it should show") }))
            .into();
    }
    match accept(&request.to_string()).unwrap() {
        AcceptedRequest::Investigation(accepted) => *accepted,
        other => panic!("a {}, not an investigation", other.format()),
    }
}

fn run(seed: u64) -> (Ended<Investigation>, InvestigationResult) {
    let request = request(if seed.is_multiple_of(2) { "en" } else { "zh" }, seed.is_multiple_of(3));
    let model = stage::model(&format!("simulated:{seed}"));
    let ended = stage::run(&InvestigationPrompts, &request, &model);
    let result = Investigation::outcome(&ended.debate, Texts::Shown);
    (ended, result)
}

#[test]
fn i7_investigations_end_by_every_rule_within_three_rounds_and_are_simulated() {
    let mut rules: Vec<StopRule> = Vec::new();
    for seed in 0..40 {
        let (ended, result) = run(seed);
        assert_eq!(result.completeness, Completeness::Full, "{seed}");
        assert!(result.simulated && result.metadata.rounds <= 3);
        assert!(ended.exchanges.iter().all(|one| {
            let reply = one.reply.as_ref().unwrap();
            reply.contains("(simulated)") || NO_CHALLENGE.contains(&reply.as_str())
        }));
        rules.extend(ended.debate.stop_rule());
    }
    for rule in [StopRule::Confidence, StopRule::Convergence, StopRule::MaxRounds] {
        assert!(rules.contains(&rule), "{rule:?} never fired: {rules:?}");
    }
}

#[test]
fn i8_replies_are_in_the_language_asked_for() {
    let chinese = |text: &str| text.chars().any(|letter| ('一'..='龥').contains(&letter));
    for (seed, is_chinese) in [(2, false), (4, false), (1, true), (5, true)] {
        let (ended, result) = run(seed);
        assert_eq!(chinese(&result.conclusion.unwrap().text), is_chinese, "{seed}");
        let replies = ended.exchanges.iter().map(|one| one.reply.as_deref().unwrap());
        let replies: Vec<bool> = replies.filter(|reply| !NO_CHALLENGE.contains(reply)).map(chinese).collect();
        assert!(replies.iter().all(|found| *found == is_chinese), "{seed}: {replies:?}");
    }
}
