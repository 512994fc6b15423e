//! Scores an argument by what can be seen of it: length, numbers, sources, steps of reasoning, ties to the brief.
//!
//! What the argument says about its own score counts for nothing (K13).

use serde::Serialize;
use serde_json::Value;

use super::numbers::Numbers;
use super::room;
use super::sheet::{attribute, blocks, lines, said, unescaped};
use crate::simulated::Draw;
use crate::{ChatRequest, ReplySchema, Role};

/// Criteria where a prompt names none.
const CRITERIA: [&str; 3] = ["logical_strength", "evidence_quality", "novelty"];

/// An argument of fewer words and without a number says nothing.
const EMPTY_WORDS_MAX: usize = 12;

/// Facts of the brief that are looked for in an argument.
const FACTS_MAX: usize = 8;

/// Words that join a reason to what follows from it.
const STEPS: [&str; 11] = [
    "because",
    "therefore",
    "unless",
    "although",
    "however",
    "since ",
    "hence",
    " if ",
    " so ",
    "but ",
    "yet ",
];

#[derive(Serialize)]
struct Reply<'a> {
    reason: String,
    scores: Numbers<'a>,
}

/// What can be seen of an argument; each from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Features {
    is_empty: bool,
    length: f64,
    numbers: f64,
    evidence: f64,
    sources: f64,
    steps: f64,
    ties: f64,
}

/// Returns the text of a reply of at most `tokens_max` tokens.
pub(super) fn reply(request: &ChatRequest, tokens_max: usize, draw: &mut Draw) -> String {
    let features = Features::of(request);
    let criteria = criteria(request);
    let mut scores = Vec::with_capacity(criteria.len());
    for name in criteria {
        let score = if features.is_empty { draw.between(0.04, 0.15) } else { features.score(name, draw) };
        scores.push((name, (score * 100.0).round() / 100.0));
    }
    let weakest = scores.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or("", |(name, _)| *name);
    let names: usize = scores.iter().map(|(name, _)| room::cost(name) + 4).sum();
    let left = (tokens_max * 9 / 10).saturating_sub(names + 20);
    let reason = features.reason(weakest);
    let reason = room::clipped(&reason, 40, left * 3 / 4).into_owned();
    serde_json::to_string(&Reply { reason, scores: Numbers(scores) }).unwrap_or_default()
}

/// Returns the criteria: of the reply's schema, else of the line that names them.
fn criteria(request: &ChatRequest) -> Vec<&str> {
    let schema = request.schema.as_ref().map(ReplySchema::json);
    let scores = schema.and_then(|schema| schema.pointer("/properties/scores/properties"));
    if let Some(named) = scores.and_then(Value::as_object).filter(|named| !named.is_empty()) {
        return named.keys().map(String::as_str).collect();
    }
    let mut lines = said(request, Role::User).rev().flat_map(|text| text.lines().rev());
    let line = lines.find_map(|line| line.split_once(" for each criterion: "));
    let named = line.map(|(_, names)| names.trim_end_matches('.').split(", ").collect::<Vec<_>>());
    named.unwrap_or_else(|| CRITERIA.to_vec())
}

impl Features {
    fn of(request: &ChatRequest) -> Self {
        let (mut tag, mut argument, mut evidence) = ("", "", 0);
        let mut material = Vec::new();
        for (found, body) in said(request, Role::User).flat_map(blocks) {
            match found {
                "evidence" => evidence = lines(body).filter(|line| !line.is_empty()).count(),
                "findings" | "data" => material.push(body),
                _ if found.starts_with("argument") => (tag, argument) = (found, body),
                _ => {}
            }
        }
        let words = argument.split_ascii_whitespace().count();
        let digits = argument.bytes().filter(u8::is_ascii_digit).count();
        let precedents: usize =
            attribute(tag, "precedents=\"").and_then(|count| count.parse().ok()).unwrap_or(0);
        let share = |count: usize, enough: usize| count.min(enough) as f64 / enough as f64;
        Self {
            is_empty: words < EMPTY_WORDS_MAX && digits == 0,
            length: share(words, 120),
            numbers: share(digits, 12),
            evidence: share(evidence + precedents, 4),
            sources: share(argument.matches('“').count() + points_named(argument), 6),
            steps: share(STEPS.iter().filter(|step| argument.contains(*step)).count(), 4),
            ties: share(ties(&material, argument), 3),
        }
    }

    fn score(&self, criterion: &str, draw: &mut Draw) -> f64 {
        let noise = draw.between(-0.07, 0.07);
        let seen = match criterion {
            "logical_strength" => 0.46 + 0.12 * self.length + 0.16 * self.steps + 0.06 * self.sources,
            "evidence_quality" => {
                0.40 + 0.17 * self.evidence + 0.10 * self.ties + 0.08 * self.numbers + 0.05 * self.sources
            }
            "novelty" => {
                0.44 + 0.10 * self.sources + 0.08 * self.steps + 0.12 * draw.unit() - 0.05 * self.ties
            }
            _ => 0.46 + 0.10 * self.length + 0.10 * self.evidence + 0.10 * self.steps,
        };
        (seen + noise).clamp(0.25, 0.92)
    }

    fn reason(&self, weakest: &str) -> String {
        if self.is_empty {
            return "[simulated] It states a view without a fact, a number or a step of reasoning. Name findings, \
                    say what follows from them, and give the odds."
                .to_owned();
        }
        let mend = match weakest {
            "novelty" => "bring a fact or a step that nobody has brought yet",
            "logical_strength" if self.steps < 1.0 => "say what follows from each fact, and why",
            "logical_strength" => "the last step rests on the figure it is meant to prove",
            "evidence_quality" if self.evidence < 0.5 => "cite more than one fact of the brief",
            "evidence_quality" if self.numbers < 1.0 => "put numbers on the claims",
            "evidence_quality" => "its facts all come from one source",
            _ if self.sources < 0.5 => "answer the points of the others in their own words",
            _ => "say more exactly what would have to be true",
        };
        format!("[simulated] Weakest is {}: {mend}.", unescaped(weakest).replace('_', " "))
    }
}

/// Returns how many ids of points, such as `r1.optimist`, a text has.
fn points_named(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_id = |window: &&[u8]| {
        window[0] == b'r'
            && window[1].is_ascii_digit()
            && window[2] == b'.'
            && window[3].is_ascii_alphabetic()
    };
    bytes.windows(4).filter(is_id).count()
}

/// Returns how many facts of the brief a text takes up.
fn ties(material: &[&str], argument: &str) -> usize {
    let facts = material
        .iter()
        .flat_map(|body| lines(body))
        .take(FACTS_MAX)
        .map(|line| room::beginning(line.split_once(": ").map_or(line, |(_, fact)| fact), 4, 16));
    facts.filter(|fact| fact.len() >= 8 && argument.contains(fact)).count()
}
