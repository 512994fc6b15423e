//! Thinking models (rule P23): how much a model is asked to think, and how many output tokens are set aside for it on top
//! of those of the visible answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use debate_core::call::{CallKey, Effort, Thinking, Usage};
use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::id::Timestamp;
use debate_llm::{ChatModel, Thinks};

/// Output tokens set aside for thinking where no effort is asked for.
pub const ROOM_DEFAULT: u32 = 8_192;

/// Tokens a second that a model is assumed to write before it has answered.
const RATE_ASSUMED: f64 = 60.0;

/// Tokens of a visible answer that are assumed before there is one.
const VISIBLE_ASSUMED: f64 = 300.0;

/// The share of the time left that calls are planned to take.
const SHARE_PLANNED: f64 = 0.85;

/// Returns the output tokens set aside for thinking at an effort.
fn room(effort: Option<Effort>) -> u32 {
    match effort {
        // Some models think a little whatever they are asked.
        Some(Effort::None) => 1_024,
        Some(Effort::Low) => 4_096,
        None | Some(Effort::Medium) => ROOM_DEFAULT,
        Some(Effort::High) => 3 * ROOM_DEFAULT,
    }
}

/// Returns the tokens that a model is assumed to think at an effort before it has.
fn assumed(effort: Effort) -> f64 {
    match effort {
        Effort::None => 0.0,
        Effort::Low => 400.0,
        Effort::Medium => 1_600.0,
        Effort::High => 6_000.0,
    }
}

/// How fast models write and how much they think, as this process has seen it.
#[derive(Debug, Default)]
pub(crate) struct Paces(Mutex<HashMap<String, Pace>>);

/// What is known of one model.
#[derive(Debug, Clone, Default)]
struct Pace {
    tokens: f64,
    seconds: f64,
    visible: Mean,
    thinking: BTreeMap<Effort, Mean>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    count: f64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
    }

    fn or(self, assumed: f64) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { assumed }
    }
}

impl Paces {
    /// Learns from an answer whose tokens are known.
    pub(crate) fn learn(&self, model: &str, usage: &Usage, latency_ms: u64, effort: Option<Effort>) {
        let Some(output) = usage.output.filter(|_| latency_ms > 0) else { return };
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pace = paces.entry(model.to_owned()).or_default();
        pace.tokens += output as f64;
        pace.seconds += latency_ms as f64 / 1_000.0;
        let thinking = usage.reasoning.unwrap_or(0);
        pace.visible.add(output.saturating_sub(thinking) as f64);
        if let Some(effort) = effort {
            pace.thinking.entry(effort).or_default().add(thinking as f64);
        }
    }

    fn of(&self, model: &str) -> Pace {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }
}

impl Pace {
    /// Returns the seconds that one call is expected to take at an effort.
    fn seconds(&self, effort: Effort) -> f64 {
        let rate = if self.seconds > 0.0 { self.tokens / self.seconds } else { RATE_ASSUMED };
        let thinking = self.thinking.get(&effort).copied().unwrap_or_default().or(assumed(effort));
        (self.visible.or(VISIBLE_ASSUMED) + thinking) / rate
    }
}

/// Returns how a call is asked to think, and how many tokens are set aside for it.
///
/// An effort that the request does not say is left to the provider, but where a deadline must be met: there it is the
/// highest one whose estimated critical path fits the time left, and never more than was asked before. An answer that
/// thinking cut gets twice as much room each time, as far as the debate's limits allow.
pub(crate) fn of<F: Format>(
    debate: &Debate<F>,
    call: &CallKey,
    model: &dyn ChatModel,
    (paces, now): (&Paces, Timestamp),
) -> Thinking {
    let asked = F::asking(debate.config(), call).effort;
    let thinks = model.thinks();
    let effort = asked.or_else(|| {
        let must_choose = debate.limits().has_deadline() && thinks == Thinks::Yes;
        must_choose.then(|| fitting(debate, &paces.of(model.name()), now))
    });
    if thinks == Thinks::No {
        return Thinking { effort: asked, tokens: 0 };
    }
    let cuts = debate.call(call).map_or(0, |call| call.cut_in_thinking).min(8);
    let tokens = room(effort).saturating_mul(1 << cuts).min(debate.limits().thinking_each());
    Thinking { effort, tokens }
}

/// Returns the highest effort whose estimated critical path fits the time left; none of it where even that is too slow.
fn fitting<F: Format>(debate: &Debate<F>, pace: &Pace, now: Timestamp) -> Effort {
    let left = debate.deadline_at().since_ms(now) as f64 / 1_000.0 * SHARE_PLANNED;
    let rows = rows_left(debate) as f64;
    let most = debate.least_effort().unwrap_or(Effort::High);
    let fits = |effort: &Effort| *effort <= most && rows * pace.seconds(*effort) <= left;
    Effort::ALL.into_iter().rev().find(fits).unwrap_or(Effort::None)
}

/// Returns how many calls follow each other until the debate is over: one for each kind and round that has questions
/// left, which is an estimate.
fn rows_left<F: Format>(debate: &Debate<F>) -> usize {
    let calls = F::calls(debate.config());
    let is_left = |key: &&CallKey| debate.call(key).is_none_or(|call| !call.is_answered() && !call.failed);
    let rows: BTreeSet<_> = calls.iter().filter(is_left).map(|key| (&key.kind, key.round)).collect();
    rows.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p23_expected_time_follows_what_was_seen() {
        let paces = Paces::default();
        assert!((paces.of("m").seconds(Effort::Low) - 700.0 / 60.0).abs() < 1e-9);
        let usage = Usage { output: Some(1_000), reasoning: Some(800), ..Usage::default() };
        paces.learn("m", &usage, 10_000, Some(Effort::Low));
        let pace = paces.of("m");
        assert!((pace.seconds(Effort::Low) - 10.0).abs() < 1e-9);
        assert!((pace.seconds(Effort::None) - 2.0).abs() < 1e-9);
        assert!((pace.seconds(Effort::Medium) - 18.0).abs() < 1e-9);
        paces.learn("m", &Usage::default(), 10_000, None);
        assert!((paces.of("m").seconds(Effort::Low) - 10.0).abs() < 1e-9, "unknown tokens teach nothing");
    }
}
