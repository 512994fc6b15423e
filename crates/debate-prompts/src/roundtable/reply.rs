//! The shape of a reply, and its reading.

use debate_core::formats::roundtable::agent::{Part, Stance};
use debate_core::formats::roundtable::answer::Answer;
use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::visible::Visible;
use serde::Deserialize;
use serde_json::json;

use super::tools::{self, ToolCallReply};
use crate::copies;
use crate::prediction::lenient;
use crate::prediction::replies;
use crate::prompts::{ParseError, Reading, Received, ReplyShape};
use crate::schema::{self, list, number, object, prose, text};

/// The fields that distinguish a reply from other objects in a text.
const KEYS: [&str; 6] = ["stance", "position", "reasoning", "confidence", "citations", tools::FIELD];

/// Fields without which a response that was cut is asked for again.
const NEEDED: [&str; 4] = ["stance", "position", "reasoning", "confidence"];

/// Characters of the reasons, of the position, and of one source.
const REASONING_CHARS_MAX: u32 = 2_000;
const POSITION_CHARS_MAX: u32 = 400;
const CITATION_CHARS_MAX: u32 = 200;

/// The most sources.
const CITATIONS_MAX: usize = 8;

/// A response as it is replied.
#[derive(Debug, Deserialize)]
struct ResponseReply {
    #[serde(default, deserialize_with = "lenient::text")]
    stance: String,
    #[serde(default, deserialize_with = "lenient::text")]
    position: String,
    #[serde(default, deserialize_with = "lenient::text")]
    reasoning: String,
    #[serde(default, deserialize_with = "lenient::share")]
    confidence: Option<f64>,
    #[serde(default, deserialize_with = "lenient::texts")]
    citations: Vec<String>,
    #[serde(default, deserialize_with = "lenient::items")]
    tool_calls: Vec<ToolCallReply>,
}

/// Returns the shape: reasons come before what they lead to. Tools can be asked for where some may still be called.
pub(super) fn shape(visible: &Visible) -> ReplyShape {
    let tools = if visible.tool_calls_left > 0 { &visible.tools[..] } else { &[] };
    let stances: Vec<Option<&str>> = match (visible.mode, visible.part.and_then(Part::stance)) {
        (Mode::DevilsAdvocate, Some(assigned)) => vec![Some(assigned.as_str())],
        _ => Stance::ALL.iter().map(|stance| Some(stance.as_str())).chain([None]).collect(),
    };
    schema::shape("response", format!("{stances:?} {tools:?}"), || {
        let (mut reasoning, mut position) = (prose(REASONING_CHARS_MAX), prose(POSITION_CHARS_MAX));
        let mut confidence = number(1);
        if !tools.is_empty() {
            // Who asks for tools has no answer yet.
            reasoning = text(REASONING_CHARS_MAX);
            position["type"] = json!(["string", "null"]);
            confidence["type"] = json!(["number", "null"]);
        }
        let calls = tools::schema(tools).map(|calls| (tools::FIELD, calls));
        let kind = if stances.contains(&None) { json!(["string", "null"]) } else { json!("string") };
        let fields = [
            ("reasoning", reasoning),
            ("position", position),
            ("stance", json!({ "type": kind, "enum": stances })),
            ("confidence", confidence),
            ("citations", list(text(CITATION_CHARS_MAX), 0, CITATIONS_MAX)),
        ];
        object(fields.into_iter().chain(calls))
    })
}

/// Reads a reply: an answer with what had to be mended, one word each, or the tools that it asks for first.
///
/// # Errors
/// There is no JSON object in it, or the object asks for no tools and has no position or no confidence.
pub(super) fn read(reply: Received<'_>, visible: &Visible) -> Result<Reading<Answer>, ParseError> {
    let (mut reply, repairs): (ResponseReply, _) = replies::read(reply, &KEYS, &NEEDED)?;
    let asked = tools::asked(visible, std::mem::take(&mut reply.tool_calls));
    if !asked.is_empty() {
        return Ok(Reading::Tools(asked));
    }
    let fields = [("position", reply.position.trim().is_empty()), ("confidence", reply.confidence.is_none())];
    if let Some(error) = replies::missing(&fields, &repairs) {
        return Err(error);
    }
    check_copies(&reply, visible)?;
    let ResponseReply { stance, position, reasoning, confidence, citations, .. } = reply;
    let confidence = confidence.unwrap_or_default();
    let answer = Answer { stance: read_stance(&stance), position, reasoning, confidence, citations };
    Ok(Reading::Answer { answer, repairs })
}

/// Returns an error where a response copies its own prompt (rule P27). A position that is a stance is no copy.
fn check_copies(reply: &ResponseReply, visible: &Visible) -> Result<(), ParseError> {
    let [system, task] = super::instructions(visible);
    let parts = [("position", &reply.position), ("reasoning", &reply.reasoning)];
    for (what, text) in parts.into_iter().filter(|(_, text)| read_stance(text).is_none()) {
        copies::check_instructions(text, &[&system, &task], &KEYS, what)?;
    }
    let whole = |position: &str, reasoning: &str| format!("{position}\n{reasoning}");
    let shown = visible.context.responses.iter().filter_map(|shown| {
        let words = shown.words.as_ref()?;
        Some((shown.is_own, whole(&words.position, &words.reasoning)))
    });
    let shown: Vec<(bool, String)> = shown.collect();
    let shown = shown.iter().map(|(is_own, text)| (*is_own, text.as_str()));
    copies::check_shown(&whole(&reply.position, &reply.reasoning), shown, || None, "response")
}

/// Reads a stance, whatever its case and what stands around it; nothing where it is no stance.
fn read_stance(text: &str) -> Option<Stance> {
    let word = text.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_uppercase();
    Stance::ALL.into_iter().find(|stance| stance.as_str() == word)
}
