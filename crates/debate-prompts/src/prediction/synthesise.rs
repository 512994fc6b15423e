//! The call in which the judge gives the final distribution, having seen every argument with its score (P7, P13, P14).

use std::sync::Arc;

use debate_core::formats::prediction::answer::{Answer, DisagreementText, InsightText, Synthesis};
use debate_core::formats::prediction::call::JUDGE;
use debate_core::formats::prediction::config::{Brief, SYNTHESIS_OUTPUT_TOKENS};
use debate_core::formats::prediction::visible::{Subject, SynthesisView};
use debate_core::id::Role;
use minijinja::Value;

use super::argue;
use super::blocks::{Block, Share};
use super::draft::Draft;
use super::head::Head;
use super::material::{self, Shares};
use super::outcomes::{self, Names};
use super::personas;
use super::prompt_prefix::{self, PromptPrefix};
use super::replies::{self, DisagreementReply, InsightReply, PositionReply, SynthesisReply};
use super::shapes;
use super::standard;
use super::templates::{self, Values};
use crate::copies;
use crate::prompts::{ParseError, Prompt, PublicPart, Reading, Received, RenderError};
use crate::room::Room;

/// The field of the reply that is public.
const PUBLIC: &str = "reasoning";

/// Keys that tell a synthesis from other objects in a reply.
const KEYS: [&str; 5] = ["reasoning", "probabilities", "confidence", "disagreements", "insights"];

/// Keys without which a synthesis that was cut is asked for again.
const NEEDED: [&str; 3] = ["reasoning", "probabilities", "confidence"];

const QUESTION: Share = Share { rank: 0, ..Share::required(1, 24, u32::MAX) };
const CRITERIA: Share = Share { rank: 0, ..Share::floored(1, u32::MAX) };
const FINDINGS: Share = Share::floored(4, 300);
const VARIABLES: Share = Share::floored(5, 200);
const DATA: Share = Share::floored(6, 200);
const BACKGROUND: Share = Share::spare(7, 24);
const DESCRIPTIONS: Share = Share::floored(3, 200);
/// The order of the newest points' floors; the older a point, the later its turn.
const POINT_RANK: u8 = 10;
const POINT: Share = Share::floored(2, 40);

/// Renders the prompt of the synthesis.
pub(super) fn render(view: &SynthesisView, room: Room) -> Result<Prompt, RenderError> {
    let judge = Role::from(JUDGE);
    let stem = if standard::is_of(&view.subject) {
        standard::shared(&view.subject)?
    } else {
        prompt_prefix::shared(&view.subject.brief, templates::SYNTHESISE, &judge, |brief| {
            stem(&view.subject, brief, Arc::clone(&argue::anybodys(&view.subject)?.heads))
        })?
    };
    let fitted = draft(view, &stem, room)?.fit()?;
    let shape = shapes::synthesis(view);
    let output_tokens_max = room.output(SYNTHESIS_OUTPUT_TOKENS);
    Ok(fitted.into_prompt(version(view), shape, output_tokens_max, PublicPart::Field(PUBLIC)))
}

fn version(view: &SynthesisView) -> &'static str {
    if standard::is_of(&view.subject) { templates::SYNTHESISE_STANDARD } else { templates::SYNTHESISE }
}

/// Returns what the synthesis sees in addition to the arguments. It begins like the prompts for the judge's
/// arguments.
pub(super) fn stem(
    subject: &Subject,
    brief: &Brief,
    heads: Arc<[Head]>,
) -> Result<PromptPrefix, RenderError> {
    let shares = Shares {
        question: QUESTION,
        findings: Some(FINDINGS),
        variables: Some(VARIABLES),
        data: Some(DATA),
        criteria: Some(CRITERIA),
        background: Some(BACKGROUND),
        descriptions: Some(DESCRIPTIONS),
    };
    let system = argue::system(&personas::persona(&Role::from(JUDGE), brief))?;
    let outcomes = outcomes::forms(brief, &subject.outcomes);
    let blocks = material::blocks(brief, &subject.outcomes, &shares);
    Ok(PromptPrefix { system: system.into(), heads, outcomes, blocks })
}

