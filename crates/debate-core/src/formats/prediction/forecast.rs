//! The distributions that a prediction debate leaves behind, each of which is a forecast of its own (rules P4, P7).

use super::Prediction;
use super::config::Config;
use super::judged::Judged;
use crate::debate::Debate;
use crate::format::Format as _;
use crate::id::Role;
use crate::measures::distribution::Distribution;
use crate::measures::panel::Panel;
use crate::measures::pooling;
use crate::stop::Completeness;

/// Every forecast of one debate; all distributions are in the order of the request's outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasts {
    /// Each role's last accepted distribution, in role order.
    pub roles: Vec<(Role, Distribution)>,
    /// Each role's in the blind opening, in role order: what it thinks on its own (rule P4).
    pub openings: Vec<(Role, Distribution)>,
    /// The synthesis's own, the mean of its passes; none where there was no synthesis.
    pub judge: Option<Distribution>,
    /// The mean of the blind opening's; none if no role spoke in it.
    pub blind: Option<Distribution>,
    /// The blind opening's, pooled as the roles' last ones are; none if no role spoke in it.
    pub opened: Option<Distribution>,
    /// The roles' pooled.
    pub consensus: Distribution,
    /// The debate's: judge and consensus blended.
    pub last: Distribution,
}

impl Forecasts {
    /// Returns the forecasts as they stand; `None` where the debate is void.
    #[must_use]
    pub fn of(debate: &Debate<Prediction>) -> Option<Self> {
        let completeness = debate.conclusion().map_or_else(
            || Prediction::completeness(debate),
            |(concluded, _)| concluded.completeness.clone(),
        );
        if matches!(completeness, Completeness::Void { .. }) {
            return None;
        }
        let (config, state) = (debate.config(), debate.state());
        let assessed = state.assessments(config, u32::MAX);
        let roles: Vec<(Role, Distribution)> =
            assessed.into_iter().map(|(role, distribution)| (role.clone(), distribution.clone())).collect();
        let judge = Judged::of(config, state.judgements()).map(|judged| judged.probabilities);
        let openings: Vec<(Role, Distribution)> = state
            .round_turns(config, 1)
            .map(|turn| (turn.made.role.clone(), turn.made.probabilities.clone()))
            .collect();
        let opening: Vec<&Distribution> = openings.iter().map(|(_, distribution)| distribution).collect();
        let blind = Panel::new(&opening).ok().map(|panel| pooling::linear(&panel));
        let opened = consensus(config, openings.iter().map(|(_, distribution)| distribution));
        let consensus = consensus(config, roles.iter().map(|(_, distribution)| distribution))?;
        let last = blended(config, judge.as_ref(), &consensus);
        Some(Self { roles, openings, judge, blind, opened, consensus, last })
    }
}

/// Returns the pooled distribution of roles in the debate's own way; `None` without any.
pub(super) fn consensus<'a>(
    config: &Config,
    roles: impl Iterator<Item = &'a Distribution>,
) -> Option<Distribution> {
    let roles: Vec<&Distribution> = roles.collect();
    let panel = Panel::new(&roles).ok()?;
    Some(pooling::pool(config.pooling, &panel, config.pool_settings))
}

/// Returns w · judge + (1 − w) · consensus, or the consensus where there is no judge (rules P7, P16).
pub(super) fn blended(
    config: &Config,
    judge: Option<&Distribution>,
    consensus: &Distribution,
) -> Distribution {
    let blended = judge.and_then(|judge| pooling::blend(judge, consensus, config.judge_weight).ok());
    blended.unwrap_or_else(|| consensus.clone())
}
