//! Debates free topics at roundtables of every mode.

use debate_core::call::Tokens;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::mode::Mode;
use debate_core::id::OutcomeId;
use debate_llm::Debater;
use debate_llm::simulated::Draw;
use debate_prompts::roundtable::RoundtablePrompts;
use serde_json::{Value, json};

use super::{Opening, Subject, plenty, without};

/// Holds roundtables.
#[derive(Debug)]
pub struct Roundtables;

impl Subject for Roundtables {
    type Format = Roundtable;
    type Prompts = RoundtablePrompts;
    type Mind = Debater;

    fn prompts() -> RoundtablePrompts {
        RoundtablePrompts
    }

    fn mind() -> Debater {
        Debater
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Roundtable> {
        let names = ["architect", "security", "operations"];
        let levels = ["none", "last-only", "full"];
        let request = json!({
            "format": "roundtable",
            "topic": format!("Should office {number} move to the harbour?"),
            "mode": Mode::ALL[draw.below(Mode::ALL.len())].as_str(),
            "agents": names[..2 + draw.below(2)],
            "rounds": 1 + draw.below(3),
            "tools": &["search_web", "fact_check"][..draw.below(3)],
            "flags": {
                "sequential_parallelization": { "enabled": draw.chance(0.5), "level": levels[draw.below(3)] },
                "groupthink_detection": {
                    "threshold": 0.5,
                    "action": if draw.chance(0.5) { "repoll" } else { "warn" },
                },
                "exit_criteria": { "enabled": draw.chance(0.3), "shadow": draw.chance(0.3) },
            },
        });
        let accepted = match accept::accept(&request.to_string()) {
            Ok(AcceptedRequest::Roundtable(accepted)) => *accepted,
            other => panic!("the request above is a valid roundtable: {other:?}"),
        };
        Opening {
            config: accepted.config,
            brief: accepted.brief,
            limits: plenty(Tokens::default()),
            resolution: OutcomeId::from("none"),
        }
    }

    fn comparable(mut outcome: Value) -> Value {
        // A debate that fails stops at once: what others had said by then is a matter of time.
        if outcome["completeness"]["state"] == "void" || outcome["stop_reason"] == "failed" {
            return json!({ "failed": outcome["stop_reason"] });
        }
        without(&mut outcome, &["debate_id", "completed_at", "usage_complete", "cost"]);
        for run in outcome["evidence"]["tool_runs"].as_array_mut().into_iter().flatten() {
            // Who asked first is a matter of time.
            without(run, &["latency_ms", "reused_from"]);
        }
        without(&mut outcome["metadata"], &["tokens", "calls", "wall_clock_time_ms", "model"]);
        outcome
    }
}
