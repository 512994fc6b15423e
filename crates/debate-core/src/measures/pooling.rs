//! One distribution out of many (P18), and the contract's blend of the judge with the consensus (P7).

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::TOLERANCE;
use super::distribution::Distribution;
use super::log_odds::{expit, logit};
use super::panel::{Panel, PanelError};

/// The judge's weight in the final probability by default (P7).
pub const JUDGE_WEIGHT: f64 = 0.6;

/// A way to make one distribution of a panel's (P18).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean of the probabilities, as in the contract.
    #[default]
    Linear,
    /// The geometric mean of the odds.
    LogOdds,
    /// The geometric mean of the odds raised to a power, which above 1 moves it away from even odds; then renormalised.
    Extremised,
    /// The mean of the probabilities without the ⌊members · share⌋ largest and as many smallest of each outcome, then
    /// renormalised.
    ///
    /// At least the middle one or two stay, whatever the share. Where every outcome would lose all that supports it
    /// (each role certain of another one), nothing is trimmed.
    Trimmed,
}

impl Pooling {
    /// Every way, the default first.
    pub const ALL: [Self; 4] = [Self::Linear, Self::LogOdds, Self::Extremised, Self::Trimmed];

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::LogOdds => "log_odds",
            Self::Extremised => "extremised",
            Self::Trimmed => "trimmed",
        }
    }

    /// Returns the way of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == name)
    }
}

/// The numbers that a pooling needs in addition to the panel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSettings")]
pub struct PoolSettings {
    extremising_factor: f64,
    trimmed_share: f64,
}

/// Settings that no pool can be computed with.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PoolSettingsError {
    /// The factor is outside (0, 10].
    #[error("the extremising factor is {0}, not above 0 and at most 10")]
    ExtremisingFactor(f64),
    /// The share is outside [0, 0.5).
    #[error("the trimmed share is {0}, not from 0 to below 0.5")]
    TrimmedShare(f64),
}

impl PoolSettings {
    /// Takes what pooled log-odds are multiplied by, in (0, 10], 1 leaving them as they are; and the share of members
    /// left out at each end, in [0, 0.5).
    ///
    /// # Errors
    ///
    /// [`PoolSettingsError`] where one is outside its range.
    pub fn new(extremising_factor: f64, trimmed_share: f64) -> Result<Self, PoolSettingsError> {
        if !(extremising_factor > 0.0 && extremising_factor <= 10.0) {
            return Err(PoolSettingsError::ExtremisingFactor(extremising_factor));
        }
        if !(0.0..0.5).contains(&trimmed_share) {
            return Err(PoolSettingsError::TrimmedShare(trimmed_share));
        }
        Ok(Self { extremising_factor, trimmed_share })
    }

    /// Returns what pooled log-odds are multiplied by, in (0, 10].
    #[must_use]
    pub fn extremising_factor(&self) -> f64 {
        self.extremising_factor
    }

    /// Returns the share of members left out at each end, in [0, 0.5).
    #[must_use]
    pub fn trimmed_share(&self) -> f64 {
        self.trimmed_share
    }
}

impl Default for PoolSettings {
    /// A factor of 1.5, because personas of one model share most of what they know and a bolder one (2.5 is common for
    /// independent forecasters) would count it several times; a fifth at each end, which is one of five roles.
    fn default() -> Self {
        Self { extremising_factor: 1.5, trimmed_share: 0.2 }
    }
}

#[derive(Deserialize)]
struct RawSettings {
    extremising_factor: f64,
    trimmed_share: f64,
}

impl TryFrom<RawSettings> for PoolSettings {
    type Error = PoolSettingsError;

    fn try_from(raw: RawSettings) -> Result<Self, Self::Error> {
        Self::new(raw.extremising_factor, raw.trimmed_share)
    }
}

/// Every pooling of one panel, side by side (P18).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pools {
    /// See [`Pooling::Linear`].
    pub linear: Distribution,
    /// See [`Pooling::LogOdds`].
    pub log_odds: Distribution,
    /// See [`Pooling::Extremised`].
    pub extremised: Distribution,
    /// See [`Pooling::Trimmed`].
    pub trimmed: Distribution,
}

/// A judge's and a consensus distribution that cannot be blended.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BlendError {
    /// They are over different numbers of outcomes.
    #[error("the judge and the consensus differ in their outcomes")]
    Outcomes(#[source] PanelError),
    /// The weight is outside [0, 1].
    #[error("the judge's weight is {0}, outside 0 to 1")]
    Weight(f64),
}

