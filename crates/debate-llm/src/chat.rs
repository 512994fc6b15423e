//! The port: what is asked of a chat model and what comes back.
//!
//! Nothing here names a provider, a wire format or a debate.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{CallTime, Effort, Ending, ModelError, Place, ReplySchema, Thinks, WebSource, Window};

/// A chat model that answers one request at a time; it may be shared by many callers.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Returns the name as it is recorded, such as `openai:gpt-5-mini` or `simulated:7`.
    fn name(&self) -> &str;

    /// Returns whether answers are made up by a program, so that results made with them say so.
    fn is_simulated(&self) -> bool;

    /// Returns where it answers (rule K23).
    fn place(&self) -> Place {
        if self.is_simulated() { Place::Simulated } else { Place::Elsewhere }
    }

    /// Answers `request`; `chunks` receives each piece of the answer's text as it arrives.
    ///
    /// The pieces joined are [`ChatReply::text`]. Dropping the future closes the connection and stops the provider's
    /// work as far as the provider allows (K9). Wire retries have ended when this returns (K5).
    ///
    /// # Errors
    /// Any [`ModelError`]. When its `received_any` is set, pieces may have been passed on that are now void.
    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError>;

    /// Opens what a first call would otherwise wait for, such as a connection; what fails shows in that call.
    async fn warm_up(&self) {}

    /// Looks, before the first question, whether the server has the model at all; where that cannot be known it is well.
    ///
    /// # Errors
    /// `UnknownModel`, with names that are like this one.
    async fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns how much fits into a call, where that is known; a server is asked once, and not waited for.
    async fn window(&self) -> Option<Window> {
        None
    }

    /// Returns whether the model thinks before it answers, as far as that is known by now (rule P23).
    fn thinks(&self) -> Thinks {
        if self.is_simulated() { Thinks::No } else { Thinks::Unknown }
    }
}

/// Hears of a request on its way: pieces of its answer's text while it streams; any `FnMut(&str)` is one.
pub trait ChunkSink: Send {
    /// Takes the next piece; never blocks.
    fn push(&mut self, delta: &str);

    /// Hears that the request waits: for its turn, for a provider at its limits, for an absent server; never blocks.
    fn waits(&mut self) {}

    /// Hears that a request that waited leaves now, if not for the first time; never blocks.
    fn leaves(&mut self) {}
}

impl<F: FnMut(&str) + Send> ChunkSink for F {
    fn push(&mut self, delta: &str) {
        self(delta);
    }
}

/// One question to a chat model; made by [`ChatRequest::new`], then changed field by field.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The shape the answer must have, when it must be JSON.
    pub schema: Option<ReplySchema>,
    /// The most tokens of the visible answer; what is sent is this and [`ChatRequest::thinking_tokens`].
    pub max_output_tokens: u32,
    /// Head-room for thinking on top of the visible answer, where the provider counts both against one limit (rule P23).
    pub thinking_tokens: u32,
    /// How much the model is to think; the provider's default when absent.
    pub effort: Option<Effort>,
    /// The sampling temperature; the provider's default when absent.
    pub temperature: Option<f64>,
    /// The sampling seed; providers may ignore it.
    pub seed: Option<u64>,
    /// The tools that the model may ask for; it is the caller who runs them.
    pub tools: Vec<ToolSpec>,
    /// Whether the model may use its provider's own web search (D9); ignored where there is none.
    pub web_search: bool,
    /// How often it may search for this answer; the provider's own choice when absent, and where it takes no bound.
    pub web_searches_max: Option<u32>,
    /// The time for the call.
    pub time: CallTime,
    /// Whether an absent server and an open circuit are waited for (rule K22); not where another model stands in.
    pub waits_for_server: bool,
    /// An upper bound of the tokens in it, where the caller has counted them; not sent anywhere.
    pub input_tokens: Option<u32>,
    /// For whom it is asked: where calls wait for their turn, tenants are served in a ring; not sent anywhere.
    pub tenant: Arc<str>,
    /// How many times this question has failed before, lost and void starts not counted; not sent anywhere.
    ///
    /// A simulated model draws its faults from it, so that a question can succeed after a fault, and a crash
    /// between does not change what is drawn.
    pub attempt: u32,
    /// How many requests for the same answer are under way already; not sent anywhere.
    ///
    /// A simulated model draws its latency from it, so that the second of two that race is not as slow as the first.
    pub race: u32,
}

impl ChatRequest {
    /// Makes a first request for free text, without tools, sampled as the provider likes.
    #[must_use]
    pub fn new(messages: Vec<Message>, max_output_tokens: u32, time: impl Into<CallTime>) -> Self {
        Self {
            messages,
            schema: None,
            max_output_tokens,
            thinking_tokens: 0,
            effort: None,
            temperature: None,
            seed: None,
            tools: Vec::new(),
            web_search: false,
            web_searches_max: None,
            time: time.into(),
            waits_for_server: true,
            input_tokens: None,
            tenant: Arc::from(""),
            attempt: 0,
            race: 0,
        }
    }

