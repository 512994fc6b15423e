//! What the events of a message, or a whole one, say.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::CODES;
use super::received::Received;
use crate::http::{Answer, Events, error_event, keep, malformed, read_json, text};
use crate::{ChunkSink, Ending, ModelError, Usage};

/// Reads the blocks of a message.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    tokens: Tokens,
    has_blocks: bool,
    /// The number of the last block that began; it counts for what has no number of its own.
    last: u64,
    /// The input with which a tool call began; it counts when no pieces follow.
    first_input: Option<(u64, String)>,
    /// The blocks as they came, for a provider that pauses the turn.
    received: Received,
}

impl Events for Blocks {
    fn event(
        &mut self,
        data: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let event: Event<'_> = read_json(data)?;
        if let Some(error) = event.error.filter(|error| !error.is_null()) {
            return Err(error_event(&error, CODES));
        }
        match &*event.kind {
            // A gateway that tried again on its own began a second answer within the first; a start that is
            // merely repeated does no harm.
            "message_start" if self.has_blocks => {
                return Err(malformed("a second message began within the first"));
            }
            "message_start" => {
                let mut message = event.message.unwrap_or_default();
                if !message.stop_reason.is_empty() {
                    return self.whole_message(message, answer, chunks);
                }
                // What it says of the output is where the count begins.
                message.usage = message.usage.map(|usage| Tokens { output_tokens: None, ..usage });
                self.begin(message, answer);
            }
            "content_block_start" => {
                let json = event.content_block.map_or("{}", RawValue::get).as_bytes();
                let block = read_json(json)?;
                self.last = event.index.unwrap_or(self.last + u64::from(self.has_blocks));
                self.received.begin(read_json(json)?);
                self.block(self.last, &block, answer, chunks);
            }
            "content_block_delta" => {
                let delta = event.delta.unwrap_or_default();
                self.received.add(&delta);
                take_delta(event.index.unwrap_or(self.last), &delta, answer, chunks);
            }
            "content_block_stop" => self.end_block(event.index.unwrap_or(self.last), answer),
            "message_delta" => {
                answer.end(&event.delta.unwrap_or_default().stop_reason);
                self.count(event.usage, answer);
                self.pause(answer);
            }
            "message_stop" => answer.is_done = true,
            "error" => return Err(error_event(&Value::Null, CODES)),
            // New kinds of events may come at any time; ping is one that says nothing.
            _ => {}
        }
        Ok(())
    }

    fn whole(
        &mut self,
        body: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let mut message: Message<'_> = read_json(body)?;
        if let Some(error) = message.error.take().filter(|error| !error.is_null()) {
            return Err(error_event(&error, CODES));
        }
        if message.content.is_none() {
            return Err(malformed("the response holds no content"));
        }
        answer.is_done = true;
        self.whole_message(message, answer, chunks)
    }
}

impl Blocks {
    fn begin(&mut self, message: Message<'_>, answer: &mut Answer) {
        keep(&mut answer.model, &message.model);
        keep(&mut answer.id, &message.id);
        self.count(message.usage, answer);
    }

    /// Takes a message that has all of its content and the reason for its end.
    fn whole_message(
        &mut self,
        mut message: Message<'_>,
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        for (index, json) in (0..).zip(message.content.take().unwrap_or_default()) {
            let block = read_json(json.get().as_bytes())?;
            self.received.begin(read_json(json.get().as_bytes())?);
            self.block(index, &block, answer, chunks);
            self.end_block(index, answer);
        }
        answer.end(&message.stop_reason);
        self.begin(message, answer);
        self.pause(answer);
        Ok(())
    }

    fn count(&mut self, usage: Option<Tokens>, answer: &mut Answer) {
        if let Some(usage) = usage {
            self.tokens.update(usage);
            answer.count(self.tokens.usage());
        }
    }

    /// Hands over the blocks where the provider pauses and wants to read them again.
    fn pause(&mut self, answer: &mut Answer) {
        if answer.ending == Some(Ending::Paused) {
            answer.to_continue = self.received.take();
        }
    }

