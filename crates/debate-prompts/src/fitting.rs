//! Fits the sections of a prompt into its budget and into its room, and names what was left out (P15).

use std::borrow::Cow;

use crate::prompts::RenderError;
use crate::room::Room;
use crate::tokens::{self, Section};

/// What a prompt may take.
pub(crate) struct Bounds {
    /// The template.
    pub(crate) version: &'static str,
    /// The most tokens of the whole prompt with any model.
    pub(crate) budget: u32,
    /// Tokens of its other messages, which are not shortened.
    pub(crate) fixed: u32,
    /// What the model's context window leaves.
    pub(crate) room: Room,
}

/// A message with which its prompt is within its bounds.
pub(crate) struct Fitted {
    pub(crate) text: String,
    /// The tokens of the whole prompt.
    pub(crate) tokens: u32,
    /// What was left out, one line each.
    pub(crate) omitted: Vec<String>,
}

impl Bounds {
    /// Renders the message that has the sections, cut as little as needed; below `tokens_min` only for a context window.
    ///
    /// # Errors
    /// [`RenderError::OverBudget`] where the smallest form is too long.
    pub(crate) fn fit(
        &self,
        mut sections: Vec<Section<'_>>,
        render: impl Fn(&[Cow<'_, str>]) -> String,
    ) -> Result<Fitted, RenderError> {
        let (fixed, budget) = (self.fixed, self.room.input(self.budget));
        if self.room.input_tokens_max.is_none() || self.room.keeps_all {
            sections.iter_mut().for_each(|section| section.tokens_least = section.tokens_min);
        }
        let fitted = tokens::fit(&sections, budget.saturating_sub(fixed), render);
        let fitted = fitted.map_err(|error| RenderError::OverBudget {
            version: self.version,
            tokens: error.tokens_needed.saturating_add(fixed),
            budget,
        })?;
        let omitted = fitted.omissions.iter().map(|omission| {
            let all = omission.kept_tokens + omission.dropped_tokens;
            cut_line(&omission.section, omission.kept_tokens, all)
        });
        Ok(Fitted { omitted: omitted.collect(), text: fitted.text, tokens: fitted.tokens + fixed })
    }
}

/// Says how much of a text is shown.
pub(crate) fn cut_line(name: &str, kept: u32, all: u32) -> String {
    format!("{name}: cut to {kept} of {all} tokens")
}
