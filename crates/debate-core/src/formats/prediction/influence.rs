//! What one role or one argument did to the answer, by leaving it out and computing the rest anew (rule K14).
//!
//! No model is asked: what the others said stays as they said it, the text of the judge included. So this
//! shows the weight of what was left out in the arithmetic, not what the debate would have concluded without
//! it. A fork shows that.

use std::cmp::Ordering;

use serde::Serialize;

use super::Prediction;
use super::config::Config;
use super::forecast::{self, Forecasts};
use super::point::PointId;
use super::state::State;
use crate::debate::Debate;
use crate::id::{OutcomeId, Role};
use crate::measures::distribution::{Distribution, total_variation};
use crate::measures::log_odds::logit;

/// What is held fixed in every entry, for people.
pub const HELD_FIXED: &str = "the judge's words held fixed";

/// How much each role and each argument weighs in the final distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Influence {
    /// What does not change where something is left out.
    pub held_fixed: &'static str,
    /// The final distribution as it is.
    pub r#final: Vec<OutcomeShare>,
    /// What is left out, the weightiest first; of equals roles before arguments, each in the debate's order.
    pub left_out: Vec<LeftOut>,
}

/// The probability of one outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeShare {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// Its probability.
    pub probability: f64,
}

/// The final distribution without something that was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// Who is left out, or whose argument.
    pub role: Role,
    /// Which argument, such as `r2.optimist`; absent where the whole role is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// How far the final distribution moves: half the sum of absolute changes, in [0, 1].
    pub size: f64,
    /// The moves by outcome, in the request's order.
    pub outcomes: Vec<OutcomeMove>,
}

/// How one outcome's probability moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeMove {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// Its probability without what is left out.
    pub probability: f64,
    /// That minus what it is.
    pub change: f64,
    /// The same in log-odds, in nats.
    pub log_odds_change: f64,
}

/// What is left out.
#[derive(Debug, Clone, Copy)]
enum Leave<'a> {
    Role(&'a Role),
    Argument(u32, &'a Role),
}

impl Influence {
    /// Leaves out each role and each standing argument in turn; `None` where the debate is void.
    ///
    /// Where only one role spoke it cannot be left out.
    #[must_use]
    pub fn of(debate: &Debate<Prediction>) -> Option<Self> {
        let (config, state) = (debate.config(), debate.state());
        let forecasts = Forecasts::of(debate)?;
        let roles = forecasts.roles.iter().map(|(role, _)| Leave::Role(role));
        let arguments = state.turns(config).map(|turn| Leave::Argument(turn.made.round, &turn.made.role));
        let mut left_out: Vec<LeftOut> =
            roles.chain(arguments).filter_map(|leave| leave_out(config, state, &forecasts, leave)).collect();
        left_out.sort_by(|one, other| other.size.partial_cmp(&one.size).unwrap_or(Ordering::Equal));
        let shares = config.outcomes.iter().zip(forecasts.last.as_slice());
        let shares = shares.map(|(outcome, probability)| OutcomeShare {
            outcome_id: outcome.clone(),
            probability: *probability,
        });
        Some(Self { held_fixed: HELD_FIXED, r#final: shares.collect(), left_out })
    }
}

fn leave_out(config: &Config, state: &State, forecasts: &Forecasts, leave: Leave<'_>) -> Option<LeftOut> {
    let left = config.roles.iter().filter_map(|role| assessment(state, role, leave));
    let consensus = forecast::consensus(config, left)?;
    let last = forecast::blended(config, forecasts.judge.as_ref(), &consensus);
    let shares = forecasts.last.as_slice().iter().zip(last.as_slice());
    let outcomes = config.outcomes.iter().zip(shares);
    let outcomes = outcomes.map(|(outcome, (before, now))| OutcomeMove {
        outcome_id: outcome.clone(),
        probability: *now,
        change: now - before,
        log_odds_change: logit(*now) - logit(*before),
    });
    let (role, argument) = match leave {
        Leave::Role(role) => (role, None),
        Leave::Argument(round, role) => (role, Some(PointId::new(round, role).to_string())),
    };
    Some(LeftOut {
        role: role.clone(),
        argument,
        size: total_variation(&forecasts.last, &last),
        outcomes: outcomes.collect(),
    })
}

/// Returns a role's last distribution of those that are not left out.
fn assessment<'a>(state: &'a State, role: &Role, leave: Leave<'_>) -> Option<&'a Distribution> {
    let left = match leave {
        Leave::Role(left) if left == role => return None,
        Leave::Argument(round, left) if left == role => Some(round),
        Leave::Role(_) | Leave::Argument(..) => None,
    };
    let mut rounds = (1..=state.last_round()).rev().filter(|round| Some(*round) != left);
    rounds.find_map(|round| Some(&state.standing(round, role)?.made.probabilities))
}
