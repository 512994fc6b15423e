//! The layout of the presets `standard` and `deep`: one system message and one brief for all calls of a debate, then the
//! rules of all arguments, what was argued, the persona and the task (rules P1, P15).

use std::sync::Arc;

use debate_core::formats::prediction::config::{Brief, Preset};
use debate_core::formats::prediction::visible::Subject;
use debate_core::id::Role;
use minijinja::context;

use super::blocks::{Block, Share, Slot};
use super::head::Head;
use super::material::{self, Shares};
use super::personas::Persona;
use super::prompt_prefix::{self, PromptPrefix};
use super::{outcomes, templates};
use crate::prompts::RenderError;

/// The share of the smaller of the budgets of arguments and scores that the brief has, in fifths.
const BRIEF_FIFTHS: u32 = 3;

const WHOLE: Share = Share { rank: 0, ..Share::floored(1, u32::MAX) };

/// Which part of the material has room first: findings, variables, data, background, descriptions.
const SHARES: Shares = Shares {
    question: Share { rank: 0, ..Share::required(1, 24, u32::MAX) },
    criteria: Some(WHOLE),
    descriptions: Some(Share::spare(2, 12)),
    findings: Some(Share::floored(3, 28)),
    variables: Some(Share::spare(4, 16)),
    data: Some(Share::spare(5, 16)),
    background: Some(Share::spare(6, 24)),
};

/// Returns whether prompts are laid out like this.
pub(super) fn is_of(subject: &Subject) -> bool {
    subject.preset != Preset::Contract
}

/// Returns what all prompts of a debate share, as it was made the first time.
pub(super) fn shared(subject: &Subject) -> Result<Arc<PromptPrefix>, RenderError> {
    // A fork of other budgets may share the brief.
    let budget = Role::from(brief_tokens_max(subject).to_string().as_str());
    prompt_prefix::shared(&subject.brief, templates::SYSTEM_STANDARD, &budget, |brief| stem(subject, brief))
}

fn brief_tokens_max(subject: &Subject) -> u32 {
    subject.input_tokens.argue.min(subject.input_tokens.score) / 5 * BRIEF_FIFTHS
}

/// Returns what all prompts of a debate share.
pub(super) fn stem(subject: &Subject, brief: &Brief) -> Result<PromptPrefix, RenderError> {
    let outcomes = outcomes::forms(brief, &subject.outcomes);
    let blocks = material::blocks(brief, &subject.outcomes, &SHARES);
    let head =
        outcomes.first().and_then(|outcomes| Head::of_brief(&blocks, outcomes, brief_tokens_max(subject)));
    let heads = head.into_iter().chain([Head::default()]).collect();
    let system = templates::render(templates::SYSTEM_STANDARD, context! {})?;
    Ok(PromptPrefix { system: system.into(), heads, outcomes, blocks })
}

/// Returns the system message that all calls share; empty in the contract's layout.
pub(super) fn system(subject: &Subject) -> Result<String, RenderError> {
    if is_of(subject) {
        templates::render(templates::SYSTEM_STANDARD, context! {})
    } else {
        Ok(String::new())
    }
}

/// Returns how every role argues; it stands before the points, because all arguments share it.
pub(super) fn rules(subject: &Subject) -> Result<Block, RenderError> {
    Ok(Block::words(Slot::Rules, "rules", &rules_text(subject)?))
}

/// Returns the words of these rules; empty in the contract's layout.
pub(super) fn rules_text(subject: &Subject) -> Result<Arc<str>, RenderError> {
    if is_of(subject) {
        templates::task(templates::ARGUE_RULES, templates::shared(subject))
    } else {
        Ok("".into())
    }
}

/// Returns who a role is, word for word.
pub(super) fn persona(persona: &Persona<'_>) -> Result<Block, RenderError> {
    let words = templates::render(
        templates::PERSONA,
        context! {
            persona => persona.system_prompt.trim(),
            leaning => persona.bias_direction.trim(),
            evidence => persona.evidence_preference.trim(),
        },
    )?;
    Ok(Block::words(Slot::Persona, "persona", &words))
}
