//! How many tokens a debate's prompts may have (rule P15).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::call::Call;

/// Input tokens that a request may set for the prompts of one kind of call.
pub(crate) const INPUT_TOKENS: RangeInclusive<u64> = 400..=1_000_000;

/// How much of the subject and of the debate prompts show, and how they are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The contract's budgets: the persona is the system message, arguments are cut.
    Contract,
    /// All prompts begin with the same brief; the arguments that are answered are whole.
    Standard,
    /// As `standard`, with three to four times the room.
    Deep,
}

/// The most input tokens of a prompt, by kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputTokens {
    /// Of an argument.
    pub argue: u32,
    /// Of a score.
    pub score: u32,
    /// Of the synthesis.
    pub synthesise: u32,
}

impl Preset {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Contract, Self::Standard, Self::Deep];

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }

    /// Returns the preset with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// Returns the budgets, with a request's own numbers, by kind of call, in their place.
    #[must_use]
    pub fn input_tokens(self, own: &BTreeMap<String, u32>) -> InputTokens {
        let [argue, score, synthesise] = match self {
            Self::Contract => [600, 650, 6_000],
            Self::Standard => [6_000, 4_000, 16_000],
            Self::Deep => [20_000, 16_000, 64_000],
        };
        let [argue, score, synthesise] = [(0, argue), (1, score), (2, synthesise)]
            .map(|(kind, tokens)| own.get(Call::KINDS[kind]).copied().unwrap_or(tokens));
        InputTokens { argue, score, synthesise }
    }
}
