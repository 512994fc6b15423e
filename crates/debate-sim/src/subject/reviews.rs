//! Debates what reviewers contradict each other in.

use debate_core::call::Tokens;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::review::Review;
use debate_core::id::OutcomeId;
use debate_llm::Debater;
use debate_llm::simulated::Draw;
use debate_prompts::review::ReviewPrompts;
use serde_json::{Value, json};

use super::{Opening, Subject, plenty, without};

/// Debates what reviewers contradict each other in.
#[derive(Debug)]
pub struct Reviews;

impl Subject for Reviews {
    type Format = Review;
    type Prompts = ReviewPrompts;
    type Mind = Debater;

    fn prompts() -> ReviewPrompts {
        ReviewPrompts
    }

    fn mind() -> Debater {
        Debater
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Review> {
        let targets = draw.below(4);
        let operations = |op: &str, from: usize| -> Vec<Value> {
            let target = |target| json!({ "op": op, "target": format!("rule {number}.{target}") });
            (from..targets).map(target).collect()
        };
        let request = json!({
            "format": "review",
            "critiques": [
                { "role": "security", "operations": operations("AddConstraint", 0) },
                { "role": "testing", "operations": operations("RemoveConstraint", targets / 2) },
                { "role": "style", "operations": operations("RemoveConstraint", 0) },
            ],
            "debate": { "enabled": draw.chance(0.9), "max_pairs": 1 + draw.below(3) },
            "options": { "judge_passes": 1 + draw.below(2) },
        });
        let accepted = match accept::accept(&request.to_string()) {
            Ok(AcceptedRequest::Review(accepted)) => *accepted,
            other => panic!("the request above is a valid review: {other:?}"),
        };
        Opening {
            config: accepted.config,
            brief: accepted.brief,
            limits: plenty(Tokens { input: 48_000, output: 6_000 }),
            resolution: OutcomeId::from("none"),
        }
    }

    fn comparable(mut outcome: Value) -> Value {
        without(
            &mut outcome,
            &["debate_id", "completed_at", "metadata", "usage_complete", "cost", "total_tokens"],
        );
        without(&mut outcome["debate_log"], &["cost"]);
        for debate in outcome["debates"].as_array_mut().into_iter().flatten() {
            without(debate, &["usage"]);
            without(&mut debate["judgement"], &["usage"]);
        }
        outcome
    }
}
