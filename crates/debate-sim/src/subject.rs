//! What a world debates: a format with its words, a mind that answers, and what of its result can be compared.

use debate_core::call::Tokens;
use debate_core::format::Format;
use debate_core::id::{OutcomeId, Role};
use debate_core::limits::Limits;
use debate_llm::simulated::{Draw, Mind};
use debate_prompts::prompts::Prompts;
use serde_json::Value;

use crate::probe::Probe;
use crate::probe::config::{Brief, Config};
use crate::probe::mind::ProbeMind;
use crate::probe::prompts::ProbePrompts;

/// A format as worlds debate it.
pub trait Subject: 'static {
    /// The format.
    type Format: Format;
    /// Its words.
    type Prompts: Prompts<Format = Self::Format>;
    /// What answers.
    type Mind: Mind + 'static;

    /// Returns the words.
    fn prompts() -> Self::Prompts;

    /// Returns what answers.
    fn mind() -> Self::Mind;

    /// Draws the rules and the subject of the debate with this number.
    fn draw(draw: &mut Draw, number: usize) -> Opening<Self::Format>;

    /// Takes out of a result whatever may differ between two runs that were told the same: times, spend, ids.
    fn comparable(outcome: Value) -> Value;
}

/// What a debate is opened with.
#[derive(Debug, Clone)]
pub struct Opening<F: Format> {
    /// The rules.
    pub config: F::Config,
    /// The subject.
    pub brief: F::Brief,
    /// What it may spend where nothing is tight.
    pub limits: Limits,
    /// An outcome to resolve it with.
    pub resolution: OutcomeId,
}

/// Limits that nothing reaches.
const PLENTY: u64 = 1_000_000_000;

/// Returns limits that no run reaches.
fn plenty(closing_tokens: Tokens) -> Limits {
    Limits {
        deadline_ms: PLENTY,
        calls_max: PLENTY,
        tokens_max: Tokens { input: PLENTY, output: PLENTY },
        attempts_max: 3,
        starts_max: 500,
        closing_tokens,
        closing_ms: 200,
    }
}

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
