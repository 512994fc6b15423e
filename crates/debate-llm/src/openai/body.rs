//! The request as the protocol writes it, and what is left out of it for servers that refuse a parameter.

use serde::Serialize;
use serde_json::Value;

use crate::ChatRequest;

/// A parameter that not every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    ResponseFormat,
    StreamOptions,
    MaxTokens,
    Temperature,
    Seed,
}

impl Parameter {
    /// Returns the name on the wire; `max_tokens` is the one that has a successor.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ResponseFormat => "response_format",
            Self::StreamOptions => "stream_options",
            Self::MaxTokens => "max_tokens",
            Self::Temperature => "temperature",
            Self::Seed => "seed",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn is_used(self, request: &ChatRequest) -> bool {
        match self {
            Self::ResponseFormat => request.schema.is_some(),
            Self::StreamOptions | Self::MaxTokens => true,
            Self::Temperature => request.temperature.is_some(),
            Self::Seed => request.seed.is_some(),
        }
    }
}

/// What a server is known not to take; grows as it refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dialect(u8);

impl Dialect {
    /// Restores what [`Dialect::bits`] gave.
    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the set as bits.
    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Returns this dialect without `parameter`.
    pub(super) fn without(self, parameter: Parameter) -> Self {
        Self(self.0 | parameter.bit())
    }

    /// Returns the dialect to try next when a server blames `parameter`, if that changes what is sent.
    pub(super) fn concede(self, parameter: Parameter, request: &ChatRequest) -> Option<Self> {
        (self.takes(parameter) && parameter.is_used(request)).then(|| self.without(parameter))
    }

    fn takes(self, parameter: Parameter) -> bool {
        self.0 & parameter.bit() == 0
    }
}

/// Writes the body of a streaming request.
pub(super) fn encode(
    model: &str,
    request: &ChatRequest,
    dialect: Dialect,
) -> Result<Vec<u8>, serde_json::Error> {
    let takes = |parameter| dialect.takes(parameter);
    let limit = request.max_output_tokens;
    serde_json::to_vec(&Body {
        model,
        messages: request
            .messages
            .iter()
            .map(|message| BodyMessage { role: message.role.as_str(), content: &message.content })
            .collect(),
        stream: true,
        stream_options: takes(Parameter::StreamOptions).then_some(StreamOptions { include_usage: true }),
        max_tokens: takes(Parameter::MaxTokens).then_some(limit),
        max_completion_tokens: (!takes(Parameter::MaxTokens)).then_some(limit),
        temperature: request.temperature.filter(|_| takes(Parameter::Temperature)),
        seed: request.seed.filter(|_| takes(Parameter::Seed)),
        response_format: request.schema.as_ref().filter(|_| takes(Parameter::ResponseFormat)).map(|schema| {
            ResponseFormat {
                kind: "json_schema",
                json_schema: JsonSchema { name: schema.name(), strict: true, schema: schema.json() },
            }
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
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
struct BodyMessage<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

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
    schema: &'a Value,
}
