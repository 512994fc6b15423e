//! How good forecasts were over many resolved debates (rule K16): a read model of their logs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Prediction;
use super::forecast::Forecasts;
use crate::codec::DecodeError;
use crate::debate::Debate;
use crate::envelope::Envelope;
use crate::event::CallStarted;
use crate::id::Role;
use crate::measures::bootstrap;
use crate::measures::calibration::{Bin, Calibration, Decomposition};
use crate::measures::intervals::Interval;
use crate::measures::proper_scores::ProperScores;
use crate::record::{Body as _, decode_body};

/// The fewest debates of which it is said whether they helped: with fewer, an interval of resampled debates is too
/// narrow to be believed.
pub const DEBATES_MIN: u64 = 30;
/// What intervals are drawn with, so that equal logs have equal reports.
const SEED: u64 = 16;

/// Whose forecast it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "of", content = "role", rename_all = "snake_case")]
pub enum Forecaster {
    /// The debate's own distribution.
    Final,
    /// The pooled roles.
    Consensus,
    /// The synthesis's own.
    Judge,
    /// The mean of the blind opening.
    Blind,
    /// A market or a crowd, where somebody told its forecast.
    Market,
    /// A role's last distribution.
    Role(Role),
}

/// Returns the versions of the prompts that were sent in a debate, such as `prediction/argue@1`, by its log.
///
/// # Errors
/// An event cannot be read.
pub fn prompt_versions(log: &[Envelope]) -> Result<BTreeSet<String>, DecodeError> {
    let started = log.iter().filter(|envelope| envelope.kind == CallStarted::KIND);
    let versions = started.map(|envelope| {
        let started = decode_body(envelope.version, &envelope.body, None);
        let started: CallStarted =
            started.map_err(|source| DecodeError::Record { seq: envelope.seq, source })?;
        Ok(started.prompt.version)
    });
    versions.collect()
}

/// The forecasts of resolved debates with what happened.
#[derive(Debug, Clone, Default)]
pub struct TrackRecord {
    resolved: u64,
    void: u64,
    simulated: u64,
    calibrations: BTreeMap<Forecaster, Calibration>,
    debates: Vec<Scored>,
}

/// One debate's losses.
#[derive(Debug, Clone)]
struct Scored {
    models: String,
    prompts: BTreeSet<String>,
    losses: BTreeMap<Forecaster, ProperScores>,
}

/// How good forecasts were. Losses: smaller is better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// Debates that were resolved.
    pub resolved: u64,
    /// Those of them that are void and forecast nothing.
    pub void: u64,
    /// Those of them in which a program made up replies.
    pub simulated: u64,
    /// The fewest debates of which it is said whether they helped.
    pub debates_min: u64,
    /// By forecaster: the debates', the consensus, the judges', the blind openings', the market's, each role's.
    pub forecasts: Vec<ForecastReport>,
    /// The debates' own forecasts against those of everybody else, in the same order.
    pub comparisons: Vec<Comparison>,
    /// The debates' own by models and prompts.
    pub groups: Vec<Group>,
}

/// How good the forecasts of one forecaster were.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastReport {
    /// Whose they are.
    #[serde(flatten)]
    pub forecaster: Forecaster,
    /// How many debates have one.
    pub debates: u64,
    /// The mean Brier score and what it is made of.
    pub brier: Decomposition,
    /// The mean log score over all of them, in bits.
    pub log_bits_mean: f64,
    /// What the log score is made of, over questions with two outcomes; null without any.
    pub log_bits: Option<Decomposition>,
    /// The probabilities by tenths, with how often they came true.
    pub calibration: Vec<Bin>,
}

/// What the debates gained over another forecaster, in debates that have both: its loss − theirs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The other forecaster; the blind opening makes it the uplift.
    #[serde(flatten)]
    pub over: Forecaster,
    /// How many debates have both.
    pub debates: u64,
    /// The mean gain in Brier score with its 95 % interval over debates drawn anew (paired bootstrap).
    pub brier: Interval,
    /// The mean gain in log score, in bits, likewise.
    pub log_bits: Interval,
    /// What follows, by the Brier score.
    pub finding: Finding,
}

/// What follows from a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// There are fewer than [`DEBATES_MIN`] debates.
    TooFew,
    /// The whole interval is above 0.
    Better,
    /// The whole interval is below 0.
    Worse,
    /// The interval holds 0.
    Undecided,
}

/// The debates of the same models and prompts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The models asked, in name order, joined by commas.
    pub models: String,
    /// The versions of the prompts, in order.
    pub prompts: Vec<String>,
    /// How many debates there are.
    pub debates: u64,
    /// The mean Brier score of the debates' own distributions.
    pub brier: f64,
    /// Their mean log score, in bits.
    pub log_bits: f64,
    /// What they gained over their blind openings; null where none had one.
    pub uplift: Option<Comparison>,
}

