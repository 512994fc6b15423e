//! What every result tells of its debate, alike in all formats.

use std::collections::BTreeMap;

use crate::call::CallKey;
use crate::chain::GENESIS;
use crate::debate::Debate;
use crate::event::{Concluded, StopRuleFired};
use crate::format::Format;
use crate::stop::{Completeness, StopRule};

impl<F: Format> Debate<F> {
    /// Returns how whole the outcome is: as concluded, else as it would be were the debate to conclude now (rule K6).
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        let concluded = self.conclusion().map(|(concluded, _)| concluded.completeness.clone());
        concluded.unwrap_or_else(|| F::completeness(self))
    }

    /// Lists a call among what is missing if its free text was cut (rule K18).
    pub(crate) fn note_cut_text(&self, call: &CallKey, missing: &mut Vec<String>, why: &mut Vec<String>) {
        if self.is_cut(call, self.revision(call)) {
            missing.push(format!("end of {call}"));
            why.push(format!("{call} was cut"));
        }
    }

    /// Returns what is recorded were the debate to conclude now, but for the digest of its outcome.
    #[must_use]
    pub fn conclusion_now(&self) -> Concluded {
        let before = self.conclusion().map_or(0, |(concluded, _)| concluded.revision);
        Concluded {
            revision: before.saturating_add(1),
            rule: self.stop_rule().unwrap_or(StopRule::Concluded),
            completeness: F::completeness(self),
            outcome_digest: GENESIS,
            spend: Some(self.spend()),
        }
    }

    /// Returns the rule that ended the debate, or is ending it.
    #[must_use]
    pub fn stop_rule(&self) -> Option<StopRule> {
        self.stop().map(|stop| stop.rule)
    }

    /// Returns the name of the rule that ended the debate, or is ending it; empty while none is (rule K7).
    #[must_use]
    pub fn stop_reason(&self) -> &'static str {
        self.stop_rule().map_or("", StopRule::as_str)
    }

    /// Returns what stops the debate before it has come to its own end.
    #[must_use]
    pub fn early_stop(&self) -> Option<&StopRuleFired> {
        self.stop().filter(|fired| fired.rule.is_early())
    }

    /// Returns the time from opening to conclusion, in milliseconds; 0 while the debate runs.
    #[must_use]
    pub fn wall_clock_ms(&self) -> u64 {
        self.conclusion().map_or(0, |(_, at)| at.since_ms(self.opened_at()))
    }

    /// Returns the calls whose answer was taken from a reply that its limit cut, in key order (rule K18).
    pub fn calls_cut(&self) -> impl Iterator<Item = &CallKey> {
        let answered = self.calls().filter(|(_, call)| call.is_answered());
        answered.filter(|(_, call)| call.is_cut()).map(|(key, _)| key)
    }

    /// Returns what prompts of answered calls did not show whole, with the number of these prompts (rule K20): parts such as
    /// `findings` or `point`, or whose words they are.
    #[must_use]
    pub fn parts_cut(&self) -> BTreeMap<&str, u32> {
        let answered = self.calls().filter(|(_, call)| call.is_answered());
        let mut counts = BTreeMap::new();
        for part in answered.flat_map(|(_, call)| &call.shortened) {
            *counts.entry(&**part).or_default() += 1;
        }
        counts
    }

    /// Returns a line that says what prompts of answered calls did not show whole; none where all was shown (rule K20).
    #[must_use]
    pub fn parts_cut_note(&self) -> Option<String> {
        let part = |(name, count): (&str, u32)| {
            let name = if name == "point" { "earlier arguments" } else { name };
            format!("{name} in {count}")
        };
        let parts: Vec<String> = self.parts_cut().into_iter().map(part).collect();
        let prompts = self.calls().filter(|(_, call)| call.is_answered()).count();
        (!parts.is_empty())
            .then(|| format!("of {prompts} prompts, not all showed the whole of: {}", parts.join(", ")))
    }

    /// Returns the models without a price, for a result that states what the others cost; empty if the cost
    /// is unknown.
    pub(crate) fn unpriced_if_cost_known(&self) -> Vec<String> {
        self.spend().cost.map_or_else(Vec::new, |_| self.unpriced_models().iter().cloned().collect())
    }

    /// Returns the models asked so far, in name order, joined by commas.
    #[must_use]
    pub fn model_names(&self) -> String {
        let models: Vec<&str> = self.models().iter().map(String::as_str).collect();
        models.join(",")
    }
}
