//! Parts of a debate that are asked for by themselves: rounds, what one role said, consensus, the ensemble's share.

use debate_core::debate::{Debate, Lifecycle};
use debate_core::format::Format as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::config::DEVILS_ADVOCATE;
use debate_core::formats::prediction::ensemble::EnsembleContribution;
use debate_core::formats::prediction::{Prediction, conclude};
use debate_core::formats::review::Review;
use debate_core::formats::review::outcome::PairDebate;
use debate_core::formats::roundtable::Roundtable;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_proto::v1;

use super::deliberation::{contribution, phase};
use super::investigation::{challenge, hypothesis, standings};
use super::prediction::{argument, disagreement, probability, round};
use super::review::pair;
use super::roundtable::{spoken, table_round};
use crate::refusal::Refusal;

/// Returns the rounds, phases or pairs that are over.
#[must_use]
pub fn rounds(debate: &AnyDebate) -> v1::ListRoundsResponse {
    let is_concluded = debate.lifecycle() == Lifecycle::Concluded;
    let mut response = v1::ListRoundsResponse::default();
    match debate {
        AnyDebate::Prediction(debate) => {
            let rounds = Prediction::outcome(debate, Texts::Shown).debate_log.rounds.into_iter();
            let is_over = |number| is_concluded || debate.state().summary(number).is_some();
            response.rounds = rounds.filter(|entry| is_over(entry.round_number)).map(round).collect();
        }
        AnyDebate::Deliberation(debate) => {
            let open = debate.phase().map(|(_, number)| number).filter(|_| !is_concluded);
            let phases = Deliberation::outcome(debate, Texts::Shown).phases.into_iter();
            response.phases = phases.filter(|entry| open != Some(entry.round)).map(phase).collect();
        }
        AnyDebate::Roundtable(debate) => {
            let rounds = Roundtable::outcome(debate, Texts::Shown).evidence.rounds.into_iter();
            let over = rounds.filter(|entry| is_concluded || !entry.judgements.is_empty());
            response.table_rounds = over.map(table_round).collect();
        }
        AnyDebate::Investigation(debate) => {
            let rounds = Investigation::outcome(debate, Texts::Shown).rounds;
            response.standings = rounds.iter().map(standings).collect();
        }
        AnyDebate::Review(debate) => {
            let debates = Review::outcome(debate, Texts::Shown).debates.into_iter();
            response.pairs = debates.filter(|entry| entry.judgement.is_some()).map(pair).collect();
        }
    }
    response
}

/// Returns everything that one role or participant has said so far.
///
/// # Errors
/// The debate has no role or participant of this name.
pub fn arguments(debate: &AnyDebate, role: &str) -> Result<v1::ListArgumentsResponse, Refusal> {
    let missing = || no_part(debate, format!("role {role:?}"));
    let mut response = v1::ListArgumentsResponse::default();
    match debate {
        AnyDebate::Prediction(debate) => {
            let config = debate.config();
            if !config.roles.iter().any(|known| known.as_str() == role) {
                return Err(missing());
            }
            let turns = debate.state().turns(config).filter(|turn| turn.made.role.as_str() == role);
            let entries = turns.map(|turn| conclude::entry(config, turn, Texts::Shown));
            response.arguments = entries.map(argument).collect();
        }
        AnyDebate::Deliberation(debate) => {
            let config = debate.config();
            let mut speakers = config.participants.iter().chain(&config.orchestrator);
            if !speakers.any(|speaker| speaker.name.as_str() == role) {
                return Err(missing());
            }
            let phases = Deliberation::outcome(debate, Texts::Shown).phases.into_iter();
            let said = phases.flat_map(|entry| entry.contributions);
            let theirs = said.filter(|entry| entry.participant.as_str() == role);
            response.contributions = theirs.map(contribution).collect();
        }
        AnyDebate::Roundtable(debate) => {
            if !debate.config().agents.iter().any(|agent| agent.name.as_str() == role) {
                return Err(missing());
            }
            let rounds = Roundtable::outcome(debate, Texts::Shown).evidence.rounds.into_iter();
            let said = rounds.flat_map(|entry| entry.responses);
            response.responses = said.filter(|entry| entry.agent.as_str() == role).map(spoken).collect();
        }
        AnyDebate::Review(debate) => {
            let debates = Review::outcome(debate, Texts::Shown).debates.into_iter();
            let speaks =
                |entry: &PairDebate| [&entry.role_a, &entry.role_b].iter().any(|of| of.as_str() == role);
            response.pairs = debates.filter(speaks).map(pair).collect();
            if response.pairs.is_empty() {
                return Err(missing());
            }
        }
        AnyDebate::Investigation(debate) => {
            let result = Investigation::outcome(debate, Texts::Shown);
            if role == DEVILS_ADVOCATE {
                response.challenges = result.challenges.into_iter().map(challenge).collect();
                return Ok(response);
            }
            let theirs = result.hypotheses.into_iter().filter(|entry| entry.investigator.as_str() == role);
            response.hypotheses = theirs.map(hypothesis).collect();
            if response.hypotheses.is_empty() {
                return Err(missing());
            }
        }
    }
    Ok(response)
}

