//! What follows from the answers of a real model: how long a debate takes, and which settings help.

use std::time::Duration;

use debate_core::limits::DEADLINE_MS_DEFAULT;
use debate_llm::{Ending, ModelErrorKind, Provider, Window};
use serde::Serialize;

use super::probe::Measured;
use super::{Check, Verdict};
use crate::page::{span, thousands};

/// How much later than the end of the fastest answer another one may begin and still count as under way with it.
const SLACK: Duration = Duration::from_millis(500);

/// The share of an answer's tokens from which thinking is worth a setting.
const THINKING_SHARE: f64 = 0.5;

/// How much longer than estimated a deadline should be.
const DEADLINE_FACTOR: f64 = 2.0;

/// What came of the openings.
pub(super) struct Found<'m> {
    pub(super) provider: Provider,
    /// The answers to those that were answered.
    pub(super) answers: &'m [Measured],
    /// Why others were not.
    pub(super) failed: &'m [ModelErrorKind],
    /// The most tokens of a visible answer.
    pub(super) output_tokens_max: u32,
    /// The model's context window, where the server says it.
    pub(super) window: Option<Window>,
}

impl Found<'_> {
    /// Returns what there is to say, with the settings that help.
    pub(super) fn checks(&self) -> Vec<Check> {
        let checks = [self.thinking(), self.limits(), self.parallel(), self.context(), self.debate()];
        checks.into_iter().flatten().collect()
    }

    /// Says whether the model thinks, and how much.
    fn thinking(&self) -> Option<Check> {
        let thoughts: Vec<u64> = self.answers.iter().filter_map(Measured::thought).collect();
        if self.answers.is_empty() {
            return None;
        }
        if thoughts.is_empty() {
            return Some(Check::new("thinks", Verdict::Ok, "the model shows no thinking"));
        }
        let (count, all) = (thoughts.len(), self.answers.len());
        let thought: u64 = thoughts.iter().sum();
        let written: u64 = self.answers.iter().filter_map(|answer| answer.reply.usage.output).sum();
        let share = if written > 0 { thought as f64 / written as f64 } else { 0.0 };
        let mean = thought / count as u64;
        let text =
            format!("the model thinks: in {count} of {all} answers, about {} tokens each", thousands(mean));
        let check = Check::new("thinks", Verdict::Ok, text);
        let is_much = share > THINKING_SHARE || self.cut(Ending::CutInThinking) > 0;
        Some(if is_much { check.remedy("debate run --effort low has it think less") } else { check })
    }

    /// Says whether answers were cut by their limit.
    fn limits(&self) -> Option<Check> {
        if self.answers.is_empty() {
            return None;
        }
        let (all, most) = (self.answers.len(), self.output_tokens_max);
        let (thinking, text) = (self.cut(Ending::CutInThinking), self.cut(Ending::CutInText));
        if thinking + text == 0 {
            let text = format!("{all} of {all} answers ended within the limit of {most} tokens");
            return Some(Check::new("limit", Verdict::Ok, text));
        }
        let said = format!(
            "of {all} answers {thinking} were cut while the model was thinking, {text} in their text"
        );
        let remedy = if thinking > 0 {
            "debate run --effort low, or none, leaves more of the limit to the answer".to_owned()
        } else {
            format!(
                "give a request more than {most} with options.output_tokens.argue, or choose another model"
            )
        };
        Some(Check::new("limit", Verdict::Warn, said).remedy(remedy))
    }

    fn cut(&self, ending: Ending) -> usize {
        self.answers.iter().filter(|answer| answer.reply.ending == ending).count()
    }

    /// Says how many calls were under way at once: those that began before the fastest one ended.
    fn parallel(&self) -> Option<Check> {
        let all = self.answers.len() + self.failed.len();
        let (fastest, provider) = (self.answers.iter().map(|answer| answer.latency).min()?, self.provider);
        let is_limited = |kind: &&ModelErrorKind| {
            matches!(kind, ModelErrorKind::RateLimited { .. } | ModelErrorKind::Overloaded { .. })
        };
        let refused = self.failed.iter().filter(is_limited).count();
        let began = |answer: &&Measured| answer.first_words.is_none_or(|first| first <= fastest + SLACK);
        let at_once = self.answers.iter().filter(began).count();
        let speeds: Vec<f64> = self.answers.iter().filter_map(Measured::tokens_per_second).collect();
        let speed = if speeds.is_empty() {
            "speed unknown".to_owned()
        } else {
            format!("{:.0} tokens/s each", speeds.iter().sum::<f64>() / speeds.len() as f64)
        };
        let text = format!("{at_once} of {all} calls were answered at once, {speed}");
        if at_once == all {
            return Some(Check::new("speed", Verdict::Ok, text));
        }
        // What failed for another reason says nothing about how many fit.
        if refused == 0 && at_once == self.answers.len() {
            return Some(Check::new("speed", Verdict::Warn, text));
        }
        let remedy =
            format!("--provider-limits {provider}:concurrency={} keeps the others here", at_once.max(1));
        Some(Check::new("speed", Verdict::Warn, text).remedy(remedy))
    }

    /// Says how much fits into a call, where that is known or was too little.
    fn context(&self) -> Option<Check> {
        const NAME: &str = "window";
        if let Some(window) = self.window {
            let text = format!("the context window has {} tokens", thousands(window.input_and_output.into()));
            return Some(Check::new(NAME, Verdict::Ok, text));
        }
        let too_long = self.failed.iter().any(|kind| matches!(kind, ModelErrorKind::WindowExceeded { .. }));
        too_long.then(|| {
            let text = "the context window is smaller than a debate's prompt with its answer";
            Check::new(NAME, Verdict::Warn, text).remedy("say how large it is with --context-window TOKENS")
        })
    }

    /// Says how long a debate takes.
    fn debate(&self) -> Option<Check> {
        Some(estimate(self.answers)?.check())
    }
}

