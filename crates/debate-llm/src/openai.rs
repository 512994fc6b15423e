//! Chat completions over HTTP as OpenAI defined them and as most providers and local servers speak them.
//!
//! Always streams; an answer that comes whole is taken as well. Provider JSON does not leave this module.

mod body;
mod events;
mod joined;
mod responses;

use url::Url;

pub(crate) use self::responses::Responses;
use crate::http::effort::{self, OPENAI};
use crate::http::{Codes, Dialect, Events, Facts, KeyHeader, Meaning, Outgoing, Parameter, Protocol, Subset};

const FACTS: Facts = Facts {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    base_url_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    example_model: "gpt-5-mini",
    key_header: KeyHeader { name: "authorization", prefix: "Bearer " },
    headers: &[],
    parameters: PARAMETERS,
    codes: CODES,
    subset: SUBSET,
};

/// The parameters that some server refuses, and how it names them.
const PARAMETERS: &[(Parameter, &[&str])] = &[
    (Parameter::Schema, &["response_format", "json_schema", "grammar", "structured output"]),
    (Parameter::StreamOptions, &["stream_options"]),
    (Parameter::MaxTokens, &["max_tokens"]),
    (Parameter::Temperature, &["temperature"]),
    (Parameter::Seed, &["seed"]),
    (Parameter::WebSearch, &["web_search_options"]),
    (Parameter::TemplateArguments, &["chat_template_kwargs"]),
    (Parameter::Effort, EFFORT_WORDS),
    (Parameter::SchemaBounds, BOUND_WORDS),
];

/// How refusals name the bounds of a schema.
const BOUND_WORDS: &[&str] = &["minlength", "maxlength", "minitems", "maxitems"];

/// How refusals name the effort.
const EFFORT_WORDS: &[&str] =
    &["reasoning_effort", "reasoning.effort", "reasoning", "reasoningeffort", "effort", "thinking", "think"];

/// The hosts of services that run no templates of the caller's choice.
const SERVICES: [&str; 10] = [
    "api.openai.com",
    "openai.azure.com",
    "openrouter.ai",
    "api.groq.com",
    "api.mistral.ai",
    "api.x.ai",
    "api.deepseek.com",
    "api.cerebras.ai",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
];

/// The codes and types of OpenAI and of those that speak like it.
const CODES: Codes = &[
    ("invalid_api_key", Meaning::Key),
    ("insufficient_quota", Meaning::Quota),
    ("insufficient_credits", Meaning::Quota),
    ("insufficient_balance", Meaning::Quota),
    ("billing_hard_limit_reached", Meaning::Quota),
    ("billing_not_active", Meaning::Quota),
    ("exceeded_current_quota_error", Meaning::Quota),
    ("enforced_spend_limit_reached", Meaning::Quota),
    ("model_not_found", Meaning::Model),
    ("model_not_available", Meaning::Model),
    ("invalid_model", Meaning::Model),
    ("content_filter", Meaning::Filter),
    ("content_policy_violation", Meaning::Filter),
    ("moderation_blocked", Meaning::Filter),
];

/// What strict structured output takes, less the bounds that not every compatible server knows.
const SUBSET: Subset = Subset {
    keywords: &["title", "const", "minLength", "maxLength", "maxItems", "minimum", "maximum"],
    formats: &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    min_items_max: u64::MAX,
    is_closed: true,
    is_total: true,
};

/// The chat completions protocol.
#[derive(Debug)]
pub(crate) struct ChatCompletions;

impl Protocol for ChatCompletions {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn complete_address(&self, base: &mut Url, _model: &str) {
        let is_complete = base.path().trim_end_matches('/').ends_with("/chat/completions");
        if let (false, Ok(mut path)) = (is_complete, base.path_segments_mut()) {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
    }

    fn first_dialect(&self, endpoint: &Url, model: &str) -> Dialect {
        let host = endpoint.host_str().unwrap_or_default();
        let mut dialect = effort::known(OPENAI, model).without(Parameter::ThinkingBudget);
        if host == "api.openai.com" {
            dialect = dialect.without(Parameter::MaxTokens);
        }
        if host != "openrouter.ai" {
            dialect = dialect.without(Parameter::EffortObject);
        }
        if SERVICES.iter().any(|service| host.ends_with(service)) {
            dialect = dialect.without(Parameter::TemplateArguments);
        }
        dialect
    }

    fn encode(&self, outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        body::encode(outgoing)
    }

    fn events(&self) -> Box<dyn Events> {
        Box::new(events::Chunks)
    }
}
