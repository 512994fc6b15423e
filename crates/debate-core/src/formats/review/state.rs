//! What the facts of a review debate fold into: who said what in each pair, and what the judge found.

use std::collections::BTreeMap;

use super::call::Call;
use super::config::{Side, Speech};
use super::fact::{Fact, PairFailed, PairJudged, ReviewSkipped, SpeechMade};
use crate::call::Want;

/// The fold of a review debate's facts.
#[derive(Debug, Clone, Default)]
pub struct State {
    skipped: Option<ReviewSkipped>,
    pairs: BTreeMap<u32, PairState>,
}

#[derive(Debug, Clone, Default)]
struct PairState {
    speeches: BTreeMap<(Speech, Side), SpeechMade>,
    judgements: BTreeMap<u32, PairJudged>,
    failed: Option<PairFailed>,
}

impl State {
    /// Records a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ReviewSkipped(skipped) => self.skipped = Some(skipped.clone()),
            Fact::SpeechMade(made) => {
                let pair = self.pairs.entry(made.pair).or_default();
                pair.speeches.insert((made.speech, made.side), made.clone());
            }
            Fact::PairJudged(judged) => {
                let pair = self.pairs.entry(judged.pair).or_default();
                pair.judgements.insert(judged.pass, judged.clone());
            }
            Fact::PairFailed(failed) => {
                self.pairs.entry(failed.pair).or_default().failed = Some(failed.clone());
            }
        }
    }

    /// Forgets a speech, or a judgement, that is void.
    pub(super) fn void(&mut self, want: &Want) {
        match Call::of(&want.call) {
            Some(Call::Speak { pair, speech, role }) => {
                if let Some(pair) = self.pairs.get_mut(&pair) {
                    pair.speeches.retain(|(made, _), said| *made != speech || said.role != role);
                }
            }
            Some(Call::Judge { pair, pass }) => {
                if let Some(pair) = self.pairs.get_mut(&pair) {
                    pair.judgements.remove(&pass);
                }
            }
            None => {}
        }
    }

    /// Forgets which pairs failed: a fork may ask again.
    pub(super) fn forget_failures(&mut self) {
        self.pairs.values_mut().for_each(|pair| pair.failed = None);
    }

    /// Returns why no pair debated, once that is recorded.
    #[must_use]
    pub fn skipped(&self) -> Option<&ReviewSkipped> {
        self.skipped.as_ref()
    }

    /// Returns what a side said in a pair.
    #[must_use]
    pub fn speech(&self, pair: u32, speech: Speech, side: Side) -> Option<&SpeechMade> {
        self.pairs.get(&pair)?.speeches.get(&(speech, side))
    }

    /// Returns the judgements of a pair, by pass.
    pub fn judgements(&self, pair: u32) -> impl Iterator<Item = &PairJudged> {
        self.pairs.get(&pair).into_iter().flat_map(|pair| pair.judgements.values())
    }

    /// Returns the judgement of a pair in a pass.
    #[must_use]
    pub fn judgement(&self, pair: u32, pass: u32) -> Option<&PairJudged> {
        self.pairs.get(&pair)?.judgements.get(&pass)
    }

    /// Returns why a pair cannot go on, if so.
    #[must_use]
    pub fn failed(&self, pair: u32) -> Option<&PairFailed> {
        self.pairs.get(&pair)?.failed.as_ref()
    }
}
