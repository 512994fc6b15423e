//! The JSON schema of a request's fields, made of the lists and sizes by which they are read.

use serde_json::{Value, json};

use super::{AGENTS_MIN, Assignment, Flags, Kind, LIGHT, Mode, Perspective, Similarity, Tool};
use crate::call::Tokens;
use crate::request::limits::AskedLimits;
use crate::request::models::{effort_schema, output_tokens_schema};
use crate::request::sizes::{
    NAME_CHARS_MAX, PARTICIPANTS_MAX, RESPONSE_TOKENS, ROUNDTABLE_ROUNDS, TOPIC_CHARS_MAX, whole_schema,
};

/// Returns the schema of each field by its name in snake case, `format` aside.
///
/// What is refused by it is refused by the request too; names inside objects may also be spelled as `minCalls`.
#[must_use]
pub fn schema() -> Value {
    let perspective = json!({ "type": "string", "enum": Perspective::ALL.map(Perspective::as_str) });
    let name = json!({ "type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX });
    json!({
        "topic": { "type": "string", "minLength": 1, "maxLength": TOPIC_CHARS_MAX },
        "mode": { "type": "string", "enum": Mode::ALL.map(Mode::as_str) },
        "agents": {
            "type": "array",
            "minItems": AGENTS_MIN,
            "maxItems": PARTICIPANTS_MAX,
            "items": { "anyOf": [name, {
                "type": "object",
                "properties": { "name": name, "perspective": perspective },
                "required": ["name"],
            }]},
        },
        "rounds": whole_schema(&ROUNDTABLE_ROUNDS),
        "perspective_config": {
            "type": "object",
            "properties": {
                "perspectives": { "type": "array", "maxItems": Perspective::ALL.len(), "items": perspective },
                "assignment_strategy": { "type": "string", "enum": Assignment::ALL.map(Assignment::as_str) },
            },
        },
        "flags": Flags::schema(),
        "sequential": {
            "type": "object",
            "properties": {
                "use_light_model": { "type": "boolean" },
                "max_tokens": whole_schema(&RESPONSE_TOKENS),
                "cache_tool_results": { "type": "boolean" },
            },
        },
        "native_web_search": { "type": "boolean" },
        "tools": {
            "type": "array",
            "maxItems": Tool::ALL.len(),
            "items": { "type": "string", "enum": Tool::ALL.map(Tool::as_str) },
        },
        "options": options(),
    })
}

fn options() -> Value {
    let model = json!({ "type": ["string", "array"], "items": { "type": "string" } });
    let kinds = [Kind::Respond, Kind::Repoll].map(Kind::as_str);
    json!({
        "type": "object",
        "properties": {
            "seed": { "type": "integer", "minimum": 0 },
            "similarity": { "type": "string", "enum": Similarity::ALL.map(Similarity::as_str) },
            "limits": AskedLimits::schema(Tokens::default()),
            "effort": effort_schema(Some(&kinds)),
            "output_tokens": output_tokens_schema(&kinds),
            "language": { "type": "string", "description": "BCP 47 tag of the answers' language" },
            "as_of": { "type": "string", "description": "moment or day that prompts state, such as 2026-11-21" },
            "models": {
                "type": "object",
                "properties": {
                    "default": model,
                    (Kind::Respond.as_str()): model,
                    (Kind::Repoll.as_str()): model,
                    (LIGHT): model,
                    "roles": { "type": "object", "additionalProperties": model },
                },
            },
        },
    })
}
