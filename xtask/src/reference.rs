//! The reference of the wire, target/docs/api.md: made of the comments in proto/.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

const HEAD: &str = "\
# gRPC reference

Services, messages and enums of `debate.v1`, made of `proto/` by `cargo xtask api`: not written by hand. REST is described by the
server itself, at `/api/v1/openapi.json`.
";

/// Where in a file's descriptor the parts of a kind are, by the numbers of descriptor.proto.
const MESSAGE: u64 = 4;
const ENUM: u64 = 5;
const SERVICE: u64 = 6;
/// Fields of a message, values of an enum, methods of a service.
const PART: u64 = 2;
const NESTED: u64 = 3;

/// One file with its comments.
struct File<'a> {
    descriptor: &'a Value,
    comments: BTreeMap<Vec<u64>, &'a str>,
}

/// Returns the page for the files of an image as `buf build` writes it in JSON.
///
/// # Errors
///
/// When the image has another shape.
pub(crate) fn page(image: &Value) -> Result<String> {
    let files = image["file"].as_array().context("the image names no files")?;
    let files: Vec<File<'_>> = files.iter().map(File::new).collect();
    let mut page = HEAD.to_owned();
    for (index, service, file) in parts(&files, "service") {
        file.service(&mut page, index, service)?;
    }
    let mut shapes = BTreeMap::new();
    for (index, message, file) in parts(&files, "messageType") {
        file.message(&mut shapes, &[MESSAGE, index], message, "")?;
    }
    for (index, found, file) in parts(&files, "enumType") {
        file.values(&mut shapes, &[ENUM, index], found, "")?;
    }
    page.push_str("\n## Messages and enums\n");
    page.extend(shapes.into_values());
    Ok(page)
}

/// Returns the parts of a kind in all files, in order.
fn parts<'a>(files: &'a [File<'a>], kind: &'a str) -> impl Iterator<Item = (u64, &'a Value, &'a File<'a>)> {
    files.iter().flat_map(move |file| {
        let parts = file.descriptor[kind].as_array().into_iter().flatten();
        parts.zip(0..).map(move |(part, index)| (index, part, file))
    })
}

fn list(value: &Value) -> impl Iterator<Item = (u64, &Value)> {
    (0..).zip(value.as_array().into_iter().flatten())
}

fn name(part: &Value) -> &str {
    part["name"].as_str().unwrap_or_default()
}

impl<'a> File<'a> {
    fn new(descriptor: &'a Value) -> Self {
        let mut comments = BTreeMap::new();
        for (_, location) in list(&descriptor["sourceCodeInfo"]["location"]) {
            let path = list(&location["path"]).filter_map(|(_, number)| number.as_u64()).collect();
            if let Some(comment) = location["leadingComments"].as_str() {
                comments.insert(path, comment);
            }
        }
        Self { descriptor, comments }
    }

    /// Returns what is said of a part, its paragraphs apart.
    fn said(&self, path: &[u64]) -> String {
        let lines = self.comments.get(path).copied().unwrap_or_default().lines().map(str::trim);
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }

    /// Returns the same as one cell of a table.
    fn cell(&self, path: &[u64]) -> String {
        self.said(path).split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    }

    fn service(&self, page: &mut String, index: u64, service: &Value) -> Result<()> {
        let path = [SERVICE, index];
        write!(page, "\n## {}\n\n{}\n", name(service), self.said(&path))?;
        for (method, found) in list(&service["method"]) {
            let said = self.said(&[SERVICE, index, PART, method]);
            let (input, output) = (linked(&found["inputType"]), linked(&found["outputType"]));
            let streams = if found["serverStreaming"] == true { "stream of " } else { "" };
            write!(page, "\n### {}\n\n{input} → {streams}{output}\n\n{said}\n", name(found))?;
        }
        Ok(())
    }

    fn message(
        &self,
        shapes: &mut BTreeMap<String, String>,
        path: &[u64],
        message: &Value,
        within: &str,
    ) -> Result<()> {
        let full = format!("{within}{}", name(message));
        let mut text = format!("\n### {full}\n\n{}\n", self.said(path));
        if message["field"].as_array().is_some_and(|fields| !fields.is_empty()) {
            text.push_str("\n| field | type | what |\n|---|---|---|\n");
        }
        for (index, field) in list(&message["field"]) {
            let said = self.cell(&[path, &[PART, index]].concat());
            let oneof = field["oneofIndex"].as_u64().filter(|_| field["proto3Optional"] != true);
            let oneof = oneof.map(|index| name(&message["oneofDecl"][usize::try_from(index).unwrap_or(0)]));
            let oneof = oneof.map(|name| format!(" (one of `{name}`)")).unwrap_or_default();
            writeln!(text, "| `{}` | {}{oneof} | {said} |", name(field), kind(field, message))?;
        }
        shapes.insert(full.clone(), text);
        let within = format!("{full}.");
        for (index, nested) in list(&message["nestedType"]) {
            if nested["options"]["mapEntry"] != true {
                self.message(shapes, &[path, &[NESTED, index]].concat(), nested, &within)?;
            }
        }
        // Enums within a message stand at the number that messages have within a file.
        for (index, nested) in list(&message["enumType"]) {
            self.values(shapes, &[path, &[MESSAGE, index]].concat(), nested, &within)?;
        }
        Ok(())
    }