impl TrackRecord {
    /// Counts a debate in with the versions of its prompts; one that is not resolved changes nothing.
    pub fn add(&mut self, debate: &Debate<Prediction>, prompts: BTreeSet<String>) {
        let Some((found, _)) = debate.resolved() else { return };
        let Some(happened) = debate.config().outcome_index(&found.outcome) else { return };
        self.resolved += 1;
        self.simulated += u64::from(debate.is_simulated());
        let Some(forecasts) = Forecasts::of(debate) else {
            self.void += 1;
            return;
        };
        let Forecasts { roles, judge, blind, consensus, last } = forecasts;
        let one = [(Forecaster::Final, Some(last)), (Forecaster::Consensus, Some(consensus))];
        let other = [
            (Forecaster::Judge, judge),
            (Forecaster::Blind, blind),
            (Forecaster::Market, found.market.clone()),
        ];
        let roles = roles.into_iter().map(|(role, given)| (Forecaster::Role(role), Some(given)));
        let mut losses = BTreeMap::new();
        for (forecaster, forecast) in one.into_iter().chain(other).chain(roles) {
            let Some(forecast) = forecast else { continue };
            let Ok(scores) = ProperScores::of(&forecast, happened) else { continue };
            self.calibrations.entry(forecaster.clone()).or_default().add(&forecast, happened);
            losses.insert(forecaster, scores);
        }
        self.debates.push(Scored { models: debate.model_names(), prompts, losses });
    }

    /// Returns what was counted in, summed up.
    #[must_use]
    pub fn report(&self) -> CalibrationReport {
        let all: Vec<&Scored> = self.debates.iter().collect();
        let forecasters = self.calibrations.keys();
        let others = forecasters.filter(|forecaster| **forecaster != Forecaster::Final);
        let mut groups: BTreeMap<(&str, &BTreeSet<String>), Vec<&Scored>> = BTreeMap::new();
        for debate in &self.debates {
            groups.entry((&debate.models, &debate.prompts)).or_default().push(debate);
        }
        CalibrationReport {
            resolved: self.resolved,
            void: self.void,
            simulated: self.simulated,
            debates_min: DEBATES_MIN,
            forecasts: self.calibrations.iter().filter_map(|(of, found)| forecast(of, found, &all)).collect(),
            comparisons: others.filter_map(|other| compared(&all, other)).collect(),
            groups: groups
                .into_iter()
                .filter_map(|((models, prompts), debates)| group(models, prompts, &debates))
                .collect(),
        }
    }
}

fn forecast(of: &Forecaster, found: &Calibration, debates: &[&Scored]) -> Option<ForecastReport> {
    let brier = found.brier()?;
    Some(ForecastReport {
        forecaster: of.clone(),
        debates: brier.forecasts,
        brier,
        log_bits_mean: mean(debates, of)?.log_bits,
        log_bits: found.log_bits(),
        calibration: found.bins(),
    })
}

fn mean(debates: &[&Scored], of: &Forecaster) -> Option<ProperScores> {
    let losses: Vec<&ProperScores> = debates.iter().filter_map(|debate| debate.losses.get(of)).collect();
    let count = losses.len() as f64;
    (!losses.is_empty()).then(|| ProperScores {
        brier: losses.iter().map(|loss| loss.brier).sum::<f64>() / count,
        log_bits: losses.iter().map(|loss| loss.log_bits).sum::<f64>() / count,
    })
}

fn compared(debates: &[&Scored], other: &Forecaster) -> Option<Comparison> {
    let gains = debates.iter().filter_map(|debate| {
        let last = debate.losses.get(&Forecaster::Final)?;
        let gain = debate.losses.get(other)?.uplift_of(last);
        Some((gain.brier, gain.log_bits))
    });
    let (brier, log_bits): (Vec<f64>, Vec<f64>) = gains.unzip();
    let debates = brier.len() as u64;
    let [brier, log_bits] = [bootstrap::mean_95(&brier, SEED)?, bootstrap::mean_95(&log_bits, SEED)?];
    let finding = if debates < DEBATES_MIN {
        Finding::TooFew
    } else if brier.low > 0.0 {
        Finding::Better
    } else if brier.high < 0.0 {
        Finding::Worse
    } else {
        Finding::Undecided
    };
    Some(Comparison { over: other.clone(), debates, brier, log_bits, finding })
}

fn group(models: &str, prompts: &BTreeSet<String>, debates: &[&Scored]) -> Option<Group> {
    let ProperScores { brier, log_bits } = mean(debates, &Forecaster::Final)?;
    Some(Group {
        models: models.to_owned(),
        prompts: prompts.iter().cloned().collect(),
        debates: debates.len() as u64,
        brier,
        log_bits,
        uplift: compared(debates, &Forecaster::Blind),
    })
}
