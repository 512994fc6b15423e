//! What a debate may still spend (rule K8): reserved before a call, settled after.

use crate::call::{Reserved, Tokens};
use crate::command::BeginCall;
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Format;
use crate::stop::{Budget, StopRule};

/// Why a call cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unaffordable {
    /// It would break a budget.
    #[error("{needed} exceeds the budget of {max} {}", budget.as_str())]
    OverBudget { budget: Budget, needed: u64, max: u64 },
    /// What it costs is not known.
    #[error("{model} has no price, and the debate's money is limited")]
    Unpriced { model: String },
}

impl Unaffordable {
    /// Returns the event that ends the debate's argument, where a budget is used up; a model without a price uses up
    /// nothing and only fails its own questions.
    pub(crate) fn fired(&self) -> Option<StopRuleFired> {
        let Self::OverBudget { budget, needed, max } = self else { return None };
        Some(StopRuleFired {
            rule: StopRule::Budget,
            budget: Some(*budget),
            statistic: *needed as f64,
            threshold: *max as f64,
            shadow: false,
            closing: true,
        })
    }
}

impl<F: Format> Debate<F> {
    /// Returns why a call cannot be sent: the first budget that it would break, or a price that is missing where money
    /// is limited. A second request that races a first must leave enough for all that the debate has not asked yet.
    pub(crate) fn unaffordable(&self, begin: &BeginCall, closing: bool) -> Option<Unaffordable> {
        let (limits, spend) = (&self.limits, &self.spend);
        let spared = begin.hedge.unwrap_or(Reserved::NOTHING);
        let unpriced = begin.reserved.cost_micros.is_none() || spared.cost_micros.is_none();
        if limits.cost_micros_max.is_some() && unpriced {
            return Some(Unaffordable::Unpriced { model: begin.model.clone() });
        }
        let unasked = F::calls_expected(&self.config).saturating_sub(self.calls.len() as u64);
        let unasked = if begin.hedge.is_some() { unasked } else { 0 };
        let open = || self.calls.values().flat_map(|call| &call.open).map(|attempt| attempt.reserved);
        let kept = if closing { Tokens::default() } else { limits.closing_tokens };
        let tokens = open().fold(spend.bound, |sum, reserved| sum.plus(reserved.tokens()));
        let tokens = tokens.plus(begin.reserved.tokens()).plus(spared.tokens().times(unasked)).plus(kept);
        // Thinking is limited on its own.
        let thinking = |attempt: &crate::calls::OpenAttempt| u64::from(attempt.thinking);
        let open_thinking: u64 = self.calls.values().flat_map(|call| &call.open).map(thinking).sum();
        let thinking = spend.thinking.saturating_add(open_thinking + u64::from(begin.thinking.tokens));
        let visible = tokens.output.saturating_sub(thinking);
        let calls = spend.calls + 1 + unasked.max(u64::from(!closing));
        let micros = |reserved: Reserved| reserved.cost_micros.unwrap_or(0);
        let kept = if closing { 0 } else { limits.closing_cost_micros };
        let cost = open().map(micros).fold(spend.cost_micros_bound(), u64::saturating_add);
        let cost = cost.saturating_add(micros(begin.reserved)).saturating_add(kept);
        let cost = cost.saturating_add(micros(spared).saturating_mul(unasked));
        let needs = [
            (Budget::Calls, calls, limits.calls_max),
            (Budget::InputTokens, tokens.input, limits.tokens_max.input),
            (Budget::OutputTokens, visible, limits.tokens_max.output),
            (Budget::ThinkingTokens, thinking, limits.thinking_max()),
            (Budget::CostMicros, cost, limits.cost_micros_max.unwrap_or(u64::MAX)),
        ];
        let over = needs.into_iter().find(|(_, needed, max)| needed > max);
        over.map(|(budget, needed, max)| Unaffordable::OverBudget { budget, needed, max })
    }
}
