//! How good the forecasts of a resolved debate were (rule K16): a projection of its log.

use serde::Serialize;

use super::Prediction;
use super::forecast::Forecasts;
use crate::debate::Debate;
use crate::id::{OutcomeId, Role, Timestamp};
use crate::measures::distribution::Distribution;
use crate::measures::proper_scores::{ProperScores, Uplift};

/// What happened, and the losses of every forecast of it. Smaller is better, but for uplift.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolution {
    /// What happened.
    pub outcome: OutcomeId,
    /// When it happened, ISO 8601 in UTC, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<String>,
    /// When it was recorded, ISO 8601 in UTC.
    pub resolved_at: String,
    /// The losses; null where the debate is void and forecasts nothing.
    pub scores: Option<ForecastScores>,
}

/// The losses of the forecasts of one debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastScores {
    /// Of each role's last distribution, in role order.
    pub roles: Vec<RoleScores>,
    /// Of the synthesis's own; null where there was none.
    pub judge: Option<ProperScores>,
    /// Of the mean of the blind opening.
    pub blind: Option<ProperScores>,
    /// Of the pooled roles.
    pub consensus: ProperScores,
    /// Of the debate's own distribution.
    pub r#final: ProperScores,
    /// Blind loss − final loss: what all steps gained together, pooling and judge included. One outcome proves nothing.
    pub uplift: Option<Uplift>,
    /// What each step gained; they sum to the uplift.
    pub steps: Option<Steps>,
}

/// What each step from the blind opening to the debate's own distribution gained: the loss before it − the loss after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Steps {
    /// Pooling the openings in the debate's own way instead of taking their mean.
    pub pooling: Uplift,
    /// Debating: the roles' last distributions instead of their openings, pooled in the same way.
    pub debate: Uplift,
    /// The judge's synthesis, blended into the consensus.
    pub judge: Uplift,
}

/// The losses of one role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleScores {
    /// The role.
    pub role: Role,
    /// Its losses.
    #[serde(flatten)]
    pub scores: ProperScores,
}

impl Resolution {
    /// Returns what is known of a debate that was resolved; `None` before.
    #[must_use]
    pub fn of(debate: &Debate<Prediction>) -> Option<Self> {
        let (resolved, at) = debate.resolved()?;
        let place = debate.config().outcome_index(&resolved.outcome)?;
        Some(Self {
            outcome: resolved.outcome.clone(),
            happened_at: resolved.happened_at.as_ref().map(Timestamp::to_string),
            resolved_at: at.to_string(),
            scores: Forecasts::of(debate.scored())
                .and_then(|forecasts| ForecastScores::of(&forecasts, place)),
        })
    }
}

impl ForecastScores {
    /// Scores every forecast against the place of what happened; `None` where they have no such outcome.
    #[must_use]
    pub fn of(forecasts: &Forecasts, happened: usize) -> Option<Self> {
        let score = |forecast: &Distribution| ProperScores::of(forecast, happened).ok();
        let roles = forecasts.roles.iter().map(|(role, distribution)| {
            Some(RoleScores { role: role.clone(), scores: score(distribution)? })
        });
        let (consensus, last) = (score(&forecasts.consensus)?, score(&forecasts.last)?);
        let [blind, opened] =
            [&forecasts.blind, &forecasts.opened].map(|given| given.as_ref().and_then(score));
        let steps = blind.zip(opened).map(|(blind, opened)| Steps {
            pooling: blind.uplift_of(&opened),
            debate: opened.uplift_of(&consensus),
            judge: consensus.uplift_of(&last),
        });
        Some(Self {
            roles: roles.collect::<Option<_>>()?,
            judge: forecasts.judge.as_ref().and_then(score),
            blind,
            consensus,
            r#final: last,
            uplift: blind.map(|blind| blind.uplift_of(&last)),
            steps,
        })
    }
}