    fn values(
        &self,
        shapes: &mut BTreeMap<String, String>,
        path: &[u64],
        found: &Value,
        within: &str,
    ) -> Result<()> {
        let full = format!("{within}{}", name(found));
        let mut text =
            format!("\n### {full}\n\n{}\n\n| value | number | what |\n|---|---|---|\n", self.said(path));
        for (index, value) in list(&found["value"]) {
            let said = self.cell(&[path, &[PART, index]].concat());
            writeln!(text, "| `{}` | {} | {said} |", name(value), value["number"])?;
        }
        shapes.insert(full, text);
        Ok(())
    }
}

/// Returns the type of a field as it is written in proto/.
fn kind(field: &Value, message: &Value) -> String {
    let is_list = field["label"] == "LABEL_REPEATED";
    let entry = list(&message["nestedType"]).map(|(_, nested)| nested).find(|nested| {
        let ending = format!(".{}", name(nested));
        nested["options"]["mapEntry"] == true
            && field["typeName"].as_str().is_some_and(|full| full.ends_with(&ending))
    });
    if let Some(entry) = entry {
        let of = |index: usize| kind(&entry["field"][index], entry);
        return format!("map from {} to {}", of(0), of(1));
    }
    let plain = match &field["typeName"] {
        Value::Null => {
            let scalar =
                field["type"].as_str().unwrap_or_default().trim_start_matches("TYPE_").to_lowercase();
            format!("`{scalar}`")
        }
        full => linked(full),
    };
    match (is_list, field["proto3Optional"] == true) {
        (true, _) => format!("list of {plain}"),
        (false, true) => format!("{plain}, optional"),
        (false, false) => plain,
    }
}

/// Returns a message or enum, with a link where it is on the page.
fn linked(full: &Value) -> String {
    let full = full.as_str().unwrap_or_default().trim_start_matches('.');
    match full.strip_prefix("debate.v1.") {
        Some(ours) => format!("[{ours}](#{})", ours.to_lowercase().replace('.', "")),
        None => format!("`{full}`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn methods_fields_and_values_are_listed_with_comments() {
        let file = json!({
            "service": [{"name": "S", "method": [
                {"name": "Do", "inputType": ".debate.v1.M", "outputType": ".google.protobuf.Empty", "serverStreaming": true},
            ]}],
            "messageType": [{"name": "M", "field": [
                {"name": "a", "label": "LABEL_REPEATED", "type": "TYPE_ENUM", "typeName": ".debate.v1.E"},
                {"name": "b", "label": "LABEL_REPEATED", "type": "TYPE_MESSAGE", "typeName": ".debate.v1.M.BEntry"},
                {"name": "c", "type": "TYPE_UINT32", "proto3Optional": true, "oneofIndex": 0},
            ], "nestedType": [{"name": "BEntry", "options": {"mapEntry": true}, "field": [
                {"name": "key", "type": "TYPE_STRING"}, {"name": "value", "type": "TYPE_BOOL"},
            ]}]}],
            "enumType": [{"name": "E", "value": [{"name": "E_X", "number": 3}]}],
            "sourceCodeInfo": {"location": [
                {"path": [6, 0, 2, 0], "leadingComments": " Does it.\n\n At once.\n"},
                {"path": [4, 0, 2, 2], "leadingComments": " One | two,\n three.\n"},
                {"path": [5, 0, 2, 0], "leadingComments": " The x.\n"},
            ]},
        });
        let page = page(&json!({"file": [file]})).unwrap();
        for line in [
            "### Do\n\n[M](#m) → stream of `google.protobuf.Empty`\n\nDoes it.\n\nAt once.\n",
            "| `a` | list of [E](#e) |  |\n",
            "| `b` | map from `string` to `bool` |  |\n",
            "| `c` | `uint32`, optional | One \\| two, three. |\n",
            "| `E_X` | 3 | The x. |\n",
        ] {
            assert!(page.contains(line), "{line}: {page}");
        }
        assert!(!page.contains("BEntry"), "{page}");
    }
}
