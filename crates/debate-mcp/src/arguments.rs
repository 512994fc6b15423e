//! What a tool was given, read by its table: every argument at fault is named at once (rule K12).

use debate_core::format::Format as _;
use debate_core::formats::accept::{AcceptedRequest, accept_bytes_with};
use debate_core::formats::roundtable::Roundtable;
use debate_core::request::{Violation, Violations};
use debate_grpc::request_id_fault;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::tools::{Input, Kind, Spec};

/// The arguments of one tool, each of which is what its table says.
#[derive(Debug)]
pub(crate) struct Arguments {
    given: JsonObject,
    /// The request that they make, where they are one.
    pub(crate) request: Option<AcceptedRequest>,
}

impl Arguments {
    /// Reads arguments.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn read(spec: &Spec, given: Option<JsonObject>) -> Result<Self, Violations> {
        // Clients write null where they leave an argument out.
        let given: JsonObject =
            given.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()).collect();
        let known: Vec<&str> = spec.inputs.iter().map(|input| input.name).collect();
        let wrong = spec.inputs.iter().filter_map(|input| {
            let reason = input.fault(given.get(input.name))?;
            Some(Violation::new(input.name, reason))
        });
        let unknown = given.keys().filter(|name| !known.contains(&name.as_str())).map(|name| {
            Violation::new(name, format!("is no argument of {}; it takes {}", spec.name, known.join(", ")))
        });
        let mut faults = wrong.chain(unknown).peekable();
        let request = match request(spec, &given) {
            Some(request) => Some(accept_bytes_with(faults, request.as_bytes())?),
            None if faults.peek().is_some() => return Err(faults.collect()),
            None => None,
        };
        Ok(Self { given, request })
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.as_str()
    }

    /// Returns a whole number.
    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.given.get(name)?.as_u64()
    }

    /// Returns a round.
    pub(crate) fn round(&self) -> Option<u32> {
        u32::try_from(self.whole("round")?).ok()
    }

    /// Returns the id of the debate that is meant; empty where none is named.
    pub(crate) fn debate_id(&self) -> &str {
        self.text("debate_id").unwrap_or_default()
    }
}

/// Returns what of a tool's arguments makes a request for a roundtable, where it takes one.
fn request(spec: &Spec, given: &JsonObject) -> Option<String> {
    let mut fields = spec.inputs.iter().filter(|input| matches!(input.kind, Kind::Request(_))).peekable();
    fields.peek()?;
    let given = fields.filter_map(|input| Some((input.name.to_owned(), given.get(input.name)?.clone())));
    let mut request: JsonObject = given.collect();
    request.insert("format".to_owned(), Roundtable::NAME.into());
    Some(Value::Object(request).to_string())
}

