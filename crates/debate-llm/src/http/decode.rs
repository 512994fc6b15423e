//! From the bytes of a response to an answer, streamed or whole, wherever the bytes are split.

use std::mem;

use serde::Deserialize;

use super::answer::Answer;
use super::sse::EventData;
use crate::{ChunkSink, ModelError, ModelErrorKind, Usage};

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

    /// Returns whether the answer has begun: a token of it has come, of a thought or of the text, or a body that is no stream.
    pub(super) fn has_begun(&self) -> bool {
        let Answer { text, reasoning, tool_calls, .. } = &self.answer;
        let is_empty = text.is_empty() && reasoning.is_empty() && tool_calls.is_empty();
        !is_empty || self.is_complete() || matches!(self.shape, Shape::Whole(_))
    }

    /// Returns whether the answer is whole, though the stream may go on with its usage.
    pub(super) fn is_complete(&self) -> bool {
        self.answer.is_complete()
    }

    /// Returns the usage told so far; nothing of it once the answer is given out.
    pub(super) fn usage(&self) -> Usage {
        self.answer.usage
    }

    /// Ends the body.
    ///
    /// # Errors
    /// `Truncated` when the stream ended before the answer; `Malformed` when there was none; `Refused`.
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

/// Keeps the first value that says something.
pub(crate) fn keep(kept: &mut Option<String>, value: Option<&str>) {
    if kept.is_none() {
        *kept = value.filter(|text| !text.is_empty()).map(str::to_owned);
    }
}

/// Says that a response is not what the protocol says.
pub(crate) fn malformed(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}
