//! Where two results differ.

use serde_json::Value;

/// The most places that are shown.
const PLACES_MAX: usize = 6;

/// The most characters that are shown of a value.
const CHARS_MAX: usize = 100;

/// Returns the first places at which two values differ, one line each.
#[must_use]
pub fn places(left: &Value, right: &Value) -> Vec<String> {
    let mut places = Vec::new();
    compare("", left, right, &mut places);
    places
}

fn compare(path: &str, left: &Value, right: &Value, places: &mut Vec<String>) {
    if left == right || places.len() == PLACES_MAX {
        return;
    }
    match (left, right) {
        (Value::Object(lefts), Value::Object(rights)) if lefts.keys().eq(rights.keys()) => {
            for ((name, left), (_, right)) in lefts.iter().zip(rights) {
                compare(&format!("{path}/{name}"), left, right, places);
            }
        }
        (Value::Array(lefts), Value::Array(rights)) if lefts.len() == rights.len() => {
            for (index, (left, right)) in lefts.iter().zip(rights).enumerate() {
                compare(&format!("{path}/{index}"), left, right, places);
            }
        }
        _ => places.push(format!("{path}: {} and {}", shown(left), shown(right))),
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_place_is_named_by_its_path() {
        let left = json!({ "a": 1, "b": [1, { "c": "x" }], "d": [1] });
        let right = json!({ "a": 1, "b": [2, { "c": "y" }], "d": [1, 2] });
        let places = places(&left, &right);
        assert_eq!(places, ["/b/0: 1 and 2", r#"/b/1/c: "x" and "y""#, "/d: [1] and [1,2]"]);
    }

    #[test]
    fn equal_values_differ_nowhere() {
        assert!(places(&json!([1, null]), &json!([1, null])).is_empty());
    }
}
