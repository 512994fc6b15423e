//! What a debate contributes to an ensemble of engines (rule P20).

use serde::Serialize;

use super::Prediction;
use crate::debate::Debate;
use crate::format::Format as _;
use crate::id::OutcomeId;
use crate::prose::Texts;

/// The name under which the aggregator knows debates.
pub const SOURCE: &str = "debate";
/// The weight that the contract gives to debates.
pub const WEIGHT: f64 = 0.15;

/// A contribution, as the aggregator takes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnsembleContribution {
    /// Always [`SOURCE`].
    pub source: &'static str,
    /// Always [`WEIGHT`].
    pub weight: f64,
    /// The final probabilities, in the request's order.
    pub distribution: Vec<OutcomeShare>,
    /// How far the roles agree, in [0, 1]; null where the debate is void.
    pub consensus_score: Option<f64>,
    /// Rounds that are over.
    pub rounds_completed: u32,
    /// The judge's confidence, lowered by what is missing, in [0, 1] (rules K6, P16).
    pub judge_confidence: f64,
}

/// One outcome's probability.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeShare {
    /// Which outcome.
    pub outcome_id: OutcomeId,
    /// In [0, 1].
    pub probability: f64,
}

impl EnsembleContribution {
    /// Returns the contribution of a debate as it stands.
    #[must_use]
    pub fn of(debate: &Debate<Prediction>) -> Self {
        let result = Prediction::outcome(debate, Texts::Withheld);
        let shares = result.probability_distribution.into_iter();
        let shares = shares
            .map(|outcome| OutcomeShare { outcome_id: outcome.outcome_id, probability: outcome.probability });
        Self {
            source: SOURCE,
            weight: WEIGHT,
            distribution: shares.collect(),
            consensus_score: result.consensus_score,
            rounds_completed: debate.state().rounds_over(),
            judge_confidence: result.extra.confidence,
        }
    }
}
