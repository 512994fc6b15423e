//! Whether a model thinks before it answers: by its name, or by what its answers were like (rule P23).

#[cfg(feature = "http")]
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(feature = "http")]
use crate::{ChatReply, ChatRequest, Effort, Ending};

/// Whether a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinks {
    /// Nothing is known yet.
    Unknown,
    /// It does, unless it is asked not to.
    Yes,
    /// It does not.
    No,
}

/// How many whole answers without a thought show that a model does not think.
#[cfg(feature = "http")]
const ANSWERS_MIN: u32 = 3;

/// Models that think unless they are asked not to, by the beginning of their names.
#[cfg(feature = "http")]
const KNOWN: [&str; 18] = [
    "gpt-5",
    "gpt-oss",
    "o1",
    "o3",
    "o4",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-3",
    "claude-sonnet-5",
    "claude-opus-5",
    "claude-fable",
    "claude-mythos",
    "deepseek-r",
    "deepseek-reasoner",
    "qwq",
    "magistral",
    "grok-4",
    "kimi-k2-thinking",
];

/// Models that the table above would take for thinking ones.
#[cfg(feature = "http")]
const KNOWN_NOT: [&str; 2] = ["gpt-5-chat", "gemini-2.5-flash-lite"];

#[cfg(feature = "http")]
fn is_known(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let begins = |table: &[&str]| table.iter().any(|beginning| name.starts_with(beginning));
    let is_named = name.contains("-thinking") && !name.contains("non-thinking");
    (begins(&KNOWN) || is_named) && !begins(&KNOWN_NOT)
}

/// What the answers of a model have shown so far: how many were whole and without a thought, or that one had some.
#[cfg(feature = "http")]
#[derive(Debug, Default)]
pub(crate) struct Shown(AtomicU32);

#[cfg(feature = "http")]
impl Shown {
    /// Takes an answer; one that was to be without thoughts shows nothing.
    pub(crate) fn note(&self, request: &ChatRequest, reply: &ChatReply) {
        let thinks = reply.usage.reasoning.is_some_and(|tokens| tokens > 0)
            || reply.reasoning.is_some()
            || reply.ending == Ending::CutInThinking;
        if thinks {
            self.0.store(u32::MAX, Ordering::Relaxed);
        } else if reply.ending == Ending::Complete && request.effort != Some(Effort::None) {
            // A thought that was seen stays seen.
            let counted = |count: u32| (count < u32::MAX - 1).then(|| count + 1);
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        }
    }

    /// Returns whether the model of this name thinks, as far as that is known.
    pub(crate) fn thinks(&self, model: &str) -> Thinks {
        match self.0.load(Ordering::Relaxed) {
            u32::MAX => Thinks::Yes,
            _ if is_known(model) => Thinks::Yes,
            ANSWERS_MIN.. => Thinks::No,
            _ => Thinks::Unknown,
        }
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::{CallTime, Usage};

    #[test]
    fn p23_models_are_known_to_think_by_their_names() {
        for (model, thinks) in [
            ("gpt-5-mini", true),
            ("openai/gpt-5.1", true),
            ("gpt-5-chat-latest", false),
            ("o3", true),
            ("olmo-2", false),
            ("models/gemini-2.5-pro", true),
            ("gemini-2.0-flash", false),
            ("DeepSeek-R1-Distill", true),
            ("Qwen/Qwen3-30B-A3B-Thinking-2507", true),
            ("SmolLM2-135M-Instruct", false),
        ] {
            assert_eq!(is_known(model), thinks, "{model}");
        }
    }

    #[test]
    fn p23_answers_show_whether_a_model_thinks() {
        let request = ChatRequest::new(Vec::new(), 10, CallTime::default());
        let quiet = ChatRequest { effort: Some(Effort::None), ..request.clone() };
        let plain = ChatReply::new("m", "text");
        let usage = Usage { reasoning: Some(9), ..Usage::default() };
        let shown = Shown::default();
        for _ in 0..9 {
            shown.note(&quiet, &plain);
        }
        for _ in 0..2 {
            shown.note(&request, &plain);
            assert_eq!(shown.thinks("m"), Thinks::Unknown);
        }
        assert_eq!(shown.thinks("o3"), Thinks::Yes);
        shown.note(&request, &plain);
        assert_eq!(shown.thinks("m"), Thinks::No);
        shown.note(&request, &ChatReply { usage, ..plain.clone() });
        shown.note(&request, &plain);
        assert_eq!(shown.thinks("m"), Thinks::Yes);
    }
}
