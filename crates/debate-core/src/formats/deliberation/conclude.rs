//! The result of a deliberation, computed from the state alone (rules K4, K6, D6, D7).

use super::Deliberation;
use super::call;
use super::config::{Config, PARTICIPANTS_MIN, Phase};
use super::fact::ContributionMade;
use super::outcome::{ContributionEntry, DeliberationResult, Metadata, PhaseEntry};
use super::plan;
use crate::debate::Debate;
use crate::prose::{REDACTED, Texts};
use crate::stop::{Completeness, StopRule};

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Deliberation>, texts: Texts) -> DeliberationResult {
    let (config, state) = (debate.config(), debate.state());
    let completeness = debate.completeness();
    let spoken = config.phases().iter().zip(1..).filter_map(|(_, number)| phase(debate, number, texts));
    let phases: Vec<PhaseEntry> = spoken.filter(|phase| !phase.contributions.is_empty()).collect();
    let reached = state.consensus();
    let words = reached.and_then(|reached| texts.of(&reached.prose));
    let mut phase_sequence: Vec<Phase> = phases.iter().map(|phase| phase.phase).collect();
    phase_sequence.extend(reached.map(|_| Phase::Consensus));
    let turns = state.contributions(config).count() + usize::from(reached.is_some());
    let changed = state.contributions(config).filter(|made| made.changed_position == Some(true));
    DeliberationResult {
        debate_id: debate.id(),
        topic: texts.of(debate.brief()).map_or_else(|| REDACTED.to_owned(), |brief| brief.topic.clone()),
        mode: config.mode,
        completed_at: debate.conclusion().map(|(_, at)| at.to_string()).unwrap_or_default(),
        consensus: reached.map(|_| words.map_or_else(|| REDACTED.to_owned(), |words| words.content.clone())),
        position_changes: changed.map(|made| made.participant.clone()).collect(),
        disagreements: words.map(|words| words.disagreements.clone()).unwrap_or_default(),
        disagreement_count: reached.map_or(0, |reached| reached.disagreements),
        round_count: count(phase_sequence.len()),
        phase_sequence,
        turn_count: count(turns),
        metadata: metadata(debate),
        phases,
        completeness,
        stop_reason: debate.stop_reason().to_owned(),
        simulated: debate.is_simulated(),
        usage_complete: debate.spend().complete,
        thinking_tokens: debate.spend().thinking,
        cost: debate.spend().cost,
        unpriced_models: debate.unpriced_if_cost_known(),
        redacted: debate.is_redacted(),
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Returns a phase in which participants speak as it stands, or `None` where there is none of this number.
#[must_use]
pub fn phase(debate: &Debate<Deliberation>, number: u32, texts: Texts) -> Option<PhaseEntry> {
    let config = debate.config();
    let phase = config.phase(number).filter(|phase| *phase != Phase::Consensus)?;
    let contributions = debate.state().round(config, number).map(|made| entry(made, texts));
    Some(PhaseEntry { phase, round: number, contributions: contributions.collect() })
}

/// Returns a contribution as results show it.
#[must_use]
pub fn entry(made: &ContributionMade, texts: Texts) -> ContributionEntry {
    let words = texts.of(&made.prose);
    ContributionEntry {
        participant: made.participant.clone(),
        content: words.map_or_else(|| REDACTED.to_owned(), |words| words.content.clone()),
        changed_position: made.changed_position,
    }
}

fn metadata(debate: &Debate<Deliberation>) -> Metadata {
    let spend = debate.spend();
    Metadata {
        tokens: spend.known,
        calls: spend.calls,
        wall_clock_time_ms: debate.wall_clock_ms(),
        model: debate.model_names(),
    }
}

/// Returns how whole the result is, were the debate to conclude now (rules K6, D2, D8).
pub(super) fn completeness(debate: &Debate<Deliberation>) -> Completeness {
    let (config, state) = (debate.config(), debate.state());
    let mut why = Vec::new();
    let stop = debate.early_stop();
    why.extend(stop.map(|fired| format!("stopped by {}", fired.name())));
    let spoke = state.speakers(config);
    if spoke < PARTICIPANTS_MIN || stop.is_some_and(|fired| fired.rule == StopRule::Failed) {
        let missing = config.participants.iter().filter(|speaker| plan::is_missing(debate, &speaker.name));
        let left = config.participants.len() - missing.count();
        let all = config.participants.len();
        why.push(format!(
            "{spoke} of {all} participants spoke, {left} remain; {PARTICIPANTS_MIN} are needed"
        ));
        return Completeness::Void { why };
    }
    let missing = missing(debate, config, &mut why);
    Completeness::of(missing, why)
}

/// Lists what is missing, each with a reason where the reason is not that the debate was stopped.
fn missing(debate: &Debate<Deliberation>, config: &Config, why: &mut Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for speaker in config.participants.iter().filter(|speaker| plan::is_missing(debate, &speaker.name)) {
        missing.push(speaker.name.to_string());
        why.push(format!("{} gave no usable answer after its retries", speaker.name));
    }
    let gone = missing.clone();
    for (phase, number) in config.phases().iter().zip(1..).filter(|(phase, _)| **phase != Phase::Consensus) {
        let silent = config.participants.iter().map(|speaker| &speaker.name).filter(|name| {
            !gone.iter().any(|gone| gone == name.as_str())
                && debate.state().contribution(number, name).is_none()
        });
        missing.extend(silent.map(|name| call::key(*phase, number, name).to_string()));
    }
    if let Some((number, orchestrator)) = config.consensus().filter(|_| debate.state().consensus().is_none())
    {
        missing.push(Phase::Consensus.as_str().to_owned());
        let key = call::key(Phase::Consensus, number, &orchestrator.name);
        if debate.is_failed(&key, debate.revision(&key)) {
            why.push(format!("{} gave no usable answer after its retries", orchestrator.name));
        }
    }
    for made in debate.state().contributions(config) {
        let call = call::key(made.phase, made.round, &made.participant);
        debate.note_cut_text(&call, &mut missing, why);
    }
    if let Some((number, orchestrator)) = config.consensus().filter(|_| debate.state().consensus().is_some())
    {
        let call = call::key(Phase::Consensus, number, &orchestrator.name);
        debate.note_cut_text(&call, &mut missing, why);
    }
    for skill in &config.skills_missing {
        missing.push(format!("skill/{skill}"));
        why.push(format!("skill {skill} could not be loaded"));
    }
    missing
}