    /// Returns the SHA-256 of all that can change the answer: messages, schema, output limit, temperature, seed, tools.
    ///
    /// What is not asked for adds nothing, so that a request keeps its digest when this type learns more. Time, tenant,
    /// attempt, the count of tokens, effort and head-room for thinking are left out: the same question asked again has
    /// the same digest.
    #[must_use]
    pub fn prompt_digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut field = |tag: u8, bytes: &[u8]| {
            hash.update([tag]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for message in &self.messages {
            field(b'r', message.role.as_str().as_bytes());
            field(b'm', message.content.as_bytes());
            if let Some(id) = &message.answers {
                field(b'a', id.as_bytes());
            }
            for call in &message.tool_calls {
                field(b'i', call.id.as_bytes());
                field(b'n', call.name.as_bytes());
                field(b'g', call.arguments.as_bytes());
            }
        }
        if let Some(schema) = &self.schema {
            field(b's', schema.digest());
        }
        field(b'o', &self.max_output_tokens.to_le_bytes());
        if let Some(temperature) = self.temperature {
            field(b't', &temperature.to_bits().to_le_bytes());
        }
        if let Some(seed) = self.seed {
            field(b'x', &seed.to_le_bytes());
        }
        for tool in &self.tools {
            field(b'f', tool.name.as_bytes());
            field(b'd', tool.description.as_bytes());
            field(b'p', tool.parameters.to_string().as_bytes());
        }
        if self.web_search {
            match self.web_searches_max {
                Some(most) => field(b'w', &most.to_le_bytes()),
                None => field(b'w', b""),
            }
        }
        hash.finalize().into()
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Arc<str>,
    /// The tools that the model asked for in it.
    pub tool_calls: Vec<ToolCall>,
    /// The id of the tool call whose result it is.
    pub answers: Option<Arc<str>>,
}

impl Message {
    /// Makes a message of the system.
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::said_by(Role::System, content)
    }

    /// Makes a message of the user.
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::said_by(Role::User, content)
    }

    /// Makes an earlier answer of the model.
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::said_by(Role::Assistant, content)
    }

    /// Makes the result of the tool call `id`.
    pub fn tool_result(id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self { answers: Some(id.into()), ..Self::said_by(Role::Tool, content) }
    }

    /// Adds the tools that an earlier answer asked for; those that the provider ran itself are left out.
    #[must_use]
    pub fn asking_for(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls.extend(calls.into_iter().filter(|call| !call.by_provider));
        self
    }

    fn said_by(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), answers: None }
    }
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The instructions that stand above the conversation.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
    /// A tool that the model asked for.
    Tool,
}

impl Role {
    /// Returns the lower-case name that most chat protocols use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A tool that a model may ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-` only, at most 64 of them, as providers demand.
    pub name: Arc<str>,
    /// What it does, for the model.
    pub description: Arc<str>,
    /// The JSON schema of its arguments.
    pub parameters: Arc<Value>,
}

/// One use of a tool that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id of the call, which its result must name; made up where the provider gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON, exactly as received; cut short when the answer was.
    pub arguments: String,
    /// Whether the provider ran the tool itself, as it does its own web search; nothing is to be done then.
    pub by_provider: bool,
    /// A mark of the provider that must come back with the call.
    pub signature: Option<Box<str>>,
}

impl ToolCall {
    /// Makes a call that is the caller's to run.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            by_provider: false,
            signature: None,
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// The answer's text, exactly as received.
    pub text: String,
    /// The thoughts that the provider keeps apart from the answer; private (K10).
    pub reasoning: Option<String>,
    /// The tools that the model asked for, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The pages that the provider's own web search brought, each once.
    pub web_sources: Vec<WebSource>,
    /// The tokens spent, as far as the provider says.
    pub usage: Usage,
    /// How the answer ended.
    pub ending: Ending,
    /// The provider's word for how it ended, at most 64 characters; none where it gave none.
    pub stop_reason: Option<String>,
    /// The model as the provider reports it, else the one that was asked for.
    pub model: String,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The version of HTTP that was spoken, such as `HTTP/2.0`; none where there was no HTTP.
    pub http_version: Option<String>,
    /// The time from the call to the last byte, all its tries included, its waits not (rule K22).
    pub latency: Duration,
    /// The time from the call to the first byte of the answer's body, all its tries included, its waits not.
    pub first_byte: Option<Duration>,
    /// The time that the call waited: for its turn, for a provider at its limits, for an absent server.
    pub waited: Duration,
    /// How many times the wire was tried again (K5).
    pub wire_retries: u32,
}

