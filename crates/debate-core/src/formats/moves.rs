//! How far the answers of two debates lie apart (rule K14).

use serde::Serialize;

use super::any::AnyDebate;
use super::prediction::forecast::Forecasts;
use crate::id::OutcomeId;
use crate::measures::distribution::Distribution;
use crate::measures::log_odds::logit;

/// How one outcome's probability differs between two debates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Move {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// Its probability in the first debate; null where that has none.
    pub a: Option<f64>,
    /// Its probability in the second debate; null where that has none.
    pub b: Option<f64>,
    /// The second minus the first.
    pub change: Option<f64>,
    /// The same in log-odds, in nats.
    pub log_odds_change: Option<f64>,
}

/// Returns the moves from one debate's final probabilities to another's: the first one's outcomes in its order, then
/// those that only the second has; none where neither gives probabilities.
#[must_use]
pub fn between(a: &AnyDebate, b: &AnyDebate) -> Vec<Move> {
    let (a, b) = (probabilities(a), probabilities(b));
    let only_b = b.iter().filter(|(id, _)| a.iter().all(|(known, _)| known != id));
    let outcomes = a.iter().chain(only_b).map(|(id, _)| id);
    let of = |side: &[(OutcomeId, f64)], id: &OutcomeId| {
        side.iter().find(|(known, _)| known == id).map(|(_, probability)| *probability)
    };
    let moves = outcomes.map(|id| {
        let (a, b) = (of(&a, id), of(&b, id));
        let both = a.zip(b);
        Move {
            outcome_id: id.clone(),
            a,
            b,
            change: both.map(|(a, b)| b - a),
            log_odds_change: both.map(|(a, b)| logit(b) - logit(a)),
        }
    });
    moves.collect()
}

fn probabilities(debate: &AnyDebate) -> Vec<(OutcomeId, f64)> {
    let AnyDebate::Prediction(debate) = debate else { return Vec::new() };
    let last = Forecasts::of(debate).map(|forecasts| forecasts.last);
    let shares = last.iter().flat_map(Distribution::as_slice);
    debate.config().outcomes.iter().cloned().zip(shares.copied()).collect()
}
