//! The room that a model's context window leaves to a prompt and to its answer. Budgets say what a prompt may take at most
//! with any model (P15); the room says what is left of that with one model.

/// What a prompt and its visible answer may take at most; without limits, only their own budgets apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// The most tokens of the prompt.
    pub input_tokens_max: Option<u32>,
    /// The most tokens of the visible answer.
    pub output_tokens_max: Option<u32>,
    /// Whether a prompt is refused before a text is left out altogether that the budgets never leave out. What is
    /// rendered is the same either way.
    pub keeps_all: bool,
}

impl Room {
    /// Returns the tokens of a prompt that has this budget of its own.
    #[must_use]
    pub fn input(self, budget: u32) -> u32 {
        self.input_tokens_max.map_or(budget, |max| max.min(budget))
    }

    /// Returns the tokens of an answer that may have this many of its own.
    #[must_use]
    pub fn output(self, cap: u32) -> u32 {
        self.output_tokens_max.map_or(cap, |max| max.min(cap))
    }

    /// Returns the room that is left next to so many input tokens.
    #[must_use]
    pub fn without(self, tokens: u32) -> Self {
        Self { input_tokens_max: self.input_tokens_max.map(|max| max.saturating_sub(tokens)), ..self }
    }
}
