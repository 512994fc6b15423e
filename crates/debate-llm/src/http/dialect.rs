//! What a server is known not to take, learnt as it refuses.

use crate::ChatRequest;

/// A part of a request that not every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// The schema of the answer.
    Schema,
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
}

impl Parameter {
    /// All of them.
    pub(super) const ALL: [Self; 8] = [
        Self::Schema,
        Self::StreamOptions,
        Self::MaxTokens,
        Self::Temperature,
        Self::Seed,
        Self::WebSearch,
        Self::CacheMarks,
        Self::WebSearchLimit,
    ];

    /// Returns the name under which it is told of.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::StreamOptions => "stream_options",
            Self::MaxTokens => "max_tokens",
            Self::Temperature => "temperature",
            Self::Seed => "seed",
            Self::WebSearch => "web_search",
            Self::CacheMarks => "cache_marks",
            Self::WebSearchLimit => "web_search_limit",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn is_used(self, request: &ChatRequest) -> bool {
        match self {
            Self::Schema => request.schema.is_some(),
            Self::StreamOptions | Self::MaxTokens | Self::CacheMarks => true,
            Self::Temperature => request.temperature.is_some(),
            Self::Seed => request.seed.is_some(),
            Self::WebSearch => request.web_search,
            Self::WebSearchLimit => request.web_search && request.web_searches_max.is_some(),
        }
    }
}

/// The parameters that a server does not take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dialect(u8);

impl Dialect {
    /// Restores what [`Dialect::bits`] gave.
    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the set as bits.
    pub(super) fn bits(self) -> u8 {
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
