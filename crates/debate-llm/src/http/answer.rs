//! An answer as far as it has arrived.

use std::collections::BTreeMap;

use serde_json::Value;

use super::decode::clip;
use super::ending::ending_of;
use crate::web_source::WebSources;
use crate::{ChunkSink, Ending, ModelError, ModelErrorKind, ToolCall, Usage};

/// The longest word of a provider for how an answer ended that is kept, in characters.
const STOP_REASON_CHARS_MAX: usize = 64;

/// What the events of a stream, or a whole body, have said so far.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) web_sources: WebSources,
    /// The last counts; [`Answer::used`] is what they are worth.
    pub(crate) usage: Usage,
    /// Whether they were given at the end of the answer.
    has_last_count: bool,
    /// How it ended, once a reason came.
    pub(crate) ending: Option<Ending>,
    /// The provider's word for it.
    pub(crate) stop_reason: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    /// Why the model declines, where the protocol says it apart from the answer.
    pub(crate) refusal: String,
    /// Whether the protocol's end mark has come.
    pub(crate) is_done: bool,
    /// What a provider that paused the turn wants to read again.
    pub(crate) to_continue: Vec<Value>,
    /// How often something of the answer came: text, thoughts or a piece of a tool call.
    pub(crate) pieces: u64,
    /// The place of each tool call by the number that the protocol gives it: a reply may have very many.
    call_places: BTreeMap<u64, usize>,
    last_call: Option<u64>,
}

impl Answer {
    /// Adds to the text and tells it.
    pub(crate) fn say(&mut self, text: &str, chunks: &mut dyn ChunkSink) {
        if !text.is_empty() {
            self.go_on();
            self.text.push_str(text);
            chunks.push(text);
        }
    }

