//! Makes up responses at a roundtable: JSON, by the words of its prompts.

use serde::Serialize;

use super::deliberate::{COURSES, Course, MARK};
use super::room;
use super::sheet::last_said;
use crate::simulated::Draw;
use crate::{ChatRequest, Role};

/// What precedes the stance that a part has to take.
const STANCE: &str = "Your assigned stance: ";

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
}

/// Returns what an agent replies.
///
/// An agent holds the course that it held before, unless somebody else's persuades it; who answers first, or is asked
/// again without seeing anybody, draws one.
pub(super) fn reply(request: &ChatRequest, draw: &mut Draw) -> String {
    let (system, user) = (last_said(request, Role::System), last_said(request, Role::User));
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
    let topic = user.split_once("<topic>\n").and_then(|(_, topic)| topic.split_once("\n</topic>"));
    let topic = topic.map_or("", |(topic, _)| topic);
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
    let reply = Reply {
        stance: stance.map(str::to_owned),
        position: format!("{MARK} The right course is to {}.", course.advice),
        reasoning: format!(
            "{answered}On “{}”: {} {}{question}",
            room::clipped(topic, 24, 48),
            course.reasons[0],
            course.reasons[1]
        ),
        confidence: (draw.between(0.55, 0.95) * 100.0).round() / 100.0,
        citations: Vec::new(),
    };
    serde_json::to_string(&reply).expect("the reply has string keys and finite numbers")
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
        Some(Shown { name, is_own: frame.contains("yours=\"yes\""), course })
    });
    responses.collect()
}
