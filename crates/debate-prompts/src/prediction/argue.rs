//! The call in which a role argues: blind in the opening (P4), then answering the others, at last citing them (P11).

use std::sync::Arc;

use debate_core::formats::prediction::answer::{Answer, Argument, Citation, OutcomeRef};
use debate_core::formats::prediction::call::HISTORIAN;
use debate_core::formats::prediction::config::{Brief, Phase};
use debate_core::formats::prediction::visible::{ArgueView, Point, Subject};
use debate_core::id::Role;
use debate_core::prose::REDACTED;
use minijinja::{Value, context};

use super::blocks::{self, Block, Share, Slot};
use super::draft::Draft;
use super::head::Head;
use super::material::{self, Shares};
use super::measure;
use super::outcomes::{self, Letters, Names};
use super::personas::{self, Persona};
use super::prompt_prefix::{self, Form, PromptPrefix};
use super::replies::{self, ArgumentReply};
use super::shapes;
use super::standard;
use super::templates::{self, Values};
use crate::copies;
use crate::prompts::{ParseError, Prompt, PublicPart, Reading, Received, RenderError};
use crate::room::Room;

/// The field of the reply that is public.
const PUBLIC: &str = "argument";

/// Keys that tell an argument from other objects in a reply.
const KEYS: [&str; 10] = [
    "thinking",
    "claim",
    "argument",
    "supports",
    "probabilities",
    "confidence",
    "evidence_cited",
    "rebuts",
    "cites",
    "precedents",
];

/// Keys without which an argument that was cut is asked for again.
const NEEDED: [&str; 4] = ["argument", "supports", "probabilities", "confidence"];

const REJECTION: Share = Share { most: 80, ..Share::required(1, 24, 60) };
const QUESTION: Share = Share { rank: 0, ..Share::required(2, 24, u32::MAX) };
const CRITERIA: Share = Share { rank: 0, ..Share::floored(2, u32::MAX) };
/// The point that must be there: one that can be rebutted and, in the closing, cited.
const CITABLE: Share = Share { rank: 3, ..Share::required(4, 14, 24) };
/// Points of the latest round.
const LATEST: Share = Share::floored(4, 24);
/// Tokens of a claim at most.
const CLAIM_TOKENS_MAX: u32 = 60;
/// The role's own latest point: its forecast, and its words where there is room.
const OWN: Share = Share { rank: 5, bare: true, ..Share::spare(10, 12) };
const FINDINGS: Share = Share::floored(6, 28);
const VARIABLES: Share = Share::spare(7, 16);
const DATA: Share = Share::spare(8, 16);
const BACKGROUND: Share = Share::spare(9, 24);
const DESCRIPTIONS: Share = Share::spare(9, 12);
/// Points of the round before the latest; those of still older rounds come after them.
const OLDER: Share = Share::spare(11, 24);

/// Renders the prompt of an argument.
pub(super) fn render(view: &ArgueView, room: Room) -> Result<Prompt, RenderError> {
    let (brief, role) = (&view.subject.brief, &view.role);
    let stem = if standard::is_of(&view.subject) {
        standard::shared(&view.subject)?
    } else {
        prompt_prefix::shared(brief, templates::ARGUE, role, |brief| {
            anybodys(&view.subject)?.spoken_by(role, brief)
        })?
    };
    let fitted = draft(view, &stem, room)?.fit()?;
    let output_tokens_max = room.output(view.max_argument_length);
    let ids = view.points.iter().map(|point| point.id.to_string());
    let shown: Vec<String> = ids.filter(|id| fitted.shows_point(id)).collect();
    let shape = shapes::argument(view, words_max(view, output_tokens_max), brings_precedents(view), &shown);
    Ok(fitted.into_prompt(version(view), shape, output_tokens_max, PublicPart::Field(PUBLIC)))
}

fn version(view: &ArgueView) -> &'static str {
    if standard::is_of(&view.subject) { templates::ARGUE_STANDARD } else { templates::ARGUE }
}

/// Returns what every role is shown in every round, as it was made the first time.
pub(super) fn anybodys(subject: &Subject) -> Result<Arc<PromptPrefix>, RenderError> {
    let anybody = Role::from("");
    prompt_prefix::shared(&subject.brief, templates::ARGUE, &anybody, |brief| Ok(stem(subject, brief)))
}

impl PromptPrefix {
    /// Returns what a role is shown in every round.
    pub(super) fn spoken_by(&self, role: &Role, brief: &Brief) -> Result<Self, RenderError> {
        let system = system(&personas::persona(role, brief))?;
        Ok(Self { system: system.into(), ..self.clone() })
    }
}

