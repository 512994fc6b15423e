//! Anthropic's messages over HTTP.
//!
//! Always streams; an answer that comes whole is taken as well. Provider JSON does not leave this module.

mod body;
mod events;
mod received;

use url::Url;

use crate::http::effort::{self, ANTHROPIC};
use crate::http::{Codes, Dialect, Events, Facts, KeyHeader, Meaning, Outgoing, Parameter, Protocol, Subset};

const FACTS: Facts = Facts {
    name: "anthropic",
    base_url: "https://api.anthropic.com",
    base_url_variable: "ANTHROPIC_BASE_URL",
    key_variables: &["ANTHROPIC_API_KEY"],
    example_model: "claude-sonnet-5",
    key_header: KeyHeader { name: "x-api-key", prefix: "" },
    headers: &[("anthropic-version", "2023-06-01")],
    parameters: PARAMETERS,
    codes: CODES,
    subset: SUBSET,
};

/// The parameters that some model refuses, and how the server names them.
const PARAMETERS: &[(Parameter, &[&str])] = &[
    // First, as its words come with `output_config`.
    (Parameter::Effort, &["thinking", "effort", "adaptive"]),
    (Parameter::Schema, &["output_config", "output_format", "schema is too complex"]),
    (Parameter::Temperature, &["temperature"]),
    (Parameter::WebSearch, &["web_search", "web_search_20250305"]),
    (Parameter::CacheMarks, &["cache_control"]),
];

/// The types of errors; in a stream they come without a status.
const CODES: Codes = &[
    ("credit balance is too low", Meaning::Quota),
    ("billing_error", Meaning::Quota),
    ("not_found_error", Meaning::Model),
    ("authentication_error", Meaning::Key),
    ("permission_error", Meaning::Key),
    ("rate_limit_error", Meaning::Speed),
    ("overloaded_error", Meaning::Load),
    ("api_error", Meaning::Server),
    ("timeout_error", Meaning::Server),
];

/// What `output_config.format` takes.
const SUBSET: Subset = Subset {
    keywords: &["title", "const", "allOf"],
    formats: &["date-time", "date", "time", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    min_items_max: 1,
    is_closed: true,
    is_total: false,
};

/// The messages protocol.
#[derive(Debug)]
pub(crate) struct Messages;

impl Protocol for Messages {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn complete_address(&self, base: &mut Url, _model: &str) {
        let path = base.path().trim_end_matches('/');
        let missing: &[&str] = if path.ends_with("/messages") {
            &[]
        } else if path.ends_with("/v1") {
            &["messages"]
        } else {
            &["v1", "messages"]
        };
        if let (false, Ok(mut path)) = (missing.is_empty(), base.path_segments_mut()) {
            path.pop_if_empty().extend(missing);
        }
    }

    fn first_dialect(&self, _endpoint: &Url, model: &str) -> Dialect {
        let absent = [Parameter::SchemaBounds, Parameter::EffortObject, Parameter::TemplateArguments];
        absent.into_iter().fold(effort::known(ANTHROPIC, model), Dialect::without)
    }

    fn encode(&self, outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        body::encode(outgoing)
    }

    fn events(&self) -> Box<dyn Events> {
        Box::new(events::Blocks::default())
    }
}
