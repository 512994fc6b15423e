//! What a server is known not to take, learnt as it refuses.

use crate::{ChatRequest, ReplySchema};

/// A part of a request that not every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// The schema of the answer.
    Schema,
    /// The bounds of lengths, counts and numbers in it.
    SchemaBounds,
    /// The wish for usage at the end of the stream.
    StreamOptions,
    /// The older name of the output limit.
    MaxTokens,
    /// The sampling temperature.
    Temperature,
    /// The sampling seed.
    Seed,
    /// The provider's own web search.
    WebSearch,
    /// Marks of what to keep in the provider's cache.
    CacheMarks,
    /// How often the provider may search.
    WebSearchLimit,
    /// How much is to be thought, as a word.
    Effort,
    /// That word within an object of its own, as OpenRouter has it.
    EffortObject,
    /// How much is to be thought, in tokens.
    ThinkingBudget,
    /// Arguments for the template of a model's chat, as llama.cpp and vLLM take them.
    TemplateArguments,
    /// No thinking at all.
    EffortNone,
    /// Hardly any thinking.
    EffortMinimal,
    /// A little thinking.
    EffortLow,
    /// Some thinking.
    EffortMedium,
    /// A lot of thinking.
    EffortHigh,
}

impl Parameter {
    /// All of them.
    pub(super) const ALL: [Self; 18] = [
        Self::Schema,
        Self::SchemaBounds,
        Self::StreamOptions,
        Self::MaxTokens,
        Self::Temperature,
        Self::Seed,
        Self::WebSearch,
        Self::CacheMarks,
        Self::WebSearchLimit,
        Self::Effort,
        Self::EffortObject,
        Self::ThinkingBudget,
        Self::TemplateArguments,
        Self::EffortNone,
        Self::EffortMinimal,
        Self::EffortLow,
        Self::EffortMedium,
        Self::EffortHigh,
    ];

    /// Returns the name that reports use for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::SchemaBounds => "schema_bounds",
            Self::StreamOptions => "stream_options",
            Self::MaxTokens => "max_tokens",
            Self::Temperature => "temperature",
            Self::Seed => "seed",
            Self::WebSearch => "web_search",
            Self::CacheMarks => "cache_marks",
            Self::WebSearchLimit => "web_search_limit",
            Self::Effort => "effort",
            Self::EffortObject => "effort_object",
            Self::ThinkingBudget => "thinking_budget",
            Self::TemplateArguments => "chat_template_kwargs",
            Self::EffortNone => "effort_none",
            Self::EffortMinimal => "effort_minimal",
            Self::EffortLow => "effort_low",
            Self::EffortMedium => "effort_medium",
            Self::EffortHigh => "effort_high",
        }
    }

    fn bit(self) -> u32 {
        1 << self as u8
    }

    fn is_used(self, request: &ChatRequest) -> bool {
        match self {
            Self::Schema => request.schema.is_some(),
            Self::SchemaBounds => request.schema.as_ref().is_some_and(ReplySchema::is_bounded),
            Self::StreamOptions | Self::MaxTokens | Self::CacheMarks => true,
            Self::Temperature => request.temperature.is_some(),
            Self::Seed => request.seed.is_some(),
            Self::WebSearch => request.web_search,
            Self::WebSearchLimit => request.web_search && request.web_searches_max.is_some(),
            Self::Effort
            | Self::EffortObject
            | Self::ThinkingBudget
            | Self::TemplateArguments
            | Self::EffortNone
            | Self::EffortMinimal
            | Self::EffortLow
            | Self::EffortMedium
            | Self::EffortHigh => request.effort.is_some(),
        }
    }
}

/// The parameters that a server does not take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dialect(u32);

impl Dialect {
    /// Restores what [`Dialect::bits`] gave.
    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the set as bits.
    pub(super) fn bits(self) -> u32 {
        self.0
    }

    /// Returns this dialect without `parameter`.
    pub(crate) fn without(self, parameter: Parameter) -> Self {
        Self(self.0 | parameter.bit())
    }

    /// Returns the dialect to try next when a server blames `parameter`, if that changes what is sent.
    pub(super) fn concede(self, parameter: Parameter, request: &ChatRequest) -> Option<Self> {
        (self.takes(parameter) && parameter.is_used(request)).then(|| self.without(parameter))
    }

    /// Returns whether `parameter` is sent.
    pub(crate) fn takes(self, parameter: Parameter) -> bool {
        self.0 & parameter.bit() == 0
    }
}
