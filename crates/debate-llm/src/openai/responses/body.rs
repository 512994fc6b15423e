//! The request as the protocol writes it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::joined::{self, Joined};
use crate::ChatRequest;
use crate::http::effort::{Thinking, thinking};
use crate::http::{Outgoing, Parameter};

/// Writes the body of a streaming request.
pub(super) fn encode(outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Outgoing { model, request, schema, dialect, cap, .. } = *outgoing;
    let name = request.schema.as_ref().map_or("", |schema| schema.name());
    let mut input = Vec::new();
    for turn in joined::turns(&request.messages) {
        add_items(&mut input, turn);
    }
    let is_bounded =
        request.web_search && dialect.takes(Parameter::WebSearch) && dialect.takes(Parameter::WebSearchLimit);
    outgoing.write(&Body {
        model,
        input,
        stream: true,
        store: false,
        max_output_tokens: cap,
        reasoning: match thinking(request, dialect) {
            Some(Thinking::Word(level)) => Some(Reasoning { effort: level.as_str() }),
            Some(Thinking::Budget(_)) | None => None,
        },
        temperature: request.temperature.filter(|_| dialect.takes(Parameter::Temperature)),
        tools: tools(request, dialect.takes(Parameter::WebSearch)),
        max_tool_calls: request.web_searches_max.filter(|_| is_bounded),
        text: schema
            .map(|schema| Text { format: Format { kind: "json_schema", name, strict: true, schema } }),
    })
}

fn add_items<'a>(input: &mut Vec<Item<'a>>, turn: Joined<'a>) {
    let message = turn.first();
    if let Some(call_id) = message.answers.as_deref() {
        let output = &message.content;
        input.push(Item::Output { kind: "function_call_output", call_id, output });
        return;
    }
    if !turn.is_empty() || message.tool_calls.is_empty() {
        input.push(Item::Message { role: message.role.as_str(), content: turn });
    }
    for call in &message.tool_calls {
        let (call_id, name, arguments) = (&*call.id, &*call.name, &*call.arguments);
        input.push(Item::Call { kind: "function_call", call_id, name, arguments });
    }
}

fn tools(request: &ChatRequest, takes_search: bool) -> Vec<Tool<'_>> {
    let own = request.tools.iter().map(|tool| Tool::Function {
        kind: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        // Strict schemas demand what a caller's schema need not have.
        strict: false,
    });
    let search = (request.web_search && takes_search).then_some(Tool::Provided { kind: "web_search" });
    own.chain(search).collect()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<Item<'a>>,
    stream: bool,
    store: bool,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// Bounds the provider's own tools, of which its search is the only one that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Joined<'a>,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Output {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        output: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        strict: bool,
    },
    Provided {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}
