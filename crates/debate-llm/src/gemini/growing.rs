//! Arguments of a tool call that come in pieces, each with the path at which it belongs.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::http::malformed;
use crate::{ModelError, ToolCall};

/// A tool call whose arguments are still coming.
#[derive(Debug)]
pub(super) struct GrowingCall {
    call: ToolCall,
    arguments: Value,
}

/// A piece of arguments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg {
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Value>,
    bool_value: Option<bool>,
}

impl GrowingCall {
    /// Begins with a call and the arguments that it already has.
    pub(super) fn new(call: ToolCall) -> Self {
        let arguments = serde_json::from_str(&call.arguments).ok().filter(Value::is_object);
        Self { call, arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())) }
    }

    /// Puts a piece in its place; text grows, everything else is set.
    ///
    /// # Errors
    /// `Malformed` when the path leads nowhere.
    pub(super) fn add(&mut self, piece: PartialArg) -> Result<(), ModelError> {
        let nowhere = || malformed("a piece of a tool call has no place in it");
        let steps = steps(&piece.json_path).ok_or_else(nowhere)?;
        let mut place = &mut self.arguments;
        for step in &steps {
            place = descend(place, step).ok_or_else(nowhere)?;
        }
        match (place, piece.string_value) {
            (Value::String(text), Some(more)) => text.push_str(&more),
            (place, Some(text)) => *place = Value::String(text),
            (place, None) => {
                *place = piece.number_value.or(piece.bool_value.map(Value::Bool)).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Returns the call with the arguments as far as they have come.
    pub(super) fn finish(self) -> ToolCall {
        ToolCall { arguments: self.arguments.to_string(), ..self.call }
    }
}

/// A step from a value to one in it.
enum Step {
    Name(String),
    Index(usize),
}

/// Reads a path such as `$.list[0].name` or `$['a name']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            steps.push(Step::Name(name[..end].to_owned()));
            rest = &name[end..];
        } else if let Some((quoted, after)) =
            rest.strip_prefix("['").and_then(|quoted| quoted.split_once("']"))
        {
            steps.push(Step::Name(quoted.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// Goes one step, and makes what is not there yet; lists grow by one at a time.
fn descend<'a>(place: &'a mut Value, step: &Step) -> Option<&'a mut Value> {
    if place.is_null() {
        *place = match step {
            Step::Name(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    match (place, step) {
        (Value::Object(object), Step::Name(name)) => Some(object.entry(name.as_str()).or_insert(Value::Null)),
        (Value::Array(list), Step::Index(index)) => {
            if *index == list.len() {
                list.push(Value::Null);
            }
            list.get_mut(*index)
        }
        (_, Step::Name(_) | Step::Index(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn grown(pieces: Value) -> Result<String, &'static str> {
        let mut growing = GrowingCall::new(ToolCall::new("1", "add", "{}"));
        for piece in serde_json::from_value::<Vec<PartialArg>>(pieces).unwrap() {
            growing.add(piece).map_err(|error| error.kind.label())?;
        }
        Ok(growing.finish().arguments)
    }

    #[test]
    fn pieces_find_their_place_and_text_grows() {
        let pieces = json!([
            {"jsonPath": "$.where", "stringValue": "San ", "willContinue": true},
            {"jsonPath": "$.where", "stringValue": "Francisco"},
            {"jsonPath": "$.days[0].n", "numberValue": 1},
            {"jsonPath": "$.days[1].n", "numberValue": 2.5},
            {"jsonPath": "$['a name']", "boolValue": true},
            {"jsonPath": "$.none", "nullValue": "NULL_VALUE"}
        ]);
        let want = r#"{"where":"San Francisco","days":[{"n":1},{"n":2.5}],"a name":true,"none":null}"#;
        assert_eq!(grown(pieces).as_deref(), Ok(want));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_malformed() {
        for path in ["", "$", "x", "$.list[4000000000]", "$.list[-1]", "$.list[0", "$x"] {
            let got = grown(json!([{"jsonPath": path, "stringValue": "x"}]));
            assert_eq!(got, Err("malformed_response"), "{path}");
        }
        let through_text =
            json!([{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a.b", "stringValue": "y"}]);
        assert_eq!(grown(through_text), Err("malformed_response"));
    }
}
