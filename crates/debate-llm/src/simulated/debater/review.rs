//! Makes up what two reviewers say, and what a judge says of it, by the words of review prompts.

use std::fmt::Write as _;

use serde::Serialize;

use super::room;
use super::sheet::{attribute, blocks, last_said, said, unescaped};
use crate::simulated::Draw;
use crate::{ChatRequest, Role};

/// What every simulated speech begins with.
const MARK: &str = "(simulated)";

/// The block that every prompt of a review has.
const SUBJECT: &str = "conflict_about";

/// The block that every question for a better prompt has.
const CURRENT: &str = "current_prompt";

/// What a reviewer who adds can say, and one who removes.
const ADDS: [&str; 3] = [
    "without it the first careless change brings back the fault it prevents",
    "the cost is one line, and the case it covers was seen in this very change",
    "nobody downstream checks it again, so this is the last place where it can be caught",
];
const REMOVES: [&str; 3] = [
    "it repeats what its caller has checked already, and two checks drift apart",
    "it forbids a case that the tests need, and nobody has shown the harm it prevents",
    "every reader has to learn it, while it has stopped nothing so far",
];
const REBUTTALS: [&str; 3] = [
    "the point rests on a case that nobody has named",
    "that is right for the outer call, and this is the inner one",
    "the example given would fail in another place first",
];
/// Words for arguments, the best first.
const LABELS: [&str; 6] =
    ["evidence-backed", "precise", "well-reasoned", "responsive", "vague", "overconfident"];

/// A speech as it stands in a prompt.
struct Speech<'a> {
    reviewer: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Judgement<'a> {
    summary: String,
    feedback: Vec<Feedback<'a>>,
    winner: &'a str,
}

#[derive(Serialize)]
struct Feedback<'a> {
    role: &'a str,
    argument_quality_score: f64,
    argument_labels: Vec<&'static str>,
    policy_signal: String,
}

#[derive(Serialize)]
struct ProposalText {
    rationale: String,
    proposed_prompt: String,
}

/// Returns the message that shows what a request is about; a model that is asked again hears why in one behind it.
fn shown(request: &ChatRequest) -> &str {
    let mut said = said(request, Role::User);
    let is_material = |text: &&str| blocks(text).any(|(tag, _)| [SUBJECT, CURRENT].contains(&tag));
    said.find(is_material).unwrap_or_default()
}

/// Returns whether a request is one of a review.
pub(super) fn is_review(request: &ChatRequest) -> bool {
    blocks(shown(request)).any(|(tag, _)| tag == SUBJECT)
}

/// Returns whether a request asks for a better prompt of a reviewer.
pub(super) fn is_proposal(request: &ChatRequest) -> bool {
    blocks(shown(request)).any(|(tag, _)| tag == CURRENT)
}

/// Returns a proposal: the prompt as it stands, with the first signal as a line of its own.
pub(super) fn proposal(request: &ChatRequest) -> String {
    let prompt = shown(request);
    let current = unescaped(block(prompt, CURRENT)).into_owned();
    let signals = unescaped(block(prompt, "signals")).into_owned();
    let signal = signals.lines().find_map(|line| line.strip_prefix("- ")).unwrap_or("be specific");
    let proposed_prompt = format!("{current}\n(simulated) {}.", signal.trim_start_matches("[simulated] "));
    let rationale = format!("[simulated] The signal that comes up most: {signal}");
    serde_json::to_string(&ProposalText { rationale, proposed_prompt }).unwrap_or_default()
}

/// Returns the reviewer who is to speak.
pub(super) fn speaker(request: &ChatRequest) -> Option<&str> {
    let (_, named) = last_said(request, Role::System).rsplit_once("\nYou are ")?;
    named.split_once(". ").map(|(name, _)| name)
}

