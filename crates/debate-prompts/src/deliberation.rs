//! The words of a deliberation: the legacy prompts word for word (D3), the history (D5), the skills (D8); replies are
//! free text (D10).
//!
//! The four kinds of call differ in their template alone, so they are one file. What was said comes in the order in
//! which it was said and before the task, so that a later prompt of a phase goes on where an earlier one ended; a
//! provider that keeps the beginnings of prompts reads it once for each speaker. Speakers and phases cannot share more:
//! the legacy words put a phase's heading before the history, and who one is stands before everything.

mod history;
mod skills;

use std::borrow::Cow;
use std::sync::LazyLock;

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::deliberation::answer::Answer;
use debate_core::formats::deliberation::config::{
    CONSENSUS_OUTPUT_TOKENS, CONTRIBUTION_OUTPUT_TOKENS, INPUT_TOKENS, LoadedSkill, Phase,
};
use debate_core::formats::deliberation::visible::{Remark, Visible};
use minijinja::{Environment, context};

use crate::catalog;
use crate::copies;
use crate::fitting::Bounds;
use crate::language;
use crate::prompts::{
    Message, ParseError, Prompt, Prompts, PublicPart, Reading, Received, RenderError, Speaker,
};
use crate::room::Room;
use crate::tags;
use crate::tokens::{self, Section};

/// Contributions are shortened, the oldest first, down to so many tokens each; where a context window is too small even
/// for that, they are left out, the oldest first.
const REMARK_TOKENS_MIN: u32 = 40;
/// Skills are shortened once contributions are at their shortest, down to so many tokens each.
const SKILL_TOKENS_MIN: u32 = 200;

/// What errors call a reply.
const CONTRIBUTION: &str = "contribution";

/// The words of a deliberation.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliberationPrompts;

/// What differs between the kinds of call.
struct Kind {
    version: &'static str,
    template: &'static str,
    output_tokens_max: u32,
    public: PublicPart,
}

fn kind(phase: Phase) -> Kind {
    let (version, template) = match phase {
        Phase::Initial => ("deliberation/initial@3", "initial"),
        Phase::Rebuttal => ("deliberation/rebuttal@3", "rebuttal"),
        Phase::Revised => ("deliberation/revised@3", "revised"),
        Phase::Consensus => ("deliberation/consensus@3", "consensus"),
    };
    let (output_tokens_max, public) = match phase {
        Phase::Initial | Phase::Rebuttal | Phase::Revised => (CONTRIBUTION_OUTPUT_TOKENS, PublicPart::Whole),
        Phase::Consensus => (CONSENSUS_OUTPUT_TOKENS, PublicPart::Nothing),
    };
    Kind { version, template, output_tokens_max, public }
}

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let texts = [
        ("system", catalog::text("deliberation/system@3")),
        ("initial", catalog::text("deliberation/initial@1")),
        ("rebuttal", catalog::text("deliberation/rebuttal@1")),
        ("revised", catalog::text("deliberation/revised@1")),
        ("consensus", catalog::text("deliberation/consensus@1")),
        ("verification", catalog::text("deliberation/verification@1")),
        ("skills", catalog::text("deliberation/skills@1")),
    ];
    for (name, text) in texts {
        templates.add_template(name, text).expect("the templates are fixed and tested");
    }
    templates
});

fn fill(name: &str, values: minijinja::Value) -> Result<String, minijinja::Error> {
    TEMPLATES.get_template(name)?.render(values)
}

impl Prompts for DeliberationPrompts {
    type Format = Deliberation;

    fn render_within(
        &self,
        visible: &Visible,
        _want: &Want,
        _turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        let kind = kind(visible.phase);
        let version = kind.version;
        let gone = || RenderError::Redacted { version };
        let broken = |error: minijinja::Error| RenderError::Template { version, why: error.to_string() };
        let brief = visible.brief.shown().ok_or_else(gone)?;
        let remarks = remarks(&visible.history).ok_or_else(gone)?;
        let skills = skills::given(&brief.skills, &visible.skills);
        let output_tokens_max = room.output(kind.output_tokens_max);
        let system = system(visible, output_tokens_max).map_err(broken)?;
        let may_leave_out = room.input_tokens_max.is_some();
        let user = |texts: &[Cow<'_, str>]| {
            let (said, contents) = texts.split_at(remarks.len());
            let shown = remarks.iter().zip(said).filter(|(_, said)| !may_leave_out || !said.is_empty());
            let shown: Vec<(&str, &str)> =
                shown.map(|(remark, said)| (remark.label.as_str(), said.as_ref())).collect();
            write(visible, kind.template, &brief.topic, &shown, &skills, contents)
        };
        let sections = sections(&remarks, &skills);
        // Render once before fitting, to distinguish a broken template from a prompt that is too long.
        let whole: Vec<Cow<'_, str>> = sections.iter().map(|section| Cow::Borrowed(section.text)).collect();
        user(&whole).map_err(broken)?;
        let bounds = Bounds { version, budget: INPUT_TOKENS, fixed: tokens::count(&system), room };
        let fitted = bounds.fit(sections, |texts| user(texts).unwrap_or_default())?;
        Ok(Prompt {
            version,
            omitted: fitted.omitted,
            messages: vec![
                Message { speaker: Speaker::System, text: system.into() },
                Message { speaker: Speaker::User, text: fitted.text.into() },
            ],
            shape: None,
            output_tokens_max,
            tokens: fitted.tokens,
            public: kind.public,
            web_search: visible.searches_web,
            web_searches_max: None,
        })
    }

