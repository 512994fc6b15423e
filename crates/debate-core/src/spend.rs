//! What a debate has used (rule K8): calls, tokens, money. Unknown stays unknown, never 0 (rule K3).

use serde::{Deserialize, Serialize};

use crate::call::{Reserved, Tokens, Usage};
use crate::event::ReplyFacts;

/// What a debate has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Requests sent to models.
    pub calls: u64,
    /// Tokens that providers reported.
    pub known: Tokens,
    /// Tokens that may have been used: the reservation where a provider reported nothing.
    pub bound: Tokens,
    /// Whether every request's usage is known.
    pub complete: bool,
    /// Tokens of thinking that may have been used, among those written: the room for it where a provider reported
    /// nothing (rule P23).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thinking: u64,
    /// What it cost, as far as models have prices; none if the cost is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Requests that may have been charged for and have no price.
    pub unpriced_calls: u64,
}

pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Money that a debate has used, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// What requests cost whose price and usage are known.
    pub cost_micros: u64,
    /// What all that have a price may have cost: the reservation where a provider reported nothing.
    pub cost_micros_bound: u64,
    /// Whether every request's cost is known, so that the first number is all of it.
    pub complete: bool,
}

impl Spend {
    /// Nothing used yet.
    pub const NONE: Self = Self {
        calls: 0,
        known: Tokens { input: 0, output: 0 },
        bound: Tokens { input: 0, output: 0 },
        complete: true,
        thinking: 0,
        cost: None,
        unpriced_calls: 0,
    };

    /// Returns what may have been spent in money, as far as models have prices, in millionths of a US dollar.
    #[must_use]
    pub fn cost_micros_bound(&self) -> u64 {
        self.cost.map_or(0, |cost| cost.cost_micros_bound)
    }

    /// Puts what a request has used in the place of what was reserved for it, with `room` for thinking; without a reply
    /// that is not known.
    pub(crate) fn settle(&mut self, reply: Option<&ReplyFacts>, reserved: Reserved, room: u32) {
        let usage = reply.map_or_else(Usage::default, |reply| reply.usage);
        let tokens = |unknown: Tokens| Tokens {
            input: usage.input.unwrap_or(unknown.input),
            output: usage.output.unwrap_or(unknown.output),
        };
        self.known = self.known.plus(tokens(Tokens::default()));
        self.bound = self.bound.plus(tokens(reserved.tokens()));
        let unknown = if usage.output.is_none() { u64::from(room) } else { 0 };
        self.thinking = self.thinking.saturating_add(usage.reasoning.unwrap_or(unknown));
        self.complete &= usage.input.is_some() && usage.output.is_some();
        self.settle_cost(reply.and_then(|reply| reply.cost_micros), reserved.cost_micros);
    }

    fn settle_cost(&mut self, charged: Option<u64>, reserved: Option<u64>) {
        let Some(bound) = charged.or(reserved) else {
            self.unpriced_calls += 1;
            if let Some(cost) = &mut self.cost {
                cost.complete = false;
            }
            return;
        };
        let complete = self.unpriced_calls == 0;
        let cost = self.cost.get_or_insert(Cost { cost_micros: 0, cost_micros_bound: 0, complete });
        cost.cost_micros = cost.cost_micros.saturating_add(charged.unwrap_or(0));
        cost.cost_micros_bound = cost.cost_micros_bound.saturating_add(bound);
        cost.complete &= charged.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(requests: &[(Option<u64>, Option<u64>)]) -> Spend {
        let mut spend = Spend::NONE;
        for (charged, reserved) in requests {
            let reply = ReplyFacts { cost_micros: *charged, ..ReplyFacts::default() };
            spend.settle(Some(&reply), Reserved { cost_micros: *reserved, ..Reserved::NOTHING }, 0);
        }
        spend
    }

    #[test]
    fn k8_what_has_no_price_is_never_shown_as_free() {
        let spend = settled(&[(None, None), (None, None)]);
        assert_eq!((spend.cost, spend.unpriced_calls), (None, 2));
        assert!(!serde_json::to_string(&spend).unwrap().contains("cost_micros"));
    }

    #[test]
    fn k8_a_sum_is_complete_when_every_part_of_it_is_known() {
        let cost = |requests: &[(Option<u64>, Option<u64>)]| settled(requests).cost.unwrap();
        let sum =
            |cost_micros, cost_micros_bound, complete| Cost { cost_micros, cost_micros_bound, complete };
        assert_eq!(cost(&[(Some(3), Some(9)), (Some(4), Some(9))]), sum(7, 7, true));
        assert_eq!(cost(&[(Some(3), Some(9)), (None, Some(9))]), sum(3, 12, false));
        assert_eq!(cost(&[(Some(3), Some(9)), (None, None)]), sum(3, 3, false));
        assert_eq!(cost(&[(None, None), (Some(3), Some(9))]), sum(3, 3, false));
        assert_eq!(cost(&[(Some(0), Some(0))]), sum(0, 0, true), "a price of 0 is a price");
    }

    #[test]
    fn k8_what_is_more_than_a_number_holds_is_as_much_as_it_holds() {
        let used =
            |tokens: u64| Usage { input: Some(tokens), output: Some(tokens), cached: None, reasoning: None };
        let reserved = |tokens: u64| Reserved { input: tokens, output: tokens, ..Reserved::NOTHING };
        let all = Tokens { input: u64::MAX, output: u64::MAX };
        let mut reported = Spend::NONE;
        for tokens in [u64::MAX, 2] {
            let reply = ReplyFacts { usage: used(tokens), ..ReplyFacts::default() };
            reported.settle(Some(&reply), Reserved::NOTHING, 0);
        }
        assert_eq!((reported.known, reported.bound), (all, all));
        let mut priced = Spend::NONE;
        for cost_micros in [u64::MAX, 2].map(Some) {
            priced.settle(Some(&ReplyFacts { cost_micros, ..ReplyFacts::default() }), Reserved::NOTHING, 0);
        }
        let most = Cost { cost_micros: u64::MAX, cost_micros_bound: u64::MAX, complete: true };
        assert_eq!(priced.cost, Some(most));
        let mut unreported = Spend::NONE;
        [u64::MAX, 2].map(reserved).into_iter().for_each(|reserved| unreported.settle(None, reserved, 0));
        assert_eq!((unreported.known, unreported.bound), (Tokens::default(), all));
    }
}