/// Returns what every role is shown in every round.
pub(super) fn stem(subject: &Subject, brief: &Brief) -> PromptPrefix {
    let shares = Shares {
        question: QUESTION,
        findings: Some(FINDINGS),
        variables: Some(VARIABLES),
        data: Some(DATA),
        criteria: Some(CRITERIA),
        background: Some(BACKGROUND),
        descriptions: Some(DESCRIPTIONS),
    };
    let outcomes = outcomes::forms(brief, &subject.outcomes);
    let blocks = material::blocks(brief, &subject.outcomes, &shares);
    let head = Head::of_question(&blocks, outcomes.first().map(|fullest| &**fullest), "");
    let heads = head.into_iter().chain([Head::default()]).collect();
    PromptPrefix { system: "".into(), heads, outcomes, blocks }
}

/// Returns the prompt before it is fitted.
///
/// # Errors
/// The persona was redacted or cannot be rendered.
pub(super) fn draft(view: &ArgueView, stem: &PromptPrefix, room: Room) -> Result<Draft, RenderError> {
    let version = version(view);
    let mut blocks = stem.blocks.clone();
    if standard::is_of(&view.subject) {
        blocks.push(standard::rules(&view.subject)?);
    }
    blocks.extend(points(view));
    if standard::is_of(&view.subject) {
        let brief = view.subject.brief.shown().ok_or(RenderError::Redacted { version })?;
        blocks.push(standard::persona(&personas::persona(&view.role, brief))?);
    }
    let rejection = view
        .rejection
        .shown()
        .and_then(|reason| Block::inline(Slot::Rejection, "rejection", reason, REJECTION));
    let is_rejected = rejection.is_some();
    blocks.extend(rejection);
    Ok(Draft {
        version,
        budget: room.input(view.subject.input_tokens.argue),
        system: Arc::clone(&stem.system),
        heads: Arc::clone(&stem.heads),
        outcomes: stem.outcomes.clone(),
        blocks,
        values: values(view, is_rejected, room.output(view.max_argument_length)),
    })
}

fn values(view: &ArgueView, is_rejected: bool, reply_tokens_max: u32) -> Values {
    let mut values = templates::shared(&view.subject);
    values.extend([
        ("role", Value::from(view.role.as_str())),
        ("phase", Value::from(view.phase.as_str())),
        ("round", Value::from(view.round)),
        ("rounds", Value::from(view.rounds)),
        ("words", Value::from(words_max(view, reply_tokens_max))),
        ("is_rejected", Value::from(is_rejected)),
        ("precedents", Value::from(brings_precedents(view))),
    ]);
    values
}

/// Renders the system message of a role.
pub(super) fn system(persona: &Persona<'_>) -> Result<String, RenderError> {
    let values = context! {
        persona => persona.system_prompt.trim(),
        leaning => persona.bias_direction.trim(),
        evidence => persona.evidence_preference.trim(),
    };
    templates::render(templates::SYSTEM, values)
}

fn brings_precedents(view: &ArgueView) -> bool {
    view.role.as_str() == HISTORIAN && view.phase == Phase::Opening
}

/// Returns how many tokens the public argument may have: three fifths of the reply, 300 of 500 (P15).
fn argument_tokens_max(reply_tokens_max: u32) -> u32 {
    reply_tokens_max / 5 * 3
}

/// Returns how many words are asked for, so that the whole reply fits its tokens.
fn words_max(view: &ArgueView, reply_tokens_max: u32) -> u32 {
    let outcomes = u32::try_from(view.subject.outcomes.len()).unwrap_or(u32::MAX);
    let thinking_and_frame = if standard::is_of(&view.subject) { 150 } else { 90 };
    let evidence = 45;
    let probabilities = outcomes.saturating_mul(6);
    let cites = if view.phase == Phase::Opening { 0 } else { 50 };
    let precedents = if brings_precedents(view) { 110 } else { 0 };
    let others = probabilities.saturating_add(thinking_and_frame + evidence + cites + precedents);
    let tokens = reply_tokens_max.saturating_sub(others).min(argument_tokens_max(reply_tokens_max));
    // Three words are about four tokens.
    (tokens / 4 * 3 / 10 * 10).max(30)
}

