//! What the facts of a prediction debate fold into: for every round and role the arguments by revision with their
//! scores, the round summaries, the judgement.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::Call;
use super::config::Config;
use super::fact::{ArgumentMade, ArgumentScored, Fact, JudgementRendered, RoundSummarised};
use crate::call::Want;
use crate::id::Role;
use crate::measures::distribution::Distribution;
use crate::measures::scoring;

/// The fold of a prediction debate's facts.
#[derive(Debug, Clone, Default)]
pub struct State {
    rounds: BTreeMap<u32, Arc<RoundState>>,
    /// By pass.
    judgements: BTreeMap<u32, JudgementRendered>,
}

/// One round.
#[derive(Debug, Clone, Default)]
pub struct RoundState {
    slots: BTreeMap<Role, Slot>,
    /// What came of it, once it is over.
    pub summary: Option<RoundSummarised>,
}

/// What one role said in one round, by revision.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    turns: Vec<Turn>,
}

/// One argument with its score.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The argument.
    pub made: ArgumentMade,
    /// Its score, once it has one.
    pub scored: Option<ArgumentScored>,
}

impl Turn {
    /// Returns the composite score, where there is one.
    #[must_use]
    pub fn composite(&self) -> Option<f64> {
        self.scored.as_ref().and_then(|scored| scored.composite)
    }
}

impl Slot {
    /// Returns the argument that stands.
    ///
    /// Of two, the second, unless both were scored and the first was better (rule P6). An argument that was
    /// rejected before it was scored gives way to the one asked for in its place.
    #[must_use]
    pub fn standing(&self) -> Option<&Turn> {
        let last = self.turns.last()?;
        let better = self.turns.iter().rev().find(|turn| turn.composite() > last.composite());
        better.filter(|_| last.composite().is_some()).or(Some(last))
    }

    /// Returns the argument of a revision.
    #[must_use]
    pub fn turn(&self, revision: u32) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.made.revision == revision)
    }
}

impl State {
    /// Records a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ArgumentMade(made) => {
                let round = Arc::make_mut(self.rounds.entry(made.round).or_default());
                let slot = round.slots.entry(made.role.clone()).or_default();
                slot.turns.push(Turn { made: made.clone(), scored: None });
            }
            Fact::ArgumentScored(scored) => {
                let round = self.rounds.get_mut(&scored.round).map(Arc::make_mut);
                let slot = round.and_then(|round| round.slots.get_mut(&scored.role));
                let turns = slot.into_iter().flat_map(|slot| &mut slot.turns);
                for turn in turns.filter(|turn| turn.made.revision == scored.revision) {
                    turn.scored = Some(scored.clone());
                }
            }
            Fact::RoundSummarised(summary) => {
                Arc::make_mut(self.rounds.entry(summary.round).or_default()).summary = Some(summary.clone());
            }
            Fact::JudgementRendered(judgement) => {
                self.judgements.insert(judgement.pass, judgement.clone());
            }
        }
    }

    /// Forgets an argument with those it took the place of, or a judgement, that is void.
    pub(super) fn void(&mut self, want: &Want) {
        match Call::of(&want.call) {
            Some(Call::Argue { round, role }) => {
                let round = self.rounds.get_mut(&round).map(Arc::make_mut);
                if let Some(slot) = round.and_then(|round| round.slots.get_mut(&role)) {
                    slot.turns.retain(|turn| turn.made.revision > want.revision);
                }
            }
            Some(Call::Synthesise { pass, .. }) => drop(self.judgements.remove(&pass)),
            // A score goes with its argument.
            Some(Call::Score { .. }) | None => {}
        }
    }

    /// Forgets what came of rounds; it follows from what was said in them.
    pub(super) fn forget_summaries(&mut self) {
        for round in self.rounds.values_mut().filter(|round| round.summary.is_some()) {
            Arc::make_mut(round).summary = None;
        }
    }

    /// Returns what a role said in a round.
    #[must_use]
    pub fn slot(&self, round: u32, role: &Role) -> Option<&Slot> {
        self.rounds.get(&round)?.slots.get(role)
    }

    /// Returns the argument of a role that stands in a round.
    #[must_use]
    pub fn standing(&self, round: u32, role: &Role) -> Option<&Turn> {
        self.slot(round, role)?.standing()
    }

    /// Returns the standing arguments of a round, in role order.
    pub fn round_turns<'a>(&'a self, config: &'a Config, round: u32) -> impl Iterator<Item = &'a Turn> {
        config.roles.iter().filter_map(move |role| self.standing(round, role))
    }

    /// Returns all standing arguments, by round and then in role order.
    pub fn turns<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = &'a Turn> {
        self.rounds.keys().flat_map(move |round| self.round_turns(config, *round))
    }

    /// Returns the summary of a round, once it is over.
    #[must_use]
    pub fn summary(&self, round: u32) -> Option<&RoundSummarised> {
        self.rounds.get(&round)?.summary.as_ref()
    }

    /// Returns how many rounds are over.
    #[must_use]
    pub fn rounds_over(&self) -> u32 {
        let over = self.rounds.values().filter(|round| round.summary.is_some()).count();
        u32::try_from(over).unwrap_or(u32::MAX)
    }

    /// Returns the last round in which anything was said or summed up, 0 before the first.
    #[must_use]
    pub fn last_round(&self) -> u32 {
        self.rounds.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the judge's final assessments, by pass (rule P19).
    pub fn judgements(&self) -> impl Iterator<Item = &JudgementRendered> {
        self.judgements.values()
    }

    /// Returns the final assessment whose words are shown: the first there is.
    #[must_use]
    pub fn judgement(&self) -> Option<&JudgementRendered> {
        self.judgements().next()
    }

    /// Returns a role's last accepted argument up to and including a round: its assessment (rule P7).
    #[must_use]
    pub fn assessment(&self, role: &Role, up_to: u32) -> Option<&ArgumentMade> {
        self.rounds.range(..=up_to).rev().find_map(|(round, _)| Some(&self.standing(*round, role)?.made))
    }

    /// Returns each role that has an assessment after a round, with its distribution, in role order.
    #[must_use]
    pub fn assessments<'a>(&'a self, config: &'a Config, up_to: u32) -> Vec<(&'a Role, &'a Distribution)> {
        let roles = config.roles.iter();
        roles.filter_map(|role| Some((role, &self.assessment(role, up_to)?.probabilities))).collect()
    }

    /// Returns whether a scored argument is poor enough to be asked again (rule P6).
    #[must_use]
    pub(super) fn is_below_threshold(turn: &Turn) -> bool {
        turn.composite().is_some_and(scoring::should_ask_again)
    }
}
