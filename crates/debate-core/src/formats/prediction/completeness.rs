//! How complete a result is, and how much confidence what is missing takes from it (rules K6, P16).

use super::Prediction;
use super::judged::Judged;
use super::plan::{self, ROLES_MIN};
use super::state::Turn;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::summary::mean;
use crate::stop::{Completeness, StopRule};

/// Returns how complete the result is, were the debate to conclude now (rules K6, P16).
pub(super) fn completeness(debate: &Debate<Prediction>) -> Completeness {
    let (config, state) = (debate.config(), debate.state());
    let mut missing = Vec::new();
    let mut why = Vec::new();
    for role in config.roles.iter().filter(|role| plan::is_missing(debate, role, config.rounds)) {
        missing.push(role.to_string());
        why.push(format!("{role} gave no usable answer after its retries{}", what_counts(debate, role)));
    }
    for round in 1..=config.rounds {
        for role in &config.roles {
            match state.standing(round, role) {
                Some(turn) if turn.scored.is_none() => missing.push(format!("score/{round}/{role}")),
                Some(_) => {}
                None if missing.iter().any(|known| known == role.as_str()) => {}
                None => missing.push(format!("argue/{round}/{role}")),
            }
        }
    }
    let stop = debate.early_stop();
    why.extend(stop.map(|fired| format!("stopped by {}", fired.name())));
    let spoke = state.assessments(config, u32::MAX).len();
    let has_failed = stop.is_some_and(|fired| fired.rule == StopRule::Failed);
    if spoke < ROLES_MIN || (has_failed && !config.has_revised_rules()) {
        why.push(format!("{spoke} of {} roles spoke; {ROLES_MIN} are needed", config.roles.len()));
        return Completeness::Void { why };
    }
    let unheld = (1..=config.judge_passes).filter(|pass| !state.has_judged(state.last_round(), *pass));
    missing.extend(unheld.map(|pass| match pass {
        1 => "synthesis".to_owned(),
        _ => format!("synthesis/{pass}"),
    }));
    if config.scores_what_is_pooled() && missing.iter().any(|what| what.starts_with("synthesis")) {
        why.push("the judge gave no synthesis".to_owned());
    }
    if missing.iter().any(|what| what.starts_with("score/")) {
        why.push("scores that could not be had are null".to_owned());
    }
    Completeness::of(missing, why)
}

/// Says which distribution of a role that failed still counts (rule P16).
fn what_counts(debate: &Debate<Prediction>, role: &Role) -> String {
    let last = debate.state().assessment(role, u32::MAX).filter(|_| debate.config().has_revised_rules());
    last.map_or_else(String::new, |made| format!("; its distribution of round {} counts", made.round))
}

/// Returns how sure the debate is, in [0, 1], lowered by what is missing (rule P16).
///
/// base · a · (1 + s)/2 · (1 + j)/2, where the base is the synthesis's confidence, or the mean of the roles' without
/// one, and a is the share of expected arguments that there are, s the share of these that have a score, and j the
/// share of the judge's passes. It is 0 where the debate is void. Debates of rules 0 ignore s and j.
pub(in crate::formats) fn confidence(debate: &Debate<Prediction>, completeness: &Completeness) -> f64 {
    let (config, state) = (debate.config(), debate.state());
    if matches!(completeness, Completeness::Void { .. }) {
        return 0.0;
    }
    let roles = config.roles.iter().filter_map(|role| state.assessment(role, u32::MAX));
    let confidences: Vec<f64> = roles.map(|made| made.confidence).collect();
    let judged = Judged::of(config, state.judgements());
    let base = judged.as_ref().map_or_else(|| mean(&confidences).unwrap_or(0.0), |judged| judged.confidence);
    let accepted = state.turns(config).count() as f64;
    let expected = config.roles.len() as f64 * f64::from(config.rounds);
    let confidence = base * (accepted / expected).min(1.0);
    if !config.has_revised_rules() || accepted == 0.0 {
        return confidence;
    }
    let scored = state.turns(config).filter_map(Turn::composite).count() as f64;
    let passes = judged.map_or(0, |judged| judged.passes.held);
    let halved = |share: f64| f64::midpoint(1.0, share.min(1.0));
    confidence * halved(scored / accepted) * halved(f64::from(passes) / f64::from(config.judge_passes))
}
