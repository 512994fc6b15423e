//! The request as the protocol writes it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::joined::{self, Joined};
use crate::http::effort::{Level, Thinking, thinking};
use crate::http::{Outgoing, Parameter};
use crate::{Effort, ToolCall, ToolSpec};

/// Writes the body of a streaming request.
pub(super) fn encode(outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Outgoing { model, request, schema, dialect, cap, .. } = *outgoing;
    let takes = |parameter| dialect.takes(parameter);
    let level = match thinking(request, dialect) {
        Some(Thinking::Word(level)) => Some(level),
        Some(Thinking::Budget(_)) | None => None,
    };
    let is_object = takes(Parameter::EffortObject);
    let template = request.effort.filter(|_| takes(Parameter::TemplateArguments));
    let name = request.schema.as_ref().map_or("", |schema| schema.name());
    outgoing.write(&Body {
        model,
        messages: joined::turns(&request.messages).map(BodyMessage::from).collect(),
        stream: true,
        stream_options: takes(Parameter::StreamOptions).then_some(StreamOptions { include_usage: true }),
        max_tokens: takes(Parameter::MaxTokens).then_some(cap),
        max_completion_tokens: (!takes(Parameter::MaxTokens)).then_some(cap),
        reasoning_effort: level.filter(|_| !is_object).map(Level::as_str),
        reasoning: level.filter(|_| is_object).map(Reasoning::from),
        chat_template_kwargs: template.map(TemplateArguments::from),
        temperature: request.temperature.filter(|_| takes(Parameter::Temperature)),
        seed: request.seed.filter(|_| takes(Parameter::Seed)),
        tools: request.tools.iter().map(Tool::from).collect(),
        web_search_options: (request.web_search && takes(Parameter::WebSearch)).then_some(Empty {}),
        response_format: schema.map(|schema| ResponseFormat {
            kind: "json_schema",
            json_schema: JsonSchema { name, strict: true, schema },
        }),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<BodyMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_options: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

/// The effort as OpenRouter takes it.
#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
}

impl From<Level> for Reasoning {
    fn from(level: Level) -> Self {
        match level {
            Level::None => Self { enabled: Some(false), effort: None },
            Level::Minimal | Level::Low | Level::Medium | Level::High => {
                Self { enabled: None, effort: Some(level.as_str()) }
            }
        }
    }
}

/// The effort as templates of models' chats take it; what a template does not know it leaves alone.
#[derive(Serialize)]
struct TemplateArguments {
    enable_thinking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

impl From<Effort> for TemplateArguments {
    fn from(effort: Effort) -> Self {
        let enable_thinking = effort != Effort::None;
        Self { enable_thinking, reasoning_effort: enable_thinking.then_some(effort.as_str()) }
    }
}

#[derive(Serialize)]
struct BodyMessage<'a> {
    role: &'static str,
    content: Joined<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> From<Joined<'a>> for BodyMessage<'a> {
    fn from(content: Joined<'a>) -> Self {
        let message = content.first();
        Self {
            role: message.role.as_str(),
            content,
            tool_calls: message.tool_calls.iter().map(Call::from).collect(),
            tool_call_id: message.answers.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> From<&'a ToolCall> for Call<'a> {
    fn from(call: &'a ToolCall) -> Self {
        let function = CalledFunction { name: &call.name, arguments: &call.arguments };
        Self { id: &call.id, kind: "function", function }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        let function =
            Function { name: &tool.name, description: &tool.description, parameters: &tool.parameters };
        Self { kind: "function", function }
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}
