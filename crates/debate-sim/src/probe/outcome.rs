//! The result of a probe, from the state alone.

use debate_core::debate::Debate;
use debate_core::id::{OutcomeId, Role};
use debate_core::prose::{REDACTED, Texts};
use debate_core::stop::{Completeness, StopRule};
use serde::Serialize;

use super::Probe;
use super::call::Call;
use super::plan::{self, SEATS_MIN};

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The rounds that came to rest, in order.
    pub rounds: Vec<RoundOutcome>,
    /// The closing number; null without a closing.
    pub closing: Option<u32>,
    /// Why it stopped; empty while it runs.
    pub stop_reason: String,
    /// Whether anything is missing.
    pub completeness: Completeness,
    /// What happened in the world, once known.
    pub resolution: Option<OutcomeId>,
}

/// What came of one round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundOutcome {
    /// From 1.
    pub round: u32,
    /// The largest number less the smallest.
    pub spread: u32,
    /// What stands, in seat order.
    pub sayings: Vec<Saying>,
    /// The chair's tally, where it has one.
    pub tally: Option<u32>,
    /// The chair's note on it, where it has one.
    pub note: Option<u32>,
}

/// A saying that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Saying {
    /// Who spoke.
    pub role: Role,
    /// The number.
    pub value: u32,
    /// Its weight; null where it could not be had.
    pub weight: Option<u32>,
    /// The words.
    pub text: String,
}

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Probe>, texts: Texts) -> Outcome {
    let (config, state) = (debate.config(), debate.state());
    let saying = |round: u32, role: &Role| {
        let said = state.said(round, role)?;
        let text = texts.of(&said.prose).map_or_else(|| REDACTED.to_owned(), Clone::clone);
        Some(Saying { role: role.clone(), value: said.value, weight: state.weight(round, role), text })
    };
    let rounds = (1..=state.rounds_over()).map(|round| RoundOutcome {
        round,
        spread: state.rested(round).map_or(0, |rested| rested.spread),
        sayings: config.seats.iter().filter_map(|role| saying(round, role)).collect(),
        tally: state.tallied(round).map(|tallied| tallied.value),
        note: state.noted(round).map(|noted| noted.value),
    });
    Outcome {
        rounds: rounds.collect(),
        closing: state.closed().map(|closed| closed.value),
        stop_reason: debate.stop_rule().map_or("", StopRule::as_str).to_owned(),
        completeness: completeness(debate),
        resolution: debate.resolved().map(|(resolved, _)| resolved.outcome.clone()),
    }
}

/// Returns how whole the result is.
pub(super) fn completeness(debate: &Debate<Probe>) -> Completeness {
    let (config, state) = (debate.config(), debate.state());
    let mut missing: Vec<String> = Vec::new();
    for round in 1..=state.rounds_over() {
        for role in &config.seats {
            match state.said(round, role) {
                None => missing.push(format!("say/{round}/{role}")),
                Some(_) if state.weight(round, role).is_none() => {
                    missing.push(format!("weigh/{round}/{role}"));
                }
                Some(_) => {}
            }
        }
        if state.noted(round).is_none() {
            missing.push(Call::Note { round }.key().to_string());
        }
    }
    if state.closed().is_none() {
        missing.push("close".to_owned());
    }
    let stopped =
        debate.stop_rule().filter(|rule| !matches!(rule, StopRule::MaxRounds | StopRule::Consensus));
    let why: Vec<String> = stopped.iter().map(|rule| format!("stopped by {}", rule.as_str())).collect();
    let alive = config.seats.iter().filter(|role| !plan::is_missing(debate, role)).count();
    if alive < SEATS_MIN || stopped == Some(StopRule::Failed) {
        return Completeness::Void { why };
    }
    if missing.is_empty() && why.is_empty() {
        Completeness::Full
    } else {
        Completeness::Partial { missing, why }
    }
}
