//! The words of the prediction debate: three kinds of prompt and the readers of their replies.
//!
//! Every prompt is a system message, who the model is, then one or two messages of the user: the head, which all
//! prompts of a kind share, and what is this prompt's own: material in blocks, a blank line, then the task. What a
//! prompt shows is in its `Visible` and nothing else (P3, P4).
//!
//! # What prompts share
//!
//! Providers keep the beginnings of prompts and read them again for a fraction of the price and time. So what is the same
//! comes first, and what was said comes in an order that only grows:
//!
//! ```text
//! argument    system: persona | question, outcomes         | material, points from the oldest on, rejection, task
//! score       system: scorer  | question, rubric, reply    | findings, data, the outcome, argument, evidence, task
//! synthesis   system: judge   | question, outcomes         | material, points, task
//! ```
//!
//! The head is one text for all roles and rounds, made once, and the synthesis begins as the judge's arguments do. It
//! holds only what the budget leaves whole in every call: a question longer than its floor stands first in the last
//! message instead, outcomes with it, cut as each call allows. Material that may be cut stands there too, so that the
//! blind opening, which has room for it, shows more of it than the rounds after; where it is not cut, it is a part of the
//! shared beginning all the same. The budget decides how much of the points of earlier rounds a later one still shows;
//! only their order is promised.
//!
//! That is the layout of the preset `contract`. In `standard` and `deep` all calls of a debate begin alike,
//! and what was argued stands in one order for all roles but the judge:
//!
//! ```text
//! argument    system | brief | points             | persona, rejection, task
//! score       system | brief | scorer, rubric     | argument, evidence, task
//! synthesis   system | brief | points with scores | persona, task
//! ```
//!
//! The brief is the material of the request, within three fifths of what an argument or a score may have; every point has
//! its forecast, so that a round only adds to what the one before showed.
//!
//! In `contract` the persona stands before the material, though the material is what all roles share: it is the request's text, and
//! the one message that models obey is no place for it (K13), and every protocol wants that message first. What this
//! costs is the head once a role. That a scorer's words differ from a judge's ends what kinds could share, so the heads
//! of scores are their own and have the rubric in them, the longest of all that is the same.
//!
//! # Blocks
//!
//! All text from outside stands in blocks, on one line each or one item a line, with `&`, `<` and `>` escaped, so that
//! it can neither end its block nor begin another (K13). An empty block is left out. In this order, where the kind of
//! prompt has them; a score's outcome comes after its data:
//!
//! ```text
//! <question>text</question>
//! <criteria>text</criteria>        of the task's `resolution_criteria`; not in a score prompt of `contract`
//! <outcomes>
//! A | label | prior 0.21           letters A to Z, AA, AB …; no prior where none is given or none fits;
//! B | label                        bars in labels become slashes; a score prompt lists the one outcome argued for
//! </outcomes>
//! <descriptions>
//! A | text
//! </descriptions>
//! <background>
//! description: text                of the task's `description`, `background`
//! background: text
//! </background>
//! <findings>
//! - text
//! </findings>
//! <variables>
//! - name = value (category, importance)
//! </variables>
//! <data>
//! region: text
//! period: start to end
//! economy: text
//! sentiment: text
//! gap: text
//! </data>
//! <points>
//! <point id="r1.optimist" supports="A" claim="text" p="A 0.60, B 0.40" score="0.71">text</point>
//! </points>
//! <rejection>text</rejection>
//! <argument supports="A" precedents="2">text</argument>
//! <evidence>
//! - text
//! </evidence>
//! ```
//!
//! `claim` is there where one was asked for: not in `contract`. `p` has at most three outcomes, the likeliest of more, and
//! is there on a role's newest point, in the synthesis and outside `contract` on all; `score` is there in the synthesis alone; a role's own newest point may be there without its text. A text that was cut
//! ends with `…`. A redacted text is `[redacted]`.
//!
//! The task begins, when a role argues, with `Role: optimist. Phase: rebuttal, round 2 of 3.`; when an argument is
//! scored, with `Phase: opening.`, the rubric being in the head; in the synthesis with `All 3 rounds are over.` The name of the reply's shape says
//! which of the three it is: `argument`, `scores`, `synthesis`.
//!
//! # Budgets
//!
//! Tokens are counted over all messages. When not everything fits (P15), the task and the outcomes stay; then comes
//! what must be there at its least: the rejection, the question, and one point that can be rebutted and cited; then
//! floors, in this order: the whole question and the whole criteria, points of the latest round, the role's own forecast, findings; then what is left goes to
//! rejection, question, points of the latest round (shortened evenly), findings, variables, data, background and
//! descriptions, the role's own words, older points from the newest round on. Priors are given up before a required block loses its floor. In a
//! score prompt the argument comes first, then question, evidence, findings, data. In the synthesis all points are
//! shortened evenly; where there are too many even for that, older ones go first.
//!
//! Where a model's context window leaves less than a budget, that is what is shared, in the same order.
//!
//! Replies are read leniently; what had to be mended is named, what is missing is never made up.

mod argue;
mod blocks;
mod budget;
mod draft;
mod fits;
mod head;
pub(crate) mod lenient;
mod material;
mod measure;
mod outcomes;
mod personas;
mod prompt_prefix;
pub(crate) mod replies;
mod rubric;
mod score;
#[cfg(test)]
mod seed_tests;
mod shapes;
mod standard;
mod synthesise;
mod templates;

pub use fits::{admit, check_fits};

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::Answer;
use debate_core::formats::prediction::visible::Visible;

use crate::prompts::{ParseError, Prompt, Prompts, Reading, Received, RenderError};
use crate::room::Room;

/// The words of the prediction debate.
///
/// Templates, counts of lines and schemas are made once in a process and shared.
#[derive(Debug, Clone, Copy, Default)]
pub struct PredictionPrompts;

impl Prompts for PredictionPrompts {
    type Format = Prediction;

    fn render_within(
        &self,
        visible: &Visible,
        _want: &Want,
        _turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        match visible {
            Visible::Argue(view) => argue::render(view, room),
            Visible::Score(view) => score::render(view, room),
            Visible::Synthesise(view) => synthesise::render(view, room),
        }
    }

    fn parse(
        &self,
        visible: &Visible,
        _want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        match visible {
            Visible::Argue(view) => argue::parse(view, reply),
            Visible::Score(view) => score::parse(view, reply),
            Visible::Synthesise(view) => synthesise::parse(view, reply),
        }
    }
}
