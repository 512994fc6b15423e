//! The blocks of a prompt, and how they are fitted into its budget: what is least needed is cut first.

use std::sync::{Arc, LazyLock};

use debate_core::formats::review::config::{Brief, Side};
use debate_core::formats::review::visible::{Heard, Visible};
use minijinja::{Environment, Value};

use crate::fitting::Bounds;
use crate::prompts::{Message, Prompt, PublicPart, RenderError, ReplyShape, Speaker};
use crate::room::Room;
use crate::tokens::{self, Section};
use crate::{catalog, escape, language};

/// The texts, by name and version.
const SOURCES: [&str; 5] =
    ["review/speech_system@3", "review/argue@2", "review/rebut@3", "review/judge_system@3", "review/judge@4"];

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    for name in SOURCES {
        templates.add_template(name, catalog::text(name)).expect("the templates are fixed and tested");
    }
    templates
});

/// Fills a text; values are escaped already, or names.
pub(super) fn fill(version: &'static str, values: Value) -> Result<String, RenderError> {
    let broken = |error: minijinja::Error| RenderError::Template { version, why: error.to_string() };
    TEMPLATES.get_template(version).and_then(|template| template.render(values)).map_err(broken)
}

/// One block of a prompt.
pub(super) struct Block<'a> {
    /// The opening tag without its brackets, escaped.
    tag: String,
    text: &'a str,
    /// The lowest is cut first.
    priority: u8,
    tokens_min: u32,
    /// The fewest tokens of it where a context window is too small even for that.
    tokens_least: u32,
}

/// Blocks that may vanish, the least needed first; then those of which something must stay.
const CONTEXT: (u8, u32, u32) = (1, 0, 0);
const ORIGINAL_PROMPT: (u8, u32, u32) = (2, 0, 0);
const CRITIQUE: (u8, u32, u32) = (3, 0, 0);
const OPERATION: (u8, u32, u32) = (4, 24, 12);
const SPEECH: (u8, u32, u32) = (5, 60, 24);
const TARGET: (u8, u32, u32) = (u8::MAX, u32::MAX, u32::MAX);

impl<'a> Block<'a> {
    fn new(
        tag: impl Into<String>,
        text: &'a str,
        (priority, tokens_min, tokens_least): (u8, u32, u32),
    ) -> Self {
        Self { tag: tag.into(), text, priority, tokens_min, tokens_least }
    }

    /// Shows what a reviewer found.
    pub(super) fn critique(findings: &'a str) -> Self {
        Self::new("your_findings", findings, CRITIQUE)
    }
}

/// Names the language of answers.
pub(super) fn language(visible: &Visible) -> String {
    language::named(visible.language.as_deref(), "the language of the original prompt")
}

/// The texts that a debate is about, ready to be shown.
pub(super) struct Material<'a> {
    brief: &'a Brief,
    target: &'a str,
    ops: [(String, String); 2],
    speeches: Vec<(String, &'a str)>,
}

impl<'a> Material<'a> {
    /// Takes the texts of a call; none where some of them were redacted.
    pub(super) fn of(visible: &'a Visible) -> Option<Self> {
        let (brief, dispute) = (visible.brief.shown()?, visible.dispute()?);
        let op = |side: Side| {
            let operation = dispute.op(side);
            let reviewer = visible.pair.role(side);
            let op = escape::xml_line(&operation.op);
            (format!("operation reviewer=\"{reviewer}\" op=\"{op}\""), operation.value_text())
        };
        let speeches = visible.heard.iter().map(|heard| {
            let reviewer = visible.pair.role(heard.side);
            let tag = format!("speech reviewer=\"{reviewer}\" kind=\"{}\"", heard.speech.as_str());
            Some((tag, heard.prose.shown()?.text.as_str()))
        });
        Some(Self {
            brief,
            target: &dispute.target,
            ops: Side::BOTH.map(op),
            speeches: speeches.collect::<Option<_>>()?,
        })
    }