impl Pools {
    /// Pools a panel in every way.
    #[must_use]
    pub fn of<D: Borrow<Distribution>>(panel: &Panel<'_, D>, settings: PoolSettings) -> Self {
        let odds = mean_log_odds(panel);
        Self {
            linear: linear(panel),
            log_odds: from_log_odds(&odds, 1.0),
            extremised: from_log_odds(&odds, settings.extremising_factor),
            trimmed: trimmed(panel, settings.trimmed_share),
        }
    }

    /// Returns the one pooled this way.
    #[must_use]
    pub fn by(&self, method: Pooling) -> &Distribution {
        match method {
            Pooling::Linear => &self.linear,
            Pooling::LogOdds => &self.log_odds,
            Pooling::Extremised => &self.extremised,
            Pooling::Trimmed => &self.trimmed,
        }
    }
}

/// Pools a panel in one way (P18).
#[must_use]
pub fn pool<D: Borrow<Distribution>>(
    method: Pooling,
    panel: &Panel<'_, D>,
    settings: PoolSettings,
) -> Distribution {
    match method {
        Pooling::Linear => linear(panel),
        Pooling::LogOdds => log_odds(panel),
        Pooling::Extremised => from_log_odds(&mean_log_odds(panel), settings.extremising_factor),
        Pooling::Trimmed => trimmed(panel, settings.trimmed_share),
    }
}

/// Returns the mean of the members' probabilities, summed in role order (P7).
#[must_use]
pub fn linear<D: Borrow<Distribution>>(panel: &Panel<'_, D>) -> Distribution {
    Distribution::from_masses(panel.means_of(|probability| probability))
}

/// Returns the geometric mean of the members' odds, outcome by outcome, then renormalised (P18).
///
/// Of two outcomes this is the classical pool, which renormalising does not change. Probabilities are kept in
/// [1e-6, 1 − 1e-6] for the logarithm, so that no member has a veto.
#[must_use]
pub fn log_odds<D: Borrow<Distribution>>(panel: &Panel<'_, D>) -> Distribution {
    from_log_odds(&mean_log_odds(panel), 1.0)
}

/// Returns w·judge + (1 − w)·consensus, the contract's final probability (P7).
///
/// # Errors
///
/// [`BlendError`] where the two differ in their outcomes or the weight is outside [0, 1].
pub fn blend(
    judge: &Distribution,
    consensus: &Distribution,
    judge_weight: f64,
) -> Result<Distribution, BlendError> {
    Panel::new(&[judge, consensus]).map_err(BlendError::Outcomes)?;
    if !(0.0..=1.0).contains(&judge_weight) {
        return Err(BlendError::Weight(judge_weight));
    }
    let pairs = judge.as_slice().iter().zip(consensus.as_slice());
    let blended = pairs.map(|(judge, consensus)| judge_weight * judge + (1.0 - judge_weight) * consensus);
    Ok(Distribution::from_masses(blended.collect()))
}

/// Leaves out the ⌊members · share⌋ largest and as many smallest probabilities of each outcome, but never the middle
/// one or two.
fn trimmed<D: Borrow<Distribution>>(panel: &Panel<'_, D>, share: f64) -> Distribution {
    let members = panel.members();
    // The tolerance keeps 0.29 · 100 at 29.
    let wanted = (members as f64 * share + TOLERANCE) as usize;
    let cut = wanted.min((members - 1) / 2);
    if cut == 0 {
        return linear(panel);
    }
    let kept = (members - 2 * cut) as f64;
    let mut column = Vec::with_capacity(members);
    let means: Vec<f64> = (0..panel.outcomes())
        .map(|outcome| {
            column.clear();
            column.extend(panel.rows().map(|row| row[outcome]));
            column.sort_unstable_by(f64::total_cmp);
            column[cut..members - cut].iter().sum::<f64>() / kept
        })
        .collect();
    if means.iter().all(|mean| *mean <= 0.0) {
        return linear(panel);
    }
    Distribution::from_masses(means)
}

fn mean_log_odds<D: Borrow<Distribution>>(panel: &Panel<'_, D>) -> Vec<f64> {
    panel.means_of(logit)
}

