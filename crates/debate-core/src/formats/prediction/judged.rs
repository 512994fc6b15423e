//! What the judge's passes come to together (rule P19): the mean of their distributions, a confidence lowered by how far
//! they lie apart.

use serde::Serialize;

use super::config::Config;
use super::fact::JudgementRendered;
use crate::measures::TOLERANCE;
use crate::measures::distribution::{Distribution, total_variation};

/// Several passes of the synthesis, each shown the arguments in another order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePasses {
    /// How many were had.
    pub held: u32,
    /// How far they lie apart: half the sum of absolute differences, in [0, 1].
    pub total_variation: f64,
    /// Whether they hold different outcomes for the likeliest.
    pub flipped: bool,
}

/// The final assessment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    /// The mean over the passes.
    pub(super) probabilities: Distribution,
    /// The mean over the passes, times 1 − total variation distance.
    pub(super) confidence: f64,
    /// How the passes compare.
    pub(super) passes: JudgePasses,
}

impl Judged {
    /// Returns what one pass or two come to; `None` without any.
    pub(super) fn of<'a>(
        config: &Config,
        judgements: impl Iterator<Item = &'a JudgementRendered>,
    ) -> Option<Self> {
        let mut judgements: Vec<&JudgementRendered> = judgements.collect();
        // A debate that was continued is judged anew; what was judged before counts no more.
        let latest = judgements.iter().map(|judgement| judgement.round).max();
        judgements.retain(|judgement| Some(judgement.round) == latest);
        let (first, last) = (judgements.first()?, judgements.last()?);
        let apart = total_variation(&first.probabilities, &last.probabilities);
        let confidence = (first.confidence + last.confidence) / 2.0;
        let (one, other) = (first.probabilities.as_slice(), last.probabilities.as_slice());
        let mean = one.iter().zip(other).map(|(one, other)| (one + other) / 2.0).collect();
        Some(Self {
            probabilities: Distribution::new(mean).unwrap_or_else(|_| first.probabilities.clone()),
            confidence: confidence * (1.0 - apart),
            passes: JudgePasses {
                held: u32::try_from(judgements.len()).unwrap_or(u32::MAX),
                total_variation: apart,
                flipped: if config.flips_without_ties() {
                    !share_a_likeliest(one, other)
                } else {
                    first.probabilities.argmax() != last.probabilities.argmax()
                },
            },
        })
    }
}

/// Returns whether some outcome is as probable as any in both.
fn share_a_likeliest(one: &[f64], other: &[f64]) -> bool {
    let most = |given: &[f64]| given.iter().copied().fold(0.0, f64::max) - TOLERANCE;
    let (most_of_one, most_of_other) = (most(one), most(other));
    one.iter().zip(other).any(|(one, other)| *one >= most_of_one && *other >= most_of_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s20_a_tie_that_ends_is_no_change_of_mind() {
        assert!(share_a_likeliest(&[0.5, 0.5], &[0.4, 0.6]) && share_a_likeliest(&[0.4, 0.6], &[0.5, 0.5]));
        assert!(share_a_likeliest(&[0.6, 0.4], &[0.7, 0.3]));
        assert!(!share_a_likeliest(&[0.6, 0.4], &[0.4, 0.6]));
        assert!(!share_a_likeliest(&[0.4, 0.4, 0.2], &[0.2, 0.2, 0.6]));
    }
}