    /// Adds to the thoughts; they are not of the answer, so a reason for its end that came before stays.
    pub(crate) fn think(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces += 1;
            self.reasoning.push_str(text);
        }
    }

    /// Adds to what the model says as it declines.
    pub(crate) fn decline(&mut self, text: &str) {
        if !text.is_empty() {
            self.go_on();
            self.refusal.push_str(text);
        }
    }

    /// Notes that more of the answer comes: a reason for its end that came before was none (rule K18).
    pub(crate) fn go_on(&mut self) {
        self.pieces += 1;
        self.ending = None;
        self.stop_reason = None;
        self.has_last_count = false;
    }

    /// Takes the provider's word for how the answer ended; an empty word says nothing. Not every provider has
    /// one for tools.
    pub(crate) fn end(&mut self, word: &str) {
        let word = word.trim();
        if !word.is_empty() {
            let asks = self.tool_calls.iter().any(|call| !call.by_provider);
            self.ending = Some(match ending_of(word) {
                Ending::Complete if asks => Ending::ToolCalls,
                ending => ending,
            });
            self.stop_reason = Some(clip(word, STOP_REASON_CHARS_MAX).to_owned());
        }
    }

    /// Ends the answer within its text; what was used is not known then.
    pub(super) fn cut(&mut self) {
        self.ending = Some(Ending::CutInText);
        self.usage = Usage::default();
        self.is_done = true;
    }

    /// Returns whether the answer is whole, though its stream may go on.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_done || self.ending.is_some()
    }

    /// Returns whether something of an answer has come.
    pub(super) fn has_begun(&self) -> bool {
        self.pieces > 0 || self.is_complete()
    }

    /// Takes what has been used so far; a count that is 0 or left out takes back none that was given before.
    pub(crate) fn count(&mut self, usage: Usage) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| {
            *old = new.filter(|tokens| *tokens > 0).or(*old).or(new);
        };
        newer(&mut self.usage.input, usage.input);
        newer(&mut self.usage.output, usage.output);
        newer(&mut self.usage.cached, usage.cached);
        newer(&mut self.usage.cache_written, usage.cache_written);
        newer(&mut self.usage.reasoning, usage.reasoning);
        self.has_last_count = self.is_complete();
    }

    /// Returns the usage that is known (rule K3). The number of tokens written is known only at the end of
    /// the answer: an earlier count may be less than what is charged for. A 0 for something that is there,
    /// as a prompt always is, means that the provider did not count.
    pub(super) fn used(&self) -> Usage {
        let Usage { input, output, reasoning, .. } = self.usage;
        let counted = |tokens: Option<u64>, is_there: bool| tokens.filter(|tokens| *tokens > 0 || !is_there);
        let is_written = !self.text.is_empty() || !self.reasoning.is_empty() || !self.tool_calls.is_empty();
        Usage {
            input: counted(input, true),
            output: counted(output, is_written).filter(|_| self.has_last_count),
            reasoning: counted(reasoning, !self.reasoning.is_empty()).filter(|_| self.has_last_count),
            ..self.usage
        }
    }

    /// Adds a whole tool call.
    pub(crate) fn add_call(&mut self, call: ToolCall) {
        *self.call(self.tool_calls.len() as u64) = call;
    }

    /// Returns the tool call that the protocol gives this number, a new one the first time.
    pub(crate) fn call(&mut self, number: u64) -> &mut ToolCall {
        let Self { tool_calls, call_places, last_call, .. } = self;
        let at = *call_places.entry(number).or_insert_with(|| {
            *last_call = Some(number);
            tool_calls.push(ToolCall::new("", "", ""));
            tool_calls.len() - 1
        });
        &mut tool_calls[at]
    }

    /// Returns whether the tool call of this number has begun.
    pub(crate) fn has_call(&self, number: u64) -> bool {
        self.call_places.contains_key(&number)
    }

    /// Returns the number of the last tool call.
    pub(crate) fn last_call_number(&self) -> Option<u64> {
        self.last_call
    }

    /// Adds the part of the answer that came after a pause.
    pub(super) fn join(&mut self, after: Self) {
        self.usage = self.usage.and(after.usage);
        self.text.push_str(&after.text);
        self.reasoning.push_str(&after.reasoning);
        self.tool_calls.extend(after.tool_calls);
        self.web_sources.extend(after.web_sources);
        self.to_continue.extend(after.to_continue);
        (self.ending, self.stop_reason) = (after.ending, after.stop_reason);
    }

    /// Ends the answer, and says whether it is one: it ended for a reason that is known and good, or reached
    /// its limit.
    ///
    /// # Errors
    /// `Refused`; `StreamError` where the provider broke it off; `Truncated` where it gave no reason, or one
    /// that is not known.
    pub(super) fn judge(&mut self) -> Result<(), ModelError> {
        self.usage = self.used();
        let failed = |kind, ending, message: &str| {
            Err(ModelError { ending: Some(ending), ..ModelError::with_message(kind, message) })
        };
        if !self.refusal.is_empty() {
            return failed(ModelErrorKind::Refused, Ending::Refused, &self.refusal);
        }
        if !self.is_complete() {
            return Err(ModelError::new(ModelErrorKind::Truncated, "the stream ended before the answer"));
        }
        let word = self.stop_reason.as_deref().unwrap_or_default();
        match self.ending {
            Some(Ending::Refused) if self.text.is_empty() => {
                let message = "the provider's filter stopped the answer";
                failed(ModelErrorKind::Refused, Ending::Refused, message)
            }
            Some(Ending::Failed) => {
                let message = format!("the provider broke off the answer and says {word:?}");
                failed(ModelErrorKind::StreamError, Ending::Failed, &message)
            }
            Some(Ending::Unknown) => {
                let message = format!("the answer ended for a reason that is not known: {word:?}");
                failed(ModelErrorKind::Truncated, Ending::Unknown, &message)
            }
            None => {
                let message = "the provider gives no reason for the end of the answer";
                failed(ModelErrorKind::Truncated, Ending::Unknown, message)
            }
            Some(ending @ (Ending::CutInText | Ending::CutInThinking)) => {
                self.ending = Some(if self.is_thought_alone() { Ending::CutInThinking } else { ending });
                Ok(())
            }
            Some(Ending::Complete | Ending::ToolCalls | Ending::Refused | Ending::Paused) => Ok(()),
        }
    }

    /// Returns whether nothing but thoughts came, also where a server does not part them from the text.
    fn is_thought_alone(&self) -> bool {
        let text = self.text.trim_start();
        let is_open = text.starts_with("<think>") && !text.contains("</think>");
        self.tool_calls.is_empty() && (text.is_empty() || is_open)
    }
}
