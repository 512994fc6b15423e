//! The result of a prediction debate, computed from the state alone (rules K4, P7, P8, P13, P16).

use serde_json::{Map, Value};

use super::Prediction;
use super::answer::Precedent;
use super::call::HISTORIAN;
use super::completeness::confidence;
use super::config::{Config, Phase};
use super::fact::{Disagreement, Position};
use super::forecast;
use super::judged::Judged;
use super::ledger::{self, LedgerEntry};
use super::notes;
use super::outcome::{
    ArgumentEntry, ArgumentQuality, DebateLog, DebateResult, Extra, Metadata, OutcomeConsensus,
    OutcomeProbability, RoleAssessment, Round, RoundSummary, ScoreEntry,
};
use super::point::PointId;
use super::state::{State, Turn};
use super::visibility;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::consensus::{self, Consensus};
use crate::measures::distribution::Distribution;
use crate::measures::panel::Panel;
use crate::measures::pooling::{self, Pools};
use crate::measures::scoring;
use crate::prose::{REDACTED, Texts};
use crate::stop::Completeness;

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Prediction>, texts: Texts) -> DebateResult {
    let (config, state) = (debate.config(), debate.state());
    let completeness = debate.completeness();
    let assessments = match &completeness {
        Completeness::Void { .. } => Vec::new(),
        Completeness::Full | Completeness::Partial { .. } => state.assessments(config, u32::MAX),
    };
    let distributions: Vec<&Distribution> =
        assessments.iter().map(|(_, distribution)| *distribution).collect();
    let panel = Panel::new(&distributions).ok();
    let pools = panel.as_ref().map(|panel| Pools::of(panel, config.pool_settings));
    let agreement = panel.as_ref().map(Consensus::of).map(|agreement| match &pools {
        Some(pools) if config.scores_what_is_pooled() => agreement.weighted_by(pools.by(config.pooling)),
        Some(_) | None => agreement,
    });
    let score_without_agreement = (!config.scores_what_is_pooled()).then_some(1.0);
    let ledger = ledger::of(config, state);
    DebateResult {
        debate_id: debate.id(),
        task_id: config.task_id.clone(),
        completed_at: debate.conclusion().map(|(_, at)| at.to_string()).unwrap_or_default(),
        debate_log: DebateLog { rounds: rounds(debate, texts) },
        consensus_score: agreement.as_ref().map(|agreement| agreement.overall).or(score_without_agreement),
        disagreement_map: disagreements(config, state, agreement.as_ref(), texts),
        probability_distribution: probabilities(debate, pools.as_ref()),
        key_insights: state
            .judgement()
            .and_then(|judgement| texts.of(&judgement.prose))
            .map(|prose| prose.insights.clone())
            .unwrap_or_default(),
        historical_precedents: precedents(config, state, texts),
        metadata: metadata(debate),
        extra: extra(debate, completeness, agreement.as_ref(), pools, ledger, texts),
    }
}

/// Returns one round as it stands, or `None` where it was never opened.
#[must_use]
pub fn round(debate: &Debate<Prediction>, number: u32, texts: Texts) -> Option<Round> {
    if !debate.is_open(number) && (number == 0 || number > debate.state().last_round()) {
        return None;
    }
    let (config, state) = (debate.config(), debate.state());
    let summary = state.summary(number);
    Some(Round {
        round_number: number,
        phase: config.phase(number),
        arguments: state.round_turns(config, number).map(|turn| entry(config, turn, texts)).collect(),
        round_summary: summary.map_or_else(RoundSummary::default, |summary| RoundSummary {
            dominant_argument: summary.dominant_argument.as_ref().map(Role::to_string).unwrap_or_default(),
            key_disagreements: summary.key_disagreements.clone(),
            emerging_consensus: summary.emerging_consensus.clone(),
        }),
    })
}

