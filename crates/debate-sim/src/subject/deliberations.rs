//! Debates free topics among a few experts.

use debate_core::call::Tokens;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::deliberation::Deliberation;
use debate_core::id::OutcomeId;
use debate_llm::Debater;
use debate_llm::simulated::Draw;
use debate_prompts::deliberation::DeliberationPrompts;
use serde_json::{Value, json};

use super::{Opening, Subject, plenty, without};

/// Debates free topics.
#[derive(Debug)]
pub struct Deliberations;

impl Subject for Deliberations {
    type Format = Deliberation;
    type Prompts = DeliberationPrompts;
    type Mind = Debater;

    fn prompts() -> DeliberationPrompts {
        DeliberationPrompts
    }

    fn mind() -> Debater {
        Debater
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Deliberation> {
        let names = ["architect", "security", "operations"];
        let participants: Vec<Value> =
            names.iter().take(2 + draw.below(2)).map(|name| json!({ "name": name })).collect();
        let mut request = json!({
            "format": "deliberation",
            "topic": format!("Should office {number} move to the harbour?"),
            "mode": if draw.chance(0.7) { "strong" } else { "weak" },
            "participants": participants,
            "concurrency": if draw.chance(0.5) { "parallel" } else { "sequential" },
        });
        if draw.chance(0.8) {
            request["orchestrator"] = json!({ "name": "moderator" });
        }
        if draw.chance(0.2) {
            request["maxRounds"] = (1 + draw.below(3)).into();
        }
        let accepted = match accept::accept(&request.to_string()) {
            Ok(AcceptedRequest::Deliberation(accepted)) => *accepted,
            other => panic!("the request above is a valid deliberation: {other:?}"),
        };
        Opening {
            config: accepted.config,
            brief: accepted.brief,
            limits: plenty(Tokens { input: 60_000, output: 4_000 }),
            resolution: OutcomeId::from("none"),
        }
    }

    fn comparable(mut outcome: Value) -> Value {
        // A debate that fails stops at once: what others had said by then is a matter of time.
        if outcome["completeness"]["state"] == "void" {
            return json!({ "void": outcome["stop_reason"] });
        }
        without(&mut outcome, &["debate_id", "completed_at", "metadata", "usage_complete", "cost"]);
        outcome
    }
}