/// Takes log-odds in ±14 and a factor of at most 10, so no probability underflows to 0.
fn from_log_odds(log_odds: &[f64], factor: f64) -> Distribution {
    Distribution::from_masses(log_odds.iter().map(|odds| expit(odds * factor)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Pooling, rows: &[&[f64]], expected: &[f64]) {
        let members: Vec<Distribution> =
            rows.iter().map(|row| Distribution::new(row.to_vec()).unwrap()).collect();
        let panel = Panel::new(&members).unwrap();
        let settings = PoolSettings::new(2.0, 0.2).unwrap();
        let pooled = pool(method, &panel, settings);
        for (got, want) in pooled.as_slice().iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{method:?} gave {pooled:?}, expected {expected:?}");
        }
        assert_eq!(&pooled, Pools::of(&panel, settings).by(method));
    }

    #[test]
    fn p18_each_pool_has_its_own_mean() {
        // Odds 1 and 4: their geometric mean is 2, and 2 squared is 4.
        let rows: [&[f64]; 2] = [&[0.5, 0.5], &[0.8, 0.2]];
        check(Pooling::Linear, &rows, &[0.65, 0.35]);
        check(Pooling::LogOdds, &rows, &[2.0 / 3.0, 1.0 / 3.0]);
        check(Pooling::Extremised, &rows, &[0.8, 0.2]);
        check(Pooling::Trimmed, &rows, &[0.65, 0.35]);
    }

    #[test]
    fn p18_odds_of_three_outcomes_are_renormalised() {
        // Odds 1, 1/3, 1/3 of both: probabilities 1/2, 1/4, 1/4 again; squared 1, 1/9, 1/9: 5/7, 1/7, 1/7.
        let rows: [&[f64]; 2] = [&[0.5, 0.25, 0.25], &[0.5, 0.25, 0.25]];
        check(Pooling::LogOdds, &rows, &[0.5, 0.25, 0.25]);
        check(Pooling::Extremised, &rows, &[5.0 / 7.0, 1.0 / 7.0, 1.0 / 7.0]);
    }

    #[test]
    fn p18_one_of_five_is_trimmed_at_each_end() {
        let rows: [&[f64]; 5] = [&[0.0, 1.0], &[0.5, 0.5], &[0.6, 0.4], &[0.7, 0.3], &[1.0, 0.0]];
        check(Pooling::Trimmed, &rows, &[0.6, 0.4]);
    }

    #[test]
    fn p18_nothing_is_trimmed_where_nothing_would_be_left() {
        let certain: Vec<Vec<f64>> =
            (0..5).map(|role| (0..5).map(|outcome| f64::from(role == outcome)).collect()).collect();
        let rows: Vec<&[f64]> = certain.iter().map(Vec::as_slice).collect();
        check(Pooling::Trimmed, &rows, &[0.2; 5]);
    }

    #[test]
    fn p18_certainty_of_one_role_is_no_veto() {
        let rows: [&[f64]; 2] = [&[1.0, 0.0], &[0.5, 0.5]];
        let odds = libm::sqrt((1.0 - 1e-6) / 1e-6);
        check(Pooling::LogOdds, &rows, &[odds / (1.0 + odds), 1.0 / (1.0 + odds)]);
    }

    #[test]
    fn p18_settings_outside_their_range_are_refused() {
        for (factor, share) in
            [(0.0, 0.2), (f64::NAN, 0.2), (10.1, 0.2), (1.5, 0.5), (1.5, -0.1), (1.5, f64::NAN)]
        {
            assert!(PoolSettings::new(factor, share).is_err(), "{factor} {share}");
        }
        let read = serde_json::from_str::<PoolSettings>;
        assert_eq!(
            read(r#"{"extremising_factor":1.5,"trimmed_share":0.2}"#).unwrap(),
            PoolSettings::default()
        );
        assert!(read(r#"{"extremising_factor":0,"trimmed_share":0.2}"#).is_err());
        assert_eq!(serde_json::to_string(&Pooling::LogOdds).unwrap(), "\"log_odds\"");
    }

    #[test]
    fn p7_final_is_judge_weighted() {
        let judge = Distribution::new(vec![0.9, 0.1]).unwrap();
        let consensus = Distribution::new(vec![0.4, 0.6]).unwrap();
        let at = |weight| blend(&judge, &consensus, weight);
        let blended = at(JUDGE_WEIGHT).unwrap();
        assert!((blended.as_slice()[0] - 0.7).abs() < 1e-12, "{blended:?}");
        assert_eq!((at(1.0).unwrap(), at(0.0).unwrap()), (judge.clone(), consensus.clone()));
        assert_eq!(at(1.1), Err(BlendError::Weight(1.1)));
        assert!(matches!(at(f64::NAN), Err(BlendError::Weight(_))));
        let other = Distribution::uniform(3).unwrap();
        assert!(matches!(blend(&judge, &other, 0.6), Err(BlendError::Outcomes(_))));
    }
}
