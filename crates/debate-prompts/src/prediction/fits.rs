//! Whether a request can be debated at all within the token budgets, before anything is recorded (P15).

use std::sync::Arc;

use debate_core::formats::accept::Accepted;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::{
    Brief, Config, DataSummary, OutcomeText, Phase, Preset, SimulationSummary,
};
use debate_core::formats::prediction::fact::ArgumentProse;
use debate_core::formats::prediction::point::PointId;
use debate_core::formats::prediction::visible::{ArgueView, Point, ScoreView, Subject, SynthesisView, Words};
use debate_core::id::{Role, Timestamp};
use debate_core::measures::distribution::Distribution;
use debate_core::prose::Prose;
use debate_core::request::Violation;

use super::blocks::Slot;
use super::draft::Draft;
use super::outcomes::Letters;
use super::{argue, measure, score, standard, synthesise};
use crate::prompts::RenderError;
use crate::room::Room;

/// Stands for texts that are not there yet; longer than what is shown of them at least.
const TEXT: &str = "An argument, or the reason of a rejection, which nobody has written yet when a request comes in; \
what matters is that it is longer than the least that is shown of any such text, in the smallest form of a prompt, so \
that this least is what is counted, and not the length of this text, which has to have some seventy words for that, \
because the least of an argument that is to be scored is sixty tokens long.";

/// Checks that a request fits its preset; one that names none gets the smallest that it fits (P15).
///
/// # Errors
/// It does not fit the preset that it names, or none; the smallest that fits is named.
pub fn admit(accepted: &mut Accepted<Prediction>) -> Result<(), Violation> {
    let Err(error) = check_fits(&accepted.config, &accepted.brief) else { return Ok(()) };
    let named = accepted.config.preset;
    let fits = |preset: &Preset| {
        let config = Config { preset: Some(*preset), ..accepted.config.clone() };
        check_fits(&config, &accepted.brief).is_ok()
    };
    let larger = Preset::ALL.into_iter().filter(|preset| *preset > accepted.config.preset()).find(fits);
    let violation = |field: &str, reason: String| Violation { field: field.to_owned(), reason };
    match (larger, named) {
        (Some(preset), None) => {
            accepted.take_preset(preset);
            Ok(())
        }
        (Some(preset), Some(_)) => {
            let reason = format!("{error}; {} is the smallest preset that fits", preset.as_str());
            Err(violation("options.preset", reason))
        }
        (None, _) if !accepted.config.input_tokens.is_empty() => {
            Err(violation("options.input_tokens", error.to_string()))
        }
        (None, _) => Err(violation("prediction_context", error.to_string())),
    }
}

/// Checks that every prompt which a debate can need fits its budget in its smallest form, with the question, the criteria
/// of its resolution and the outcomes uncut.
///
/// Where this is so, no prompt of the debate is ever refused for its length, whatever is said in it.
///
/// # Errors
/// [`RenderError::OverBudget`] with the tokens of the longest smallest form of the first kind of prompt that does not
/// fit.
pub fn check_fits(config: &Config, brief: &Brief) -> Result<(), RenderError> {
    let (brief, room) = (&needed(brief), Room::default());
    let subject = Subject::of(config, Prose::new(brief.clone()), Timestamp::default());
    let is_standard = standard::is_of(&subject);
    let mut arguments = Vec::new();
    let material = if is_standard { standard::stem(&subject, brief)? } else { argue::stem(&subject, brief) };
    for role in &config.roles {
        let stem = if is_standard { material.clone() } else { material.spoken_by(role, brief)? };
        for phase in [Phase::Opening, Phase::Rebuttal, Phase::Closing] {
            arguments.push(argue::draft(&argue_view(config, &subject, role, phase), &stem, room)?);
        }
    }
    check(arguments)?;
    let score = score_view(config, brief, &subject);
    let stem = if is_standard { material.clone() } else { score::stem(&score, brief)? };
    check(vec![score::draft(&score, &stem, (brief, TEXT), room)?])?;
    let stem = match is_standard {
        true => material,
        false => synthesise::stem(&subject, brief, Arc::clone(&material.heads))?,
    };
    let synthesis =
        SynthesisView { subject, roles: config.roles.clone(), rounds: config.rounds, points: Vec::new() };
    check(vec![synthesise::draft(&synthesis, &stem, room)?])
}

/// Returns a brief without what may be left out of prompts; of its task only question and criteria are counted.
fn needed(brief: &Brief) -> Brief {
    let label = |text: &OutcomeText| OutcomeText { label: text.label.clone(), description: String::new() };
    Brief {
        question: brief.question.clone(),
        task: brief.task.clone(),
        outcomes: brief.outcomes.iter().map(label).collect(),
        key_variables: Vec::new(),
        simulation_summary: SimulationSummary::default(),
        data_summary: DataSummary::default(),
        personas: brief.personas.clone(),
        rubrics: brief.rubrics.clone(),
    }
}

fn check(drafts: Vec<Draft>) -> Result<(), RenderError> {
    let mut worst: Option<RenderError> = None;
    let mut most = 0;
    for mut draft in drafts {
        for block in &mut draft.blocks {
            if matches!(block.slot, Slot::Question | Slot::Criteria) {
                (block.share.required, block.share.least) = (true, u32::MAX);
            }
        }
        let (version, budget) = (draft.version, draft.budget);
        let tokens = draft.tokens_min()?;
        if tokens > budget && tokens > most {
            most = tokens;
            worst = Some(RenderError::OverBudget { version, tokens, budget });
        }
    }
    worst.map_or(Ok(()), Err)
}

/// Returns the view of a role that is asked again, with one point of the role with the longest name.
fn argue_view(config: &Config, subject: &Subject, role: &Role, phase: Phase) -> ArgueView {
    let tokens = |other: &&Role| measure::count(&PointId::new(1, other).to_string());
    let other = config.roles.iter().filter(|other| *other != role).max_by_key(tokens);
    let letters = Letters::of_subject(subject);
    let supports = (0..config.outcomes.len()).max_by_key(|&place| measure::count(letters.get(place)));
    let point = other.zip(Distribution::uniform(config.outcomes.len())).map(|(other, probabilities)| Point {
        id: PointId::new(1, other),
        words: words(),
        supports: supports.unwrap_or_default(),
        probabilities,
    });
    let is_opening = phase == Phase::Opening;
    ArgueView {
        subject: subject.clone(),
        role: role.clone(),
        round: if is_opening { 1 } else { 2 },
        rounds: config.rounds.max(2),
        phase,
        max_argument_length: config.max_argument_length,
        opponents: other.filter(|_| !is_opening).cloned().into_iter().collect(),
        points: point.filter(|_| !is_opening).into_iter().collect(),
        rejection: Prose::new(TEXT.to_owned()),
    }
}

/// Returns the view of an argument for the outcome with the longest label.
fn score_view(config: &Config, brief: &Brief, subject: &Subject) -> ScoreView {
    let label = |place: &usize| brief.outcomes.get(*place).map_or(0, |text| measure::count(&text.label));
    ScoreView {
        subject: subject.clone(),
        phase: Phase::Rebuttal,
        criteria: config.criteria.clone(),
        words: words(),
        supports: (0..config.outcomes.len()).max_by_key(label).unwrap_or_default(),
        precedents: 0,
    }
}

fn words() -> Words {
    let prose = ArgumentProse { argument: TEXT.to_owned(), ..ArgumentProse::default() };
    Words::of(&Prose::new(prose))
}
