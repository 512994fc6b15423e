//! What the facts of an investigation fold into: messages by round, challenges with what became of them, the rounds
//! that are over, the verdict.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Stance;
use super::call::Call;
use super::config::{Config, Seat};
use super::fact::{
    ChallengeId, ChallengeRaised, ConclusionConveyed, EvidenceFact, EvidenceReported, Fact,
    HypothesesProposed, RoundSummarised, Stage, StatusUpdated, VerdictRendered, Violation, ViolationFound,
};
use crate::call::{CallKey, Want};
use crate::id::Role;

/// The fold of an investigation's facts.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// How many hypotheses there are, once known.
    hypotheses: Option<u32>,
    proposed: Option<HypothesesProposed>,
    messages: BTreeMap<(u32, Stage, Role), EvidenceReported>,
    challenges: BTreeMap<ChallengeId, ChallengeRaised>,
    statuses: BTreeMap<u32, StatusUpdated>,
    violations: BTreeMap<CallKey, Vec<ViolationFound>>,
    summaries: BTreeMap<u32, RoundSummarised>,
    verdict: Option<VerdictRendered>,
    conclusion: Option<ConclusionConveyed>,
}

impl State {
    /// Returns the state in which nothing has been said yet.
    pub(super) fn open(config: &Config) -> Self {
        Self { hypotheses: config.hypotheses, ..Self::default() }
    }

