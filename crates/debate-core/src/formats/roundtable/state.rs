//! What the facts of a roundtable fold into: who said what in each round, and what each round came to.

use std::collections::BTreeMap;

use super::call::{Call, Kind};
use super::config::Config;
use super::fact::{Fact, ResponseGiven, RoundJudged};
use crate::call::Want;
use crate::id::Role;
use crate::prose::Prose;

/// The fold of a roundtable's facts.
#[derive(Debug, Clone)]
pub struct State {
    responses: BTreeMap<(u32, Kind), BTreeMap<Role, ResponseGiven>>,
    judged: BTreeMap<(u32, Kind), RoundJudged>,
    rounds_asked: u32,
    rounds_max: u32,
    continued_after: u32,
    focuses: BTreeMap<u32, Option<Prose<String>>>,
}

impl State {
    /// Returns the state before anybody spoke.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            responses: BTreeMap::new(),
            judged: BTreeMap::new(),
            rounds_asked: config.rounds,
            rounds_max: config.rounds,
            continued_after: 0,
            focuses: BTreeMap::new(),
        }
    }

    /// Records a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ResponseGiven(given) => {
                let round = self.responses.entry((given.round, given.kind)).or_default();
                round.insert(given.agent.clone(), given.clone());
            }
            Fact::RoundJudged(judged) => {
                self.judged.insert((judged.round, judged.kind), judged.clone());
            }
        }
    }

    /// Forgets a response that is void.
    pub(super) fn void(&mut self, want: &Want) {
        let Some(Call { kind, round, agent }) = Call::of(&want.call) else { return };
        if let Some(round) = self.responses.get_mut(&(round, kind)) {
            round.retain(|name, given| *name != agent || given.revision > want.revision);
        }
    }

    /// Goes on with more rounds: so many as were added to the rules, after the last round that was held, with a question
    /// of their own or with none. A log may say of any round that it was held: there are no more than the rules have.
    pub(super) fn reopen(&mut self, config: &Config, focus: Option<&Prose<String>>) {
        let held = self.rounds_judged();
        let more = config.rounds.saturating_sub(self.rounds_asked);
        let rounds_max = held.saturating_add(more).min(config.rounds);
        (self.rounds_asked, self.rounds_max, self.continued_after) = (config.rounds, rounds_max, held);
        self.focuses.insert(held, focus.cloned());
        let spoke = self.responses.get(&(held, Kind::Respond)).map_or(0, BTreeMap::len);
        if spoke < config.agents.len() {
            // It was cut short: what it comes to is looked at once it is whole.
            self.judged.retain(|(round, _), _| *round < held);
        }
    }

    /// Forgets what rounds came to, so that it follows anew.
    pub(super) fn forget_judgements(&mut self) {
        self.judged.clear();
    }

    /// Returns how many rounds are held at most.
    #[must_use]
    pub fn rounds_max(&self) -> u32 {
        self.rounds_max
    }

    /// Returns the round after which the debate was continued last, 0 where it was not; exit rules look at later ones.
    #[must_use]
    pub fn continued_after(&self) -> u32 {
        self.continued_after
    }

    /// Returns the question that a round is to deal with in addition to the topic, if it was added with one.
    #[must_use]
    pub fn focus(&self, round: u32) -> Option<&Prose<String>> {
        self.focuses.range(..round).next_back()?.1.as_ref()
    }

    /// Returns the last round that was looked at as a whole, 0 for none.
    #[must_use]
    pub fn rounds_judged(&self) -> u32 {
        self.judged.keys().next_back().map_or(0, |(round, _)| *round)
    }

    /// Returns what a round came to, by the answers of one kind.
    #[must_use]
    pub fn judged(&self, round: u32, kind: Kind) -> Option<&RoundJudged> {
        self.judged.get(&(round, kind))
    }

    /// Returns what a round came to at last.
    #[must_use]
    pub fn verdict(&self, round: u32) -> Option<&RoundJudged> {
        Kind::ALL.into_iter().rev().find_map(|kind| self.judged(round, kind))
    }

    /// Returns everything that rounds came to, in order.
    pub fn judgements(&self) -> impl Iterator<Item = &RoundJudged> {
        self.judged.values()
    }

    /// Returns what an agent answered in a round.
    #[must_use]
    pub fn response(&self, kind: Kind, round: u32, agent: &Role) -> Option<&ResponseGiven> {
        self.responses.get(&(round, kind))?.get(agent)
    }

    /// Returns the answers of one kind in a round, in the table's order.
    pub fn round<'a>(
        &'a self,
        config: &'a Config,
        round: u32,
        kind: Kind,
    ) -> impl Iterator<Item = &'a ResponseGiven> + use<'a> {
        config.agents.iter().filter_map(move |agent| self.response(kind, round, &agent.name))
    }

    /// Returns all answers, by round, then by kind, then in the table's order.
    pub fn responses<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = &'a ResponseGiven> + use<'a> {
        self.responses.keys().flat_map(move |(round, kind)| self.round(config, *round, *kind))
    }

    /// Returns where an agent stands after a round: what it said when asked again, else what it said at first.
    #[must_use]
    pub fn standing(&self, round: u32, agent: &Role) -> Option<&ResponseGiven> {
        Kind::ALL.into_iter().rev().find_map(|kind| self.response(kind, round, agent))
    }

    /// Returns where everybody stands after a round, in the table's order.
    pub fn standings<'a>(
        &'a self,
        config: &'a Config,
        round: u32,
    ) -> impl Iterator<Item = &'a ResponseGiven> + use<'a> {
        config.agents.iter().filter_map(move |agent| self.standing(round, &agent.name))
    }

    /// Returns the last round in which somebody spoke, 0 for none.
    #[must_use]
    pub fn rounds_spoken(&self) -> u32 {
        let spoken = self.responses.iter().rev().find(|(_, round)| !round.is_empty());
        spoken.map_or(0, |((round, _), _)| *round)
    }

    /// Returns how many agents have spoken at all.
    #[must_use]
    pub fn speakers(&self, config: &Config) -> usize {
        let spoke = |name: &Role| self.responses.values().any(|round| round.contains_key(name));
        config.agents.iter().filter(|agent| spoke(&agent.name)).count()
    }
}