impl Input {
    /// Says what is wrong with a value, if anything is.
    fn fault(&self, value: Option<&Value>) -> Option<String> {
        if matches!(self.kind, Kind::Request(_)) {
            return None;
        }
        let Some(value) = value else {
            return self.is_required.then(|| "is missing".to_owned());
        };
        match &self.kind {
            Kind::Text(chars_max) => {
                let chars = value.as_str().map(|text| text.chars().count());
                let fits = chars.is_some_and(|chars| (1..=*chars_max).contains(&chars));
                (!fits).then(|| format!("must be a text of 1 to {chars_max} characters"))
            }
            Kind::RequestId => match value.as_str().filter(|id| !id.is_empty()) {
                Some(id) => request_id_fault(id),
                None => Some("must be a text, and not empty".to_owned()),
            },
            Kind::Whole(range) => {
                let fits = value.as_u64().is_some_and(|number| range.contains(&number));
                let (least, most) = (range.start(), range.end());
                (!fits).then(|| format!("must be a whole number from {least} to {most}"))
            }
            Kind::Choice(words) => {
                let fits = value.as_str().is_some_and(|word| words.contains(&word));
                (!fits).then(|| format!("must be one of {}", words.join(", ")))
            }
            Kind::Request(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::BTreeSet;

    use debate_core::formats::roundtable;
    use serde_json::{Map, json};

    use super::*;
    use crate::tools::TOOLS;

    fn faults(tool: &str, given: Value) -> Vec<String> {
        let spec = TOOLS.iter().find(|spec| spec.name == tool).unwrap();
        let Value::Object(given) = given else { panic!("{given} is no object") };
        let read = Arguments::read(spec, Some(given));
        read.map_or_else(|Violations(all)| all.into_iter().map(|fault| fault.field).collect(), |_| Vec::new())
    }

    #[test]
    fn k12_every_argument_at_fault_is_named_at_once() {
        for (tool, given, named) in [
            ("start_roundtable", json!({}), vec!["topic", "agents"]),
            (
                "start_roundtable",
                json!({ "topic": "T", "agents": ["a", "b"], "flags": { "exit_criteria": { "enabled": 1 } }, "wait_s": 1.5 }),
                vec!["wait_s", "flags.exit_criteria.enabled"],
            ),
            (
                "start_roundtable",
                json!({ "topic": "T", "agents": ["a", "b"], "format": "prediction" }),
                vec!["format"],
            ),
            (
                "continue_roundtable",
                json!({ "rounds": 0, "focus": "" }),
                vec!["debate_id", "rounds", "focus"],
            ),
            ("control_session", json!({ "debate_id": "x", "action": "kill" }), vec!["action"]),
            ("get_thoughts", json!({ "debate_id": "x", "agent": null }), vec!["agent"]),
            (
                "list_sessions",
                json!({ "state": "gone", "page_size": 101, "x": 1 }),
                vec!["state", "page_size", "x"],
            ),
            ("list_sessions", json!({}), vec![]),
            ("get_round_details", json!({ "debate_id": "x", "round": 10 }), vec![]),
        ] {
            assert_eq!(faults(tool, given.clone()), named, "{tool} {given}");
        }
    }

    #[test]
    fn k12_a_flood_of_arguments_is_counted_not_listed() {
        let many: Map<String, Value> = (0..150).map(|number| (format!("x{number}"), json!(1))).collect();
        let named = faults("list_sessions", Value::Object(many.clone()));
        assert_eq!((named.len(), named[100].as_str()), (101, "request"));
        let mut request = many.clone();
        request.insert("flags".to_owned(), Value::Object(many));
        let named = faults("start_roundtable", Value::Object(request));
        assert_eq!(
            (named.len(), named[100].as_str()),
            (101, "request"),
            "with those of the request that they make"
        );
        let long = faults("list_sessions", json!({ "é".repeat(100_000): 1 }));
        assert!(long.len() == 1 && (490..=510).contains(&long[0].len()), "{} bytes", long[0].len());
    }

    #[test]
    fn t12_every_field_of_a_request_is_an_argument_of_start_roundtable() {
        let spec = TOOLS.iter().find(|spec| spec.name == "start_roundtable").unwrap();
        let tool = spec.tool();
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for name in roundtable::request::KNOWN.iter().filter(|name| **name != "format") {
            let schema = &properties[*name];
            assert!(schema["type"].is_string() && schema["description"].is_string(), "{name}: {schema}");
            let is_bare =
                schema["type"] == "object" && schema["properties"].as_object().is_none_or(Map::is_empty);
            assert!(!is_bare, "{name}: {schema}");
        }
        let panel = json!({
            "topic": "T", "agents": ["a", "b"], "mode": "expert-panel", "tools": ["search_web"], "nativeWebSearch": true,
            "perspectiveConfig": { "perspectives": ["social"] }, "rounds": 10,
        });
        assert_eq!(faults("start_roundtable", panel), Vec::<String>::new());
    }

    #[test]
    fn t12_there_are_twelve_tools_each_with_schemas_of_what_it_takes_and_gives() {
        assert_eq!(TOOLS.iter().map(|spec| spec.name).collect::<BTreeSet<_>>().len(), 12);
        for spec in TOOLS {
            let tool = spec.tool();
            let properties = tool.input_schema["properties"].as_object().unwrap();
            assert!(properties.values().all(|property| property["description"].is_string()), "{}", spec.name);
            assert_eq!(tool.input_schema["additionalProperties"], json!(false));
            assert!(tool.output_schema.unwrap()["required"].as_array().is_some_and(|all| !all.is_empty()));
        }
    }
}