/// Returns the points of a view as blocks, the oldest round first, so that a round adds to what the one before showed;
/// within a round in the view's order, but the role's own point last: the others' are what it answers.
fn points(view: &ArgueView) -> Vec<Block> {
    let latest = view.points.iter().map(|point| point.id.round).max().unwrap_or_default();
    let (required, is_standard) = (required(view), standard::is_of(&view.subject));
    let mut blocks = Vec::with_capacity(view.points.len());
    for round in 1..=latest {
        let age = u8::try_from(latest - round).unwrap_or(u8::MAX);
        let mut of_round: Vec<_> =
            view.points.iter().enumerate().filter(|(_, point)| point.id.round == round).collect();
        // In other presets all roles are shown the same, so that they share it.
        of_round.sort_by_key(|(_, point)| !is_standard && point.id.role == view.role);
        for (place, point) in of_round {
            let is_newer = |other: &Point| other.id.role == point.id.role && other.id.round > round;
            let is_newest = !view.points.iter().any(is_newer);
            let share = if Some(place) == required {
                CITABLE
            } else if point.id.role == view.role && is_newest {
                OWN
            } else if point.id.role != view.role && round == latest {
                LATEST
            } else {
                Share { fill: OLDER.fill.saturating_add(age), ..OLDER }
            };
            blocks.push(self::point(&view.subject, point, is_newest || is_standard, None, share));
        }
    }
    blocks
}

/// Returns the place of the point that must be shown, so that the rules can be followed: in the closing one of an
/// earlier round, which can be cited (P11), and one of somebody else, who can be rebutted (P10).
fn required(view: &ArgueView) -> Option<usize> {
    let is_citable = |point: &Point| view.phase != Phase::Closing || point.id.round < view.round;
    let place = |fits: &dyn Fn(&Point) -> bool| view.points.iter().position(fits);
    place(&|point| is_citable(point) && point.id.role != view.role).or_else(|| place(&is_citable))
}

/// Returns the block of one point; `forecast` says whether its tag has the role's probabilities.
pub(super) fn point(
    subject: &Subject,
    point: &Point,
    forecast: bool,
    score: Option<f64>,
    share: Share,
) -> Block {
    let make = || tagged(&Letters::of_subject(subject), point, (forecast, score), share);
    let mut block = prompt_prefix::point(&subject.brief, point, (forecast, score), make);
    block.share = share;
    block
}

fn tagged(letters: &Letters, point: &Point, (forecast, score): Form, share: Share) -> Block {
    let id = blocks::attribute(&point.id.to_string());
    let attributes = format!(" id=\"{id}\" supports=\"{}\"", letters.get(point.supports));
    let mut spare = String::new();
    if !point.words.claim().is_empty() {
        spare = format!(" claim=\"{}\"", blocks::attribute(point.words.claim()));
    }
    if forecast {
        spare.push_str(&format!(" p=\"{}\"", outcomes::shown(letters, &point.probabilities)));
    }
    if let Some(score) = score {
        spare.push_str(&format!(" score=\"{score:.2}\""));
    }
    let text = point.words.argument().unwrap_or(REDACTED);
    Block::tagged(format!("point {id}"), Slot::Points, "point", &attributes, &spare, text, share)
}

/// Reads the reply to the prompt of an argument.
pub(super) fn parse(view: &ArgueView, reply: Received<'_>) -> Result<Reading<Answer>, ParseError> {
    let (reply, mut repairs): (ArgumentReply, _) = replies::read(reply, &KEYS, &NEEDED)?;
    let names = Names::of(&view.subject);
    let lacks = [
        ("argument", reply.argument.trim().is_empty()),
        ("probabilities", reply.probabilities.named.is_empty()),
    ];
    if let Some(error) = replies::missing(&lacks, &repairs) {
        return Err(error);
    }
    check_copies(view, &reply.argument)?;
    let probabilities = replies::probabilities(&reply.probabilities, &names, &mut repairs);
    let supports = if reply.supports.trim().is_empty() {
        repairs.push("supports_missing".to_owned());
        likeliest(&probabilities)
    } else {
        names.find(&reply.supports)
    };
    let confidence = replies::confidence(reply.confidence, &mut repairs);
    let argument = Argument {
        claim: measure::cut(reply.claim.trim(), CLAIM_TOKENS_MAX),
        argument: within(reply.argument.trim(), argument_tokens_max(view.max_argument_length), &mut repairs),
        supports,
        probabilities,
        confidence,
        evidence_cited: reply.evidence_cited,
        rebuts: reply.rebuts.iter().map(|named| role_named(named).to_owned()).collect(),
        cites: reply.cites.into_iter().map(|cite| cited(view, cite.into())).collect(),
        precedents: reply.precedents.into_iter().map(Into::into).collect(),
    };
    Ok(Reading::Answer { answer: Answer::Argue(argument), repairs })
}