/// What a debate takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// One call among others, in seconds.
    call_s: f64,
    /// Six calls in a row, as under the pipelined schedule, in seconds.
    six_calls_s: f64,
    /// Eight calls in a row, as under the strict schedule, in seconds.
    eight_calls_s: f64,
}

/// Estimates what a debate takes from calls that were under way at once; nothing where none was answered.
pub(super) fn estimate(answers: &[Measured]) -> Option<Estimate> {
    if answers.is_empty() {
        return None;
    }
    let all: Duration = answers.iter().map(|answer| answer.latency).sum();
    let call_s = all.as_secs_f64() / answers.len() as f64;
    Some(Estimate { call_s, six_calls_s: 6.0 * call_s, eight_calls_s: 8.0 * call_s })
}

impl Estimate {
    /// Returns the line about it.
    fn check(&self) -> Check {
        const NAME: &str = "debate";
        let time = |seconds: f64| span((seconds * 1e3) as u64);
        let text = format!(
            "at {} a call with five at once, a prediction of three rounds takes about {} pipelined (6 calls in a \
             row), {} strict (8)",
            time(self.call_s),
            time(self.six_calls_s),
            time(self.eight_calls_s)
        );
        let contract_s = DEADLINE_MS_DEFAULT as f64 / 1e3;
        if self.six_calls_s <= contract_s {
            return Check::new(NAME, Verdict::Ok, text);
        }
        let minutes = (self.six_calls_s * DEADLINE_FACTOR / 60.0).ceil();
        let remedy = format!(
            "debate run has no deadline unless you set one; give it at least --deadline {minutes}m, and requests \
             to a server options.limits.deadline_ms above the default {contract_s} s"
        );
        Check::new(NAME, Verdict::Warn, text).remedy(remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::tests::measured;
    use super::*;

    fn found<'m>(answers: &'m [Measured], failed: &'m [ModelErrorKind]) -> Found<'m> {
        Found { provider: Provider::OpenAi, answers, failed, output_tokens_max: 500, window: None }
    }

    /// Returns the line of a check by its name.
    fn line(found: &Found<'_>, name: &str) -> String {
        found.checks().iter().find(|check| check.name == name).map(Check::line).unwrap_or_default()
    }

    #[test]
    fn k22_debate_time_follows_from_calls_made_at_once() {
        let answers = [measured(10_000, 500, 100, 40), measured(30_000, 500, 100, 40)];
        let reckoned = estimate(&answers).unwrap();
        assert_eq!((reckoned.call_s, reckoned.six_calls_s, reckoned.eight_calls_s), (20.0, 120.0, 160.0));
        assert!(line(&found(&answers, &[]), "debate").contains("--deadline 4m"));
        let fast = [measured(1_000, 500, 100, 40)];
        assert!(line(&found(&fast, &[]), "debate").starts_with("ok "));
        assert_eq!(estimate(&[]), None);
        assert_eq!(found(&[], &[]).checks(), []);
    }

    #[test]
    fn p23_thinking_that_cuts_answers_recommends_less_effort() {
        let mut cut = measured(9_000, 8_000, 500, 4);
        (cut.reply.ending, cut.reply.usage.reasoning) = (Ending::CutInThinking, Some(500));
        let answers = [cut, measured(9_000, 500, 500, 40)];
        let found = found(&answers, &[]);
        let says = line(&found, "thinks");
        assert!(
            says.contains("thinks: in 1 of 2 answers, about 500 tokens each; debate run --effort low"),
            "{says}"
        );
        let says = line(&found, "limit");
        assert!(
            says.starts_with("warn") && says.contains("1 were cut while the model was thinking"),
            "{says}"
        );
    }

    #[test]
    fn k22_queue_at_a_server_recommends_its_concurrency() {
        let slow = |first_ms| measured(first_ms + 8_000, first_ms, 300, 40);
        let queued = [slow(300), slow(400), slow(9_000), slow(9_100)];
        let says = line(&found(&queued, &[]), "speed");
        assert!(says.contains("2 of 4 calls were answered at once, 38 tokens/s each"), "{says}");
        assert!(says.contains("--provider-limits openai:concurrency=2"), "{says}");
        let limited = [ModelErrorKind::RateLimited { retry_after: None }];
        let says = line(&found(&queued[..2], &limited), "speed");
        assert!(says.contains("2 of 3") && says.contains("concurrency=2"), "{says}");
        assert!(line(&found(&queued[..2], &[]), "speed").starts_with("ok "));
    }

    #[test]
    fn k22_small_window_recommends_its_option() {
        let window = Some(Window::from(4_096));
        let answers = [measured(900, 500, 100, 40)];
        let known = Found { window, ..found(&answers, &[]) };
        assert!(line(&known, "window").contains("4,096 tokens"));
        let failed = [ModelErrorKind::WindowExceeded { window: None }];
        assert!(line(&found(&answers, &failed), "window").contains("--context-window TOKENS"));
    }
}
