//! The call in which a reviewer speaks: argues for its own operation, or answers the other's argument (rule V3).

use debate_core::formats::review::answer::Answer;
use debate_core::formats::review::config::{SPEECH_INPUT_TOKENS, SPEECH_OUTPUT_TOKENS, Side, Speech};
use debate_core::formats::review::visible::Visible;
use debate_core::prose::Prose;
use minijinja::context;

use super::blocks::{Block, Frame, Material, fill};
use crate::escape;
use crate::prompts::{ParseError, Prompt, PublicPart, Reading, Received, RenderError};
use crate::room::Room;
use crate::tags;

/// Who a reviewer is where the request does not say.
const PERSONA: &str = "You are one of several reviewers of a change.";

fn version(speech: Speech) -> &'static str {
    match speech {
        Speech::Argue => "review/argue@1",
        Speech::Rebut => "review/rebut@1",
    }
}

/// Renders the prompt of a speech.
pub(super) fn render(
    visible: &Visible,
    speech: Speech,
    (side, rejection): (Side, &Prose<String>),
    room: Room,
) -> Result<Prompt, RenderError> {
    let version = version(speech);
    let material = Material::of(visible).ok_or(RenderError::Redacted { version })?;
    let (role, opponent) = (visible.pair.role(side), visible.pair.role(side.other()));
    let critique = visible.critique(role);
    let persona = critique.map(|critique| critique.system_prompt.trim()).filter(|own| !own.is_empty());
    let system = fill(
        "review/speech_system@1",
        context! {
            persona => escape::xml(persona.unwrap_or(PERSONA)),
            role => role.as_str(),
            opponent => opponent.as_str(),
        },
    )?;
    let mut task = fill(version, context! { opponent => opponent.as_str() })?;
    if let Some(reason) = rejection.shown() {
        task.push_str(&format!("\nYour reply before was not taken: {}", escape::xml_line(reason)));
    }
    let findings = critique.map(|critique| critique.findings.join("\n")).unwrap_or_default();
    let own = Some(Block::critique(&findings));
    Frame {
        version,
        system,
        task,
        input_tokens_max: SPEECH_INPUT_TOKENS,
        output_tokens_max: SPEECH_OUTPUT_TOKENS,
        shape: None,
        public: PublicPart::Whole,
    }
    .around(&material.blocks(side, own), room)
}

/// Reads the reply to the prompt of a speech.
pub(super) fn parse(reply: Received<'_>) -> Result<Reading<Answer>, ParseError> {
    let repairs = reply.free_text_repairs()?;
    let said = tags::without_thinking(reply.text).trim().to_owned();
    if said.is_empty() {
        return Err(ParseError { why: "the reply says nothing".to_owned() });
    }
    Ok(Reading::Answer { answer: Answer::Speech(said), repairs })
}