/// Returns an error where an argument copies its own prompt (rule P27).
fn check_copies(view: &ArgueView, argument: &str) -> Result<(), ParseError> {
    let rejection = view.rejection.shown().map_or("", String::as_str);
    let task = templates::task(version(view), values(view, !rejection.is_empty(), view.max_argument_length));
    let system = view.subject.brief.shown().map(|brief| system(&personas::persona(&view.role, brief)));
    let system = system.transpose()?.unwrap_or_default();
    let shared = standard::system(&view.subject)?;
    let rules = standard::rules_text(&view.subject)?;
    let instructions = [system.as_str(), &shared, &rules, &task?, rejection];
    copies::check_instructions(argument, &instructions, &KEYS, PUBLIC)?;
    let shown =
        view.points.iter().filter_map(|point| Some((point.id.role == view.role, point.words.argument()?)));
    copies::check_shown(argument, shown, || render(view, Room::default()).ok(), PUBLIC)
}

fn likeliest(probabilities: &[(OutcomeRef, f64)]) -> OutcomeRef {
    let likeliest = probabilities.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    likeliest.map_or_else(|| OutcomeRef::Unknown(String::new()), |(outcome, _)| outcome.clone())
}

/// Returns the public argument, cut where it is longer than it may be (P15).
fn within(argument: &str, tokens_max: u32, repairs: &mut Vec<String>) -> String {
    // A token is a byte at least.
    let may_be_longer = argument.len() > tokens_max as usize;
    if !may_be_longer || measure::count(argument) <= tokens_max {
        return argument.to_owned();
    }
    repairs.push("argument_cut".to_owned());
    measure::cut(argument, tokens_max)
}

/// Returns the role that a reply names: `optimist`, `r1.optimist`, `the Optimist`.
pub(super) fn role_named(named: &str) -> &str {
    let named = named.trim();
    let named = match named.split_once('.') {
        Some((round, role)) if round.len() > 1 && round[1..].bytes().all(|digit| digit.is_ascii_digit()) => {
            role
        }
        _ => named,
    };
    named.strip_prefix("the ").or_else(|| named.strip_prefix("The ")).unwrap_or(named)
}

/// Spells the id of a cited point as the prompt did, letters' case aside.
fn cited(view: &ArgueView, citation: Citation) -> Citation {
    let shown = view.points.iter().map(|point| point.id.to_string());
    let spelled = shown.into_iter().find(|id| id.eq_ignore_ascii_case(&citation.point));
    Citation { point: spelled.unwrap_or(citation.point), quote: citation.quote }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::formats::prediction::config::Preset;
    use debate_core::formats::prediction::visible::Subject;
    use debate_core::id::{OutcomeId, Role};
    use debate_core::prose::Prose;

    fn view(role: &str, phase: Phase, outcomes: usize, max_argument_length: u32) -> ArgueView {
        let outcomes = (0..outcomes).map(|place| OutcomeId::new(place.to_string())).collect();
        ArgueView {
            subject: Subject {
                brief: Prose::default(),
                outcomes,
                as_of: Default::default(),
                dates: Default::default(),
                preset: Preset::Contract,
                input_tokens: Preset::Contract.input_tokens(&Default::default()),
                language: None,
            },
            role: Role::from(role),
            round: 1,
            rounds: 3,
            phase,
            max_argument_length,
            opponents: Vec::new(),
            points: Vec::new(),
            rejection: Prose::default(),
        }
    }

    #[test]
    fn p15_the_words_asked_for_leave_room_for_the_rest_of_the_reply() {
        for (role, phase, outcomes, tokens, words) in [
            ("optimist", Phase::Opening, 2, 500, 220),
            ("historian", Phase::Opening, 2, 500, 180),
            ("historian", Phase::Closing, 2, 500, 220),
            ("optimist", Phase::Rebuttal, 9, 500, 190),
            ("optimist", Phase::Rebuttal, 50, 500, 30),
            ("optimist", Phase::Opening, 2, 100, 30),
            ("optimist", Phase::Opening, 2, 2_000, 900),
        ] {
            assert_eq!(
                words_max(&view(role, phase, outcomes, tokens), tokens),
                words,
                "{role} {phase:?} {outcomes} {tokens}"
            );
        }
    }
}
