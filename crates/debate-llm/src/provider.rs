//! The providers whose protocols are spoken.

use std::fmt;

use crate::anthropic::Messages;
use crate::gemini::GenerateContent;
use crate::http::{Facts, Protocol};
use crate::openai::{ChatCompletions, Responses};

/// Whose protocol is spoken; the server may be anyone's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Chat completions, as OpenAI defined them and as most servers speak them.
    OpenAi,
    /// OpenAI's responses, which the newest of its models and a few other servers speak.
    OpenAiResponses,
}

impl Provider {
    /// All of them, by name.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Gemini, Self::OpenAi, Self::OpenAiResponses];

    /// Returns the name before the model's, such as `openai`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the provider of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Returns a model with its provider, such as `openai:gpt-5-mini`.
    #[must_use]
    pub fn example(self) -> String {
        format!("{self}:{}", self.facts().example_model)
    }

    /// Returns the provider's own address.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        self.facts().base_url
    }

    /// Returns the environment variable of another address, such as `OPENAI_BASE_URL`.
    #[must_use]
    pub fn base_url_variable(self) -> &'static str {
        self.facts().base_url_variable
    }

    /// Returns the environment variables of the key; the first one set counts.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        self.facts().key_variables
    }

    /// Returns the first of them, for messages.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        self.key_variables().first().copied().unwrap_or_default()
    }

    /// Returns what the adapter knows.
    pub(crate) fn protocol(self) -> &'static dyn Protocol {
        match self {
            Self::Anthropic => &Messages,
            Self::Gemini => &GenerateContent,
            Self::OpenAi => &ChatCompletions,
            Self::OpenAiResponses => &Responses,
        }
    }

    fn facts(self) -> &'static Facts {
        self.protocol().facts()
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
