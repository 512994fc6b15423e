//! How good forecasts were over many resolved debates (rule K16): a read model of their logs.

use serde::Serialize;

use super::Prediction;
use super::forecast::Forecasts;
use super::scores::ForecastScores;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::calibration::{Bin, Calibration};
use crate::measures::proper_scores::ProperScores;

/// Losses summed over resolved debates, in the order in which debates are added.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    resolved: u64,
    void: u64,
    simulated: u64,
    roles: Vec<(Role, Losses)>,
    judge: Losses,
    blind: Losses,
    consensus: Losses,
    last: Losses,
    uplift: Losses,
    calibration: Calibration,
}

/// The mean losses of one kind of forecast.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanScores {
    /// Over how many debates.
    pub debates: u64,
    /// The mean Brier score.
    pub brier: f64,
    /// The mean log score, in bits.
    pub log_bits: f64,
}

/// The mean losses of one role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanRoleScores {
    /// The role.
    pub role: Role,
    /// Its losses.
    #[serde(flatten)]
    pub scores: MeanScores,
}

/// What a scoreboard shows. Smaller is better, but for uplift.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreReport {
    /// Debates that were resolved.
    pub resolved: u64,
    /// Those of them that are void and forecast nothing.
    pub void: u64,
    /// Those of them in which a program made up replies.
    pub simulated: u64,
    /// By role, in the order in which roles first spoke.
    pub roles: Vec<MeanRoleScores>,
    /// The syntheses; null without any, as below.
    pub judge: Option<MeanScores>,
    /// The means of the blind openings.
    pub blind: Option<MeanScores>,
    /// The pooled roles.
    pub consensus: Option<MeanScores>,
    /// The debates' own distributions.
    pub r#final: Option<MeanScores>,
    /// Blind loss − final loss over debates that have both.
    pub uplift: Option<MeanScores>,
    /// The final probabilities by tenths, with how often they came true.
    pub calibration: Vec<Bin>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Losses {
    debates: u64,
    brier: f64,
    log_bits: f64,
}

impl Losses {
    fn add(&mut self, brier: f64, log_bits: f64) {
        self.debates += 1;
        self.brier += brier;
        self.log_bits += log_bits;
    }

    fn add_scores(&mut self, scores: Option<ProperScores>) {
        if let Some(ProperScores { brier, log_bits }) = scores {
            self.add(brier, log_bits);
        }
    }

    fn mean(&self) -> Option<MeanScores> {
        let debates = self.debates as f64;
        let Self { brier, log_bits, .. } = self;
        (self.debates > 0).then(|| MeanScores {
            debates: self.debates,
            brier: brier / debates,
            log_bits: log_bits / debates,
        })
    }
}

impl Scoreboard {
    /// Counts a debate in; one that is not resolved changes nothing.
    pub fn add(&mut self, debate: &Debate<Prediction>) {
        let happened = debate.resolved().and_then(|(found, _)| debate.config().outcome_index(&found.outcome));
        let Some(happened) = happened else { return };
        self.resolved += 1;
        self.simulated += u64::from(debate.is_simulated());
        let forecasts = Forecasts::of(debate);
        let scores = forecasts.as_ref().and_then(|forecasts| ForecastScores::of(forecasts, happened));
        let (Some(forecasts), Some(scores)) = (forecasts, scores) else {
            self.void += 1;
            return;
        };
        for entry in &scores.roles {
            let place = self.roles.iter().position(|(role, _)| *role == entry.role).unwrap_or_else(|| {
                self.roles.push((entry.role.clone(), Losses::default()));
                self.roles.len() - 1
            });
            self.roles[place].1.add_scores(Some(entry.scores));
        }
        self.judge.add_scores(scores.judge);
        self.blind.add_scores(scores.blind);
        self.consensus.add_scores(Some(scores.consensus));
        self.last.add_scores(Some(scores.r#final));
        if let Some(uplift) = scores.uplift {
            self.uplift.add(uplift.brier, uplift.log_bits);
        }
        self.calibration.add(&forecasts.last, happened);
    }

    /// Returns the means of what was counted in.
    #[must_use]
    pub fn report(&self) -> ScoreReport {
        let role = |(role, losses): &(Role, Losses)| {
            Some(MeanRoleScores { role: role.clone(), scores: losses.mean()? })
        };
        ScoreReport {
            resolved: self.resolved,
            void: self.void,
            simulated: self.simulated,
            roles: self.roles.iter().filter_map(role).collect(),
            judge: self.judge.mean(),
            blind: self.blind.mean(),
            consensus: self.consensus.mean(),
            r#final: self.last.mean(),
            uplift: self.uplift.mean(),
            calibration: self.calibration.bins(),
        }
    }
}
