//! What the models of a debate cost, before it opens and while it runs (rule K8). Prices go no further than here and the
//! requests: the log has costs.

use std::collections::BTreeSet;

use debate_core::call::{CallKey, Reserved, Tokens};
use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::limits::Limits;
use debate_core::request::limits::COST_MICROS_MAX;
use debate_core::request::{Violation, Violations};

use crate::engine_shared::EngineShared;

/// Checks that every model that a request names is offered here and, where its money is limited, has a price; returns
/// the limits with the money that is kept back for closing.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn admit<F: Format>(
    shared: &EngineShared,
    config: &F::Config,
    limits: Limits,
) -> Result<Limits, Violations> {
    let models = &shared.models;
    let offered = || models.names().collect::<Vec<_>>().join(", ");
    let named = F::models_named(config).into_iter();
    let unknown = named.filter(|(_, model)| models.get(model).is_none()).map(|(field, model)| {
        let reason = format!("{model:?} is not offered here; {} is", offered());
        Violation { field, reason }
    });
    let mut violations: Vec<Violation> = unknown.collect();
    let mut closing_cost_micros = 0;
    if let Some(cost_micros_max) = limits.cost_micros_max {
        let refuse = |reason: String| Violation { field: COST_MICROS_MAX.to_owned(), reason };
        let models_of = |is_meant: fn(&CallKey) -> bool| {
            models_of::<F>(shared, config, |call| F::models(config, call), is_meant)
        };
        let asked = models_of(|_| true);
        let unpriced = asked.iter().filter(|model| shared.prices.get(model).is_none());
        violations.extend(unpriced.map(|model| refuse(format!("{model:?} has no price here"))));
        let closing = models_of(F::is_closing);
        closing_cost_micros = dearest(shared, &closing, limits.closing_tokens).unwrap_or(0);
        if cost_micros_max < closing_cost_micros {
            let least =
                format!("must be at least {closing_cost_micros}, which the closing synthesis may cost");
            violations.push(refuse(least));
        }
    }
    if violations.is_empty() {
        Ok(Limits { closing_cost_micros, ..limits })
    } else {
        Err(violations.into_iter().collect())
    }
}

/// Returns what must be left for each question that a debate has not asked yet, were it to cost as much as this one at
/// the dearest of the debate's models.
pub(crate) fn spared<F: Format>(shared: &EngineShared, debate: &Debate<F>, reserved: Reserved) -> Reserved {
    if debate.limits().cost_micros_max.is_none() {
        return reserved;
    }
    let models = models_of::<F>(shared, debate.config(), |call| debate.models_for(call), |_| true);
    Reserved { cost_micros: dearest(shared, &models, reserved.tokens()), ..reserved }
}

/// Returns the models that some of a debate's questions may be put to, those that stand in included.
fn models_of<'a, F: Format>(
    shared: &'a EngineShared,
    config: &F::Config,
    models: impl Fn(&CallKey) -> &'a [String],
    is_meant: impl Fn(&CallKey) -> bool,
) -> BTreeSet<&'a str> {
    let mut asked = BTreeSet::new();
    for call in F::calls(config).iter().filter(|call| is_meant(call)) {
        match models(call) {
            [] => asked.extend([shared.models.default_model().name()]),
            named => asked.extend(named.iter().map(String::as_str)),
        }
    }
    asked
}

/// Returns the most that so many tokens can cost at any of these models; none where one of them has no price.
fn dearest(shared: &EngineShared, models: &BTreeSet<&str>, tokens: Tokens) -> Option<u64> {
    models.iter().try_fold(0, |most, model| Some(most.max(shared.prices.get(model)?.most(tokens))))
}