/// Returns what a reviewer says: two to three sentences, now and then only one.
pub(super) fn speech(request: &ChatRequest, draw: &mut Draw) -> String {
    let prompt = shown(request);
    let me = speaker(request).unwrap_or_default();
    let target = unescaped(block(prompt, SUBJECT)).into_owned();
    let target = room::clipped(&target, 6, 16);
    let own = blocks(prompt).find(|(tag, _)| tag.starts_with("operation ") && reviewer(tag) == me);
    let removes = own.is_some_and(|(tag, _)| !op(tag).to_ascii_lowercase().starts_with("add"));
    let heard = speeches(prompt);
    let mut text = format!("{MARK} ");
    let other = heard.iter().rev().find(|speech| speech.reviewer != me);
    if let Some(other) = other.filter(|_| heard.iter().any(|speech| speech.reviewer == me)) {
        let point = draw.pick(&REBUTTALS).copied().unwrap_or(REBUTTALS[0]);
        let said = unescaped(other.text).replace(MARK, "");
        let quoted = room::clipped(&said, 8, 20).replace(['.', '!', '?'], ",");
        let _infallible = write!(text, "{} says “{}”, but {point}.", other.reviewer, quoted.trim());
    } else {
        let wish = if removes { "should go" } else { "is needed" };
        let _infallible = write!(text, "The rule on “{target}” {wish}.");
    }
    if draw.chance(0.08) {
        return text;
    }
    let reasons = if removes { &REMOVES } else { &ADDS };
    let reason = draw.pick(reasons).copied().unwrap_or(reasons[0]);
    let sure = draw.pick(&["I am sure of it", "I would put it at two in three", "I have seen it once"]);
    let _infallible = write!(text, " On “{target}” {reason}. {}.", sure.copied().unwrap_or_default());
    text
}

/// Returns what the judge says.
pub(super) fn judgement(request: &ChatRequest, draw: &mut Draw) -> String {
    let prompt = shown(request);
    let heard = speeches(prompt);
    let mut names: Vec<&str> = Vec::new();
    for speech in &heard {
        if !names.contains(&speech.reviewer) {
            names.push(speech.reviewer);
        }
    }
    let feedback: Vec<Feedback<'_>> = names.iter().map(|name| feedback(name, &heard, draw)).collect();
    let best = feedback.iter().max_by(|a, b| a.argument_quality_score.total_cmp(&b.argument_quality_score));
    let worst = feedback.iter().min_by(|a, b| a.argument_quality_score.total_cmp(&b.argument_quality_score));
    let apart = best
        .zip(worst)
        .map_or(0.0, |(best, worst)| best.argument_quality_score - worst.argument_quality_score);
    let winner = best.filter(|_| apart >= 0.3).map_or("tie", |best| best.role);
    let target = unescaped(block(prompt, SUBJECT)).into_owned();
    let summary =
        format!("[simulated] It came down to who shows a case for “{}”.", room::clipped(&target, 8, 24));
    serde_json::to_string(&Judgement { summary, winner, feedback }).unwrap_or_default()
}

fn feedback<'a>(role: &'a str, heard: &[Speech<'_>], draw: &mut Draw) -> Feedback<'a> {
    let own: Vec<&str> =
        heard.iter().filter(|speech| speech.reviewer == role).map(|speech| speech.text).collect();
    let text = own.join(" ");
    let words = text.split_ascii_whitespace().count().min(80) as f64;
    let quotes = text.matches('“').count().min(4) as f64;
    let sure = if text.contains("I am sure") { -0.6 } else { 0.4 };
    let score = (3.6 + words / 32.0 + quotes * 0.45 + sure + draw.between(-1.2, 1.2)).clamp(0.5, 9.5);
    let score = (score * 10.0).round() / 10.0;
    let from = if score >= 6.5 {
        0
    } else if score >= 4.5 {
        2
    } else {
        4
    };
    let signal = if text.contains("I am sure") {
        "say how sure it is, and why"
    } else {
        "name the line that shows the case"
    };
    Feedback {
        role,
        argument_quality_score: score,
        argument_labels: LABELS[from..from + 2].to_vec(),
        policy_signal: format!("[simulated] {signal}"),
    }
}

fn block<'a>(prompt: &'a str, name: &str) -> &'a str {
    blocks(prompt).find(|(tag, _)| *tag == name).map_or("", |(_, body)| body)
}

fn reviewer(tag: &str) -> &str {
    attribute(tag, "reviewer=\"").unwrap_or_default()
}

fn op(tag: &str) -> &str {
    attribute(tag, "op=\"").unwrap_or_default()
}

fn speeches(prompt: &str) -> Vec<Speech<'_>> {
    let spoken = blocks(prompt).filter(|(tag, _)| tag.starts_with("speech "));
    spoken.map(|(tag, text)| Speech { reviewer: reviewer(tag), text }).collect()
}
