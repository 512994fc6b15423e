//! Debates probes.

use debate_core::call::Tokens;
use debate_core::id::{OutcomeId, Role};
use debate_llm::simulated::Draw;
use serde_json::Value;

use super::{Opening, Subject, plenty};
use crate::probe::Probe;
use crate::probe::config::{Brief, Config};
use crate::probe::mind::ProbeMind;
use crate::probe::prompts::ProbePrompts;

/// Debates probes.
#[derive(Debug)]
pub struct Probes;

impl Subject for Probes {
    type Format = Probe;
    type Prompts = ProbePrompts;
    type Mind = ProbeMind;

    fn prompts() -> ProbePrompts {
        ProbePrompts
    }

    fn mind() -> ProbeMind {
        ProbeMind
    }

    fn draw(draw: &mut Draw, number: usize) -> Opening<Probe> {
        let seats = ["ann", "bob", "cleo", "dan"];
        let seats = &seats[..2 + draw.below(5) / 2];
        let outcomes: Vec<OutcomeId> = ["yes", "no"].map(OutcomeId::from).to_vec();
        Opening {
            config: Config {
                seats: seats.iter().map(|name| Role::from(*name)).collect(),
                rounds: 1 + u32::try_from(draw.below(5) / 3).unwrap_or(0),
                continued_after: 0,
                patient: draw.chance(0.4),
                consensus_spread_max: if draw.chance(0.3) { 25 } else { 0 },
                outcomes: outcomes.clone(),
            },
            brief: Brief { topic: format!("number {number}") },
            limits: plenty(Tokens { input: 2_000, output: 120 }),
            resolution: outcomes[draw.below(2)].clone(),
        }
    }

    fn comparable(mut outcome: Value) -> Value {
        // A debate that fails stops at once: what others had said by then is a matter of time.
        if outcome["completeness"]["state"] == "void" {
            outcome["rounds"] = outcome["rounds"].as_array().map_or(0, Vec::len).into();
        }
        outcome
    }
}
