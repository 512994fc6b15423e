//! What a world debates: a format with its words, a mind that answers, and what of its result can be compared.

mod deliberations;
mod investigations;
mod predictions;
mod probes;
mod reviews;
mod roundtables;

use debate_core::call::Tokens;
use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::id::OutcomeId;
use debate_core::limits::Limits;
use debate_llm::simulated::{Draw, Mind};
use debate_prompts::prompts::Prompts;
use serde_json::Value;

pub use self::deliberations::Deliberations;
pub use self::investigations::Investigations;
pub use self::predictions::Predictions;
pub use self::probes::Probes;
pub use self::reviews::Reviews;
pub use self::roundtables::Roundtables;

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

    /// Checks what must hold of a debate of this format that has ended, beyond what holds of all.
    ///
    /// # Errors
    /// What is wrong.
    fn check(_debate: &Debate<Self::Format>) -> Result<(), String> {
        Ok(())
    }

    /// Removes from a result what may differ between two runs with the same answers: times, spend, ids.
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
    /// An outcome to resolve it with; refused where the format has none.
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
        cost_micros_max: None,
        closing_cost_micros: 0,
        thinking_tokens_max: None,
        thinking_tokens_each: None,
        driven_time: false,
    }
}

/// Takes members out of a JSON object.
fn without(value: &mut Value, members: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|name, _| !members.contains(&name.as_str()));
    }
}
