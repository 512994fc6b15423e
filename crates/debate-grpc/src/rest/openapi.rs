//! The OpenAPI 3.1 document, made of what is served: the routes with what they need, and the messages of `debate.v1`, whose
//! fields and comments are those of the JSON too.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use debate_core::formats::any::FORMATS;
use debate_core::request::added::ROUNDS_ADDED_DEFAULT;
use debate_core::request::sizes::{FOCUS_CHARS_MAX, ROUNDS_ADDED};
use prost_reflect::{Cardinality, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use super::debates::DEBATES;
use crate::access::{Needs, TABLE};
use crate::tokens::Scope;
use crate::wire_json::POOL;

/// The document; it does not change while the program runs.
pub(super) static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// What a route is for, and what it answers when it goes well: method, template, sentence, status, schema.
const ROUTES: &[(&str, &str, &str, &str, &str)] = &[
    ("GET", "/healthz", "Says that the server is up.", "200", "Health"),
    ("GET", "/api/v1/openapi.json", "Returns this document.", "200", "Document"),
    ("POST", "/api/v1/reasoning/debate", "Opens a debate and waits for its result.", "200", "Outcome"),
    ("GET", "/api/v1/reasoning/debate/{debate_id}", "Returns a debate's result.", "200", "Outcome"),
    (
        "GET",
        "/api/v1/reasoning/debate/{debate_id}/round/{round_number}",
        "Returns one round.",
        "200",
        "RoundAnswer",
    ),
    (
        "GET",
        "/api/v1/reasoning/debate/{debate_id}/role/{role_name}",
        "Returns all that one role said.",
        "200",
        "RoleAnswer",
    ),
    (
        "GET",
        "/api/v1/reasoning/debate/{debate_id}/consensus",
        "Returns where the roles agree and where not.",
        "200",
        "GetConsensusResponse",
    ),
    ("POST", DEBATES, "Opens a debate of any format and returns at once.", "201", "Started"),
    ("GET", DEBATES, "Lists debates, the newest first.", "200", "Listing"),
    (
        "GET",
        "/api/v1/debates/{debate_id}",
        "Returns a debate of any format as it stands, with its result.",
        "200",
        "DebateAnswer",
    ),
    (
        "GET",
        "/api/v1/debates/{debate_id}/events",
        "Returns a page of events or, as text/event-stream, events as they happen.",
        "200",
        "EventsAnswer",
    ),
    (
        "POST",
        "/api/v1/debates/{debate_id}/resolution",
        "Records what happened in the world; returns the debate with how good its forecasts were.",
        "200",
        "DebateAnswer",
    ),
    (
        "POST",
        "/api/v1/debates/{debate_id}/continue",
        "Holds more rounds of a concluded debate and returns at once.",
        "200",
        "Started",
    ),
    (
        "GET",
        "/api/v1/reasoning/policy/insights",
        "Returns what past reviews say of each reviewer.",
        "200",
        "GetPolicyInsightsResponse",
    ),
    (
        "POST",
        "/api/v1/reasoning/policy/proposals",
        "Asks for a better prompt of a reviewer and writes it beside its files.",
        "200",
        "ProposePromptResponse",
    ),
    (
        "POST",
        "/api/v1/reasoning/policy/acceptances",
        "Records that a person accepts a proposal.",
        "200",
        "AcceptPromptResponse",
    ),
];

/// Parameters in the query or in headers: method, template, where, name, sentence, schema's type.
const PARAMETERS: &[(&str, &str, &str, &str, &str, &str)] = &[
    (
        "POST",
        "/api/v1/reasoning/debate",
        "header",
        "Idempotency-Key",
        "The client's id of the request (rule K11).",
        "string",
    ),
    (
        "POST",
        "/api/v1/reasoning/debate",
        "header",
        "Prefer",
        "`respond-async`: answer 202 at once. `wait=SECONDS`: answer in time; the debate's deadline comes forward.",
        "string",
    ),
    ("POST", DEBATES, "header", "Idempotency-Key", "The client's id of the request (rule K11).", "string"),
    ("GET", DEBATES, "query", "page_size", "Debates on the page, 1 to 1,000; 100 unless given.", "integer"),
    ("GET", DEBATES, "query", "page_token", "next_page_token of the page before.", "string"),
    ("GET", DEBATES, "query", "format", "Only this format.", "string"),
    ("GET", DEBATES, "query", "state", "Only running, paused or concluded ones.", "string"),
    (
        "GET",
        "/api/v1/reasoning/debate/{debate_id}",
        "header",
        "If-None-Match",
        "The ETag of a result that is known.",
        "string",
    ),
    (
        "GET",
        "/api/v1/debates/{debate_id}",
        "header",
        "If-None-Match",
        "The ETag of a result that is known.",
        "string",
    ),
    (
        "GET",
        "/api/v1/reasoning/policy/insights",
        "query",
        "days",
        "How far to look back; 30 unless given.",
        "integer",
    ),
    (
        "GET",
        "/api/v1/reasoning/policy/insights",
        "query",
        "debates_min",
        "The fewest debates that say anything; 5 unless given.",
        "integer",
    ),
    (
        "GET",
        "/api/v1/reasoning/policy/insights",
        "query",
        "score_min",
        "The mean below which a prompt needs an update, 0 to 10; 7 unless given.",
        "number",
    ),
    (
        "GET",
        "/api/v1/debates/{debate_id}/events",
        "query",
        "after",
        "The last sequence number already seen; 0 for all.",
        "integer",
    ),
    (
        "GET",
        "/api/v1/debates/{debate_id}/events",
        "query",
        "page_size",
        "Events on the page, 1 to 1,000; 100 unless given.",
        "integer",
    ),
    (
        "GET",
        "/api/v1/debates/{debate_id}/events",
        "header",
        "Last-Event-ID",
        "The last event already seen, for streams.",
        "integer",
    ),
];

fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.1.to_owned()).or_insert_with(|| json!({}));
        entry[route.0.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "debate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Structured debates between language models.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation((method, path, sentence, status, schema): &(&str, &str, &str, &str, &str)) -> Value {
    let needs = TABLE.iter().find(|(its_method, place, _)| (its_method, place) == (method, path));
    let needs = needs.map_or(Needs::Nothing, |(_, _, needs)| *needs);
    let reads_body = *method == "POST";
    let media = if *schema == "Health" { "text/plain" } else { "application/json" };
    let mut responses = Map::new();
    let good = json!({ media: { "schema": reference(schema) } });
    responses.insert((*status).to_owned(), json!({ "description": "It went well.", "content": good }));
    if path.ends_with("/events") {
        let stream = json!({ "schema": { "type": "string" } });
        responses["200"]["content"]["text/event-stream"] = stream;
        responses.insert("204".to_owned(), json!({ "description": "There is nothing left to follow." }));
    }
    if *path == DEBATES && reads_body {
        let known = json!({ "description": "The same request had opened it before.", "content": good });
        responses.insert("200".to_owned(), known);
    }
    if path.starts_with("/api/v1/reasoning/debate") {
        let running = json!({ "application/json": { "schema": reference("Running") } });
        let told = json!({ "description": "The debate still runs.", "content": running });
        responses.insert("202".to_owned(), told);
    }
    if PARAMETERS.iter().any(|row| (row.0, row.1, row.3) == (method, path, "If-None-Match")) {
        responses.insert("304".to_owned(), json!({ "description": "The result is the known one." }));
    }
    let problem = json!({ "application/problem+json": { "schema": reference("Problem") } });
    let refused = json!({ "description": "It was refused (RFC 9457).", "content": problem });
    responses.insert("default".to_owned(), refused);
    let mut operation = json!({
        "summary": sentence,
        "operationId": operation_id(method, path),
        "parameters": parameters(method, path),
        "responses": responses,
        "security": match needs {
            Needs::Nothing => json!([]),
            Needs::Token | Needs::Scope(_) => json!([{ "token": [] }]),
        },
    });
    if let Needs::Scope(scope) = needs {
        operation["x-scope"] = Value::from(Scope::as_str(scope));
    }
    if reads_body {
        let content = json!({ "application/json": { "schema": reference(request_of(path)) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// Returns the schema of what is sent to a route.
fn request_of(path: &str) -> &'static str {
    match path {
        "/api/v1/reasoning/policy/proposals" => "ProposePromptRequest",
        "/api/v1/reasoning/policy/acceptances" => "AcceptPromptRequest",
        "/api/v1/debates/{debate_id}/resolution" => "Resolution",
        "/api/v1/debates/{debate_id}/continue" => "AddedRounds",
        _ => "Request",
    }
}

/// Returns a name made of the template, such as `get_debates_debate_id_events`.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.trim_start_matches("/api/v1").split(['/', '{', '}', '.']);
    let words = std::iter::once(method).chain(words.filter(|word| !word.is_empty()));
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

fn parameters(method: &str, path: &str) -> Vec<Value> {
    let in_path = path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let in_path = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let others = PARAMETERS.iter().filter(|row| (row.0, row.1) == (method, path));
    let others = others.map(|(_, _, place, name, sentence, kind)| {
        json!({ "name": name, "in": place, "description": sentence, "schema": parameter(name, kind) })
    });
    in_path.chain(others).collect()
}

fn parameter(name: &str, kind: &str) -> Value {
    match (name, kind) {
        ("format", _) => json!({ "type": kind, "enum": FORMATS }),
        ("state", _) => json!({ "type": kind, "enum": ["running", "paused", "concluded"] }),
        (_, "integer") => json!({ "type": kind, "minimum": 0 }),
        (_, _) => json!({ "type": kind }),
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Returns every schema: a few of REST alone, and the messages that they lead to.
fn schemas() -> Map<String, Value> {
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
        "GetPolicyInsightsResponse",
        "ProposePromptRequest",
        "ProposePromptResponse",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_that_is_served_is_described_and_no_other() {
        let served: BTreeSet<_> = TABLE
            .iter()
            .filter(|(_, place, _)| place.starts_with("/api/") || *place == "/healthz")
            .map(|(method, place, _)| (*method, *place))
            .collect();
        let told: BTreeSet<_> = ROUTES.iter().map(|route| (route.0, route.1)).collect();
        assert_eq!(told, served);
        assert!(PARAMETERS.iter().all(|row| told.contains(&(row.0, row.1))));
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document: Value = serde_json::from_str(&DOCUMENT).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut references = BTreeSet::new();
        collect(&document, &mut references);
        for reference in &references {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(references.len() > 20 && schemas["DebateRequest"]["properties"]["task_id"].is_object());
        let sentence = schemas["Debate"]["properties"]["id"]["description"].as_str().unwrap();
        assert_eq!(sentence, "The debate, a UUID v4.");
    }

    fn collect(value: &Value, references: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    references.insert(reference.clone());
                }
                map.values().for_each(|value| collect(value, references));
            }
            Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
