//! Skills as prompts show them: the legacy frame, everything inside it escaped (D8).

use std::borrow::Cow;

use debate_core::formats::deliberation::config::{LoadedSkill, Phase};

use crate::escape;

/// Returns the loaded skills that a speaker is given, in the order given; those that could not be loaded are left out.
pub(super) fn given<'a>(loaded: &'a [LoadedSkill], names: &[String]) -> Vec<&'a LoadedSkill> {
    let find = |name: &String| loaded.iter().find(|skill| skill.name == *name);
    names.iter().filter_map(find).collect()
}

/// Returns what a speaker does in a phase, as prompts with skills say it.
pub(super) const fn purpose(phase: Phase) -> &'static str {
    match phase {
        Phase::Initial => "presenting your initial position",
        Phase::Rebuttal => "critiquing other positions",
        Phase::Revised => "revising your position",
        Phase::Consensus => "summarizing the debate",
    }
}

/// Lists skills by name and description.
pub(super) fn discovery_blocks(skills: &[&LoadedSkill]) -> String {
    let blocks = skills.iter().map(|skill| {
        let (name, description) = (escape::xml_line(&skill.name), escape::xml_line(&skill.description));
        format!("<skill>\n<name>{name}</name>\n<description>{description}</description>\n</skill>")
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Writes what skills say, at the given lengths.
pub(super) fn activated_contents(skills: &[&LoadedSkill], contents: &[Cow<'_, str>]) -> String {
    let blocks = skills.iter().zip(contents).map(|(skill, content)| {
        let (name, content) = (escape::xml_line(&skill.name), escape::xml(content.trim()));
        format!("<skill>\n<name>{name}</name>\n<content>\n{content}\n</content>\n</skill>")
    });
    blocks.collect::<Vec<_>>().join("\n")
}
