//! The request as the protocol writes it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::http::effort::{Thinking, thinking};
use crate::http::{Outgoing, Parameter};
use crate::{ChatRequest, Message, Role, ToolSpec};

/// The most tokens of thinking that all models with budgets take.
const BUDGET_MAX: u32 = 24_576;

/// Writes the body of a streaming request.
pub(super) fn encode(outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Outgoing { request, schema, dialect, cap, .. } = *outgoing;
    let takes = |parameter| dialect.takes(parameter);
    let system = request.messages.iter().filter(|message| message.role == Role::System);
    let system: Vec<Part<'_>> = system.map(|message| Part::Text(&message.content)).collect();
    outgoing.write(&Body {
        system_instruction: (!system.is_empty()).then_some(Content { role: None, parts: system }),
        contents: contents(request),
        tools: tools(request, takes(Parameter::WebSearch)),
        generation_config: GenerationConfig {
            max_output_tokens: cap,
            thinking_config: thinking(request, dialect).map(ThinkingConfig::from),
            temperature: request.temperature.filter(|_| takes(Parameter::Temperature)),
            seed: request.seed.filter(|_| takes(Parameter::Seed)).map(seed),
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema,
        },
    })
}

/// Returns a seed as the protocol takes it: 31 bits.
fn seed(seed: u64) -> i32 {
    i32::try_from(seed & 0x7fff_ffff).unwrap_or(i32::MAX)
}

/// Returns the turns of user and model; what follows another of the same speaker joins it.
fn contents(request: &ChatRequest) -> Vec<Content<'_>> {
    let mut contents: Vec<Content<'_>> = Vec::new();
    for message in request.messages.iter().filter(|message| message.role != Role::System) {
        let role = match message.role {
            Role::Assistant => Some("model"),
            Role::System | Role::User | Role::Tool => Some("user"),
        };
        if contents.last().is_none_or(|content| content.role != role) {
            contents.push(Content { role, parts: Vec::new() });
        }
        if let Some(content) = contents.last_mut() {
            add_parts(&mut content.parts, message, &request.messages);
        }
    }
    contents
}

fn add_parts<'a>(parts: &mut Vec<Part<'a>>, message: &'a Message, all: &'a [Message]) {
    if let Some(id) = message.answers.as_deref() {
        // The protocol matches a result to its call by the name of the tool and the order of the calls.
        let mut calls = all.iter().flat_map(|message| &message.tool_calls);
        let name = calls.find(|call| call.id == id).map_or(id, |call| &call.name);
        parts.push(Part::FunctionResponse { name, response: response(&message.content) });
        return;
    }
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        parts.push(Part::Text(&message.content));
    }
    for call in &message.tool_calls {
        parts.push(Part::FunctionCall {
            call: FunctionCall { name: &call.name, args: object(&call.arguments) },
            thought_signature: call.signature.as_deref(),
        });
    }
}

/// Returns the JSON object that `text` is.
fn object(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<&RawValue>(text).ok().filter(|json| json.get().starts_with('{'))
}

fn response(text: &str) -> Response<'_> {
    object(text).map_or(Response::Text { result: text }, Response::Object)
}

fn tools(request: &ChatRequest, takes_search: bool) -> Vec<Tools<'_>> {
    let own = (!request.tools.is_empty())
        .then(|| Tools::Own { function_declarations: request.tools.iter().map(Function::from).collect() });
    let search = (request.web_search && takes_search).then_some(Tools::Search { google_search: Empty {} });
    own.into_iter().chain(search).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    Text(&'a str),
    FunctionResponse {
        name: &'a str,
        response: Response<'a>,
    },
    #[serde(untagged)]
    FunctionCall {
        #[serde(rename = "functionCall")]
        call: FunctionCall<'a>,
        #[serde(rename = "thoughtSignature", skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Response<'a> {
    Object(&'a RawValue),
    Text { result: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tools<'a> {
    #[serde(rename_all = "camelCase")]
    Own { function_declarations: Vec<Function<'a>> },
    #[serde(rename_all = "camelCase")]
    Search { google_search: Empty },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

impl<'a> From<&'a ToolSpec> for Function<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        Self { name: &tool.name, description: &tool.description, parameters_json_schema: &tool.parameters }
    }
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a RawValue>,
}

/// How much is to be thought: newer models take a word, older ones a number of tokens.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

impl From<Thinking> for ThinkingConfig {
    fn from(sent: Thinking) -> Self {
        match sent {
            Thinking::Word(level) => Self { thinking_level: Some(level.as_str()), thinking_budget: None },
            Thinking::Budget(tokens) => {
                Self { thinking_level: None, thinking_budget: Some(tokens.min(BUDGET_MAX)) }
            }
        }
    }
}
