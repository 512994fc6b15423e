//! How much a model is to think, as each server takes it (rule P23): the word or the number of tokens that is sent, what is
//! known of models by their names, and what is sent instead once a server refuses it.

use super::dialect::{Dialect, Parameter};
use crate::{ChatRequest, Effort};

/// The least tokens of thinking that may be asked for, where any are (Anthropic).
const BUDGET_MIN: u32 = 1_024;

/// The tokens of thinking for what is hardly any (the least that Gemini's largest models take).
const BUDGET_MINIMAL: u32 = 128;

/// How much is to be thought, as servers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Level {
    const ALL: [Self; 5] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High];

    /// Returns the name that most servers have for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    const fn parameter(self) -> Parameter {
        match self {
            Self::None => Parameter::EffortNone,
            Self::Minimal => Parameter::EffortMinimal,
            Self::Low => Parameter::EffortLow,
            Self::Medium => Parameter::EffortMedium,
            Self::High => Parameter::EffortHigh,
        }
    }

    /// Returns the levels that serve an effort, the nearest first, of two that are as near the smaller one. What is to
    /// be thought about is never answered without.
    const fn of(effort: Effort) -> &'static [Self] {
        match effort {
            Effort::None => &[Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High],
            Effort::Low => &[Self::Low, Self::Minimal, Self::Medium, Self::High],
            Effort::Medium => &[Self::Medium, Self::Low, Self::High, Self::Minimal],
            Effort::High => &[Self::High, Self::Medium, Self::Low, Self::Minimal],
        }
    }
}

/// What is sent of a request's effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// A word.
    Word(Level),
    /// So many tokens; 0 for none.
    Budget(u32),
}

/// Returns what is sent of the effort of a request; nothing where none is set, or the server takes none.
pub(crate) fn thinking(request: &ChatRequest, dialect: Dialect) -> Option<Thinking> {
    let level = level(request, dialect)?;
    let budget = match level {
        Level::None => 0,
        Level::Minimal => BUDGET_MINIMAL,
        Level::Low | Level::Medium | Level::High if request.thinking_tokens > 0 => {
            request.thinking_tokens.max(BUDGET_MIN)
        }
        Level::Low => BUDGET_MIN,
        Level::Medium => 4 * BUDGET_MIN,
        Level::High => 16 * BUDGET_MIN,
    };
    if dialect.takes(Parameter::Effort) {
        Some(Thinking::Word(level))
    } else {
        dialect.takes(Parameter::ThinkingBudget).then_some(Thinking::Budget(budget))
    }
}

fn level(request: &ChatRequest, dialect: Dialect) -> Option<Level> {
    let mut levels = Level::of(request.effort?).iter().copied();
    levels.find(|level| dialect.takes(level.parameter()))
}

/// Returns the limit of tokens that is sent: the visible answer and the head-room for thinking (rule P23), but never more
/// than the model is known to allow.
pub(super) fn cap(request: &ChatRequest, dialect: Dialect, cap_max: u32) -> u32 {
    let budget = match thinking(request, dialect) {
        Some(Thinking::Budget(tokens)) => tokens,
        Some(Thinking::Word(_)) | None => 0,
    };
    request.max_output_tokens.saturating_add(request.thinking_tokens.max(budget)).min(cap_max)
}

/// Returns the dialect to try next when a server that says `message` refuses what is sent of the effort: the nearest level
/// that it takes, else tokens instead of a word where the protocol has them, else nothing.
pub(super) fn concede(dialect: Dialect, request: &ChatRequest, message: &str) -> Option<Dialect> {
    let (sent, level) = (thinking(request, dialect)?, level(request, dialect)?);
    let message = message.to_lowercase();
    let has = |word: &str| {
        message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|found| found == word)
    };
    let is_told_others = Level::ALL.iter().any(|other| *other != level && has(other.as_str()));
    let is_off_refused = level == Level::None && ["disable", "disabled", "mandatory", "0"].into_iter().any(has);
    if is_told_others || is_off_refused || has(level.as_str()) || has("value") {
        let is_refused = |other: &&Level| **other == level || is_told_others && !has(other.as_str());
        let refused = Level::ALL.iter().filter(is_refused);
        return Some(refused.fold(dialect, |dialect, other| dialect.without(other.parameter())));
    }
    Some(dialect.without(match sent {
        Thinking::Word(_) => Parameter::Effort,
        Thinking::Budget(_) => Parameter::ThinkingBudget,
    }))
}

