//! The words of the prediction debate.

mod argue;
mod blocks;
mod budget;
mod draft;
mod lenient;
mod material;
mod measure;
mod outcomes;
mod personas;
mod replies;
mod rubric;
mod score;
#[cfg(test)]
mod seed;
mod synthesise;
mod templates;

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::Answer;
use debate_core::formats::prediction::visible::Visible;

use crate::prompts::{ParseError, Prompt, Prompts, Reading, RenderError};

/// The words of the prediction debate.
#[derive(Debug, Clone, Copy, Default)]
pub struct PredictionPrompts;

impl Prompts for PredictionPrompts {
    type Format = Prediction;

    fn render(&self, visible: &Visible, _want: &Want, _turns: &[TurnState]) -> Result<Prompt, RenderError> {
        match visible {
            Visible::Argue(view) => argue::render(view),
            Visible::Score(view) => score::render(view),
            Visible::Synthesise(view) => synthesise::render(view),
        }
    }

    fn parse(&self, visible: &Visible, _want: &Want, text: &str) -> Result<Reading<Answer>, ParseError> {
        match visible {
            Visible::Argue(view) => argue::parse(view, text),
            Visible::Score(view) => score::parse(view, text),
            Visible::Synthesise(view) => synthesise::parse(view, text),
        }
    }
}