/// Returns where the roles agree and where not.
///
/// # Errors
/// The debate has not concluded, is void, or is of a format without consensus of roles.
pub fn consensus(debate: &AnyDebate) -> Result<v1::GetConsensusResponse, Refusal> {
    let debate = concluded_prediction(debate, "consensus of roles")?;
    let result = Prediction::outcome(debate, Texts::Shown);
    Ok(v1::GetConsensusResponse {
        consensus_score: result.consensus_score,
        probability_distribution: result.probability_distribution.into_iter().map(probability).collect(),
        disagreement_map: result.disagreement_map.into_iter().map(disagreement).collect(),
    })
}

/// Returns what the debate contributes to an ensemble (rule P20).
///
/// # Errors
/// As [`consensus`].
pub fn ensemble_contribution(debate: &AnyDebate) -> Result<v1::GetEnsembleContributionResponse, Refusal> {
    let given = EnsembleContribution::of(concluded_prediction(debate, "contribution to an ensemble")?);
    let distribution = given.distribution.into_iter().map(|share| v1::OutcomePrior {
        outcome_id: share.outcome_id.to_string(),
        probability: share.probability,
    });
    Ok(v1::GetEnsembleContributionResponse {
        source: given.source.to_owned(),
        weight: given.weight,
        distribution: distribution.collect(),
        consensus_score: given.consensus_score,
        rounds_completed: given.rounds_completed,
        judge_confidence: given.judge_confidence,
    })
}

fn no_part(debate: &AnyDebate, part: String) -> Refusal {
    Refusal::NoPart { debate: debate.id(), part }
}

/// Refuses a debate that is void (rule P16).
pub(crate) fn check_not_void(debate: &AnyDebate) -> Result<(), Refusal> {
    match debate.completeness() {
        Completeness::Void { why } => Err(Refusal::Void { debate: debate.id(), why }),
        Completeness::Full | Completeness::Partial { .. } => Ok(()),
    }
}

fn concluded_prediction<'a>(debate: &'a AnyDebate, part: &str) -> Result<&'a Debate<Prediction>, Refusal> {
    let missing = no_part(debate, part.to_owned());
    let prediction = match debate {
        AnyDebate::Prediction(prediction) => prediction,
        AnyDebate::Deliberation(_)
        | AnyDebate::Roundtable(_)
        | AnyDebate::Review(_)
        | AnyDebate::Investigation(_) => return Err(missing),
    };
    if debate.lifecycle() != Lifecycle::Concluded {
        return Err(Refusal::State { debate: debate.id(), why: "the debate has not concluded".to_owned() });
    }
    check_not_void(debate)?;
    Ok(prediction)
}
