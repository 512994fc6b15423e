//! How a variant compares with its baseline: deltas, triggers that roll it back, what to do with it (rule T11).

use serde::Serialize;

use super::metrics::Metrics;
use crate::measures::intervals::Interval;
use crate::measures::{TOLERANCE, bootstrap};

/// A variant that is to be faster must be so by this many percent.
const LATENCY_REDUCTION_MIN: f64 = 30.0;
/// The interaction of a variant may fall by this many percent.
const INTERACTION_DROP_MAX: f64 = 20.0;
/// So many runs make an interval.
const RUNS_MIN: usize = 2;
/// What intervals are drawn with, so that equal runs have equal ones.
const SEED: u64 = 11;
/// The quality of a variant may be so much lower without a word.
const QUALITY_DROP_MAX: f64 = 0.05;

/// How a variant compares with its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What differs.
    pub delta: Delta,
    /// By how many percent the variant is faster on average over pairs of runs, with the 95 % interval over pairs drawn
    /// anew; null of fewer than two.
    pub latency_reduction_95: Option<Interval>,
    /// What speaks for going back to the baseline.
    pub triggers: Vec<Trigger>,
    /// What to do with the variant.
    pub recommendation: Recommendation,
    /// Under which conditions, or why not.
    pub conditions: Vec<String>,
}

/// What a variant has to fulfill, in addition to what is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms<'a> {
    /// Whether it has to be faster.
    pub is_to_be_faster: bool,
    /// By how many percent each run was faster than the baseline's run of the same number.
    pub reductions: &'a [f64],
    /// What people said about it.
    pub reported_issues: &'a [String],
    /// What of it the measurements cannot show, where there is something.
    pub unseen: Option<&'a str>,
}

/// What differs between a variant and its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delta {
    /// By how many percent of the baseline's time the variant is faster; negative where it is slower.
    pub latency_reduction: f64,
    /// By how many percent of the baseline's the interaction index is higher; negative where it is lower.
    pub interaction_change: f64,
    /// The variant's quality, in [0, 1]; see [`Metrics::quality_score`].
    pub quality_score: f64,
    /// By how much that is above the baseline's.
    pub quality_change: f64,
}

/// One trigger that fired.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trigger {
    /// Which.
    pub rule: TriggerRule,
    /// What it measured.
    pub statistic: f64,
    /// What it measured it against.
    pub threshold: f64,
}

/// What rolls a variant back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerRule {
    /// It is to be faster, and is not by enough.
    Latency,
    /// Agents deal with each other much less.
    Interaction,
    /// People reported something.
    ReportedIssues,
}

impl TriggerRule {
    /// Returns the name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Interaction => "interaction",
            Self::ReportedIssues => "reported_issues",
        }
    }
}

/// What to do with a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Use it.
    Adopt,
    /// Use it under conditions.
    Conditional,
    /// Stay with the baseline.
    Reject,
}

impl Recommendation {
    /// Returns the name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::Conditional => "conditional",
            Self::Reject => "reject",
        }
    }
}

/// Compares a variant with its baseline.
#[must_use]
pub fn compare(baseline: &Metrics, variant: &Metrics, terms: &Terms<'_>) -> Comparison {
    let Terms { is_to_be_faster, reductions, reported_issues, unseen } = *terms;
    let quality_score = variant.quality_score();
    let delta = Delta {
        latency_reduction: 0.0 - change(baseline.latency.total_ms, variant.latency.total_ms),
        interaction_change: change(baseline.interaction_index(), variant.interaction_index()),
        quality_score,
        quality_change: quality_score - baseline.quality_score(),
    };
    let pairs: Vec<Vec<f64>> = reductions.iter().map(|reduction| vec![*reduction]).collect();
    let latency_reduction_95 = bootstrap::mean_95(&pairs, SEED).filter(|_| pairs.len() >= RUNS_MIN);
    let reported = reported_issues.len() as f64;
    let latency = (delta.latency_reduction, LATENCY_REDUCTION_MIN);
    let interaction = (delta.interaction_change, -INTERACTION_DROP_MAX);
    let rules = [
        (TriggerRule::Latency, latency, is_to_be_faster && latency.0 < latency.1 - TOLERANCE),
        (TriggerRule::Interaction, interaction, interaction.0 < interaction.1 - TOLERANCE),
        (TriggerRule::ReportedIssues, (reported, 0.0), reported > 0.0),
    ];
    let fired = rules.into_iter().filter(|(_, _, fires)| *fires);
    let triggers: Vec<Trigger> =
        fired.map(|(rule, (statistic, threshold), _)| Trigger { rule, statistic, threshold }).collect();
    let mut conditions: Vec<String> = triggers.iter().map(|trigger| reason(*trigger)).collect();
    conditions.extend(reported_issues.iter().map(|issue| format!("reported: {issue}")));
    let by_chance = latency_reduction_95.filter(|found| {
        is_to_be_faster && latency.0 >= latency.1 - TOLERANCE && found.low < latency.1 - TOLERANCE
    });
    conditions.extend(by_chance.map(|found| {
        format!("it may be only {:.1} % faster (95 % interval of {} runs); hold more", found.low, pairs.len())
    }));
    conditions.extend(reservations(baseline, variant, delta));
    conditions.extend(unseen.map(str::to_owned));
    let is_fatal = |trigger: &Trigger| match trigger.rule {
        TriggerRule::Latency => trigger.statistic <= 0.0,
        TriggerRule::Interaction | TriggerRule::ReportedIssues => true,
    };
    let recommendation = match conditions.as_slice() {
        [] => Recommendation::Adopt,
        _ if triggers.iter().any(is_fatal) => Recommendation::Reject,
        _ => Recommendation::Conditional,
    };
    Comparison { delta, latency_reduction_95, triggers, recommendation, conditions }
}

/// Returns by how many percent each run of a variant was faster than the run of its baseline of the same number.
#[must_use]
pub fn reductions(baseline: &[Metrics], variant: &[Metrics]) -> Vec<f64> {
    let pairs = baseline.iter().zip(variant);
    pairs.map(|(one, other)| 0.0 - change(one.latency.total_ms, other.latency.total_ms)).collect()
}

/// Returns the change in percent; 100 from nothing to something.
fn change(from: f64, to: f64) -> f64 {
    if from > 0.0 {
        return (to - from) / from * 100.0;
    }
    if to > 0.0 { 100.0 } else { 0.0 }
}

fn reason(trigger: Trigger) -> String {
    let Trigger { rule, statistic, threshold } = trigger;
    match rule {
        TriggerRule::Latency => format!("it is {statistic:.1} % faster, less than {threshold:.0} %"),
        TriggerRule::Interaction => {
            format!("interaction changes by {statistic:.1} %, below {threshold:.0} %")
        }
        TriggerRule::ReportedIssues => format!("{statistic:.0} issues are reported"),
    }
}

/// Returns what speaks against a variant and rolls nothing back.
fn reservations(baseline: &Metrics, variant: &Metrics, delta: Delta) -> Vec<String> {
    let mut found = Vec::new();
    if delta.quality_change < -QUALITY_DROP_MAX - TOLERANCE {
        found.push(format!("quality is {:.2} lower", -delta.quality_change));
    }
    if variant.consensus.groupthink_share > baseline.consensus.groupthink_share + TOLERANCE {
        found.push("agents agree too easily more often".to_owned());
    }
    if variant.completeness < baseline.completeness - TOLERANCE {
        found.push("more responses are missing".to_owned());
    }
    found
}
