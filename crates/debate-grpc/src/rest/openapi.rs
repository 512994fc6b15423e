//! The OpenAPI 3.1 document, made of what is served: the routes with what they need, and the messages of `debate.v1`, whose
//! fields and comments are those of the JSON too.

mod schemas;

use std::sync::LazyLock;

use debate_core::formats::any::FORMATS;
use serde_json::{Map, Value, json};

use super::debates::{DEBATES, RESUME};
use crate::access::{Needs, TABLE};
use crate::tokens::Scope;
use schemas::{reference, schemas};

/// The document; it does not change while the program runs.
pub(super) static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// What a route is for, and what it answers when it goes well: method, template, sentence, status, schema.
const ROUTES: &[(&str, &str, &str, &str, &str)] = &[
    ("GET", "/healthz", "Says that the server is up.", "200", "Health"),
    ("GET", "/readyz", "Says whether the server can serve requests now.", "200", "Health"),
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
        "POST",
        RESUME,
        "Ends a pause, or drives a void debate again, and returns at once. It takes no body.",
        "200",
        "Started",
    ),
    ("GET", "/api/v1/prompts", "Lists the texts of prompts (rule P24).", "200", "ListPromptsResponse"),
    (
        "GET",
        "/api/v1/prompts/{format}/{name}",
        "Returns a text of a prompt, by its name with or without the version.",
        "200",
        "GetPromptResponse",
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
        "Asks for a better prompt for a reviewer and writes it next to the reviewer's files.",
        "200",
        "ProposePromptResponse",
    ),
    (
        "GET",
        "/api/v1/reasoning/policy/proposals",
        "Shows a proposal as it is recorded.",
        "200",
        "GetProposalResponse",
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
    ("GET", "/api/v1/reasoning/policy/proposals", "query", "role", "The reviewer; required.", "string"),
    (
        "GET",
        "/api/v1/reasoning/policy/proposals",
        "query",
        "number",
        "Which proposal; the latest that was made unless given.",
        "integer",
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
        "Events on the page, 1 to 1,000; 100 unless given. A page ends early before it grows over 2 MiB.",
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
    let reads_body = *method == "POST" && *path != RESUME;
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
        let still_running = json!({ "description": "The debate still runs.", "content": running });
        responses.insert("202".to_owned(), still_running);
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
        ("state", _) => json!({ "type": kind, "enum": ["running", "paused", "concluded", "archived"] }),
        (_, "integer") => json!({ "type": kind, "minimum": 0 }),
        (_, _) => json!({ "type": kind }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_that_is_served_is_described_and_no_other() {
        let served: BTreeSet<_> = TABLE
            .iter()
            .filter(|(_, place, _)| place.starts_with("/api/") || ["/healthz", "/readyz"].contains(place))
            .map(|(method, place, _)| (*method, *place))
            .collect();
        let described: BTreeSet<_> = ROUTES.iter().map(|route| (route.0, route.1)).collect();
        assert_eq!(described, served);
        assert!(PARAMETERS.iter().all(|row| described.contains(&(row.0, row.1))));
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

    #[test]
    fn p23_effort_is_a_name_or_an_object_in_every_format() {
        let document: Value = serde_json::from_str(&DOCUMENT).unwrap();
        let schemas = &document["components"]["schemas"];
        for format in ["Debate", "Deliberation", "Roundtable", "Review", "Investigation"] {
            let options = &schemas[format!("{format}Options")]["properties"];
            let effort = &options["effort"]["anyOf"][0]["anyOf"];
            assert_eq!(effort[0]["enum"], json!(["none", "low", "medium", "high"]), "{format}");
            assert_eq!(effort[1]["additionalProperties"]["type"], "string", "{format}");
            assert_eq!(options["output_tokens"]["additionalProperties"]["type"], "integer", "{format}");
        }
        let limits = &schemas["LimitsOption"]["properties"];
        assert!(limits["thinking_tokens_max"].is_object() && limits["thinking_tokens_each"].is_object());
        let path = &document["paths"][RESUME]["post"];
        assert_eq!((&path["x-scope"], path.get("requestBody")), (&json!("write"), None));
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