fn rounds(debate: &Debate<Prediction>, texts: Texts) -> Vec<Round> {
    let open = debate.phase().map_or(0, |(_, round)| round);
    let last = debate.state().last_round().max(open);
    (1..=last).filter_map(|number| round(debate, number, texts)).collect()
}

/// Returns an argument as results show it.
#[must_use]
pub fn entry(config: &Config, turn: &Turn, texts: Texts) -> ArgumentEntry {
    let made = &turn.made;
    let prose = texts.of(&made.prose);
    let scored = turn.scored.as_ref();
    let score_of = |place: usize| scored.and_then(|scored| scored.scores.get(place).copied().flatten());
    let criteria = config.criteria.iter().enumerate();
    let poor = State::is_below_threshold(turn).then(|| "P6".to_owned());
    ArgumentEntry {
        role: made.role.clone(),
        argument: prose.map_or_else(|| REDACTED.to_owned(), |prose| prose.argument.clone()),
        outcome_supported: made.outcome_supported.clone(),
        evidence_cited: prose.map(|prose| prose.evidence_cited.clone()).unwrap_or_default(),
        scores: ScoreEntry {
            criteria: criteria
                .map(|(place, criterion)| (criterion.name.clone(), Value::from(score_of(place))))
                .collect::<Map<_, _>>(),
            composite: turn.composite(),
        },
        rebuts: made.rebuts.clone(),
        point: PointId::new(made.round, &made.role).to_string(),
        cites: made.cites.iter().map(PointId::to_string).collect(),
        flags: made.breaks.iter().map(|rule| rule.as_str().to_owned()).chain(poor).collect(),
    }
}

fn probabilities(debate: &Debate<Prediction>, pools: Option<&Pools>) -> Vec<OutcomeProbability> {
    let (config, state) = (debate.config(), debate.state());
    let Some(pools) = pools else {
        return Vec::new();
    };
    let consensus = pools.by(config.pooling);
    let judged = Judged::of(config, state.judgements());
    let judge = judged.as_ref().map(|judged| &judged.probabilities);
    let last = forecast::blended(config, judge, consensus);
    let assessed = config.roles.iter().filter_map(|role| Some((role, state.assessment(role, u32::MAX)?)));
    let assessed: Vec<_> = assessed.collect();
    let outcomes = config.outcomes.iter().enumerate();
    outcomes
        .map(|(place, outcome)| OutcomeProbability {
            outcome_id: outcome.clone(),
            probability: last.as_slice()[place],
            role_assessments: assessed
                .iter()
                .map(|(role, made)| RoleAssessment {
                    role: (*role).clone(),
                    probability: made.probabilities.as_slice()[place],
                    confidence: made.confidence,
                })
                .collect(),
            judge_probability: judge.map(|judge| judge.as_slice()[place]),
            consensus_probability: consensus.as_slice()[place],
        })
        .collect()
}

/// Returns the judge's disagreements, then one for every outcome on which the roles' numbers differ (rule P13).
fn disagreements(
    config: &Config,
    state: &State,
    agreement: Option<&Consensus>,
    texts: Texts,
) -> Vec<Disagreement> {
    let judged = state.judgement().and_then(|judgement| texts.of(&judgement.prose));
    let mut map = judged.map(|prose| prose.disagreements.clone()).unwrap_or_default();
    let Some(agreement) = agreement else {
        return map;
    };
    let assessments = state.assessments(config, u32::MAX);
    for (place, outcome) in config.outcomes.iter().enumerate() {
        if !consensus::is_disputed(agreement.sd[place]) {
            continue;
        }
        let positions = assessments.iter().map(|(role, distribution)| {
            let probability = distribution.as_slice()[place];
            Position { role: (*role).clone(), stance: format!("{probability:.2}"), strength: probability }
        });
        let topic = format!("probability of {outcome}");
        map.push(Disagreement { topic, positions: positions.collect(), resolved: false });
    }
    map
}

