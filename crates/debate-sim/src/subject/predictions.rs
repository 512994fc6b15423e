//! Debates predictions, each of a small made-up question.

use debate_core::call::Tokens;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::ROLES;
use debate_core::id::OutcomeId;
use debate_llm::Debater;
use debate_llm::simulated::Draw;
use debate_prompts::prediction::PredictionPrompts;
use serde_json::{Value, json};

use super::{Opening, Subject, plenty, without};

/// Debates predictions.
#[derive(Debug)]
pub struct Predictions;

impl Subject for Predictions {
    type Format = Prediction;
    type Prompts = PredictionPrompts;
    type Mind = Debater;

    fn prompts() -> PredictionPrompts {
        PredictionPrompts
    }

    fn mind() -> Debater {
        Debater
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Prediction> {
        let outcomes: Vec<String> = (0..2 + draw.below(2)).map(|index| format!("o{index}")).collect();
        let start = draw.below(ROLES.len());
        let count = 2 + draw.below(ROLES.len() - 1);
        let roles: Vec<&str> = (0..ROLES.len())
            .filter(|role| (role + ROLES.len() - start) % ROLES.len() < count)
            .map(|role| ROLES[role])
            .collect();
        let speakers = roles.iter().filter(|role| **role != "judge").count();
        let roles = if speakers < 2 { &ROLES[..2] } else { &roles[..] };
        let request = json!({
            "task_id": format!("task {number}"),
            "prediction_context": {
                "task": { "question": format!("Will the bridge of town {number} open before the spring?") },
                "outcomes": outcomes.iter().map(|id| json!({ "id": id, "label": format!("Case {id}") })).collect::<Vec<_>>(),
                "simulation_summary": { "key_findings": ["The piers have stood since the autumn."] },
            },
            "config": { "rounds": 1 + draw.below(5) / 2, "roles": roles },
            "options": { "seed": draw.below(1_000) },
        });
        let accepted = match accept::accept(&request.to_string()) {
            Ok(AcceptedRequest::Prediction(accepted)) => *accepted,
            other => panic!("the request above is a valid prediction: {other:?}"),
        };
        Opening {
            config: accepted.config,
            brief: accepted.brief,
            limits: plenty(Tokens { input: 6_000, output: 2_000 }),
            resolution: OutcomeId::from(outcomes[draw.below(outcomes.len())].as_str()),
        }
    }

    fn comparable(mut outcome: Value) -> Value {
        // A debate that fails stops at once: what others had said by then is a matter of time.
        if outcome["extra"]["completeness"]["state"] == "void" {
            return json!({ "void": outcome["extra"]["stop_reason"] });
        }
        without(&mut outcome, &["debate_id", "completed_at"]);
        without(&mut outcome["metadata"], &["wall_clock_time_ms", "sonnet_tokens_used", "sonnet_calls"]);
        without(&mut outcome["extra"], &["usage_complete", "cost"]);
        outcome
    }
}