    /// Records a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::HypothesesProposed(proposed) => {
                self.hypotheses = Some(proposed.count);
                self.proposed = Some(proposed.clone());
            }
            Fact::EvidenceReported(reported) => {
                let place = (reported.round, reported.stage, reported.investigator.clone());
                self.messages.insert(place, reported.clone());
            }
            Fact::ChallengeRaised(raised) => drop(self.challenges.insert(raised.id, raised.clone())),
            Fact::StatusUpdated(status) => drop(self.statuses.insert(status.round, status.clone())),
            Fact::ViolationFound(found) => {
                self.violations.entry(found.shown_by.call.clone()).or_default().push(found.clone());
            }
            Fact::RoundSummarised(summary) => drop(self.summaries.insert(summary.round, summary.clone())),
            Fact::VerdictRendered(verdict) => self.verdict = Some(verdict.clone()),
            Fact::ConclusionConveyed(conclusion) => self.conclusion = Some(conclusion.clone()),
        }
    }

    /// Forgets what came of an answer that is void.
    pub(super) fn void(&mut self, want: &Want) {
        self.violations.remove(&want.call);
        match Call::of(&want.call) {
            Some(Call::Propose) => (self.proposed, self.hypotheses) = (None, None),
            Some(Call::Report { round, investigator }) => {
                self.messages.remove(&(round, Stage::Report, investigator));
            }
            Some(Call::Respond { round, investigator }) => {
                self.messages.remove(&(round, Stage::Respond, investigator));
            }
            Some(Call::Challenge { round }) => self.challenges.retain(|id, _| id.round != round),
            Some(Call::Status { round }) => drop(self.statuses.remove(&round)),
            Some(Call::Verdict { .. }) => self.verdict = None,
            Some(Call::Convey { .. }) => self.conclusion = None,
            None => {}
        }
    }

    /// Forgets what came of rounds; it follows from what was said in them.
    pub(super) fn forget_summaries(&mut self) {
        self.summaries.clear();
    }

    /// Returns how many hypotheses there are, once that is known.
    #[must_use]
    pub fn hypotheses(&self) -> Option<u32> {
        self.hypotheses
    }

    /// Returns what the lead proposed.
    #[must_use]
    pub fn proposed(&self) -> Option<&HypothesesProposed> {
        self.proposed.as_ref()
    }

    /// Returns the seats that have a hypothesis, in order.
    pub fn seats<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = &'a Seat> + Clone + use<'a> {
        let count = self.hypotheses.unwrap_or(0);
        config.seats.iter().filter(move |seat| seat.hypothesis <= count)
    }

    /// Returns a message of an investigator.
    #[must_use]
    pub fn message(&self, round: u32, stage: Stage, investigator: &Role) -> Option<&EvidenceReported> {
        self.messages.get(&(round, stage, investigator.clone()))
    }

    /// Returns the messages of an investigator up to a round, oldest first.
    pub fn messages<'a>(
        &'a self,
        investigator: &Role,
        up_to: u32,
    ) -> impl DoubleEndedIterator<Item = &'a EvidenceReported> + use<'a> {
        let of = investigator.clone();
        let said = self.messages.iter();
        said.filter(move |((round, _, who), _)| *round <= up_to && *who == of).map(|(_, message)| message)
    }

    /// Returns all evidence that an investigator brought up to a round, oldest first.
    pub fn evidence<'a>(
        &'a self,
        investigator: &Role,
        up_to: u32,
    ) -> impl Iterator<Item = &'a EvidenceFact> + use<'a> {
        self.messages(investigator, up_to).flat_map(|message| &message.evidence)
    }

    /// Returns the last round in which an investigator spoke, 0 before the first.
    #[must_use]
    pub fn last_round(&self) -> u32 {
        self.messages.keys().next_back().map_or(0, |(round, ..)| *round)
    }

    /// Returns every challenge up to a round, in order, ignored ones too.
    pub fn challenges(&self, up_to: u32) -> impl Iterator<Item = &ChallengeRaised> + use<'_> {
        self.challenges.values().filter(move |raised| raised.id.round <= up_to)
    }

    /// Returns the challenges to a hypothesis that are to be answered, up to a round, in order.
    pub fn challenges_to(
        &self,
        hypothesis: u32,
        up_to: u32,
    ) -> impl Iterator<Item = &ChallengeRaised> + use<'_> {
        self.challenges(up_to).filter(move |raised| raised.stands && raised.hypothesis == Some(hypothesis))
    }

    /// Returns how the investigator met a challenge last, up to a round.
    #[must_use]
    pub fn stance(&self, id: ChallengeId, up_to: u32) -> Option<Stance> {
        let said = self.messages.iter().filter(|((round, ..), _)| *round <= up_to);
        let mut responses = said.flat_map(|(_, message)| &message.responses);
        responses.rfind(|response| response.challenge == id).map(|response| response.stance)
    }

    /// Returns the challenges that the synthesizer found answered up to a round, and those that were granted.
    ///
    /// Once answered, a challenge stays answered (rule I6).
    #[must_use]
    pub fn closed(&self, up_to: u32) -> BTreeSet<ChallengeId> {
        let answered = self.statuses.range(..=up_to).flat_map(|(_, status)| status.answered.iter().copied());
        let said = self.messages.iter().filter(|((round, ..), _)| *round <= up_to);
        let responses = said.flat_map(|(_, message)| &message.responses);
        let granted = responses.filter(|response| response.stance == Stance::Concede);
        answered.chain(granted.map(|response| response.challenge)).collect()
    }

    /// Returns the challenges that an investigator has to answer in a round, in order.
    #[must_use]
    pub fn to_answer(&self, hypothesis: u32, round: u32) -> Vec<&ChallengeRaised> {
        let closed = self.closed(round.saturating_sub(1));
        self.challenges_to(hypothesis, round).filter(|raised| !closed.contains(&raised.id)).collect()
    }

    /// Returns the status after a round.
    #[must_use]
    pub fn status(&self, round: u32) -> Option<&StatusUpdated> {
        self.statuses.get(&round)
    }

    /// Returns every status, in order.
    pub fn statuses(&self) -> impl Iterator<Item = &StatusUpdated> {
        self.statuses.values()
    }

    /// Returns every violation, by the answer in which it shows.
    pub fn violations(&self) -> impl Iterator<Item = &ViolationFound> {
        self.violations.values().flatten()
    }

    /// Returns the violations of a role that show before a round.
    pub fn violations_by<'a>(
        &'a self,
        role: &'a Role,
        before: u32,
    ) -> impl Iterator<Item = &'a ViolationFound> + use<'a> {
        self.violations().filter(move |found| found.by == *role && found.shown_by.call.round < before)
    }

    /// Returns whether a hypothesis counts: no challenge up to a round has shown adverse evidence to be hidden (rule I5).
    #[must_use]
    pub fn is_trusted(&self, hypothesis: u32, up_to: u32) -> bool {
        !self.violations().any(|found| {
            found.violation == Violation::HiddenEvidence
                && found.hypothesis == Some(hypothesis)
                && found.shown_by.call.round <= up_to
        })
    }

    /// Returns what came of a round, once it is over.
    #[must_use]
    pub fn summary(&self, round: u32) -> Option<&RoundSummarised> {
        self.summaries.get(&round)
    }

    /// Returns what came of the rounds that are over, in order.
    pub fn summaries(&self) -> impl Iterator<Item = &RoundSummarised> {
        self.summaries.values()
    }

    /// Returns how many rounds are over.
    #[must_use]
    pub fn rounds_over(&self) -> u32 {
        self.summaries.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the verdict, once there is one.
    #[must_use]
    pub fn verdict(&self) -> Option<&VerdictRendered> {
        self.verdict.as_ref()
    }

    /// Returns what the lead conveyed, once it has.
    #[must_use]
    pub fn conclusion(&self) -> Option<&ConclusionConveyed> {
        self.conclusion.as_ref()
    }
}
