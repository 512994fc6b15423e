//! What the parts of a generated content, streamed or whole, say.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::CODES;
use super::growing::{GrowingCall, PartialArg};
use crate::http::{Answer, Events, error_event, keep, malformed, read_json};
use crate::{ChunkSink, ModelError, ToolCall, Usage};

/// Reads candidates, of which one is asked for.
///
/// The protocol has no end mark: the reason for the end is in the last body.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    growing: Option<GrowingCall>,
}

impl Events for Candidates {
    fn event(
        &mut self,
        data: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        self.take(answer, read_json(data)?, chunks)
    }

    fn whole(
        &mut self,
        body: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        // Without server-sent events a stream is a list of what would have been its events.
        let bodies: Vec<Body<'_>> =
            if body.trim_ascii_start().starts_with(b"[") { read_json(body)? } else { vec![read_json(body)?] };
        let mut is_answer = false;
        for body in bodies {
            is_answer |= body.candidates.is_some() || body.prompt_feedback.is_some();
            self.take(answer, body, chunks)?;
        }
        if !is_answer {
            return Err(malformed("the response holds no candidates"));
        }
        answer.is_done = true;
        Ok(())
    }
}

impl Candidates {
    /// Takes what a body says.
    fn take(
        &mut self,
        answer: &mut Answer,
        body: Body<'_>,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        if let Some(error) = body.error.filter(|error| !error.is_null()) {
            return Err(error_event(&error, CODES));
        }
        keep(&mut answer.model, body.model_version.as_deref().unwrap_or_default());
        keep(&mut answer.id, body.response_id.as_deref().unwrap_or_default());
        if let Some(reason) = body.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            answer.refusal = format!("the provider's filter stopped the question: {reason}");
        }
        let mut broken = None;
        for mut candidate in body.candidates.into_iter().flatten() {
            if candidate.index.unwrap_or(0) == 0 {
                broken = broken.or(candidate.error.take().filter(|error| !error.is_null()));
                self.candidate(answer, candidate, chunks)?;
            }
        }
        // Every body counts anew; the one that has the reason for the end counts all.
        if let Some(counts) = body.usage_metadata {
            answer.count(counts.usage());
        }
        broken.map_or(Ok(()), |error| Err(error_event(&error, CODES)))
    }

    fn candidate(
        &mut self,
        answer: &mut Answer,
        candidate: Candidate<'_>,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            match (part.function_call, part.thought) {
                (Some(call), _) => self.call(answer, call, part.thought_signature)?,
                (None, Some(true)) => answer.think(part.text.as_deref().unwrap_or_default()),
                (None, Some(false) | None) => answer.say(part.text.as_deref().unwrap_or_default(), chunks),
            }
        }
        if let Some(metadata) = candidate.grounding_metadata {
            take_searches(answer, &metadata);
            take_sources(answer, &metadata);
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.end_call(answer);
            answer.end(&reason);
        }
        Ok(())
    }

    /// Takes a tool call, or a piece of the one that is growing.
    fn call(
        &mut self,
        answer: &mut Answer,
        function_call: FunctionCall<'_>,
        signature: Option<String>,
    ) -> Result<(), ModelError> {
        if let Some(name) = function_call.name {
            self.end_call(answer);
            let made_up = format!("call-{}", answer.tool_calls.len() + 1);
            let id = function_call.id.filter(|id| !id.is_empty()).unwrap_or(made_up);
            let call = ToolCall::new(id, name, function_call.args.map_or("{}", RawValue::get));
            self.growing = Some(GrowingCall::new(ToolCall { signature: signature.map(Into::into), ..call }));
        }
        answer.go_on();
        let Some(growing) = &mut self.growing else {
            return Err(malformed("a piece of a tool call has no call"));
        };
        for piece in function_call.partial_args.into_iter().flatten() {
            growing.add(piece)?;
        }
        if !function_call.will_continue.unwrap_or(false) {
            self.end_call(answer);
        }
        Ok(())
    }

    fn end_call(&mut self, answer: &mut Answer) {
        if let Some(growing) = self.growing.take() {
            answer.add_call(growing.finish());
        }
    }
}

/// Takes what the provider searched for, which it tells once or, growing, several times.
fn take_searches(answer: &mut Answer, metadata: &Grounding) {
    for query in metadata.web_search_queries.iter().flatten().flatten() {
        let arguments = serde_json::json!({ "query": query }).to_string();
        let is_known = |call: &ToolCall| call.by_provider && call.arguments == arguments;
        if !answer.tool_calls.iter().any(is_known) {
            let id = format!("call-{}", answer.tool_calls.len() + 1);
            let call = ToolCall::new(id, "google_search", arguments);
            answer.add_call(ToolCall { by_provider: true, ..call });
        }
    }
}

/// Takes the pages that the answer rests on, each with the words of the answer that do.
fn take_sources(answer: &mut Answer, metadata: &Grounding) {
    let pages: Vec<Option<&Page>> =
        metadata.grounding_chunks.iter().flatten().map(|chunk| chunk.web.as_ref()).collect();
    let mut tell = |page: &Page, words: Option<&str>| {
        if let Some(uri) = &page.uri {
            answer.web_sources.add(uri, page.title.as_deref(), words);
        }
    };
    pages.iter().flatten().for_each(|page| tell(page, None));
    for support in metadata.grounding_supports.iter().flatten() {
        let words = support.segment.as_ref().and_then(|segment| segment.text.as_deref());
        let meant = support.grounding_chunk_indices.iter().flatten();
        let meant = meant.filter_map(|at| pages.get(*at).copied().flatten());
        meant.for_each(|page| tell(page, words));
    }
}

/// One body; unknown fields are left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Counts>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
    grounding_metadata: Option<Grounding>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<Vec<PartialArg>>,
    will_continue: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grounding {
    web_search_queries: Option<Vec<Option<String>>>,
    grounding_chunks: Option<Vec<Chunk>>,
    grounding_supports: Option<Vec<Support>>,
}

/// What an answer rests on; not every chunk is a page of the web.
#[derive(Deserialize)]
struct Chunk {
    web: Option<Page>,
}

#[derive(Deserialize)]
struct Page {
    uri: Option<String>,
    title: Option<String>,
}

/// Words of the answer with the chunks, by their places, that they rest on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Support {
    segment: Option<Segment>,
    grounding_chunk_indices: Option<Vec<usize>>,
}

#[derive(Deserialize)]
struct Segment {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// Tokens as the provider counts them: thoughts and what its tools read stand apart, zeros are left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl Counts {
    fn usage(&self) -> Usage {
        Usage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            cached: self.cached_content_token_count,
            cache_written: None,
            reasoning: self.thoughts_token_count,
        }
    }
}

/// Adds two counts, of which either may be left out (K3).
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    }
}
