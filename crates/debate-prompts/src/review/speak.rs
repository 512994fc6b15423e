//! The call in which a reviewer speaks: argues for its own operation, or answers the other's argument (rule V3).

use debate_core::formats::review::answer::Answer;
use debate_core::formats::review::config::{SPEECH_INPUT_TOKENS, SPEECH_OUTPUT_TOKENS, Side, Speech};
use debate_core::formats::review::visible::Visible;
use debate_core::prose::Prose;
use minijinja::context;

use super::blocks::{self, Block, Frame, Material, fill};
use crate::copies;
use crate::escape;
use crate::prompts::{ParseError, Prompt, PublicPart, Reading, Received, RenderError};
use crate::room::Room;
use crate::tags;

/// What errors call a reply.
const SPEECH: &str = "speech";

/// Who a reviewer is where the request does not say.
const PERSONA: &str = "You are one of several reviewers of a change.";

fn version(speech: Speech) -> &'static str {
    match speech {
        Speech::Argue => "review/argue@2",
        Speech::Rebut => "review/rebut@3",
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
    let role = visible.pair.role(side);
    let critique = visible.critique(role);
    let persona = critique.map(|critique| critique.system_prompt.trim()).filter(|own| !own.is_empty());
    let [system, mut task] = instructions(visible, speech, side, persona.unwrap_or(PERSONA))?;
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

/// Returns what a prompt says of its own accord: the standing instructions and the task.
fn instructions(
    visible: &Visible,
    speech: Speech,
    side: Side,
    persona: &str,
) -> Result<[String; 2], RenderError> {
    let (role, opponent) = (visible.pair.role(side).as_str(), visible.pair.role(side.other()).as_str());
    let language = blocks::language(visible);
    let system = fill(
        "review/speech_system@3",
        context! { persona => escape::xml(persona), role, opponent, language, today => visible.as_of.day() },
    )?;
    Ok([system, fill(version(speech), context! { opponent })?])
}

/// Returns an error where a speech copies its own prompt (rule P27).
fn check_copies(visible: &Visible, speech: Speech, side: Side, said: &str) -> Result<(), ParseError> {
    let [system, task] = instructions(visible, speech, side, PERSONA)?;
    copies::check_instructions(said, &[&system, &task], &[], SPEECH)?;
    copies::check_shown(said, blocks::heard(visible, Some(side)), || None, SPEECH)
}

/// Reads the reply to the prompt of a speech.
pub(super) fn parse(
    visible: &Visible,
    speech: Speech,
    side: Side,
    reply: Received<'_>,
) -> Result<Reading<Answer>, ParseError> {
    let repairs = reply.free_text_repairs()?;
    let said = tags::without_thinking(reply.text).trim().to_owned();
    if said.is_empty() {
        return Err(ParseError { why: "the reply says nothing".to_owned() });
    }
    check_copies(visible, speech, side, &said)?;
    Ok(Reading::Answer { answer: Answer::Speech(said), repairs })
}
