//! What a debate may still spend (rule K8): reserved before a call, settled after.

use crate::call::Tokens;
use crate::command::BeginCall;
use crate::debate::Debate;
use crate::format::Format;

impl<F: Format> Debate<F> {
    /// Returns the first budget that a call would break, as (use, limit). A second request that races a first must
    /// leave enough for all that the debate has not asked yet.
    pub(crate) fn over_budget(&self, begin: &BeginCall, closing: bool) -> Option<(f64, f64)> {
        let limits = &self.limits;
        let spend = &self.spend;
        let open = self.calls.values().flat_map(|call| &call.open);
        let open = open.fold(Tokens::default(), |sum, attempt| sum.plus(attempt.reserved));
        let kept = if closing { Tokens::default() } else { limits.closing_tokens };
        let unasked = F::calls_expected(&self.config).saturating_sub(self.calls.len() as u64);
        let spared = if begin.hedge { unasked } else { 0 };
        let needed = spend.bound.plus(open).plus(begin.reserved.times(1 + spared)).plus(kept);
        let calls = spend.calls + 1 + spared.max(u64::from(!closing));
        [
            (calls, limits.calls_max),
            (needed.input, limits.tokens_max.input),
            (needed.output, limits.tokens_max.output),
        ]
        .into_iter()
        .find(|(used, max)| used > max)
        .map(|(used, max)| (used as f64, max as f64))
    }
}
