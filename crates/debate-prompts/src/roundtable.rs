//! The words of a roundtable in four layers (T3): the role anchor says who speaks and the behavioural contract what they
//! must and must not do; then come topic, responses and statistics; structural enforcement says what a reply looks like,
//! and the verification loop what to check before it is sent.
//!
//! The first two layers are the system message, the last two end the user's. Texts that the specification fixes are used
//! word for word; tools are spoken of only where there are some.

mod anchor;
mod contract;
mod reply;
mod responses;
pub(crate) mod structure;
pub mod tools;
mod verification;

use std::borrow::Cow;

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::answer::Answer;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::config::INPUT_TOKENS;
use debate_core::formats::roundtable::visible::Visible;

use crate::escape;
use crate::fitting::Bounds;
use crate::language;
use crate::prompts::{
    Message, ParseError, Prompt, Prompts, PublicPart, Reading, Received, RenderError, Speaker,
};
use crate::room::Room;
use crate::tokens;

/// The prompt of a response.
const RESPOND: &str = "roundtable/respond@5";
/// The prompt by which an agent is asked once more, blind.
const REPOLL: &str = "roundtable/repoll@5";

/// The words of a roundtable.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundtablePrompts;

impl Prompts for RoundtablePrompts {
    type Format = Roundtable;

    fn render_within(
        &self,
        visible: &Visible,
        _want: &Want,
        turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        let version = match visible.kind {
            Kind::Respond => RESPOND,
            Kind::Repoll => REPOLL,
        };
        let gone = || RenderError::Redacted { version };
        let brief = visible.brief.shown().ok_or_else(gone)?;
        let focus = visible.focus.as_ref().map(|focus| focus.shown().ok_or_else(gone)).transpose()?;
        let focus = focus.map(|focus| format!("<focus>\n{}\n</focus>", escape::xml_block(focus)));
        let said = responses::said(&visible.context.responses).ok_or_else(gone)?;
        let [system, task] = instructions(visible);
        let topic = escape::xml_block(&brief.topic);
        let may_leave_out = room.input_tokens_max.is_some();
        let user = |texts: &[Cow<'_, str>]| {
            let mut parts = vec![format!("<topic>\n{topic}\n</topic>")];
            parts.extend(focus.clone());
            parts.extend(responses::block(&said, texts, may_leave_out));
            parts.extend(visible.context.statistics.as_ref().map(responses::statistics));
            parts.push(task.clone());
            parts.join("\n\n")
        };
        let talk = tools::talk(turns, visible, room).ok_or_else(gone)?;
        let fixed = tokens::count(&system) + talk.tokens();
        let bounds = Bounds { version, budget: INPUT_TOKENS, fixed, room };
        let fitted = bounds.fit(responses::sections(&said), user)?;
        let system = Message { speaker: Speaker::System, text: system.into() };
        let asked = Message { speaker: Speaker::User, text: fitted.text.into() };
        Ok(Prompt {
            version,
            omitted: fitted.omitted.into_iter().chain(talk.omitted).collect(),
            messages: [system, asked].into_iter().chain(talk.messages).collect(),
            shape: Some(reply::shape(visible)),
            output_tokens_max: room.output(visible.output_tokens),
            tokens: fitted.tokens,
            public: PublicPart::Field("position"),
            web_search: visible.native_web_search,
            web_searches_max: visible.policy.map(|policy| policy.max_calls),
        })
    }

    fn parse(
        &self,
        visible: &Visible,
        _want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        reply::read(reply, visible)
    }
}

/// Returns the system message and the task: what the prompt says of its own accord.
fn instructions(visible: &Visible) -> [String; 2] {
    let today = visible.as_of.day();
    let language = language::named(visible.language.as_deref(), "the language of the topic");
    let system = format!(
        "{}\n\n{}\n\nWrite in {language}. Today is {today}.",
        anchor::layer(visible),
        contract::layer(visible)
    );
    let task = [task(visible), structure::layer(visible), verification::layer(visible)].join("\n\n");
    [system, task]
}

/// Returns what is to be done now, and why again where a reply was rejected.
fn task(visible: &Visible) -> String {
    let task = match (visible.kind, visible.context.responses.is_empty()) {
        (Kind::Repoll, _) => "The round was very much of one mind. You are asked once more, on your own: you see \
                              nobody's answer and nobody sees yours before all have given theirs. Judge the topic \
                              anew and say what you hold now, whether or not you said it before."
            .to_owned(),
        (Kind::Respond, true) => {
            format!("This is round {} of {}. Nobody has spoken yet: take your own position.", visible.round, visible.rounds_max)
        }
        (Kind::Respond, false) => {
            format!("This is round {} of {}. Respond to what has been said.", visible.round, visible.rounds_max)
        }
    };
    let task = match visible.focus {
        Some(_) => format!("{task} This round has a focus: answer it, within the topic."),
        None => task,
    };
    match visible.rejection.shown() {
        Some(reason) => {
            format!("{task}\n\nYour last reply was rejected. {} Reply again.", escape::xml_line(reason))
        }
        None => task,
    }
}

#[cfg(test)]
mod tests;