/// Returns the prompt before it is fitted.
///
/// # Errors
/// The persona was redacted or cannot be rendered.
pub(super) fn draft(view: &SynthesisView, stem: &PromptPrefix, room: Room) -> Result<Draft, RenderError> {
    let version = version(view);
    let mut blocks = stem.blocks.clone();
    blocks.extend(points(view));
    if standard::is_of(&view.subject) {
        let brief = view.subject.brief.shown().ok_or(RenderError::Redacted { version })?;
        blocks.push(standard::persona(&personas::persona(&Role::from(JUDGE), brief))?);
    }
    Ok(Draft {
        version,
        budget: room.input(view.subject.input_tokens.synthesise),
        system: Arc::clone(&stem.system),
        heads: Arc::clone(&stem.heads),
        outcomes: stem.outcomes.clone(),
        blocks,
        values: values(view),
    })
}

fn points(view: &SynthesisView) -> Vec<Block> {
    let point = |scored: &debate_core::formats::prediction::visible::ScoredPoint| {
        let age = view.rounds.saturating_sub(scored.point.id.round).min(100);
        let rank = POINT_RANK + u8::try_from(age).unwrap_or_default();
        argue::point(&view.subject, &scored.point, true, scored.composite, Share { rank, ..POINT })
    };
    view.points.iter().map(point).collect()
}

/// Reads the reply to the prompt of the synthesis.
pub(super) fn parse(view: &SynthesisView, reply: Received<'_>) -> Result<Reading<Answer>, ParseError> {
    let (reply, mut repairs): (SynthesisReply, _) = replies::read(reply, &KEYS, &NEEDED)?;
    let lacks = [("probabilities", reply.probabilities.named.is_empty())];
    if let Some(error) = replies::missing(&lacks, &repairs) {
        return Err(error);
    }
    check_copies(view, &reply.reasoning)?;
    let names = Names::of(&view.subject);
    let probabilities = replies::probabilities(&reply.probabilities, &names, &mut repairs);
    let confidence = replies::confidence(reply.confidence, &mut repairs);
    let synthesis = Synthesis {
        reasoning: reply.reasoning,
        probabilities,
        confidence,
        disagreements: reply.disagreements.into_iter().map(|reply| disagreement(view, reply)).collect(),
        insights: reply.insights.into_iter().map(|reply| insight(view, &names, reply)).collect(),
    };
    Ok(Reading::Answer { answer: Answer::Synthesise(synthesis), repairs })
}

/// Returns an error where the reasoning copies its own prompt (rule P27).
fn check_copies(view: &SynthesisView, reasoning: &str) -> Result<(), ParseError> {
    let judge = Role::from(JUDGE);
    let system = view.subject.brief.shown().map(|brief| argue::system(&personas::persona(&judge, brief)));
    let system = system.transpose()?.unwrap_or_default();
    let task = templates::task(version(view), values(view))?;
    let shared = standard::system(&view.subject)?;
    copies::check_instructions(reasoning, &[&system, &shared, &task], &KEYS, PUBLIC)?;
    let points = view.points.iter().map(|scored| &scored.point);
    let shown = points.filter_map(|point| Some((point.id.role == judge, point.words.argument()?)));
    copies::check_shown(reasoning, shown, || render(view, Room::default()).ok(), PUBLIC)
}

fn values(view: &SynthesisView) -> Values {
    let mut values = templates::shared(&view.subject);
    values.insert("rounds", Value::from(view.rounds));
    values
}

/// Spells a role as the debate does, letters' case aside.
fn role_named(view: &SynthesisView, named: &str) -> String {
    let named = argue::role_named(named);
    let role = view.roles.iter().find(|role| role.as_str().eq_ignore_ascii_case(named));
    role.map_or_else(|| named.to_owned(), ToString::to_string)
}

fn disagreement(view: &SynthesisView, reply: DisagreementReply) -> DisagreementText {
    let position = |PositionReply { role, stance, strength }: PositionReply| {
        (role_named(view, &role), stance, strength.unwrap_or(replies::CONFIDENCE_DEFAULT))
    };
    DisagreementText {
        topic: reply.topic,
        positions: reply.positions.into_iter().map(position).collect(),
        resolved: reply.resolved,
    }
}

fn insight(view: &SynthesisView, names: &Names<'_>, reply: InsightReply) -> InsightText {
    InsightText {
        insight: reply.insight,
        source_role: role_named(view, &reply.source_role),
        round: reply.round,
        impact: reply.impact,
        affected_outcomes: reply.affected_outcomes.iter().map(|named| names.find(named)).collect(),
    }
}
