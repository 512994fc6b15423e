//! What the judge's passes over a pair come to together (rule V4): the mean of the scores, the winner that all passes
//! name, else a tie.

use super::Review;
use super::config::Side;
use super::fact::{PairJudged, Winner};
use crate::debate::Debate;

/// What the judge found of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<'a> {
    /// Whose arguments are better.
    pub winner: Winner,
    /// The passes that were had, in order; at least one.
    pub passes: Vec<&'a PairJudged>,
    /// Whether the passes name different winners.
    pub flipped: bool,
}

impl<'a> Judged<'a> {
    /// Returns what the judge found of a pair; none before its first pass.
    #[must_use]
    pub fn of(debate: &'a Debate<Review>, pair: u32) -> Option<Self> {
        let passes: Vec<&PairJudged> = debate.state().judgements(pair).collect();
        let named = passes.first()?.winner;
        let flipped = passes.iter().any(|judged| judged.winner != named);
        Some(Self { winner: if flipped { Winner::Tie } else { named }, passes, flipped })
    }

    /// Returns the mean of a side's scores, from 0 to 10.
    #[must_use]
    pub fn score(&self, side: Side) -> f64 {
        let scores = self.passes.iter().map(|judged| judged.verdict(side).argument_quality_score);
        scores.sum::<f64>() / self.passes.len() as f64
    }

    /// Returns the labels of a side, those of the first pass first, each once.
    #[must_use]
    pub fn labels(&self, side: Side) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.passes.iter().flat_map(|judged| &judged.verdict(side).argument_labels) {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        labels
    }
}
