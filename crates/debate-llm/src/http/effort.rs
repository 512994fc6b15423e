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
    let names_other_level = Level::ALL.iter().any(|other| *other != level && has(other.as_str()));
    let is_off_refused =
        level == Level::None && ["disable", "disabled", "mandatory", "0"].into_iter().any(has);
    if names_other_level || is_off_refused || has(level.as_str()) || has("value") {
        let is_refused = |other: &&Level| **other == level || names_other_level && !has(other.as_str());
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
    let refused =
        table.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, refused)| *refused);
    refused.unwrap_or_default().iter().fold(Dialect::default(), |dialect, one| dialect.without(*one))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::HttpConfig;
    use crate::http::protocol::Outgoing;
    use crate::{Message, Provider};

    const OPENAI_URL: &str = "https://api.openai.com/v1";
    const ROUTER_URL: &str = "https://openrouter.ai/api/v1";
    const LOCAL_URL: &str = "http://localhost:8080/v1";
    const EFFORTS: [Option<Effort>; 5] =
        [None, Some(Effort::None), Some(Effort::Low), Some(Effort::Medium), Some(Effort::High)];

    fn asked(effort: Option<Effort>, thinking_tokens: u32) -> ChatRequest {
        let request = ChatRequest::new(vec![Message::user("q")], 500, crate::CallTime::default());
        ChatRequest { effort, thinking_tokens, temperature: Some(0.5), ..request }
    }

    fn first(provider: Provider, base_url: &str, model: &str) -> Dialect {
        let endpoint = HttpConfig::new(provider, base_url, model).endpoint().unwrap();
        provider.protocol().first_dialect(&endpoint, model)
    }

    fn encoded(provider: Provider, model: &str, request: &ChatRequest, dialect: Dialect) -> Value {
        let cap = cap(request, dialect, u32::MAX);
        let outgoing = Outgoing { model, request, schema: None, dialect, cap, so_far: &[] };
        serde_json::from_slice(&provider.protocol().encode(&outgoing).unwrap()).unwrap()
    }

    /// Returns what of a body is about thinking, an absent part as null.
    fn thinking_of(provider: Provider, body: &Value) -> Value {
        let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
        match provider {
            Provider::OpenAi => match (at("/reasoning"), at("/reasoning_effort")) {
                (Value::Null, effort) => effort,
                (object, effort) => {
                    assert_eq!(effort, Value::Null);
                    object
                }
            },
            Provider::OpenAiResponses => at("/reasoning/effort"),
            Provider::Anthropic => match (at("/thinking/type"), at("/thinking/budget_tokens")) {
                (kind, Value::Null) if kind == "adaptive" => at("/output_config/effort"),
                (kind, Value::Null) => kind,
                (_, tokens) => tokens,
            },
            Provider::Gemini => {
                match (
                    at("/generationConfig/thinkingConfig/thinkingLevel"),
                    at("/generationConfig/thinkingConfig/thinkingBudget"),
                ) {
                    (Value::Null, tokens) => tokens,
                    (level, _) => level,
                }
            }
        }
    }

    #[test]
    fn p23_every_effort_is_sent_as_each_model_takes_it() {
        use Provider::{Anthropic, Gemini, OpenAi, OpenAiResponses};
        let none = Value::Null;
        let own = |provider: Provider| provider.base_url();
        let effort = |effort: &str| json!({ "effort": effort });
        // Without an effort, then with none, a little, some, a lot.
        let table: [(Provider, &str, &str, [Value; 4]); 19] = [
            (OpenAi, OPENAI_URL, "gpt-5.1", ["none", "low", "medium", "high"].map(Value::from)),
            (OpenAi, OPENAI_URL, "gpt-5-mini", ["minimal", "low", "medium", "high"].map(Value::from)),
            (OpenAi, OPENAI_URL, "o3", ["low", "low", "medium", "high"].map(Value::from)),
            (OpenAi, OPENAI_URL, "gpt-5-pro", ["high", "high", "high", "high"].map(Value::from)),
            (OpenAi, OPENAI_URL, "gpt-4o", [const { Value::Null }; 4]),
            (OpenAi, LOCAL_URL, "qwen3", ["none", "low", "medium", "high"].map(Value::from)),
            (
                OpenAi,
                ROUTER_URL,
                "qwen/qwen3",
                [json!({"enabled": false}), effort("low"), effort("medium"), effort("high")],
            ),
            (OpenAiResponses, OPENAI_URL, "gpt-5.1", ["none", "low", "medium", "high"].map(Value::from)),
            (
                OpenAiResponses,
                OPENAI_URL,
                "gpt-5-nano",
                ["minimal", "low", "medium", "high"].map(Value::from),
            ),
            (
                Anthropic,
                own(Anthropic),
                "claude-sonnet-5",
                ["disabled", "low", "medium", "high"].map(Value::from),
            ),
            (
                Anthropic,
                own(Anthropic),
                "claude-opus-4-6",
                ["disabled", "low", "medium", "high"].map(Value::from),
            ),
            (
                Anthropic,
                own(Anthropic),
                "claude-sonnet-4-5-20250929",
                [json!("disabled"), json!(1024), json!(4096), json!(16_384)],
            ),
            (
                Anthropic,
                own(Anthropic),
                "claude-3-7-sonnet-latest",
                [json!("disabled"), json!(1024), json!(4096), json!(16_384)],
            ),
            (Anthropic, own(Anthropic), "claude-3-5-haiku-latest", [const { Value::Null }; 4]),
            (Gemini, own(Gemini), "gemini-2.5-flash", [json!(0), json!(1024), json!(4096), json!(16_384)]),
            (
                Gemini,
                own(Gemini),
                "models/gemini-2.5-pro",
                [json!(128), json!(1024), json!(4096), json!(16_384)],
            ),
            (Gemini, own(Gemini), "gemini-3-pro-preview", ["low", "low", "low", "high"].map(Value::from)),
            (Gemini, own(Gemini), "gemini-3.5-flash", ["minimal", "low", "medium", "high"].map(Value::from)),
            (Gemini, own(Gemini), "gemini-2.0-flash", [const { Value::Null }; 4]),
        ];
        for (provider, base_url, model, want) in table {
            let dialect = first(provider, base_url, model);
            let sent = EFFORTS
                .map(|effort| thinking_of(provider, &encoded(provider, model, &asked(effort, 0), dialect)));
            assert_eq!(sent[0], none, "{provider}:{model}: unset sends nothing");
            assert_eq!(sent[1..], want, "{provider}:{model}");
        }
    }

    #[test]
    fn p23_the_cap_has_head_room_and_every_protocol_its_name_for_it() {
        for (provider, model, pointer) in [
            (Provider::OpenAi, "gpt-5.1", "/max_completion_tokens"),
            (Provider::OpenAiResponses, "gpt-5.1", "/max_output_tokens"),
            (Provider::Anthropic, "claude-sonnet-4-5", "/max_tokens"),
            (Provider::Anthropic, "claude-sonnet-5", "/max_tokens"),
            (Provider::Gemini, "gemini-2.5-pro", "/generationConfig/maxOutputTokens"),
        ] {
            let dialect = first(provider, provider.base_url(), model);
            let cap = |effort, tokens| {
                let body = encoded(provider, model, &asked(effort, tokens), dialect);
                body.pointer(pointer).and_then(Value::as_u64).unwrap()
            };
            assert_eq!((cap(None, 0), cap(None, 2_000)), (500, 2_500), "{provider}:{model}");
            assert_eq!(cap(Some(Effort::Low), 2_000), 2_500, "{provider}:{model}");
        }
        // A number of tokens to think must be below the limit of all tokens, which grows with it.
        let (provider, model) = (Provider::Anthropic, "claude-sonnet-4-5");
        let dialect = first(provider, provider.base_url(), model);
        for (tokens, budget, cap) in [(0, 1_024, 1_524), (300, 1_024, 1_524), (2_000, 2_000, 2_500)] {
            let body = encoded(provider, model, &asked(Some(Effort::Low), tokens), dialect);
            assert_eq!(
                (&body["thinking"]["budget_tokens"], &body["max_tokens"]),
                (&json!(budget), &json!(cap))
            );
            assert_eq!(body["temperature"], Value::Null, "what thinks takes none");
        }
        let body = encoded(provider, model, &asked(Some(Effort::None), 0), dialect);
        assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0.5), &json!(500)));
    }

    #[test]
    fn p23_templates_of_own_servers_learn_of_the_effort() {
        let body = |base_url: &str, effort| {
            let dialect = first(Provider::OpenAi, base_url, "qwen3");
            encoded(Provider::OpenAi, "qwen3", &asked(effort, 0), dialect)["chat_template_kwargs"].clone()
        };
        assert_eq!(body(LOCAL_URL, Some(Effort::None)), json!({"enable_thinking": false}));
        let low = json!({"enable_thinking": true, "reasoning_effort": "low"});
        assert_eq!(body(LOCAL_URL, Some(Effort::Low)), low);
        assert_eq!(body(LOCAL_URL, None), Value::Null);
        for service in [OPENAI_URL, ROUTER_URL, "https://api.groq.com/openai/v1"] {
            assert_eq!(body(service, Some(Effort::None)), Value::Null, "{service}");
        }
    }

    #[test]
    fn p23_a_refused_effort_gives_way_to_the_nearest_one() {
        use Thinking::{Budget, Word};
        let word = |level| Some(Word(level));
        for (effort, message, want) in [
            // What servers say of one value, and of those that they take.
            (
                Effort::None,
                "Unsupported value: 'none' is not supported with the 'm' model. Supported values are: 'minimal',                  'low', 'medium', and 'high'.",
                word(Level::Minimal),
            ),
            (
                Effort::None,
                "[{'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"}]",
                word(Level::Low),
            ),
            (
                Effort::None,
                "Reasoning is mandatory for this endpoint and cannot be disabled.",
                word(Level::Minimal),
            ),
            (
                Effort::None,
                "\"thinking.type.disabled\" is not supported for this model.",
                word(Level::Minimal),
            ),
            (Effort::Medium, "think value \"medium\" is not supported for this model", word(Level::Low)),
            (Effort::Low, "`reasoning_effort` must be one of `none` or `default`", None),
            // What they say of all of it.
            (Effort::Low, "Unrecognized request argument supplied: reasoning_effort", Some(Budget(1_024))),
            (Effort::High, "\"gemma3\" does not support thinking", Some(Budget(16_384))),
        ] {
            let request = asked(Some(effort), 0);
            let next = concede(Dialect::default(), &request, message).unwrap();
            assert_eq!(thinking(&request, next), want, "{message}");
        }
        let budget = Dialect::default().without(Parameter::Effort);
        let request = asked(Some(Effort::None), 0);
        let next = concede(budget, &request, "Budget 0 is invalid. This model only works in thinking mode.")
            .unwrap();
        assert_eq!(thinking(&request, next), Some(Budget(128)));
        let nothing =
            concede(budget, &asked(Some(Effort::Low), 0), "Thinking is not enabled for models/m").unwrap();
        assert_eq!(thinking(&asked(Some(Effort::Low), 0), nothing), None);
    }
}
