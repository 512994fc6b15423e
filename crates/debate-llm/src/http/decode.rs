//! From the bytes of a response to an answer, streamed or whole, wherever the bytes are split.

use std::borrow::Cow;
use std::mem;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::answer::Answer;
use super::sse::EventData;
use crate::{ChunkSink, Ending, ModelError, ModelErrorKind};

/// The longest name of a model, a request, a tool or its call that is kept, in characters.
const NAME_CHARS_MAX: usize = 256;

/// Reads the JSON of one protocol into an answer; keeps what it needs from event to event.
pub(crate) trait Events: Send {
    /// Takes the data of one event of a stream.
    ///
    /// # Errors
    /// `Malformed`, or what an error event says.
    fn event(
        &mut self,
        data: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError>;

    /// Takes a response that is one JSON body, and ends the answer.
    ///
    /// # Errors
    /// `Malformed`, or what the body says.
    fn whole(
        &mut self,
        body: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError>;
}

/// Reads one response body; never more than its limit of bytes.
pub(super) struct Decoder {
    events: Box<dyn Events>,
    shape: Shape,
    answer: Answer,
    has_events: bool,
    bytes: usize,
    bytes_max: usize,
    text_bytes_max: usize,
}

/// What the body turned out to be; its first byte tells.
enum Shape {
    Unknown,
    Events(EventData),
    Whole(Vec<u8>),
}

impl Decoder {
    /// Makes a decoder that reads at most `bytes_max` bytes.
    pub(super) fn new(events: Box<dyn Events>, bytes_max: usize) -> Self {
        let answer = Answer::default();
        Self {
            events,
            shape: Shape::Unknown,
            answer,
            has_events: false,
            bytes: 0,
            bytes_max,
            text_bytes_max: usize::MAX,
        }
    }

    /// Ends the answer, as one that was cut, once its text is longer than `bytes`.
    pub(super) fn bound_text(&mut self, bytes: usize) {
        self.text_bytes_max = bytes;
    }

    /// Takes the next bytes; tells `chunks` the text in them.
    ///
    /// # Errors
    /// `TooLarge`, `Malformed`, or what an error event says.
    pub(super) fn push(&mut self, bytes: &[u8], chunks: &mut dyn ChunkSink) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.bytes_max {
            let message = format!("the response is longer than {} bytes", self.bytes_max);
            return Err(ModelError::new(ModelErrorKind::TooLarge, &message));
        }
        if let Shape::Unknown = self.shape {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[' | b'"') => self.shape = Shape::Whole(Vec::new()),
                Some(b'<') => return Err(malformed("the response is markup, not JSON")),
                Some(_) => self.shape = Shape::Events(EventData::default()),
            }
        }
        let Self { events, shape, answer, has_events, .. } = self;
        match shape {
            Shape::Unknown => {}
            Shape::Whole(body) => body.extend_from_slice(bytes),
            Shape::Events(data) => {
                data.push(bytes, &mut |data| one(&mut **events, data, answer, has_events, chunks))?;
            }
        }
        if self.answer.text.len() > self.text_bytes_max && !self.is_complete() {
            self.answer.cut();
        }
        Ok(())
    }

    /// Returns whether the end mark of the stream has come.
    pub(super) fn is_done(&self) -> bool {
        self.answer.is_done
    }

    /// Returns whether the answer is whole, though the stream may go on with its usage.
    pub(super) fn is_complete(&self) -> bool {
        self.answer.is_complete()
    }

    /// Returns how much of an answer has come, in a number that grows: comments, empty events and blanks are
    /// nothing of it.
    pub(super) fn progress(&self) -> u64 {
        match &self.shape {
            Shape::Unknown | Shape::Events(_) => self.answer.pieces,
            Shape::Whole(body) => body.len() as u64,
        }
    }

    /// Completes an error with what had arrived before it: text, usage, and how the answer ended.
    pub(super) fn fail(&mut self, error: ModelError) -> ModelError {
        let answer = mem::take(&mut self.answer);
        let had_begun = answer.has_begun().then_some(match error.kind {
            ModelErrorKind::Truncated | ModelErrorKind::Timeout(_) | ModelErrorKind::TooLarge => {
                Ending::Unknown
            }
            _ => Ending::Failed,
        });
        ModelError {
            usage: Box::new(answer.used()),
            text: if error.text.is_empty() { answer.text.into() } else { error.text },
            ending: error.ending.or(had_begun),
            stop_reason: answer.stop_reason.map(Into::into),
            ..error
        }
    }

    /// Ends the body.
    ///
    /// # Errors
    /// `Truncated` when the stream ended before the answer, `Malformed` when there was none, and what the
    /// answer's end says.
    pub(super) fn finish(&mut self, chunks: &mut dyn ChunkSink) -> Result<Answer, ModelError> {
        let Self { events, shape, answer, has_events, .. } = self;
        match shape {
            Shape::Unknown => return Err(malformed("the response is empty")),
            Shape::Whole(body) => events.whole(body, answer, chunks)?,
            Shape::Events(data) => {
                let mut last_is_cut = false;
                data.finish(&mut |data| match one(&mut **events, data, answer, has_events, chunks) {
                    Err(error) if error.kind == ModelErrorKind::Malformed => {
                        last_is_cut = true;
                        Ok(())
                    }
                    other => other,
                })?;
                if !*has_events && !last_is_cut {
                    return Err(malformed("the response holds no events"));
                }
            }
        }
        answer.judge()?;
        for name in answer.tool_calls.iter_mut().flat_map(|call| [&mut call.id, &mut call.name]) {
            name.truncate(clip(name, NAME_CHARS_MAX).len());
        }
        Ok(mem::take(answer))
    }
}

/// Takes one event; what comes after the end mark is left alone.
fn one(
    events: &mut dyn Events,
    data: &[u8],
    answer: &mut Answer,
    has_events: &mut bool,
    chunks: &mut dyn ChunkSink,
) -> Result<(), ModelError> {
    let data = data.trim_ascii();
    if data.is_empty() || answer.is_done {
        return Ok(());
    }
    events.event(data, answer, chunks)?;
    *has_events = true;
    Ok(())
}

/// Reads JSON of a protocol; unknown fields are left alone.
///
/// # Errors
/// `Malformed`.
pub(crate) fn read_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ModelError> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => malformed("the JSON has not the shape of the protocol"),
        serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof
        | serde_json::error::Category::Io => malformed("the response is not JSON"),
    })
}

/// Reads a text; null and whatever else is none is empty.
///
/// # Errors
/// None of its own.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrOther<'a> {
        Text(#[serde(borrow)] Cow<'a, str>),
        Other(IgnoredAny),
    }
    Ok(match TextOrOther::deserialize(deserializer)? {
        TextOrOther::Text(text) => text,
        TextOrOther::Other(_) => Cow::Borrowed(""),
    })
}

/// Keeps the first name that says something, as far as names are kept.
pub(crate) fn keep(kept: &mut Option<String>, name: &str) {
    if kept.is_none() && !name.is_empty() {
        *kept = Some(clip(name, NAME_CHARS_MAX).to_owned());
    }
}

/// Returns the name of something as far as names are kept.
pub(super) fn clip_name(name: &str) -> &str {
    clip(name, NAME_CHARS_MAX)
}

/// Returns the beginning of a text, at most so many characters.
pub(super) fn clip(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(end, _)| &text[..end])
}

/// Says that a response is not what the protocol says.
pub(crate) fn malformed(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}
