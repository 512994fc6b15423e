//! The request as the protocol writes it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::http::effort::{Level, Thinking, thinking};
use crate::http::{Outgoing, Parameter};
use crate::{ChatRequest, Message, Role, ToolCall};

/// The highest temperature that is taken.
const TEMPERATURE_MAX: f64 = 1.0;

/// The kind of thinking that is none.
const DISABLED: &str = "disabled";

/// The least tokens of thinking that are taken.
const BUDGET_MIN: u32 = 1_024;

/// How often the provider may search for one answer unless the request says so; so many fit into one turn without a pause.
const SEARCHES_MAX: u32 = 5;

/// Writes the body of a streaming request.
pub(super) fn encode(outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Outgoing { model, request, schema, dialect, cap, so_far } = *outgoing;
    let is_cached = dialect.takes(Parameter::CacheMarks);
    let (thinking, effort) = thoughts(thinking(request, dialect), cap);
    let thinks = thinking.as_ref().is_some_and(|thinking| thinking.kind != DISABLED);
    // What thinks takes no temperature.
    let temperature = request.temperature.filter(|_| dialect.takes(Parameter::Temperature) && !thinks);
    let format = schema.map(|schema| OutputFormat { kind: "json_schema", schema });
    outgoing.write(&Body {
        model,
        max_tokens: cap,
        thinking,
        stream: true,
        temperature: temperature.map(|temperature| temperature.min(TEMPERATURE_MAX)),
        tools: tools(request, dialect.takes(Parameter::WebSearch)),
        system: system(request, is_cached),
        messages: turns(request, is_cached, so_far),
        output_config: (format.is_some() || effort.is_some()).then_some(OutputConfig { format, effort }),
    })
}

/// Returns how much is to be thought, as the protocol says it: newer models take a word, older ones a number of tokens, which
/// must be below the limit of all tokens.
fn thoughts(sent: Option<Thinking>, cap: u32) -> (Option<ThinkingBody>, Option<&'static str>) {
    let body = |kind| Some(ThinkingBody { kind, budget_tokens: None });
    match sent {
        None => (None, None),
        Some(Thinking::Word(Level::None) | Thinking::Budget(0)) => (body(DISABLED), None),
        Some(Thinking::Word(level)) => (body("adaptive"), Some(level.as_str())),
        Some(Thinking::Budget(tokens)) => {
            let tokens = tokens.max(BUDGET_MIN);
            ((tokens < cap).then_some(ThinkingBody { kind: "enabled", budget_tokens: Some(tokens) }), None)
        }
    }
}

/// Returns what the system says, the end marked for the cache.
fn system(request: &ChatRequest, is_cached: bool) -> Vec<Block<'_>> {
    let said = request.messages.iter().filter(|message| message.role == Role::System);
    let mut blocks: Vec<Block<'_>> = said.map(|message| Block::text(&message.content)).collect();
    if let (true, Some(last)) = (is_cached, blocks.last_mut()) {
        last.cache();
    }
    blocks
}

/// Returns the turns of user and model; what follows another of the same speaker joins it.
///
/// Marked for the cache are the first message, which holds what all requests share, and the last but one, up to which
/// this request and the next ones may be alike. The last one is this request's own: to keep it would cost and never
/// pay. Last of all comes what the model has said in a turn that was paused.
fn turns<'a>(request: &'a ChatRequest, is_cached: bool, so_far: &'a [Value]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let said: Vec<&Message> =
        request.messages.iter().filter(|message| message.role != Role::System).collect();
    for (at, message) in said.iter().enumerate() {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::System | Role::User | Role::Tool => "user",
        };
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(Turn { role, content: Vec::new() });
        }
        let Some(turn) = turns.last_mut() else { continue };
        add_blocks(&mut turn.content, message);
        let is_shared = (at == 0 || at + 2 == said.len()) && at + 1 < said.len();
        if let (true, Some(last)) = (is_shared && is_cached, turn.content.last_mut()) {
            last.cache();
        }
    }
    if !so_far.is_empty() {
        turns.push(Turn { role: "assistant", content: so_far.iter().map(Block::Received).collect() });
    }
    turns
}

fn add_blocks<'a>(content: &mut Vec<Block<'a>>, message: &'a Message) {
    if let Some(tool_use_id) = message.answers.as_deref() {
        let content_text = &message.content;
        content.push(Block::ToolResult { tool_use_id, content: content_text, cache_control: None });
        return;
    }
    // A text block may not be empty.
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        content.push(Block::text(&message.content));
    }
    for call in &message.tool_calls {
        let (id, name) = (call.id.as_str(), call.name.as_str());
        content.push(Block::ToolUse { id, name, input: input(call), cache_control: None });
    }
}

/// Returns the arguments as the object that the protocol wants; what is none was cut short and is left out.
fn input(call: &ToolCall) -> Input<'_> {
    match serde_json::from_str::<&RawValue>(&call.arguments) {
        Ok(json) if json.get().starts_with('{') => Input::Object(json),
        Ok(_) | Err(_) => Input::Nothing {},
    }
}

fn tools(request: &ChatRequest, takes_search: bool) -> Vec<Tool<'_>> {
    let own = request.tools.iter().map(|tool| Tool::Own {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
    });
    let search = (request.web_search && takes_search).then_some(Tool::Provided {
        kind: "web_search_20250305",
        name: "web_search",
        max_uses: request.web_searches_max.unwrap_or(SEARCHES_MAX),
    });
    own.chain(search).collect()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block as the provider gave it.
    #[serde(untagged)]
    Received(&'a Value),
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text, cache_control: None }
    }

    fn cache(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(CacheControl { kind: "ephemeral" });
            }
            Self::Received(_) => {}
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Object(&'a RawValue),
    Nothing {},
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Own {
        name: &'a str,
        description: &'a str,
        input_schema: &'a Value,
    },
    Provided {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'static str,
        max_uses: u32,
    },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
}

#[derive(Serialize)]
struct ThinkingBody {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u32>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'a RawValue,
}