    fn parse(
        &self,
        visible: &Visible,
        _want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        let repairs = reply.free_text_repairs()?;
        let said = tags::without_thinking(reply.text).trim().to_owned();
        if said.is_empty() {
            return Err(ParseError { why: "the reply says nothing".to_owned() });
        }
        check_copies(visible, &said)?;
        let answer = match visible.phase {
            Phase::Initial | Phase::Rebuttal | Phase::Revised => Answer::Contribution(said),
            Phase::Consensus => Answer::Consensus(said),
        };
        Ok(Reading::Answer { answer, repairs })
    }
}

/// Returns an error where a contribution copies its own prompt (rule P27).
fn check_copies(visible: &Visible, said: &str) -> Result<(), ParseError> {
    let instructions = instructions(visible).map_err(|error| ParseError { why: error.to_string() })?;
    let instructions: Vec<&str> = instructions.iter().map(String::as_str).collect();
    copies::check_instructions(said, &instructions, &[], CONTRIBUTION)?;
    let shown = visible.history.iter();
    let shown =
        shown.filter_map(|remark| Some((remark.participant == visible.speaker, remark.content.as_deref()?)));
    copies::check_shown(said, shown, || None, CONTRIBUTION)
}

/// Renders the standing instructions to a speaker whose reply has so many tokens at most.
fn system(visible: &Visible, output_tokens_max: u32) -> Result<String, minijinja::Error> {
    let values = context! {
        speaker => visible.speaker.as_str(),
        moderates => visible.phase == Phase::Consensus,
        // Half a word a token leaves room for languages and lists that take more tokens.
        words => (output_tokens_max / 20 * 10).max(10),
        today => visible.as_of.day(),
        language => language::named(visible.language.as_deref(), "the language of the topic"),
    };
    fill("system", values)
}

/// Returns what a prompt says of its own accord: no topic, no contributions, no skills.
fn instructions(visible: &Visible) -> Result<Vec<String>, minijinja::Error> {
    let system = system(visible, kind(visible.phase).output_tokens_max)?;
    let task = fill(kind(visible.phase).template, context! { topic => "", history => "" })?;
    let verification = visible.searches_web.then(|| fill("verification", context! {})).transpose()?;
    Ok([system, task].into_iter().chain(verification).collect())
}

/// A contribution with the label under which it is shown.
struct Labelled<'a> {
    label: String,
    content: &'a str,
}

/// Returns what was said, labelled, oldest first; `None` where some of it was redacted.
fn remarks(history: &[Remark]) -> Option<Vec<Labelled<'_>>> {
    let labelled = history.iter().map(|remark| {
        let label = history::label(remark.phase, &remark.participant);
        Some(Labelled { label, content: remark.content.as_deref()? })
    });
    labelled.collect()
}

/// Returns what may be shortened: contributions, the oldest first, then skills.
fn sections<'a>(remarks: &'a [Labelled<'_>], skills: &[&'a LoadedSkill]) -> Vec<Section<'a>> {
    let age = |place: usize| u8::try_from(place).unwrap_or(u8::MAX - 1).min(u8::MAX - 1);
    let said = remarks.iter().enumerate().map(|(place, remark)| Section {
        name: &remark.label,
        text: remark.content,
        priority: age(place),
        tokens_min: REMARK_TOKENS_MIN,
        tokens_least: 0,
    });
    let given = skills.iter().map(|skill| Section {
        name: &skill.name,
        text: &skill.content,
        priority: u8::MAX,
        tokens_min: SKILL_TOKENS_MIN,
        tokens_least: 0,
    });
    said.chain(given).collect()
}

/// Writes the question with what was said, each behind its label, and the contents of skills at the given lengths.
fn write(
    visible: &Visible,
    template: &str,
    topic: &str,
    remarks: &[(&str, &str)],
    skills: &[&LoadedSkill],
    contents: &[Cow<'_, str>],
) -> Result<String, minijinja::Error> {
    let history = history::format(remarks.iter().copied());
    let mut parts = vec![fill(template, context! { topic => history::quoted(topic), history })?];
    if visible.searches_web {
        parts.push(fill("verification", context! {})?);
    }
    if !skills.is_empty() {
        let values = context! {
            phase => visible.phase.as_str(),
            purpose => skills::purpose(visible.phase),
            discovery_blocks => skills::discovery_blocks(skills),
            activated_contents => skills::activated_contents(skills, contents),
        };
        parts.push(fill("skills", values)?);
    }
    Ok(parts.join("\n\n"))
}

#[cfg(test)]
mod tests;