fn precedents(config: &Config, state: &State, texts: Texts) -> Vec<Precedent> {
    let mut found: Vec<Precedent> = Vec::new();
    for turn in state.turns(config).filter(|turn| turn.made.role.as_str() == HISTORIAN) {
        let cited = texts.of(&turn.made.prose).map(|prose| prose.precedents.as_slice()).unwrap_or_default();
        for precedent in cited {
            if !found.iter().any(|known| known.event == precedent.event && known.date == precedent.date) {
                found.push(precedent.clone());
            }
        }
    }
    found
}

fn metadata(debate: &Debate<Prediction>) -> Metadata {
    let spend = debate.spend();
    Metadata {
        total_arguments: debate.state().turns(debate.config()).count() as u64,
        sonnet_tokens_used: spend.known,
        sonnet_calls: spend.calls,
        wall_clock_time_ms: debate.wall_clock_ms(),
        model: debate.model_names(),
    }
}

fn extra(
    debate: &Debate<Prediction>,
    completeness: Completeness,
    agreement: Option<&Consensus>,
    pools: Option<Pools>,
    ledger: Vec<LedgerEntry>,
    texts: Texts,
) -> Extra {
    let (config, state) = (debate.config(), debate.state());
    let judgement = state.judgement();
    let blind: Vec<&Distribution> =
        state.round_turns(config, 1).map(|turn| &turn.made.probabilities).collect();
    let consensus_per_outcome = agreement.map(|agreement| {
        let measured = agreement.scores.iter().zip(&agreement.sd);
        let outcomes = config.outcomes.iter().zip(measured);
        outcomes
            .map(|(outcome, (score, sd))| OutcomeConsensus {
                outcome_id: outcome.clone(),
                consensus_score: *score,
                standard_deviation: *sd,
            })
            .collect()
    });
    let reasoning = judgement.map(|judgement| match texts.of(&judgement.prose) {
        Some(prose) => prose.reasoning.clone(),
        None => REDACTED.to_owned(),
    });
    Extra {
        confidence: confidence(debate, &completeness),
        completeness,
        simulated: debate.is_simulated(),
        stop_reason: debate.stop_reason().to_owned(),
        usage_complete: debate.spend().complete,
        thinking_tokens: debate.spend().thinking,
        cost: debate.spend().cost,
        unpriced_models: debate.unpriced_if_cost_known(),
        consensus_per_outcome: consensus_per_outcome.unwrap_or_default(),
        blind_baseline: Panel::new(&blind).ok().map(|panel| pooling::linear(&panel)),
        pools,
        conformity_moves: ledger.iter().filter(|entry| entry.conformity).count() as u64,
        ledger,
        argument_quality: quality(debate),
        evolution_share: evolution(config, state),
        judge_order: visibility::order_seen(debate),
        judge_reasoning: reasoning.unwrap_or_default(),
        judge_passes: Judged::of(config, state.judgements())
            .map(|judged| judged.passes)
            .filter(|_| config.judge_passes > 1),
        repairs: notes::repairs(debate),
        notes: notes::notes(debate, texts),
        redacted: debate.is_redacted(),
    }
}

fn quality(debate: &Debate<Prediction>) -> ArgumentQuality {
    let (config, state) = (debate.config(), debate.state());
    let composites: Vec<f64> = state.turns(config).filter_map(Turn::composite).collect();
    let good_share = scoring::good_share(&composites);
    ArgumentQuality {
        good_share,
        flagged: good_share.is_some_and(scoring::should_flag_share),
        rejected: debate.calls().map(|(_, call)| u64::from(call.rejections)).sum(),
    }
}

fn evolution(config: &Config, state: &State) -> Option<f64> {
    let closing = state.turns(config).filter(|turn| config.phase(turn.made.round) == Phase::Closing);
    let citing: Vec<f64> = closing.map(|turn| f64::from(u8::from(!turn.made.cites.is_empty()))).collect();
    crate::measures::summary::mean(&citing)
}
