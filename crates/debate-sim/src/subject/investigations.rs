//! Debates what makes something fail.

use debate_core::call::Tokens;
use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::config::{INPUT_TOKENS, OUTPUT_TOKENS};
use debate_core::id::OutcomeId;
use debate_core::prose::Texts;
use debate_llm::Debater;
use debate_llm::simulated::Draw;
use debate_prompts::investigation::InvestigationPrompts;
use serde_json::{Value, json};

use super::{Opening, Subject, plenty, without};

/// Debates what makes something fail.
#[derive(Debug)]
pub struct Investigations;

impl Subject for Investigations {
    type Format = Investigation;
    type Prompts = InvestigationPrompts;
    type Mind = Debater;

    fn prompts() -> InvestigationPrompts {
        InvestigationPrompts
    }

    fn mind() -> Debater {
        Debater
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Investigation> {
        let causes = ["a lock", "a leak", "a full disk"];
        let causes = &causes[..2 + draw.below(2)];
        let mut request = json!({
            "format": "investigation",
            "problem": format!("The nightly build of branch {number} hangs."),
            "language": if draw.chance(0.5) { "en" } else { "zh" },
            "rounds": 1 + draw.below(3),
        });
        if draw.chance(0.5) {
            let hypothesis = |cause: &&str| json!({ "statement": cause, "prediction": format!("If it is {cause}, a trace should show it") });
            request["hypotheses"] = causes.iter().map(hypothesis).collect();
        }
        let mut accepted = match accept::accept(&request.to_string()) {
            Ok(AcceptedRequest::Investigation(accepted)) => *accepted,
            other => panic!("the request above is a valid investigation: {other:?}"),
        };
        accepted.config.workspace = draw.chance(0.4);
        let each = Tokens { input: u64::from(INPUT_TOKENS), output: u64::from(OUTPUT_TOKENS) };
        Opening {
            config: accepted.config,
            brief: accepted.brief,
            limits: plenty(each.times(2)),
            resolution: OutcomeId::from("none"),
        }
    }

    fn check(debate: &Debate<Investigation>) -> Result<(), String> {
        let result = Investigation::outcome(debate, Texts::Withheld);
        let reported = result.hypotheses.iter().flat_map(|one| &one.reports).map(|report| report.round);
        let challenged = result.challenges.iter().map(|challenge| challenge.id.round);
        let held = reported.chain(challenged).chain([result.metadata.rounds]).max().unwrap_or(0);
        let rounds_max = debate.config().rounds.min(3);
        if held > rounds_max {
            return Err(format!("round {held} was held, {rounds_max} are allowed (I7)"));
        }
        Ok(())
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
