//! OpenAI's responses over HTTP, as OpenAI, xAI and some routers speak them.
//!
//! Always streams and stores nothing at the provider; an answer that comes whole is taken as well. Provider JSON does
//! not leave this module.

mod body;
mod events;

use url::Url;

use crate::http::effort::{self, OPENAI};
use crate::http::{Dialect, Events, Facts, Outgoing, Parameter, Protocol};

const FACTS: Facts = Facts { name: "openai-responses", parameters: PARAMETERS, ..super::FACTS };

/// The parameters that some server refuses, and how it names them.
const PARAMETERS: &[(Parameter, &[&str])] = &[
    (Parameter::Schema, &["text.format", "response_format", "json_schema", "grammar", "structured output"]),
    (Parameter::Temperature, &["temperature"]),
    (Parameter::WebSearch, &["web_search"]),
    (Parameter::WebSearchLimit, &["max_tool_calls"]),
    (Parameter::Effort, super::EFFORT_WORDS),
    (Parameter::SchemaBounds, super::BOUND_WORDS),
];

/// The responses protocol.
#[derive(Debug)]
pub(crate) struct Responses;

impl Protocol for Responses {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn complete_address(&self, base: &mut Url, _model: &str) {
        let is_complete = base.path().trim_end_matches('/').ends_with("/responses");
        if let (false, Ok(mut path)) = (is_complete, base.path_segments_mut()) {
            path.pop_if_empty().push("responses");
        }
    }

    fn first_dialect(&self, _endpoint: &Url, model: &str) -> Dialect {
        let absent = [Parameter::ThinkingBudget, Parameter::EffortObject, Parameter::TemplateArguments];
        absent.into_iter().fold(effort::known(OPENAI, model), Dialect::without)
    }

    fn encode(&self, outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        body::encode(outgoing)
    }

    fn events(&self) -> Box<dyn Events> {
        Box::new(events::Items::default())
    }
}