impl ChatReply {
    /// Makes a whole answer of `text` from `model` that took no time and whose usage is unknown.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            web_sources: Vec::new(),
            usage: Usage::default(),
            ending: Ending::Complete,
            stop_reason: None,
            model: model.into(),
            request_id: None,
            http_version: None,
            latency: Duration::ZERO,
            first_byte: None,
            waited: Duration::ZERO,
            wire_retries: 0,
        }
    }
}

/// Tokens spent; what the provider does not say stays `None`, never 0 (K3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input: Option<u64>,
    /// Tokens written, thoughts included.
    pub output: Option<u64>,
    /// Tokens read from the provider's cache.
    pub cached: Option<u64>,
    /// Tokens that the provider put into its cache, among the ones read; `None` where it does not say.
    pub cache_written: Option<u64>,
    /// Tokens of thoughts among the ones written.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Returns the counts of a call on which nothing was spent.
    #[must_use]
    pub const fn of_nothing() -> Self {
        let zero = Some(0);
        Self { input: zero, output: zero, cached: zero, cache_written: zero, reasoning: zero }
    }

    /// Adds what was spent on another part; a sum is known where both parts are.
    #[cfg(feature = "http")]
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            cache_written: sum(self.cache_written, other.cache_written),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(content: &str) -> ChatRequest {
        let messages = vec![Message::system("s"), Message::user(content)];
        ChatRequest::new(messages, 100, Duration::from_secs(1))
    }

    #[test]
    fn the_same_question_asked_again_has_the_same_digest() {
        let time = CallTime::total(Duration::from_secs(9));
        let (tenant, input_tokens, effort) = ("acme".into(), Some(5), Some(Effort::Low));
        let more = ChatRequest { thinking_tokens: 100, effort, ..request("q") };
        let again = ChatRequest { tenant, attempt: 3, time, input_tokens, ..more };
        assert_eq!(request("q").prompt_digest(), again.prompt_digest());
    }

    #[test]
    fn k3_a_digest_once_in_a_log_stays_what_it_was() {
        let schema = Some(ReplySchema::new("a", json!({"type": "object"})));
        let full = ChatRequest { schema, temperature: Some(0.5), seed: Some(7), ..request("q") };
        for (request, want) in [
            (request("q"), "c1df61ba547015e0ca0136d4698641c087233a42dca5cfe5700e6c29001dde2a"),
            (full, "158b34ecfb9e629b1a74cf43695e60874565510900fd2ea7c05968ed65d6b294"),
        ] {
            let digest: String = request.prompt_digest().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, want);
        }
    }

    #[test]
    fn whatever_can_change_the_answer_changes_the_digest() {
        let schema = |name: &str, json| Some(ReplySchema::new(name, json));
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: "d".into(),
            parameters: Arc::new(json!({"type": "object"})),
        };
        let said = |last: Message| ChatRequest {
            messages: vec![Message::system("s"), Message::user("q"), last],
            ..request("q")
        };
        let all = [
            request("q"),
            request("p"),
            ChatRequest { messages: vec![Message::system("sq"), Message::user("")], ..request("q") },
            ChatRequest { messages: vec![Message::user("s"), Message::user("q")], ..request("q") },
            ChatRequest { schema: schema("a", json!({})), ..request("q") },
            ChatRequest { schema: schema("b", json!({})), ..request("q") },
            ChatRequest { schema: schema("a", json!({"type": "object"})), ..request("q") },
            ChatRequest { max_output_tokens: 101, ..request("q") },
            ChatRequest { temperature: Some(0.0), ..request("q") },
            ChatRequest { seed: Some(0), ..request("q") },
            ChatRequest { tools: vec![tool("a")], ..request("q") },
            ChatRequest { tools: vec![tool("a"), tool("b")], ..request("q") },
            ChatRequest { web_search: true, ..request("q") },
            ChatRequest { web_search: true, web_searches_max: Some(2), ..request("q") },
            said(Message::assistant("")),
            said(Message::assistant("").asking_for([ToolCall::new("1", "a", "{}")])),
            said(Message::assistant("").asking_for([ToolCall::new("1", "a", "{} ")])),
            said(Message::tool_result("1", "")),
            said(Message::tool_result("2", "")),
        ];
        let mut digests: Vec<_> = all.iter().map(ChatRequest::prompt_digest).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all.len());
    }

    #[test]
    fn what_the_provider_ran_itself_does_not_go_back() {
        let searched = ToolCall { by_provider: true, ..ToolCall::new("1", "web_search", "{}") };
        let message = Message::assistant("").asking_for([searched, ToolCall::new("2", "add", "{}")]);
        assert_eq!(message.tool_calls, [ToolCall::new("2", "add", "{}")]);
    }
}
