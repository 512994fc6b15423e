//! Schemas of the description: those of REST alone, and those of the messages that it shares with gRPC.

use std::collections::BTreeSet;

use debate_core::formats::any::FORMATS;
use debate_core::request::added::ROUNDS_ADDED_DEFAULT;
use debate_core::request::models::effort_schema;
use debate_core::request::sizes::{FOCUS_CHARS_MAX, ROUNDS_ADDED};
use prost_reflect::{Cardinality, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use crate::wire_json::POOL;

/// Refers to a schema by its name.
pub(super) fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Returns every schema: a few of REST alone, and the messages that they lead to.
pub(super) fn schemas() -> Map<String, Value> {
    let formats = |message: &str, oneof: &str| {
        let message = POOL.get_message_by_name(message).expect("the message is there");
        let oneof = message.oneofs().find(|found| found.name() == oneof).expect("the oneof is there");
        let kinds = oneof.fields().filter_map(|field| field.kind().as_message().cloned());
        kinds.collect::<Vec<_>>()
    };
    let requests = formats("debate.v1.StartDebateRequest", "format");
    let results = formats("debate.v1.GetDebateResponse", "result");
    let mut schemas = of_rest(&requests, &results);
    let roots = [
        "Debate",
        "Round",
        "Argument",
        "GetConsensusResponse",
        "ListPromptsResponse",
        "GetPromptResponse",
        "GetPolicyInsightsResponse",
        "ProposePromptRequest",
        "ProposePromptResponse",
        "GetProposalResponse",
        "AcceptPromptRequest",
        "AcceptPromptResponse",
    ];
    let roots = roots.map(|name| POOL.get_message_by_name(&format!("debate.v1.{name}")));
    let mut open: Vec<MessageDescriptor> =
        roots.into_iter().flatten().chain(requests).chain(results).collect();
    let mut seen = BTreeSet::new();
    while let Some(message) = open.pop() {
        if seen.insert(message.full_name().to_owned()) {
            open.extend(message.fields().filter_map(|field| described(&field)));
            schemas.insert(message.name().to_owned(), message_schema(&message));
        }
    }
    schemas
}

/// Returns the schemas of what REST alone has.
fn of_rest(requests: &[MessageDescriptor], results: &[MessageDescriptor]) -> Map<String, Value> {
    let any = |messages: &[MessageDescriptor]| {
        messages.iter().map(|message| reference(message.name())).collect::<Vec<_>>()
    };
    let text = json!({ "type": "string" });
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let mut request = json!({ "anyOf": any(requests) });
    request["description"] = Value::from("The contract's request; `format` names another format.");
    request["properties"] = json!({ "format": { "type": "string", "enum": FORMATS } });
    let list = |name: &str| json!({ "type": "array", "items": reference(name) });
    let mut schemas = Map::new();
    for (name, schema) in [
        ("Health", text.clone()),
        ("Document", json!({ "type": "object" })),
        ("Request", request),
        ("Outcome", json!({ "anyOf": any(results) })),
        ("RoundAnswer", object(json!({ "round": reference("Round") }))),
        ("RoleAnswer", object(json!({ "arguments": list("Argument") }))),
        ("Resolution", resolution()),
        (
            "AddedRounds",
            object(json!({
                "rounds": { "type": "integer", "minimum": 1, "maximum": ROUNDS_ADDED.end(), "default": ROUNDS_ADDED_DEFAULT },
                "focus": { "type": "string", "maxLength": FOCUS_CHARS_MAX },
            })),
        ),
        ("Started", object(json!({ "debate": reference("Debate") }))),
        (
            "Listing",
            object(json!({ "debates": list("Debate"), "next_page_token": { "type": ["string", "null"] } })),
        ),
        ("DebateAnswer", object(json!({ "debate": reference("Debate"), "result": reference("Outcome") }))),
        ("EventsAnswer", object(json!({ "events": list("LoggedEvent"), "head_seq": { "type": "integer" } }))),
        (
            "LoggedEvent",
            object(json!({
                "seq": { "type": "integer" }, "kind": text, "version": { "type": "integer" }, "at": text, "actor": text,
                "body": { "type": "object" },
                "prose": { "description": "What was said, shaped by the kind; null where nothing was, or it was redacted." },
                "redacted": { "type": "boolean" }, "hash": text,
            })),
        ),
        (
            "Running",
            object(json!({
                "debate_id": text, "status": text, "phase": { "type": ["string", "null"] },
                "round": { "type": ["integer", "null"] }, "head_seq": { "type": "integer" },
                "opened_at": text, "deadline_at": text,
            })),
        ),
        (
            "Problem",
            object(json!({
                "type": text, "title": text, "status": { "type": "integer" }, "detail": text, "reason": text,
                "debate_id": text,
                "errors": { "type": "array", "items": object(json!({ "field": text, "reason": text })) },
            })),
        ),
    ] {
        schemas.insert(name.to_owned(), schema);
    }
    schemas
}

/// Returns the schema of what happened.
fn resolution() -> Value {
    let outcome =
        json!({ "type": "string", "description": "The outcome that happened, by its id in the request." });
    let at = "When it happened: a moment, or a day such as 2026-09-22; absent where that is not known.";
    let at = json!({ "type": ["string", "null"], "description": at });
    json!({
        "type": "object", "required": ["outcome_id"],
        "properties": { "outcome_id": outcome, "happened_at": at },
    })
}

/// Returns the message of `debate.v1` that a field has, or has in a list or map.
fn described(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let Kind::Message(message) = field.kind() else { return None };
    let message =
        if field.is_map() { message.map_entry_value_field().kind().as_message().cloned()? } else { message };
    (message.parent_file().package_name() == "debate.v1").then_some(message)
}

fn message_schema(message: &MessageDescriptor) -> Value {
    let mut properties = Map::new();
    for field in message.fields() {
        let mut schema = if field.is_map() {
            let value = field.kind().as_message().map(MessageDescriptor::map_entry_value_field);
            json!({ "type": "object", "additionalProperties": value.as_ref().map(kind_schema) })
        } else if field.is_list() {
            json!({ "type": "array", "items": kind_schema(&field) })
        } else if field.name() == "effort" {
            effort_schema(None)
        } else {
            kind_schema(&field)
        };
        if let Some(comment) = comment(&field.parent_file(), field.path()) {
            schema["description"] = Value::from(comment);
        }
        let may_be_null = field.cardinality() == Cardinality::Optional && field.supports_presence();
        if may_be_null {
            schema = json!({ "anyOf": [schema, { "type": "null" }] });
        }
        properties.insert(field.name().to_owned(), schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Some(comment) = comment(&message.parent_file(), message.path()) {
        schema["description"] = Value::from(comment);
    }
    schema
}

fn kind_schema(field: &FieldDescriptor) -> Value {
    match field.kind() {
        Kind::Double | Kind::Float => json!({ "type": "number" }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::String | Kind::Bytes | Kind::Enum(_) => json!({ "type": "string" }),
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
            name if name.starts_with("google.protobuf.") => json!({}),
            _ => reference(message.name()),
        },
        Kind::Int32
        | Kind::Int64
        | Kind::Uint32
        | Kind::Uint64
        | Kind::Sint32
        | Kind::Sint64
        | Kind::Fixed32
        | Kind::Fixed64
        | Kind::Sfixed32
        | Kind::Sfixed64 => json!({ "type": "integer" }),
    }
}

/// Returns what stands above something in its proto file.
fn comment(file: &FileDescriptor, path: &[i32]) -> Option<String> {
    let info = file.file_descriptor_proto().source_code_info.as_ref()?;
    let location = info.location.iter().find(|location| location.path == path)?;
    let words = location.leading_comments.as_ref()?.split_whitespace();
    Some(words.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}
