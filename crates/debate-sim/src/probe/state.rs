//! What the facts of a probe fold into.

use std::collections::BTreeMap;

use debate_core::call::Want;
use debate_core::id::Role;

use super::call::Call;
use super::fact::{Closed, Fact, Noted, Rested, Said, Tallied, Weighed};

/// The fold of a probe's facts.
#[derive(Debug, Clone, Default)]
pub struct State {
    said: BTreeMap<(u32, Role), Said>,
    weighed: BTreeMap<(u32, Role), Weighed>,
    tallied: BTreeMap<u32, Tallied>,
    noted: BTreeMap<u32, Noted>,
    rested: BTreeMap<u32, Rested>,
    closed: Option<Closed>,
}

impl State {
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Said(said) => {
                self.said.insert((said.round, said.role.clone()), said.clone());
            }
            Fact::Weighed(weighed) => {
                self.weighed.insert((weighed.round, weighed.role.clone()), weighed.clone());
            }
            Fact::Tallied(tallied) => {
                self.tallied.insert(tallied.round, tallied.clone());
            }
            Fact::Noted(noted) => {
                self.noted.insert(noted.round, noted.clone());
            }
            Fact::Rested(rested) => {
                self.rested.insert(rested.round, rested.clone());
            }
            Fact::Closed(closed) => self.closed = Some(closed.clone()),
        }
    }

    /// Takes back what is void: only the chair builds on what others say in the same round.
    pub(super) fn void(&mut self, want: &Want) {
        match Call::of(&want.call) {
            Some(Call::Tally { round }) => self.tallied.retain(|of, _| *of != round),
            Some(Call::Note { round }) => self.noted.retain(|of, _| *of != round),
            Some(Call::Close { .. }) => self.closed = None,
            Some(Call::Say { round, role }) => self.said.retain(|of, _| *of != (round, role.clone())),
            Some(Call::Weigh { round, role }) => self.weighed.retain(|of, _| *of != (round, role.clone())),
            None => {}
        }
    }

    /// Forgets what came of rounds; it follows from what was said in them.
    pub(super) fn forget_rests(&mut self) {
        self.rested.clear();
    }

    /// Returns what a seat said last in a round.
    #[must_use]
    pub fn said(&self, round: u32, role: &Role) -> Option<&Said> {
        self.said.get(&(round, role.clone()))
    }

    /// Returns the weight of what a seat said last in a round, once it has one.
    #[must_use]
    pub fn weight(&self, round: u32, role: &Role) -> Option<u32> {
        let said = self.said(round, role)?;
        let weighed = self.weighed.get(&(round, role.clone()));
        weighed.filter(|weighed| weighed.revision == said.revision).map(|weighed| weighed.weight)
    }

    /// Returns the tally of a round, unless it is void.
    #[must_use]
    pub fn tallied(&self, round: u32) -> Option<&Tallied> {
        self.tallied.get(&round)
    }

    /// Returns the note on a round, unless it is void.
    #[must_use]
    pub fn noted(&self, round: u32) -> Option<&Noted> {
        self.noted.get(&round)
    }

    /// Returns what came of a round, once it is at rest.
    #[must_use]
    pub fn rested(&self, round: u32) -> Option<&Rested> {
        self.rested.get(&round)
    }

    /// Returns how many rounds are at rest.
    #[must_use]
    pub fn rounds_over(&self) -> u32 {
        self.rested.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the closing, if it covers all rounds so far.
    #[must_use]
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref().filter(|closed| closed.round == self.rounds_over())
    }
}
