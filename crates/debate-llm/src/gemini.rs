//! Google's `generateContent` over HTTP.
//!
//! Always streams; an answer that comes whole is taken as well. Provider JSON does not leave this module.

mod body;
mod events;
mod growing;

use url::Url;

use crate::http::effort::{self, GEMINI};
use crate::http::{Codes, Dialect, Events, Facts, KeyHeader, Meaning, Outgoing, Parameter, Protocol, Subset};

const FACTS: Facts = Facts {
    name: "gemini",
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    base_url_variable: "GEMINI_BASE_URL",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    example_model: "gemini-3.5-flash",
    key_header: KeyHeader { name: "x-goog-api-key", prefix: "" },
    headers: &[],
    parameters: PARAMETERS,
    codes: CODES,
    subset: SUBSET,
};

/// The parameters that some model refuses, and how the server names them, in lower case.
const PARAMETERS: &[(Parameter, &[&str])] = &[
    (
        Parameter::Schema,
        &[
            "responsejsonschema",
            "response_json_schema",
            "response_schema",
            "response mime type",
            "json mode",
            "specified schema",
        ],
    ),
    (Parameter::Temperature, &["temperature"]),
    (Parameter::Seed, &["seed"]),
    (Parameter::WebSearch, &["google_search", "search grounding", "search as tool"]),
    (
        Parameter::Effort,
        &[
            "thinking_config",
            "thinkingconfig",
            "thinking_level",
            "thinkinglevel",
            "thinking_budget",
            "thinkingbudget",
            "thinking",
            "budget",
        ],
    ),
];

/// The reasons and statuses of errors.
const CODES: Codes = &[
    ("API_KEY_INVALID", Meaning::Key),
    ("UNAUTHENTICATED", Meaning::Key),
    ("PERMISSION_DENIED", Meaning::Key),
    ("PerDay", Meaning::Quota),
    ("RESOURCE_EXHAUSTED", Meaning::Speed),
    ("NOT_FOUND", Meaning::Model),
    ("UNAVAILABLE", Meaning::Load),
    ("INTERNAL", Meaning::Server),
    ("DEADLINE_EXCEEDED", Meaning::Server),
];

/// What `responseJsonSchema` takes.
const SUBSET: Subset = Subset {
    keywords: &[
        "$id",
        "$anchor",
        "title",
        "minimum",
        "maximum",
        "maxItems",
        "prefixItems",
        "oneOf",
        "additionalProperties",
        "propertyOrdering",
    ],
    formats: &["date-time", "date", "time"],
    min_items_max: u64::MAX,
    is_closed: false,
    is_total: false,
};

/// The `streamGenerateContent` protocol.
#[derive(Debug)]
pub(crate) struct GenerateContent;

impl Protocol for GenerateContent {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn complete_address(&self, base: &mut Url, model: &str) {
        let has_version =
            base.path().trim_end_matches('/').rsplit('/').next().is_some_and(|last| last.starts_with("v1"));
        let (folder, name) = match model.split_once('/') {
            Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
            Some(_) | None => ("models", model),
        };
        if let Ok(mut path) = base.path_segments_mut() {
            path.pop_if_empty();
            if !has_version {
                path.push("v1beta");
            }
            path.push(folder).push(&format!("{name}:streamGenerateContent"));
        }
        base.query_pairs_mut().append_pair("alt", "sse");
    }

    fn first_dialect(&self, _endpoint: &Url, model: &str) -> Dialect {
        let absent = [Parameter::EffortObject, Parameter::TemplateArguments];
        absent.into_iter().fold(effort::known(GEMINI, model), Dialect::without)
    }

    fn encode(&self, outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        body::encode(outgoing)
    }

    fn events(&self) -> Box<dyn Events> {
        Box::new(events::Candidates::default())
    }
}
