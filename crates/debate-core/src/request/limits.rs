//! What a request may say about its limits, the same in every format: `options.limits`.

use serde_json::{Value, json};

use super::Field;
use super::sizes::{
    ATTEMPTS, CALLS, COST_MICROS, DEADLINE_MS, STARTS, THINKING_TOKENS, TOKENS_MAX, whole_schema,
};
use crate::call::Tokens;
use crate::limits::Limits;

/// The path of the limit on money, which is checked again where prices are known.
pub const COST_MICROS_MAX: &str = "options.limits.cost_micros_max";

/// The limits that a request asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AskedLimits {
    deadline_ms: Option<u64>,
    calls_max: Option<u64>,
    input_tokens_max: Option<u64>,
    output_tokens_max: Option<u64>,
    thinking_tokens_max: Option<u64>,
    thinking_tokens_each: Option<u64>,
    cost_micros_max: Option<u64>,
    attempts_max: Option<u64>,
    starts_max: Option<u64>,
}

impl AskedLimits {
    /// Reads the limits; budgets of tokens must hold what is kept back for closing.
    pub(crate) fn read(field: &Field<'_>, closing: Tokens) -> Self {
        let limits = field.object(&[
            "deadline_ms",
            "calls_max",
            "input_tokens_max",
            "output_tokens_max",
            "thinking_tokens_max",
            "thinking_tokens_each",
            "cost_micros_max",
            "attempts_max",
            "starts_max",
        ]);
        Self {
            deadline_ms: limits.field("deadline_ms").whole(DEADLINE_MS),
            calls_max: limits.field("calls_max").whole(CALLS),
            input_tokens_max: limits.field("input_tokens_max").whole(closing.input..=TOKENS_MAX),
            output_tokens_max: limits.field("output_tokens_max").whole(closing.output..=TOKENS_MAX),
            thinking_tokens_each: limits.field("thinking_tokens_each").whole(THINKING_TOKENS),
            thinking_tokens_max: limits.field("thinking_tokens_max").whole(THINKING_TOKENS),
            cost_micros_max: limits.field("cost_micros_max").whole(COST_MICROS),
            attempts_max: limits.field("attempts_max").whole(ATTEMPTS),
            starts_max: limits.field("starts_max").whole(STARTS),
        }
    }

    /// Returns the JSON schema of what [`AskedLimits::read`] takes.
    pub(crate) fn schema(closing: Tokens) -> Value {
        json!({
            "type": "object",
            "properties": {
                "deadline_ms": whole_schema(&DEADLINE_MS),
                "calls_max": whole_schema(&CALLS),
                "input_tokens_max": whole_schema(&(closing.input..=TOKENS_MAX)),
                "output_tokens_max": whole_schema(&(closing.output..=TOKENS_MAX)),
                "thinking_tokens_each": whole_schema(&THINKING_TOKENS),
                "thinking_tokens_max": whole_schema(&THINKING_TOKENS),
                "cost_micros_max": whole_schema(&COST_MICROS),
                "attempts_max": whole_schema(&ATTEMPTS),
                "starts_max": whole_schema(&STARTS),
            },
        })
    }

    /// Returns the deadline in milliseconds, if one is asked for.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        self.deadline_ms
    }

    /// Returns the limits with what was asked for in the place of the defaults, the deadline aside.
    pub(crate) fn on_top_of(&self, defaults: Limits) -> Limits {
        let count = |asked: Option<u64>, default: u32| {
            asked.map_or(default, |asked| u32::try_from(asked).unwrap_or(u32::MAX))
        };
        Limits {
            calls_max: self.calls_max.unwrap_or(defaults.calls_max),
            tokens_max: Tokens {
                input: self.input_tokens_max.unwrap_or(defaults.tokens_max.input),
                output: self.output_tokens_max.unwrap_or(defaults.tokens_max.output),
            },
            attempts_max: count(self.attempts_max, defaults.attempts_max),
            starts_max: count(self.starts_max, defaults.starts_max),
            thinking_tokens_max: self.thinking_tokens_max,
            thinking_tokens_each: self
                .thinking_tokens_each
                .map(|each| u32::try_from(each).unwrap_or(u32::MAX)),
            cost_micros_max: self.cost_micros_max,
            ..defaults
        }
    }
}
