//! What one debate may spend (rules K2, K8). Every number is checked at the edge and recorded in `Opened`.

use serde::{Deserialize, Serialize};

use crate::call::Tokens;

/// The most attempts at one question that may fail, unless said otherwise.
pub const ATTEMPTS_MAX_DEFAULT: u32 = 3;
/// The most starts of one call whatever their cause (rule K2).
pub const STARTS_MAX_DEFAULT: u32 = 20;
/// The deadline inside the contract's 120 s (rule P21), in milliseconds.
pub const DEADLINE_MS_DEFAULT: u64 = 110_000;
/// The deadline of a debate that has none: a hundred years, in milliseconds (rule K22).
pub const NO_DEADLINE_MS: u64 = 3_155_760_000_000;
/// The longest time kept back for the closing synthesis before the first answer shows how long one takes, in
/// milliseconds.
pub const CLOSING_MS_MAX: u64 = 20_000;
/// The least time that is kept back for the closing synthesis, in milliseconds.
pub const CLOSING_MS_MIN: u64 = 1_000;

/// Tokens of thinking for each request, where a debate says no limit of its own.
pub const THINKING_TOKENS_EACH: u32 = 32_768;

/// What one debate may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The time from opening to conclusion, in milliseconds; [`NO_DEADLINE_MS`] where there is no deadline.
    pub deadline_ms: u64,
    /// Requests to models, every cause counted.
    pub calls_max: u64,
    /// Tokens in all requests and all replies.
    pub tokens_max: Tokens,
    /// Failed attempts at one revision of one call.
    pub attempts_max: u32,
    /// Starts of one call, every cause and revision counted.
    pub starts_max: u32,
    /// Tokens kept back for the closing synthesis.
    pub closing_tokens: Tokens,
    /// Time kept back for the closing synthesis before the first answer shows how long one takes, in milliseconds.
    pub closing_ms: u64,
    /// Money for all requests, in millionths of a US dollar; unlimited unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_max: Option<u64>,
    /// Money kept back for the closing synthesis, in millionths of a US dollar; 0 where money is not limited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closing_cost_micros: u64,
    /// Tokens of thinking in all replies, which count against no other limit of tokens (rule P23); without one, as many
    /// as [`THINKING_TOKENS_EACH`] for every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens_max: Option<u64>,
    /// Tokens of thinking in one reply; [`THINKING_TOKENS_EACH`] unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens_each: Option<u32>,
    /// Whether the deadline counts only the time in which a process drives the debate, and not wall time (rule K24).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub driven_time: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn closing_ms(deadline_ms: u64) -> u64 {
    (deadline_ms / 5).min(CLOSING_MS_MAX)
}

impl Limits {
    /// Brings the deadline forward, and what is kept back for the closing synthesis with it; never later.
    pub fn shorten_deadline(&mut self, deadline_ms: u64) {
        self.deadline_ms = self.deadline_ms.min(deadline_ms);
        self.closing_ms = self.closing_ms.min(self.deadline_ms / 5);
    }

    /// Sets the deadline, and the time kept back for closing with it; [`NO_DEADLINE_MS`] for none.
    pub fn set_deadline(&mut self, deadline_ms: u64) {
        self.deadline_ms = deadline_ms;
        self.closing_ms = closing_ms(deadline_ms);
    }

    /// Returns the most tokens of thinking in all replies.
    #[must_use]
    pub fn thinking_max(&self) -> u64 {
        let derived = self.calls_max.saturating_mul(self.thinking_each().into());
        self.thinking_tokens_max.unwrap_or(derived)
    }

    /// Returns the most tokens of thinking in one reply.
    #[must_use]
    pub fn thinking_each(&self) -> u32 {
        self.thinking_tokens_each.unwrap_or(THINKING_TOKENS_EACH)
    }

    /// Returns whether there is a deadline.
    #[must_use]
    pub const fn has_deadline(&self) -> bool {
        self.deadline_ms < NO_DEADLINE_MS
    }

    /// Returns the limits for a debate of so many calls: four times what it needs without faults, the deadline, and the
    /// last fifth of the time (at most 20 s) kept for the closing synthesis until answers show how long it takes.
    #[must_use]
    pub fn for_calls(calls: u64, tokens: Tokens, closing_tokens: Tokens, deadline_ms: u64) -> Self {
        Self {
            deadline_ms,
            calls_max: calls.saturating_mul(4),
            tokens_max: Tokens {
                input: tokens.input.saturating_mul(4),
                output: tokens.output.saturating_mul(4),
            },
            attempts_max: ATTEMPTS_MAX_DEFAULT,
            starts_max: STARTS_MAX_DEFAULT,
            closing_tokens,
            closing_ms: closing_ms(deadline_ms),
            cost_micros_max: None,
            closing_cost_micros: 0,
            thinking_tokens_max: None,
            thinking_tokens_each: None,
            driven_time: false,
        }
    }
}