    /// Takes the beginning of a block, or all of it.
    fn block(&mut self, index: u64, block: &Block<'_>, answer: &mut Answer, chunks: &mut dyn ChunkSink) {
        self.has_blocks = true;
        match &*block.kind {
            "text" => {
                answer.say(&block.text, chunks);
                block.citations.iter().flatten().for_each(|citation| citation.tell(answer));
            }
            // What was found; an error stands there as an object.
            "web_search_tool_result" => {
                answer.go_on();
                let found = block.content.and_then(|content| serde_json::from_str(content.get()).ok());
                let found: Vec<Citation> = found.unwrap_or_default();
                found.iter().for_each(|page| page.tell(answer));
            }
            "thinking" => answer.think(&block.thinking),
            "tool_use" | "server_tool_use" => {
                answer.go_on();
                let call = answer.call(index);
                call.id = block.id.clone().into_owned();
                call.name = block.name.clone().into_owned();
                call.by_provider = block.kind != "tool_use";
                let input = block.input.map_or("{}", RawValue::get);
                self.first_input = Some((index, input.to_owned()));
            }
            // Results of the provider's other tools, hidden thoughts and what is new.
            _ => {}
        }
    }

    fn end_block(&mut self, index: u64, answer: &mut Answer) {
        if let Some((_, input)) = self.first_input.take_if(|(began, _)| *began == index) {
            let call = answer.call(index);
            if call.arguments.is_empty() {
                call.arguments = input;
            }
        }
    }
}

fn take_delta(index: u64, delta: &Delta<'_>, answer: &mut Answer, chunks: &mut dyn ChunkSink) {
    match &*delta.kind {
        "text_delta" => answer.say(&delta.text, chunks),
        "thinking_delta" => answer.think(&delta.thinking),
        // The input of a block that is left out is left out too.
        "input_json_delta" if answer.has_call(index) && !delta.partial_json.is_empty() => {
            answer.go_on();
            answer.call(index).arguments.push_str(&delta.partial_json);
        }
        "citations_delta" => {
            let cited = delta.citation.and_then(|citation| serde_json::from_str(citation.get()).ok());
            if let Some(citation) = cited {
                Citation::tell(&citation, answer);
            }
        }
        // The end of thoughts that are hidden.
        "signature_delta" => answer.pieces += 1,
        // What is new.
        _ => {}
    }
}

/// One event; which fields it has depends on its type, and unknown ones are left alone.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    model: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "text")]
    stop_reason: Cow<'a, str>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "text")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    citations: Option<Vec<Citation>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// A page that was found or is cited; citations of documents have no address.
#[derive(Deserialize)]
struct Citation {
    url: Option<String>,
    title: Option<String>,
    cited_text: Option<String>,
}

impl Citation {
    fn tell(&self, answer: &mut Answer) {
        if let Some(url) = &self.url {
            answer.web_sources.add(url, self.title.as_deref(), self.cited_text.as_deref());
        }
    }
}

/// A piece of a block; or, of the message, why it ended.
#[derive(Deserialize, Default)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) signature: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) partial_json: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "text")]
    stop_reason: Cow<'a, str>,
}

/// Tokens as the provider counts them: what it read from its cache or put there is not among the input.
#[derive(Debug, Deserialize, Default)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Deserialize, Default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl Tokens {
    /// Takes later counts, which are totals; what they leave out stays.
    fn update(&mut self, later: Self) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| {
            *old = new.filter(|tokens| *tokens > 0).or(*old).or(new);
        };
        newer(&mut self.input_tokens, later.input_tokens);
        newer(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        newer(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        newer(&mut self.output_tokens, later.output_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details.take());
    }

    fn usage(&self) -> Usage {
        let cache = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        let add = |sum: u64, tokens: Option<u64>| sum.saturating_add(tokens.unwrap_or(0));
        Usage {
            input: self.input_tokens.map(|fresh| cache.into_iter().fold(fresh, add)),
            output: self.output_tokens,
            cached: self.cache_read_input_tokens,
            cache_written: self.cache_creation_input_tokens,
            reasoning: self.output_tokens_details.as_ref().and_then(|details| details.thinking_tokens),
        }
    }
}
