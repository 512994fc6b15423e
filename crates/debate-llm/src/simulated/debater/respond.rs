//! Makes up responses at a roundtable: JSON, by the words of its prompts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::deliberate::{COURSES, Course, MARK};
use super::room;
use super::sheet::last_said;
use crate::simulated::Draw;
use crate::{ChatRequest, Role};

/// The most sources that a response names.
const SOURCES_MAX: usize = 2;
/// The characters by which an answer is recognized as the same as another.
const BEGINNING_CHARS: usize = 60;
/// What precedes the stance that a part has to take.
const STANCE: &str = "Your assigned stance: ";

/// What a prompt says where a reply may ask for tools.
const ASKING: &str = "To call tools before you answer";

/// A reply that asks for tools.
#[derive(Serialize)]
struct Asking<'a> {
    position: Option<&'a str>,
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    tool: &'a str,
    arguments: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct Reply {
    stance: Option<String>,
    position: String,
    reasoning: String,
    confidence: f64,
    citations: Vec<String>,
}

/// One response that a prompt shows.
struct Shown<'a> {
    name: &'a str,
    is_own: bool,
    course: &'static Course,
    words: &'a str,
}

/// Returns what an agent replies.
///
/// An agent holds the course that it held before, unless somebody else's persuades it; who answers first, or is asked
/// again without seeing anybody, draws one.
pub(super) fn reply(request: &ChatRequest, draw: &mut Draw) -> String {
    let system = last_said(request, Role::System);
    let mut said = request.messages.iter().filter(|message| message.role == Role::User);
    let user = said.next().map_or("", |message| &*message.content);
    let found: Vec<&str> = said.map(|message| &*message.content).collect();
    let topic = user.split_once("<topic>\n").and_then(|(_, topic)| topic.split_once("\n</topic>"));
    let topic = topic.map_or("", |(topic, _)| topic);
    if found.is_empty() && user.contains(ASKING) {
        return asks_for_tools(system, topic, draw);
    }
    let shown = shown(user);
    let own = shown.iter().rfind(|response| response.is_own);
    let others: Vec<&Shown<'_>> = shown.iter().filter(|response| !response.is_own).collect();
    let other = draw.pick(&others).copied();
    let drawn = &COURSES[draw.below(COURSES.len())];
    let is_moved = draw.chance(0.4);
    let course = match (own, other) {
        (_, Some(other)) if is_moved => other.course,
        (Some(own), _) => own.course,
        (None, _) => drawn,
    };
    let stance = system.split_once(STANCE).map(|(_, stance)| stance.split('.').next().unwrap_or_default());
    let answered = other.map(|other| {
        let verb = if other.course.advice == course.advice { "agree" } else { "disagree" };
        let risk = other.course.risks[draw.below(2)];
        format!("I {verb} with {}, and add that {risk}. ", other.name)
    });
    let answered = answered.unwrap_or_default();
    let question = if system.contains("Ask at least one question") {
        format!(" What would you do if {}?", course.condition)
    } else {
        String::new()
    };
    let mut reasoning = format!(
        "{answered}On “{}”: {} {}{question}",
        // Quoted, it is no question of the one who quotes it.
        room::clipped(topic, 24, 48).replace('?', ""),
        course.reasons[0],
        course.reasons[1]
    );
    // An answer that repeats another word for word is refused (rule P27).
    // Prompts may show the beginning of an answer alone.
    let beginning: String = reasoning.chars().take(BEGINNING_CHARS).collect();
    if others.iter().any(|other| other.words.contains(&beginning)) {
        let name = speaker(request).unwrap_or("this agent");
        reasoning.push_str(&format!(" That is where {name} stands."));
    }
    let reply = Reply {
        stance: stance.map(str::to_owned),
        position: format!("{MARK} The right course is to {}.", course.advice),
        reasoning,
        confidence: (draw.between(0.55, 0.95) * 100.0).round() / 100.0,
        citations: found.iter().flat_map(|found| sources(found)).take(SOURCES_MAX).collect(),
    };
    serde_json::to_string(&reply).expect("the reply has string keys and finite numbers")
}

/// Asks each tool that is offered, or one of them: all agents alike about the topic, or each about a course of its own.
fn asks_for_tools(system: &str, topic: &str, draw: &mut Draw) -> String {
    let course = &COURSES[draw.below(COURSES.len())];
    let is_offered = |name: &str| system.contains(&format!("\n- {name}: "));
    let about_topic = draw.chance(0.5);
    let query = if about_topic {
        room::clipped(topic, 12, 24).into_owned()
    } else {
        format!("{} {}", course.advice, room::clipped(topic, 6, 12))
    };
    let search = ToolCall { tool: "search_web", arguments: BTreeMap::from([("query", query)]) };
    let claim = format!("The right course is to {}.", course.advice);
    let check = ToolCall { tool: "fact_check", arguments: BTreeMap::from([("claim", claim)]) };
    let mut tool_calls: Vec<_> = [search, check].into_iter().filter(|call| is_offered(call.tool)).collect();
    if draw.chance(0.5) {
        tool_calls.truncate(1);
    }
    let asking = Asking { position: None, tool_calls };
    serde_json::to_string(&asking).expect("the reply has string keys and no numbers")
}

/// Returns the addresses that tools found, as their results show them: alone on a line.
fn sources(found: &str) -> impl Iterator<Item = String> {
    let lines = found.lines().map(str::trim);
    lines.filter(|line| line.contains("://") && !line.contains(' ')).map(str::to_owned)
}

/// Returns the name of the one who is to speak, as the prompt gives it.
pub(super) fn speaker(request: &ChatRequest) -> Option<&str> {
    let (_, named) = last_said(request, Role::System).split_once("You are ")?;
    let (name, _) = named.split_once(". ")?;
    (!name.is_empty()).then_some(name)
}

/// Reads the responses that a prompt shows, oldest first; those that advise no known course are left out.
fn shown(user: &str) -> Vec<Shown<'_>> {
    let blocks = user.split("<response ").skip(1);
    let responses = blocks.filter_map(|block| {
        let (frame, words) = block.split_once('>')?;
        let name = frame.split_once("agent=\"")?.1.split('"').next()?;
        let course = COURSES.iter().find(|course| words.contains(course.advice))?;
        Some(Shown { name, is_own: frame.contains("yours=\"yes\""), course, words })
    });
    responses.collect()
}