    /// Returns the blocks; `first` is the side that is shown first, `own` what only one reviewer is shown.
    pub(super) fn blocks<'b>(&'b self, first: Side, own: Option<Block<'b>>) -> Vec<Block<'b>> {
        let mut blocks = vec![
            Block::new("original_prompt", self.brief.original_prompt.as_str(), ORIGINAL_PROMPT),
            Block::new("context", self.brief.context.as_str(), CONTEXT),
            Block::new("conflict_about", self.target, TARGET),
        ];
        for side in [first, first.other()] {
            let (tag, value) = &self.ops[usize::from(side == Side::B)];
            blocks.push(Block::new(tag.as_str(), value, OPERATION));
        }
        blocks.extend(own);
        blocks.extend(self.speeches.iter().map(|(tag, text)| Block::new(tag.as_str(), text, SPEECH)));
        blocks
    }
}

/// Returns the speeches that a prompt may show, each with whether it is the reviewer's own.
pub(super) fn heard(visible: &Visible, own: Option<Side>) -> impl Iterator<Item = (bool, &str)> {
    let shown = move |heard: &'_ Heard| own == Some(heard.side);
    visible.heard.iter().filter_map(move |heard| Some((shown(heard), heard.prose.shown()?.text.as_str())))
}

/// The parts of a prompt other than its blocks.
pub(super) struct Frame {
    pub(super) version: &'static str,
    pub(super) system: String,
    /// What is asked for, behind the blocks.
    pub(super) task: String,
    pub(super) input_tokens_max: u32,
    pub(super) output_tokens_max: u32,
    pub(super) shape: Option<ReplyShape>,
    pub(super) public: PublicPart,
}

impl Frame {
    /// Makes the prompt, its blocks cut as far as they must be in the room that it has.
    pub(super) fn around(self, blocks: &[Block<'_>], room: Room) -> Result<Prompt, RenderError> {
        // Operations are shown even where they have no value.
        let shown: Vec<&Block<'_>> =
            blocks.iter().filter(|block| !block.text.is_empty() || block.tag.contains(' ')).collect();
        let sections: Vec<Section<'_>> = shown
            .iter()
            .map(|block| Section {
                name: block.tag.as_str(),
                text: block.text,
                priority: block.priority,
                tokens_min: block.tokens_min,
                tokens_least: block.tokens_least,
            })
            .collect();
        let bounds = Bounds {
            version: self.version,
            budget: self.input_tokens_max,
            fixed: tokens::count(&self.system),
            room,
        };
        let fitted = bounds.fit(sections, |texts| {
            let written =
                shown.iter().zip(texts).filter(|(block, text)| !text.is_empty() || block.text.is_empty());
            let written = written.map(|(block, text)| write(&block.tag, text));
            written.chain([self.task.clone()]).collect::<Vec<_>>().join("\n")
        })?;
        Ok(Prompt {
            version: self.version,
            omitted: fitted.omitted,
            messages: vec![
                Message { speaker: Speaker::System, text: Arc::from(self.system) },
                Message { speaker: Speaker::User, text: Arc::from(fitted.text) },
            ],
            shape: self.shape,
            output_tokens_max: room.output(self.output_tokens_max),
            tokens: fitted.tokens,
            public: self.public,
            web_search: false,
            web_searches_max: None,
        })
    }
}

fn write(tag: &str, text: &str) -> String {
    let name = tag.split(' ').next().unwrap_or(tag);
    let text = escape::xml(text);
    if text.is_empty() { format!("<{tag}></{name}>") } else { format!("<{tag}>\n{text}\n</{name}>") }
}

#[cfg(test)]
mod tests {
    use super::{SOURCES, catalog};
    use debate_core::id::Digest;

    #[test]
    fn k3_a_changed_text_needs_a_new_version() {
        let digests = [
            "b74040cb893cadbd",
            "1902a9f28a1f3819",
            "9105dba6c9f51825",
            "dc7145cd30492648",
            "0cdcd42a7ef506ba",
        ];
        for (name, digest) in SOURCES.into_iter().zip(digests) {
            let now = Digest::of_text(catalog::text(name)).to_string();
            assert_eq!(&now[..16], digest, "{name} is in logs: give the new text a new version");
        }
    }
}