/// Returns the dialect without anything that the effort adds, if that changes what is sent: for refusals that name nothing.
pub(super) fn without_any(dialect: Dialect, request: &ChatRequest) -> Option<Dialect> {
    let plain = NOTHING.iter().fold(dialect, |dialect, parameter| dialect.without(*parameter));
    (request.effort.is_some() && plain != dialect).then_some(plain)
}

/// What is not taken by models that do not think.
const NOTHING: &[Parameter] = &[Parameter::Effort, Parameter::ThinkingBudget, Parameter::TemplateArguments];

/// What models, by the beginning of their names, are known not to take; the first row that fits counts.
type Known = &'static [(&'static str, &'static [Parameter])];

/// OpenAI's models (<https://platform.openai.com/docs/guides/reasoning>).
pub(crate) const OPENAI: Known = &[
    ("gpt-5-chat", NOTHING),
    (
        "gpt-5-pro",
        &[Parameter::EffortNone, Parameter::EffortMinimal, Parameter::EffortLow, Parameter::EffortMedium],
    ),
    ("gpt-5.", &[Parameter::EffortMinimal]),
    ("gpt-5", &[Parameter::EffortNone]),
    ("gpt-oss", &[Parameter::EffortNone, Parameter::EffortMinimal]),
    ("o1", &[Parameter::EffortNone, Parameter::EffortMinimal]),
    ("o3", &[Parameter::EffortNone, Parameter::EffortMinimal]),
    ("o4", &[Parameter::EffortNone, Parameter::EffortMinimal]),
    ("gpt-4", NOTHING),
    ("gpt-3", NOTHING),
    ("chatgpt", NOTHING),
];

/// Anthropic's models: the newer ones take a word, the older ones a number of tokens, the oldest nothing
/// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>).
pub(crate) const ANTHROPIC: Known = &[
    ("claude-2", NOTHING),
    ("claude-instant", NOTHING),
    ("claude-3-7", &[Parameter::Effort, Parameter::EffortMinimal]),
    ("claude-3", NOTHING),
    ("claude-sonnet-4-6", &[Parameter::EffortMinimal]),
    ("claude-opus-4-6", &[Parameter::EffortMinimal]),
    ("claude-opus-4-7", &[Parameter::EffortMinimal]),
    ("claude-opus-4-8", &[Parameter::EffortMinimal]),
    ("claude-sonnet-4", &[Parameter::Effort, Parameter::EffortMinimal]),
    ("claude-opus-4", &[Parameter::Effort, Parameter::EffortMinimal]),
    ("claude-haiku-4", &[Parameter::Effort, Parameter::EffortMinimal]),
    ("", &[Parameter::EffortMinimal]),
];

/// Google's models: those before the third generation take a number of tokens, and the largest ones always think
/// (<https://ai.google.dev/gemini-api/docs/thinking>).
pub(crate) const GEMINI: Known = &[
    ("gemini-1", NOTHING),
    ("gemini-2.0", NOTHING),
    ("gemma", NOTHING),
    ("gemini-2.5-pro", &[Parameter::Effort, Parameter::EffortNone]),
    ("gemini-2.5", &[Parameter::Effort]),
    ("gemini-3-pro", &[Parameter::EffortNone, Parameter::EffortMinimal, Parameter::EffortMedium]),
    ("gemini-3.1-pro", &[Parameter::EffortNone, Parameter::EffortMinimal]),
    ("", &[Parameter::EffortNone]),
];

/// Returns what a model is known to take.
pub(crate) fn known(table: Known, model: &str) -> Dialect {
    let name = model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let refused = table.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, refused)| *refused);
    refused.unwrap_or_default().iter().fold(Dialect::default(), |dialect, one| dialect.without(*one))
}
