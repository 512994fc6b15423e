//! What the events of a response, or a whole one, say.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::http::{Answer, Events, error_event, keep, malformed, read_json, text};
use crate::openai::CODES;
use crate::{ChunkSink, ModelError, ToolCall, Usage};

/// Reads the items of a response.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// The messages of which pieces have come; of the others the whole is taken.
    streamed: Vec<u64>,
}

impl Events for Items {
    fn event(
        &mut self,
        data: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        if data == b"[DONE]" {
            answer.is_done = true;
            return Ok(());
        }
        let event: Event<'_> = read_json(data)?;
        match &*event.kind {
            "response.output_text.delta" => {
                let index = event.output_index.unwrap_or(0);
                if self.streamed.last() != Some(&index) {
                    self.streamed.push(index);
                }
                answer.say(&event.delta, chunks);
            }
            "response.refusal.delta" => answer.decline(&event.delta),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                answer.think(&event.delta);
            }
            "response.output_item.done" => {
                let is_streamed = self.streamed.contains(&event.output_index.unwrap_or(0));
                let item = event.item.ok_or_else(|| malformed("an event has no item"))?;
                take_item(item, answer, is_streamed, chunks)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let response = event.response.ok_or_else(|| malformed("an event has no response"))?;
                response.end(answer, event.kind.trim_start_matches("response."))?;
            }
            // The model writes a call or the provider searches: nothing to take yet, and no silence.
            "response.function_call_arguments.delta" => answer.pieces += 1,
            kind if kind.starts_with("response.web_search_call.") => answer.pieces += 1,
            "error" => return Err(error_event(&error_of(data)?, CODES)),
            // What an item looks like before it is done, and what is new.
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
        let mut response: Response<'_> = read_json(body)?;
        response.count(answer);
        response.fail()?;
        let items = response.output.take().ok_or_else(|| malformed("the response holds no output"))?;
        for item in items {
            if let Kind::Reasoning = read_json::<Kinded>(item.get().as_bytes())?.kind {
                let thoughts: Thoughts<'_> = read_json(item.get().as_bytes())?;
                let parts = [thoughts.summary, thoughts.content].into_iter().flatten().flatten();
                parts.for_each(|part| answer.think(&part.text));
            }
            take_item(item, answer, false, chunks)?;
        }
        response.end(answer, "")
    }
}

/// Returns the error of an error event, which some servers wrap.
fn error_of(data: &[u8]) -> Result<Value, ModelError> {
    let mut event: Value = read_json(data)?;
    Ok(match event.get_mut("error") {
        Some(error) if error.is_object() => error.take(),
        Some(_) | None => event,
    })
}

/// One event; which fields it has depends on its type, and unknown ones are left alone.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    output_index: Option<u64>,
    #[serde(borrow, default, deserialize_with = "text")]
    delta: Cow<'a, str>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

/// Takes a whole item; of a message only what has not come in pieces.
fn take_item(
    item: &RawValue,
    answer: &mut Answer,
    is_streamed: bool,
    chunks: &mut dyn ChunkSink,
) -> Result<(), ModelError> {
    let json = item.get().as_bytes();
    match read_json::<Kinded>(json)?.kind {
        Kind::Message => {
            let message: Message<'_> = read_json(json)?;
            for part in message.content.iter().flatten() {
                part.annotations.iter().flatten().for_each(|annotation| annotation.tell(&part.text, answer));
                match &*part.kind {
                    _ if is_streamed => {}
                    "output_text" | "text" | "output" => answer.say(&part.text, chunks),
                    "refusal" if answer.refusal.is_empty() => answer.decline(&part.refusal),
                    _ => {}
                }
            }
        }
        Kind::FunctionCall => {
            let call: FunctionCall<'_> = read_json(json)?;
            answer.go_on();
            answer.add_call(ToolCall::new(call.call_id, call.name, call.arguments));
        }
        Kind::WebSearchCall => {
            let search: Search<'_> = read_json(json)?;
            answer.go_on();
            let call = ToolCall::new(search.id, "web_search", search.action.map_or("{}", RawValue::get));
            answer.add_call(ToolCall { by_provider: true, ..call });
        }
        // Thoughts come in pieces; of the provider's other tools none is asked for.
        Kind::Reasoning | Kind::Other => {}
    }
    Ok(())
}

/// What an item is; what else it holds depends on it.
#[derive(Deserialize)]
struct Kinded {
    #[serde(rename = "type")]
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Message,
    FunctionCall,
    WebSearchCall,
    Reasoning,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Thoughts<'a> {
    #[serde(borrow)]
    summary: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    content: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "text")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    refusal: Cow<'a, str>,
    annotations: Option<Vec<Annotation>>,
}

/// A place of a text that cites something; pages of the web have an address.
#[derive(Deserialize)]
struct Annotation {
    url: Option<String>,
    title: Option<String>,
    start_index: Option<usize>,
    end_index: Option<usize>,
}

impl Annotation {
    /// Tells of the page; places are counted in characters.
    fn tell(&self, text: &str, answer: &mut Answer) {
        let Some(url) = &self.url else { return };
        let marked = self
            .start_index
            .zip(self.end_index)
            .map(|(start, end)| text.chars().skip(start).take(end.saturating_sub(start)).collect::<String>());
        answer.web_sources.add(url, self.title.as_deref(), marked.as_deref());
    }
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    call_id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    name: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Search<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    model: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    status: Cow<'a, str>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    usage: Option<Tokens>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Response<'_> {
    /// Takes the usage of the whole response; a failed response reports it too.
    fn count(&self, answer: &mut Answer) {
        if let Some(usage) = &self.usage {
            answer.is_done = true;
            answer.count(Usage {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cached: usage.input_tokens_details.as_ref().and_then(|details| details.cached_tokens),
                cache_written: None,
                reasoning: usage.output_tokens_details.as_ref().and_then(|details| details.reasoning_tokens),
            });
        }
    }

    fn fail(&self) -> Result<(), ModelError> {
        match self.error.as_ref().filter(|error| !error.is_null()) {
            Some(error) => Err(error_event(error, CODES)),
            None => Ok(()),
        }
    }

    /// Ends the answer with what the whole response says. `event_status` applies if it has no status.
    fn end(self, answer: &mut Answer, event_status: &str) -> Result<(), ModelError> {
        self.count(answer);
        answer.is_done = true;
        let status = if self.status.is_empty() { event_status } else { &*self.status };
        let why = self.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
        answer.end(why.filter(|_| status != "completed").unwrap_or(status));
        self.fail()?;
        keep(&mut answer.model, &self.model);
        keep(&mut answer.id, &self.id);
        Ok(())
    }
}
