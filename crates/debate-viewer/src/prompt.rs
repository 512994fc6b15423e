//! The prompt of one request, rendered again from the log and compared with the digest that the log keeps.

use std::sync::Arc;

use debate_core::event::PromptRef;
use debate_core::id::Seq;
use debate_engine::{Engine, Finding, SentPrompt, SentPromptError};
use serde::Serialize;
use serde_json::Value;

use crate::log::Log;

/// The prompt of a request as pages and programs are shown it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptShown {
    /// The event that began the request.
    pub seq: u64,
    /// What the log says of the prompt.
    pub sent: PromptRef,
    /// Whether what is rendered now is what was sent, to the byte.
    pub agrees: bool,
    /// How the two compare, by name.
    pub finding: &'static str,
    /// The same as a sentence.
    #[serde(rename = "told")]
    pub summary: String,
    /// What is rendered now; null where nothing is.
    pub rendered: Option<Rendered>,
}

/// A prompt with its words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rendered {
    /// The template's name and version.
    pub version: &'static str,
    /// What was said to the model, in order.
    pub messages: Vec<Spoken>,
    /// The JSON schema that a reply must have; null for free text.
    pub reply_schema: Option<Arc<Value>>,
    /// The most tokens of the reply.
    pub output_tokens_max: u32,
    /// Whether the provider's own web search may be used.
    pub web_search: bool,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// `system`, `user` or `assistant`.
    pub speaker: &'static str,
    /// The words.
    pub text: Arc<str>,
}

impl PromptShown {
    /// Renders the prompt of the request that the event `seq` of a debate's own log began.
    ///
    /// # Errors
    /// The event begins no request, or the debate's format is not served by this engine.
    pub fn of(engine: &Engine, log: &Log, seq: Seq) -> Result<Self, SentPromptError> {
        let SentPrompt { sent, finding, rendered } = engine.sent_prompt(log.until(seq))?;
        let rendered = rendered.map(|prompt| Rendered {
            version: prompt.version,
            messages: prompt
                .messages
                .into_iter()
                .map(|message| Spoken { speaker: message.speaker.as_str(), text: message.text })
                .collect(),
            reply_schema: prompt.shape.map(|shape| shape.schema),
            output_tokens_max: prompt.output_tokens_max,
            web_search: prompt.web_search,
        });
        let (agrees, name, summary) = (finding == Finding::Agrees, finding.as_str(), finding.to_string());
        Ok(Self { seq: seq.0, sent, agrees, finding: name, summary, rendered })
    }
}
