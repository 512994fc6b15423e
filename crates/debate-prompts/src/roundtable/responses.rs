//! Responses as prompts show them: one block each, escaped, so that no agent's text can pass for another
//! agent's (K13). Longer histories are shortened, the oldest reasons first.

use std::borrow::Cow;

use debate_core::formats::roundtable::agent::Stance;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::visible::{Shown, Statistics, Words};

use crate::escape;
use crate::tokens::Section;

/// Reasons and positions are shortened down to so many tokens each; where a context window is too small even for that,
/// they are left out.
const TOKENS_MIN: u32 = 20;

/// The first priority of positions, behind all those of reasons: a lower one is cut first.
const POSITIONS_FROM: u8 = 128;

/// A response with what frames it.
pub(super) struct Said<'a> {
    name: String,
    frame: String,
    words: &'a Words,
}

/// Returns the responses, oldest first; `None` where some of them were redacted.
pub(super) fn said(responses: &[Shown]) -> Option<Vec<Said<'_>>> {
    let said = responses.iter().map(|shown| {
        let words = shown.words.as_ref()?;
        let name = format!("{} in round {}", shown.name, shown.round);
        Some(Said { name, frame: frame(shown), words })
    });
    said.collect()
}

fn frame(shown: &Shown) -> String {
    let mut frame = format!("round=\"{}\" agent=\"{}\"", shown.round, shown.name);
    if let Some(part) = shown.part {
        frame.push_str(&format!(" role=\"{}\"", part.as_str()));
    }
    if let Some(stance) = shown.stance {
        frame.push_str(&format!(" stance=\"{}\"", stance.as_str()));
    }
    frame.push_str(&format!(" confidence=\"{:.2}\"", shown.confidence));
    match shown.kind {
        Kind::Respond => {}
        Kind::Repoll => frame.push_str(" asked_again=\"yes\""),
    }
    if shown.is_own {
        frame.push_str(" yours=\"yes\"");
    }
    frame
}

/// Returns what may be shortened: for each response its position and its reasons.
pub(super) fn sections<'a>(said: &'a [Said<'_>]) -> Vec<Section<'a>> {
    let sections = said.iter().enumerate().flat_map(|(place, said)| {
        let age = u8::try_from(place).unwrap_or(u8::MAX).min(POSITIONS_FROM - 1);
        let section = |text: &'a str, priority: u8| Section {
            name: &said.name,
            text,
            priority,
            tokens_min: TOKENS_MIN,
            tokens_least: 0,
        };
        [section(&said.words.position, POSITIONS_FROM + age), section(&said.words.reasoning, age)]
    });
    sections.collect()
}

/// Returns the block of responses, each with its two texts at the given lengths, or `None` if there are no
/// responses. Responses without any text may be left out.
pub(super) fn block(said: &[Said<'_>], texts: &[Cow<'_, str>], may_leave_out: bool) -> Option<String> {
    let shown = said.iter().zip(texts.chunks(2));
    let shown = shown.filter(|(_, texts)| !may_leave_out || texts.iter().any(|text| !text.trim().is_empty()));
    let shown = shown.map(|(said, texts)| {
        let [position, reasoning] = texts else { return String::new() };
        let reasoning = match escape::xml_block(reasoning) {
            reasoning if reasoning.trim().is_empty() => String::new(),
            reasoning => format!("\n<reasoning>{reasoning}</reasoning>"),
        };
        format!(
            "<response {}>\n<position>{}</position>{reasoning}\n</response>",
            said.frame,
            escape::xml_block(position)
        )
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| format!("<responses>\n{}\n</responses>", shown.join("\n")))
}

/// Returns the statistics of a round (T2).
pub(super) fn statistics(of: &Statistics) -> String {
    let (least, most) = of.confidence_range;
    let mut lines = vec![
        format!("Round: {}", of.round),
        format!("Responses: {}", of.responses),
        format!(
            "Confidence: mean {:.2}, standard deviation {:.2}, from {least:.2} to {most:.2}",
            of.mean_confidence, of.confidence_sd
        ),
        format!("Camps of like positions: {}", of.camps),
        format!("Agreement of positions, from 0 to 1: {:.2}", of.agreement),
    ];
    if !of.stances.is_empty() {
        let count = |(stance, takers): &(Stance, usize)| format!("{} {takers}", stance.as_str());
        lines.push(format!("Stances: {}", of.stances.iter().map(count).collect::<Vec<_>>().join(", ")));
    }
    format!("Round Statistics:\n{}", lines.join("\n"))
}
