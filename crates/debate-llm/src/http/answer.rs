//! An answer as far as it has arrived.

use std::collections::BTreeMap;

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
    pub(crate) usage: Usage,
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
    /// The place of each tool call by the number that the protocol gives it: a reply may have very many.
    call_places: BTreeMap<u64, usize>,
    last_call: Option<u64>,
}

impl Answer {
    /// Adds to the text and tells it.
    pub(crate) fn say(&mut self, text: &str, chunks: &mut dyn ChunkSink) {
        if !text.is_empty() {
            self.text.push_str(text);
            chunks.push(text);
        }
    }

    /// Takes the provider's word for how the answer ended, and what it means; an empty word says nothing.
    pub(crate) fn end(&mut self, word: &str, meaning: impl FnOnce(&str) -> Ending) {
        if !word.is_empty() {
            self.ending = Some(meaning(word));
            self.stop_reason = Some(word.chars().take(STOP_REASON_CHARS_MAX).collect());
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

    /// Takes what has been used so far. What was written is known at the end of the answer alone: what was counted before may
    /// be less than what is charged for, though nothing more of the answer comes.
    pub(crate) fn count(&mut self, usage: Usage) {
        self.usage =
            if self.is_complete() { usage } else { Usage { output: None, reasoning: None, ..usage } };
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

    /// Returns the tool call of this number, if it has begun.
    pub(crate) fn begun_call(&mut self, number: u64) -> Option<&mut ToolCall> {
        self.tool_calls.get_mut(*self.call_places.get(&number)?)
    }

    /// Returns the number of the last tool call.
    pub(crate) fn last_call_number(&self) -> Option<u64> {
        self.last_call
    }

    /// Says whether what has arrived is an answer.
    ///
    /// # Errors
    /// `Refused`, or `Truncated` when neither an end mark nor a reason for the end has come.
    pub(super) fn judge(&mut self) -> Result<(), ModelError> {
        if !self.refusal.is_empty() {
            return Err(ModelError::told(ModelErrorKind::Refused, &self.refusal));
        }
        if !self.is_complete() {
            return Err(ModelError::new(ModelErrorKind::Truncated, "the stream ended before the answer"));
        }
        if self.text.is_empty() && self.ending == Some(Ending::Refused) {
            return Err(ModelError::new(ModelErrorKind::Refused, "the provider's filter stopped the answer"));
        }
        self.ending.get_or_insert(Ending::Unknown);
        Ok(())
    }
}
