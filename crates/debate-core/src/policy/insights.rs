//! What judged debates say about each reviewer (rules V7, V8): how well it argues, with how much certainty, and whether
//! its prompt should change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::debate::Debate;
use crate::formats::review::Review;
use crate::formats::review::config::Side;
use crate::formats::review::judged::Judged;
use crate::id::{Role, Timestamp};
use crate::measures::intervals;
use crate::measures::summary;

/// Days that are looked back on, unless said otherwise.
pub const DAYS_DEFAULT: u32 = 30;
/// The most days that are looked back on.
pub const DAYS_MAX: u32 = 3_650;
/// The fewest debates of a reviewer from which anything follows, unless said otherwise (rule V8).
pub const DEBATES_MIN_DEFAULT: u32 = 5;
/// The score below which a prompt should change, unless said otherwise.
pub const SCORE_MIN_DEFAULT: f64 = 7.0;
/// Labels that are named.
const LABELS_MAX: usize = 5;
/// Signals that are kept, the latest first.
const SIGNALS_MAX: usize = 10;

/// When a prompt should change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The fewest debates from which anything follows (rule V8); at least two, for there to be an interval.
    pub debates_min: u32,
    /// The score, from 0 to 10, below which the whole interval of the mean must lie.
    pub score_min: f64,
}

impl Default for Threshold {
    fn default() -> Self {
        Self { debates_min: DEBATES_MIN_DEFAULT, score_min: SCORE_MIN_DEFAULT }
    }
}

/// What judged debates say about one reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyInsights {
    /// The mean over debates of the reviewer's score, from 0 to 10.
    pub avg_argument_quality: f64,
    /// The 95 % interval of that mean by Student's t, within 0 to 10; none of a single debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<(f64, f64)>,
    /// Debates in which the reviewer was judged; each counts once, as the mean over its pairs.
    pub debates: u32,
    /// Pairs in which it was judged.
    pub pairs: u32,
    /// Pairs that it won.
    pub wins: u32,
    /// Pairs without a winner.
    pub ties: u32,
    /// The labels that its arguments have most often, the commonest first.
    pub common_labels: Vec<String>,
    /// Whether its prompt should change, by `threshold`.
    pub needs_update: bool,
    /// The threshold that decides this.
    pub threshold: Threshold,
    /// Debates in which a program made up the replies.
    pub simulated: u32,
}

/// What judged debates say about one reviewer, with the judge's words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Insights {
    /// What is fact.
    #[serde(flatten)]
    pub facts: PolicyInsights,
    /// The latest signal; empty where all were redacted.
    pub policy_signal: String,
    /// Signals, the latest first, each once.
    pub signals: Vec<String>,
}

/// One debate in which a reviewer was judged.
struct Sample {
    at: Timestamp,
    score: f64,
    labels: Vec<String>,
    signals: Vec<String>,
    pairs: u32,
    wins: u32,
    ties: u32,
    is_simulated: bool,
}

/// Returns what debates say about each reviewer, by name; nothing of none.
///
/// Forks are left out: they share judgements with what they were forked from.
#[must_use]
pub fn of<'a>(
    debates: impl IntoIterator<Item = &'a Debate<Review>>,
    threshold: Threshold,
) -> BTreeMap<Role, Insights> {
    let mut samples: BTreeMap<Role, Vec<Sample>> = BTreeMap::new();
    for debate in debates.into_iter().filter(|debate| debate.forked().is_none()) {
        for (role, sample) in judged(debate) {
            samples.entry(role).or_default().push(sample);
        }
    }
    samples.into_iter().map(|(role, samples)| (role, sum_up(samples, threshold))).collect()
}

/// Returns what one debate says about each of its reviewers.
fn judged(debate: &Debate<Review>) -> BTreeMap<Role, Sample> {
    let at = debate.conclusion().map_or(debate.opened_at(), |(_, at)| at);
    let mut scores: BTreeMap<Role, Vec<f64>> = BTreeMap::new();
    let mut samples: BTreeMap<Role, Sample> = BTreeMap::new();
    for (number, pair) in debate.config().numbered_pairs() {
        let Some(judged) = Judged::of(debate, number) else { continue };
        for side in Side::BOTH {
            let role = pair.role(side);
            scores.entry(role.clone()).or_default().push(judged.score(side));
            let sample = samples.entry(role.clone()).or_insert_with(|| Sample {
                at,
                score: 0.0,
                labels: Vec::new(),
                signals: Vec::new(),
                pairs: 0,
                wins: 0,
                ties: 0,
                is_simulated: debate.is_simulated(),
            });
            sample.pairs += 1;
            sample.wins += u32::from(judged.winner.side() == Some(side));
            sample.ties += u32::from(judged.winner.side().is_none());
            sample.labels.extend(judged.labels(side));
            let words = judged.passes.iter().filter_map(|pass| Some(pass.prose.shown()?.signal(side)));
            sample.signals.extend(words.filter(|signal| !signal.is_empty()).map(str::to_owned));
        }
    }
    for (role, sample) in &mut samples {
        sample.score = scores.get(role).and_then(|scores| summary::mean(scores)).unwrap_or(0.0);
    }
    samples
}

fn sum_up(mut samples: Vec<Sample>, threshold: Threshold) -> Insights {
    samples.sort_by_key(|sample| sample.at);
    let scores: Vec<f64> = samples.iter().map(|sample| sample.score).collect();
    let interval = intervals::mean_95(&scores);
    let debates = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let sum = |of: fn(&Sample) -> u32| samples.iter().map(of).sum();
    let is_low = interval.is_some_and(|interval| interval.high < threshold.score_min);
    let mut signals: Vec<String> = Vec::new();
    for signal in samples.iter().rev().flat_map(|sample| &sample.signals) {
        if signals.len() < SIGNALS_MAX && !signals.contains(signal) {
            signals.push(signal.clone());
        }
    }
    let facts = PolicyInsights {
        avg_argument_quality: summary::mean(&scores).unwrap_or(0.0),
        interval_95: interval.map(|interval| (interval.low.max(0.0), interval.high.min(10.0))),
        debates,
        pairs: sum(|sample| sample.pairs),
        wins: sum(|sample| sample.wins),
        ties: sum(|sample| sample.ties),
        common_labels: common(&samples),
        needs_update: debates >= threshold.debates_min && is_low,
        threshold,
        simulated: sum(|sample| u32::from(sample.is_simulated)),
    };
    Insights { facts, policy_signal: signals.first().cloned().unwrap_or_default(), signals }
}

fn common(samples: &[Sample]) -> Vec<String> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for label in samples.iter().flat_map(|sample| &sample.labels) {
        *counts.entry(label).or_default() += 1;
    }
    let mut counted: Vec<(&str, u32)> = counts.into_iter().collect();
    // Names are in order already, and stay so among equals.
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().take(LABELS_MAX).map(|(label, _)| label.to_owned()).collect()
}
