//! What an answer means as facts, and what makes it unusable or has it asked for again (rules V3, V4).

use std::ops::RangeInclusive;

use super::Review;
use super::answer::{Feedback, Judgement};
use super::config::{Side, Speech};
use super::fact::{JudgementProse, PairJudged, SpeechMade, SpeechProse, Verdict};
use super::visibility;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::sentences;
use crate::prose::Prose;

/// How many sentences a speech has (rule V3).
pub(super) const SENTENCES: RangeInclusive<u32> = 2..=3;
/// The rule that a speech of another length breaks.
pub(super) const LENGTH_RULE: &str = "V3";
/// The range of scores (rule V4).
const SCORES: RangeInclusive<f64> = 0.0..=10.0;
/// Labels of one side that are kept.
const LABELS_MAX: usize = 8;
/// The longest label.
const LABEL_CHARS_MAX: usize = 40;

/// Returns what a speech means.
///
/// # Errors
/// It says nothing.
pub(super) fn speech(
    debate: &Debate<Review>,
    pair: u32,
    speech: Speech,
    role: Role,
    revision: u32,
    text: &str,
) -> Result<SpeechMade, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the reply says nothing".to_owned());
    }
    let side = debate.config().pair(pair).map_or(Side::A, |reviewers| visibility::side_of(reviewers, &role));
    let prose = Prose::new(SpeechProse { text: text.to_owned() });
    Ok(SpeechMade { pair, speech, side, role, revision, sentences: sentences::count(text), prose })
}

/// Returns what a judgement means.
///
/// # Errors
/// A score is not one.
pub(super) fn judgement(
    pair: u32,
    pass: u32,
    revision: u32,
    found: &Judgement,
) -> Result<PairJudged, String> {
    let [of_a, of_b] = &found.feedback;
    let prose = JudgementProse {
        signal_a: of_a.policy_signal.trim().to_owned(),
        signal_b: of_b.policy_signal.trim().to_owned(),
        summary: found.summary.trim().to_owned(),
    };
    Ok(PairJudged {
        pair,
        pass,
        revision,
        winner: found.winner,
        role_a: verdict(of_a)?,
        role_b: verdict(of_b)?,
        prose: Prose::new(prose),
    })
}

fn verdict(feedback: &Feedback) -> Result<Verdict, String> {
    let score = feedback.argument_quality_score;
    if !SCORES.contains(&score) {
        let (least, most) = SCORES.into_inner();
        return Err(format!("a score must be a number from {least} to {most}, not {score}"));
    }
    let mut labels: Vec<String> = Vec::new();
    for label in feedback.argument_labels.iter().map(|label| slug(label)) {
        if !label.is_empty() && !labels.contains(&label) && labels.len() < LABELS_MAX {
            labels.push(label);
        }
    }
    // A sum of zeros has the sign of its first; there is one zero.
    Ok(Verdict { argument_quality_score: score + 0.0, argument_labels: labels })
}

/// Returns a label in small letters, digits and single hyphens.
fn slug(label: &str) -> String {
    let lower = label.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug: String = words.collect::<Vec<_>>().join("-").chars().take(LABEL_CHARS_MAX).collect();
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v4_labels_are_words_that_can_be_counted_and_scores_have_a_range() {
        let feedback = |score, labels: &[&str]| Feedback {
            argument_quality_score: score,
            argument_labels: labels.iter().map(ToString::to_string).collect(),
            policy_signal: String::new(),
        };
        let labels = ["Precise", "evidence backed", "evidence-backed", " ", "<b>Well_reasoned</b>"];
        let verdict = verdict(&feedback(8.2, &labels)).unwrap();
        assert_eq!(verdict.argument_labels, ["precise", "evidence-backed", "b-well-reasoned-b"]);
        for score in [-0.1, 10.1, f64::NAN, f64::INFINITY] {
            assert!(super::verdict(&feedback(score, &[])).is_err(), "{score}");
        }
        let zero = super::verdict(&feedback(-0.0, &[])).unwrap().argument_quality_score;
        assert!(zero == 0.0 && zero.is_sign_positive());
    }
}
