//! What the facts of a deliberation fold into: who said what in each phase, and the consensus.

use std::collections::BTreeMap;

use super::call::Call;
use super::config::{Config, Phase};
use super::fact::{ConsensusReached, ContributionMade, Fact};
use crate::call::Want;
use crate::id::Role;

/// The fold of a deliberation's facts.
#[derive(Debug, Clone, Default)]
pub struct State {
    rounds: BTreeMap<u32, BTreeMap<Role, ContributionMade>>,
    consensus: Option<ConsensusReached>,
}

impl State {
    /// Records a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ContributionMade(made) => {
                let round = self.rounds.entry(made.round).or_default();
                round.insert(made.participant.clone(), made.clone());
            }
            Fact::ConsensusReached(reached) => self.consensus = Some(reached.clone()),
        }
    }

    /// Forgets a contribution, or the consensus, that is void.
    pub(super) fn void(&mut self, want: &Want) {
        match Call::of(&want.call) {
            Some(Call { phase: Phase::Consensus, .. }) => self.consensus = None,
            Some(Call { phase: Phase::Initial | Phase::Rebuttal | Phase::Revised, number, speaker }) => {
                if let Some(round) = self.rounds.get_mut(&number) {
                    round.retain(|name, made| *name != speaker || made.revision > want.revision);
                }
            }
            None => {}
        }
    }

    /// Returns what a participant said in a phase.
    #[must_use]
    pub fn contribution(&self, round: u32, participant: &Role) -> Option<&ContributionMade> {
        self.rounds.get(&round)?.get(participant)
    }

    /// Returns the contributions of a phase, in the participants' order.
    pub fn round<'a>(
        &'a self,
        config: &'a Config,
        round: u32,
    ) -> impl Iterator<Item = &'a ContributionMade> + use<'a> {
        let speakers = config.participants.iter();
        speakers.filter_map(move |speaker| self.contribution(round, &speaker.name))
    }

    /// Returns all contributions, by phase and then in the participants' order.
    pub fn contributions<'a>(
        &'a self,
        config: &'a Config,
    ) -> impl Iterator<Item = &'a ContributionMade> + use<'a> {
        self.rounds.keys().flat_map(move |round| self.round(config, *round))
    }

    /// Returns the consensus, once there is one.
    #[must_use]
    pub fn consensus(&self) -> Option<&ConsensusReached> {
        self.consensus.as_ref()
    }

    /// Returns how many participants have spoken at all.
    #[must_use]
    pub fn speakers(&self, config: &Config) -> usize {
        let spoke = |name: &Role| self.rounds.values().any(|round| round.contains_key(name));
        config.participants.iter().filter(|speaker| spoke(&speaker.name)).count()
    }
}
