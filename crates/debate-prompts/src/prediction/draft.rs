//! A prompt in the making: fixed words and blocks, brought within a budget (P15).

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::Value;

use super::blocks::{Block, Slot};
use super::{budget, measure, templates};
use crate::prompts::{Message, Prompt, PublicPart, RenderError, ReplyShape, Speaker};

/// Times that a prompt is shortened again when its parts took more than their sum.
const ROUNDS_MAX: usize = 4;

const POINTS_OPEN: &str = "<points>\n";
const POINTS_CLOSE: &str = "</points>\n";

/// Values that a template takes besides blocks.
pub(super) type Values = BTreeMap<&'static str, Value>;

/// A prompt before it is fitted.
#[derive(Debug)]
pub(super) struct Draft {
    /// The template.
    pub(super) version: &'static str,
    /// Tokens allowed.
    pub(super) budget: u32,
    /// The system message.
    pub(super) system: String,
    /// The block of outcomes, the fullest form first; the last is the smallest, and the others may be given up.
    pub(super) outcomes: Vec<String>,
    /// Everything that can be shortened, in the order shown.
    pub(super) blocks: Vec<Block>,
    /// What else the template needs.
    pub(super) values: Values,
}

/// A prompt within its budget.
#[derive(Debug)]
pub(super) struct Fitted {
    system: String,
    user: String,
    tokens: u32,
    omitted: Vec<String>,
}

impl Draft {
    /// Returns the tokens of the smallest form of this prompt.
    pub(super) fn tokens_min(&self) -> Result<u32, RenderError> {
        let outcomes = self.outcomes.last().map_or("", String::as_str);
        Ok(self.fixed_tokens(outcomes)? + budget::least(&self.blocks))
    }

    /// Shortens the prompt as little as its budget demands.
    ///
    /// # Errors
    /// Its smallest form is over the budget, or the template is broken.
    pub(super) fn fit(self) -> Result<Fitted, RenderError> {
        let mut tokens_min = 0;
        for (given_up, outcomes) in self.outcomes.iter().enumerate() {
            let fixed = self.fixed_tokens(outcomes)?;
            let mut room = self.budget.saturating_sub(fixed);
            tokens_min = fixed + budget::least(&self.blocks);
            let is_last = given_up + 1 == self.outcomes.len();
            if fixed > self.budget || (!is_last && room < budget::comfort(&self.blocks)) {
                continue;
            }
            for _ in 0..ROUNDS_MAX {
                let Ok(shares) = budget::share(&self.blocks, room) else { break };
                let (user, mut omitted) = self.write(outcomes, &shares)?;
                let tokens = measure::count(&self.system) + measure::count(&user);
                if tokens <= self.budget {
                    if given_up > 0 {
                        omitted.insert(0, "priors: left out".to_owned());
                    }
                    return Ok(Fitted { system: self.system, user, tokens, omitted });
                }
                tokens_min = tokens_min.max(tokens);
                room = room.saturating_sub(tokens - self.budget);
            }
        }
        let (version, budget) = (self.version, self.budget);
        Err(RenderError::OverBudget { version, tokens: tokens_min.max(budget + 1), budget })
    }

    fn fixed_tokens(&self, outcomes: &str) -> Result<u32, RenderError> {
        let (user, _) = self.write(outcomes, &[])?;
        let has_points = self.blocks.iter().any(|block| block.slot == Slot::Points);
        let points = if has_points { measure::count(POINTS_OPEN) + measure::count(POINTS_CLOSE) } else { 0 };
        Ok(measure::count(&self.system) + measure::count(&user) + points)
    }

    /// Writes the user message; without shares every block is empty.
    fn write(&self, outcomes: &str, shares: &[Option<u32>]) -> Result<(String, Vec<String>), RenderError> {
        let mut texts: BTreeMap<&'static str, String> =
            SLOTS.iter().map(|name| (*name, String::new())).collect();
        let mut omitted = Vec::new();
        for (block, share) in self.blocks.iter().zip(shares) {
            let text = texts.entry(name(block.slot)).or_default();
            omitted.extend(block.write(*share, text));
        }
        let points = texts.entry(name(Slot::Points)).or_default();
        if !points.is_empty() {
            *points = [POINTS_OPEN, points, POINTS_CLOSE].concat();
        }
        texts.insert("outcomes", outcomes.to_owned());
        let mut values = self.values.clone();
        values.extend(texts.into_iter().map(|(name, text)| (name, Value::from_safe_string(text))));
        Ok((templates::render(self.version, values.into())?, omitted))
    }
}

const SLOTS: [&str; 10] = [
    "question",
    "descriptions",
    "background",
    "findings",
    "variables",
    "data",
    "points",
    "argument",
    "evidence",
    "rejection",
];

/// Returns the name of a slot in templates.
fn name(slot: Slot) -> &'static str {
    match slot {
        Slot::Question => "question",
        Slot::Descriptions => "descriptions",
        Slot::Background => "background",
        Slot::Findings => "findings",
        Slot::Variables => "variables",
        Slot::Data => "data",
        Slot::Points => "points",
        Slot::Argument => "argument",
        Slot::Evidence => "evidence",
        Slot::Rejection => "rejection",
    }
}

impl Fitted {
    /// Makes the prompt.
    pub(super) fn into_prompt(
        self,
        version: &'static str,
        shape: ReplyShape,
        output_tokens_max: u32,
        public: PublicPart,
    ) -> Prompt {
        let message = |speaker, text: String| Message { speaker, text: Arc::from(text) };
        Prompt {
            version,
            messages: vec![message(Speaker::System, self.system), message(Speaker::User, self.user)],
            shape: Some(shape),
            output_tokens_max,
            tokens: self.tokens,
            omitted: self.omitted,
            public,
        }
    }
}
