//! The words of a review debate: two reviewers who speak, a judge who looks at what they said (rules V3, V4).
//!
//! What a prompt shows stands in tagged blocks, escaped (K13): first what the whole debate shares, then what differs.

mod blocks;
mod judge;
mod speak;

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::formats::review::Review;
use debate_core::formats::review::answer::Answer;
use debate_core::formats::review::visible::{Task, Visible};

use crate::prompts::{ParseError, Prompt, Prompts, Reading, Received, RenderError};
use crate::room::Room;

/// The words of a review debate.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReviewPrompts;

impl Prompts for ReviewPrompts {
    type Format = Review;

    fn render_within(
        &self,
        visible: &Visible,
        _want: &Want,
        _turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        match &visible.task {
            Task::Speak { speech, side, rejection } => {
                speak::render(visible, *speech, (*side, rejection), room)
            }
            Task::Judge { first } => judge::render(visible, *first, room),
        }
    }

    fn parse(
        &self,
        visible: &Visible,
        _want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        match &visible.task {
            Task::Speak { speech, side, .. } => speak::parse(visible, *speech, *side, reply),
            Task::Judge { first } => judge::parse(visible, *first, reply),
        }
    }
}

#[cfg(test)]
mod tests;
