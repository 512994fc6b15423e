//! The words of a probe: prompts of a few lines, replies of one JSON object.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::event::ToolUse;
use debate_prompts::prompts::{
    Message, ParseError, Prompt, Prompts, PublicPart, Reading, RenderError, ReplyShape, Speaker,
};
use debate_prompts::room::Room;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::visible::Visible;
use super::{Answer, Probe};

/// The template's name and version.
const VERSION: &str = "probe@1";

/// The most tokens of a reply.
const OUTPUT_TOKENS_MAX: u32 = 120;

/// The line that says that tools may be used.
pub(super) const TOOLS_LINE: &str = "Tools: lookup, count.";

static SCHEMA: LazyLock<Arc<serde_json::Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": { "value": { "type": "integer" }, "text": { "type": "string" } },
    }))
});

/// A reply as the model writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reply {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolAsk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<u32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
}

/// A tool that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolAsk {
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// The words of a probe as [`Prompts`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ProbePrompts;

impl Prompts for ProbePrompts {
    type Format = Probe;

    fn render_within(
        &self,
        visible: &Visible,
        _want: &Want,
        turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        let redacted = RenderError::Redacted { version: VERSION };
        let brief = visible.brief.shown().ok_or(redacted)?;
        let mut text = format!("Topic: {}\nQuestion: {}\n", brief.topic, visible.call);
        for seen in &visible.seen {
            let words = seen.text.as_deref().unwrap_or("[redacted]");
            writeln!(text, "{} = {}: {words}", seen.call, seen.value).expect("a string takes all text");
        }
        if let Some(reason) = visible.rejection.shown() {
            writeln!(text, "Asked again: {reason}").expect("a string takes all text");
        }
        if visible.has_tools {
            text.push_str(TOOLS_LINE);
        }
        let message = |speaker, text: String| Message { speaker, text: text.into() };
        let mut messages =
            vec![message(Speaker::System, "You are probed.".to_owned()), message(Speaker::User, text)];
        for turn in turns {
            let said = turn.prose.shown().map(|prose| prose.reply.text.clone()).unwrap_or_default();
            let results = turn.tools.iter().map(|tool| {
                let result = tool.result.shown().map_or("", String::as_str);
                format!("{} ({}): {result}", tool.tool, tool.answered.unwrap_or(false))
            });
            let results: Vec<String> = results.collect();
            messages.push(message(Speaker::Assistant, said));
            messages.push(message(Speaker::User, results.join("\n")));
        }
        let bytes: usize = messages.iter().map(|message| message.text.len()).sum();
        let tokens = u32::try_from(bytes).unwrap_or(u32::MAX);
        let budget = room.input(tokens);
        if tokens > budget {
            return Err(RenderError::OverBudget { version: VERSION, tokens, budget });
        }
        Ok(Prompt {
            version: VERSION,
            messages,
            shape: Some(ReplyShape { name: "probe", schema: Arc::clone(&SCHEMA) }),
            output_tokens_max: room.output(OUTPUT_TOKENS_MAX),
            tokens,
            omitted: Vec::new(),
            public: PublicPart::Field("text"),
            web_search: false,
            web_searches_max: None,
        })
    }

    fn parse(
        &self,
        visible: &Visible,
        _want: &Want,
        reply: debate_prompts::prompts::Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        let text = reply.text;
        let reply: Reply =
            serde_json::from_str(text).map_err(|error| ParseError { why: error.to_string() })?;
        if visible.has_tools && !reply.tools.is_empty() {
            let asked = reply.tools.into_iter().enumerate().map(|(index, asked)| {
                (ToolUse { tool: asked.tool, id: format!("use_{index}") }, asked.arguments)
            });
            return Ok(Reading::Tools(asked.collect()));
        }
        let value = reply.value.ok_or_else(|| ParseError { why: "there is no value".to_owned() })?;
        Ok(Reading::Answer { answer: Answer { value, text: reply.text }, repairs: Vec::new() })
    }
}
