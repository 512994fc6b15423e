//! What the model says: made up once for each call of the debate, then the same for everybody.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result};
use debate_llm::{
    ChatModel as _, ChatRequest, Debater, Message, ReplySchema, SimulatedConfig, SimulatedModel, debater,
};
use hyper::body::Bytes;
use peer_harness::{CALLS, Call, NUMBER, numbered};
use serde_json::{Value, json};

use crate::recognise::MARK;

/// One call as it was first asked, and its reply in both forms of the protocol.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The request's body, with the number of no debate.
    pub(crate) request: Value,
    /// The reply as one JSON object.
    pub(crate) whole: Bytes,
    /// The reply as a stream of events.
    pub(crate) stream: Bytes,
}

/// The replies of all calls.
#[derive(Debug)]
pub(crate) struct Replies {
    model: SimulatedModel<Debater>,
    entries: [OnceLock<Entry>; CALLS],
    /// In how many pieces the text of a stream comes.
    pieces: usize,
}

impl Replies {
    /// Knows no reply yet.
    pub(crate) fn new(pieces: usize) -> Self {
        let model = debater(SimulatedConfig { seed: 7, ..SimulatedConfig::default() });
        Self { model, entries: std::array::from_fn(|_| OnceLock::new()), pieces }
    }

    /// Returns the reply to a call, generated from the first request for it.
    ///
    /// # Errors
    ///
    /// When the first request holds no messages or the model has nothing to say to it.
    pub(crate) async fn of(&self, debate: u32, call: Call, body: &[u8]) -> Result<&Entry> {
        let entry = &self.entries[call.place()];
        if let Some(known) = entry.get() {
            return Ok(known);
        }
        let made = self.make(debate, call, body).await?;
        Ok(entry.get_or_init(|| made))
    }

    /// Returns the calls that were asked, by name.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (String, &Entry)> {
        Call::all().filter_map(|call| Some((call.to_string(), self.entries[call.place()].get()?)))
    }

    async fn make(&self, debate: u32, call: Call, body: &[u8]) -> Result<Entry> {
        let text = std::str::from_utf8(body)?.replace(&numbered(debate), NUMBER);
        let request: Value = serde_json::from_str(&text).context("the body is not JSON")?;
        let said = |role: &str| {
            let messages = request["messages"].as_array().into_iter().flatten();
            let mut of_role = messages.filter(|message| message["role"] == role);
            let content = of_role.next().and_then(|message| message["content"].as_str());
            content.map(str::to_owned).with_context(|| format!("there is no message of the {role}"))
        };
        let messages = vec![Message::system(said("system")?), Message::user(said("user")?)];
        let shape = match call {
            Call::Argue(..) => "argument",
            Call::Score(..) => "scores",
            Call::Synthesise => "synthesis",
        };
        let asked = ChatRequest {
            schema: Some(ReplySchema::new(shape, json!({}))),
            ..ChatRequest::new(messages, 4_096, Duration::from_secs(60))
        };
        let reply = self.model.complete(&asked, &mut |_: &str| {}).await?;
        let text = match call {
            Call::Argue(..) => named(&reply.text, call)?,
            Call::Score(..) | Call::Synthesise => reply.text,
        };
        let usage = json!({
            "prompt_tokens": body.len() / 4,
            "completion_tokens": text.len() / 4,
            "total_tokens": body.len() / 4 + text.len() / 4,
        });
        Ok(Entry { request, whole: whole(&text, &usage), stream: stream(&text, &usage, self.pieces) })
    }
}

/// Puts the argument's name at its beginning, so that the prompt shows which argument is scored.
fn named(reply: &str, call: Call) -> Result<String> {
    let mut reply: Value = serde_json::from_str(reply).context("the model's argument is not JSON")?;
    let words = reply["argument"].as_str().context("the model's argument has no words")?;
    let words = words.strip_prefix(MARK).unwrap_or(words);
    let name = call.argument().context("the call makes no argument")?;
    reply["argument"] = Value::from(format!("{MARK}({name}) {words}"));
    Ok(reply.to_string())
}

const ID: &str = "chatcmpl-0";
const MODEL: &str = "loopback";

fn whole(text: &str, usage: &Value) -> Bytes {
    let message = json!({ "role": "assistant", "content": text, "refusal": null });
    let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
    let body = json!({
        "id": ID,
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    });
    Bytes::from(body.to_string())
}

fn stream(text: &str, usage: &Value, pieces: usize) -> Bytes {
    let event = |choices: Value, usage: &Value| {
        let body = json!({
            "id": ID,
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {body}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        event(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), &Value::Null)
    };
    let mut events = delta(json!({ "role": "assistant", "content": "" }), Value::Null);
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(letters.len().div_ceil(pieces.max(1)).max(1)) {
        events.push_str(&delta(json!({ "content": piece.iter().collect::<String>() }), Value::Null));
    }
    events.push_str(&delta(json!({}), json!("stop")));
    events.push_str(&event(json!([]), usage));
    events.push_str("data: [DONE]\n\n");
    Bytes::from(events)
}
