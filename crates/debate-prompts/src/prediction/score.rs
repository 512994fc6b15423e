//! The call that scores one argument. The scorer does not see whose argument it is (P3, P5).

use std::sync::Arc;

use debate_core::formats::prediction::answer::{Answer, Scores};
use debate_core::formats::prediction::config::{Brief, SCORE_OUTPUT_TOKENS};
use debate_core::formats::prediction::visible::ScoreView;
use minijinja::{Value, context};

use super::blocks::{Block, Share, Slot};
use super::draft::Draft;
use super::head::Head;
use super::material::{self, Shares};
use super::outcomes::{self, Letters};
use super::prompt_prefix::{self, PromptPrefix};
use super::replies::{self, ScoresReply};
use super::rubric;
use super::shapes;
use super::standard;
use super::templates::{self, Values};
use crate::prompts::{CUT, ParseError, Prompt, PublicPart, Reading, Received, RenderError};
use crate::room::Room;

/// Keys that tell scores from other objects in a reply.
const KEYS: [&str; 2] = ["reason", "scores"];

/// Who scores; one for all arguments.
const SCORER: &str = "scorer";

const QUESTION: Share = Share { rank: 0, ..Share::required(2, 24, u32::MAX) };
const ARGUMENT: Share = Share::required(1, 60, 300);
const EVIDENCE: Share = Share::floored(3, 24);
const FINDINGS: Share = Share::spare(4, 16);
const DATA: Share = Share::spare(5, 16);

/// Renders the prompt of a score.
pub(super) fn render(view: &ScoreView, room: Room) -> Result<Prompt, RenderError> {
    let version = version(view);
    let redacted = || RenderError::Redacted { version };
    let brief = view.subject.brief.shown().ok_or_else(redacted)?;
    let argument = view.words.argument().ok_or_else(redacted)?;
    let stem = if standard::is_of(&view.subject) {
        standard::shared(&view.subject)?
    } else {
        prompt_prefix::shared(&view.subject.brief, templates::SCORE, &SCORER.into(), |brief| {
            stem(view, brief)
        })?
    };
    let fitted = draft(view, &stem, (brief, argument), room)?.fit()?;
    let shape = shapes::scores(&criteria(view));
    let output_tokens_max = room.output(SCORE_OUTPUT_TOKENS);
    Ok(fitted.into_prompt(version, shape, output_tokens_max, PublicPart::Nothing))
}

fn version(view: &ScoreView) -> &'static str {
    if standard::is_of(&view.subject) { templates::SCORE_STANDARD } else { templates::SCORE }
}

/// Returns what every argument is scored with; the rubric stands before the argument, because all scores share it.
pub(super) fn stem(view: &ScoreView, brief: &Brief) -> Result<PromptPrefix, RenderError> {
    let shares = Shares {
        question: QUESTION,
        findings: Some(FINDINGS),
        variables: None,
        data: Some(DATA),
        criteria: None,
        background: None,
        descriptions: None,
    };
    let system = templates::render(templates::SCORE_SYSTEM, context! {})?;
    let words = rubric(view, brief)?;
    let blocks = material::blocks(brief, &view.subject.outcomes, &shares);
    let head = Head::of_question(&blocks, None, &words);
    let heads = head.into_iter().chain([Head::of_words(&words)]).collect();
    Ok(PromptPrefix { system: system.into(), heads, outcomes: Vec::new(), blocks })
}

fn rubric(view: &ScoreView, brief: &Brief) -> Result<String, RenderError> {
    let rubric = Value::from_safe_string(rubric::lines(brief, &view.criteria));
    templates::render(templates::RUBRIC, context! { rubric, criteria => criteria(view) })
}

/// Returns the prompt before it is fitted.
///
/// # Errors
/// The rubric cannot be rendered.
pub(super) fn draft(
    view: &ScoreView,
    stem: &PromptPrefix,
    (brief, argument): (&Brief, &str),
    room: Room,
) -> Result<Draft, RenderError> {
    let is_standard = standard::is_of(&view.subject);
    let mut blocks = stem.blocks.clone();
    let letters = Letters::of(&view.subject.outcomes, &brief.outcomes);
    let attributes =
        format!(" supports=\"{}\" precedents=\"{}\"", letters.get(view.supports), view.precedents);
    let name = "argument".to_owned();
    blocks.push(Block::tagged(name, Slot::Argument, "argument", &attributes, "", argument, ARGUMENT));
    let evidence = view.words.evidence_cited().iter().map(|evidence| ("- ", evidence.as_str()));
    blocks.extend(Block::list(Slot::Evidence, "evidence", evidence, EVIDENCE));
    let mut outcomes =
        vec![outcomes::block(brief, &view.subject.outcomes, Some(view.supports), false).into()];
    if is_standard {
        let scorer = templates::render(templates::SCORER, context! {})?;
        let words = format!("{scorer}\n{}", rubric(view, brief)?);
        blocks.push(Block::words(Slot::Persona, "rubric", &words));
        outcomes.clone_from(&stem.outcomes);
    }
    let values = Values::from([("phase", Value::from(view.phase.as_str()))]);
    Ok(Draft {
        version: version(view),
        budget: room.input(view.subject.input_tokens.score),
        system: Arc::clone(&stem.system),
        heads: Arc::clone(&stem.heads),
        outcomes,
        blocks,
        values,
    })
}

fn criteria(view: &ScoreView) -> Vec<String> {
    view.criteria.iter().map(|criterion| criterion.name.clone()).collect()
}

/// Reads the reply to the prompt of a score.
pub(super) fn parse(view: &ScoreView, reply: Received<'_>) -> Result<Reading<Answer>, ParseError> {
    let criteria = criteria(view);
    let names: Vec<&str> = criteria.iter().map(String::as_str).collect();
    let keys = [&KEYS[..], &names].concat();
    let (read, mut repairs): (ScoresReply, _) = replies::read(reply, &keys, &[])?;
    let mut scores = by_criterion(&criteria, &read.scores.named);
    if scores.is_empty() {
        // Some models leave the inner object out.
        let (flat, _): (super::lenient::Numbers, _) = replies::read(reply, &keys, &[])?;
        scores = by_criterion(&criteria, &flat.named);
        if !scores.is_empty() {
            repairs.push("scores_flat".to_owned());
        }
    }
    if read.scores.named.iter().any(|(_, stated)| stated.percent) {
        repairs.push("percentages".to_owned());
    }
    let is_cut = repairs.iter().any(|repair| repair == CUT);
    let lacks = |name: &str| is_cut && !scores.iter().any(|(scored, _)| scored == name);
    let missing = criteria.iter().map(|name| (name.as_str(), lacks(name)));
    let missing: Vec<(&str, bool)> = missing.chain([("scores", scores.is_empty())]).collect();
    if let Some(error) = replies::missing(&missing, &repairs) {
        return Err(error);
    }
    Ok(Reading::Answer { answer: Answer::Score(Scores { scores, reason: read.reason }), repairs })
}

/// Returns the numbers that have the name of a criterion, letters' case and spacing aside.
fn by_criterion(criteria: &[String], named: &[(String, super::lenient::Stated)]) -> Vec<(String, f64)> {
    let folded = |name: &str| name.trim().to_lowercase().replace([' ', '-'], "_");
    let found = named.iter().filter_map(|(name, stated)| {
        let criterion = criteria.iter().find(|criterion| folded(criterion) == folded(name))?;
        let score = if stated.percent { stated.number / 100.0 } else { stated.number };
        Some((criterion.clone(), score))
    });
    found.collect()
}
