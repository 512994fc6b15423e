//! Whether what is given a probability happens as often as that: the reliability table of many forecasts (K16).

use serde::Serialize;

use super::distribution::Distribution;

/// How many bins there are, each a tenth wide.
const BINS: usize = 10;

/// Forecast probabilities by tenths, with how often they came true.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    bins: [Sums; BINS],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: u64,
    probability: f64,
    happened: u64,
}

/// The probabilities of one tenth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// The smallest probability in it.
    pub from: f64,
    /// Where the next one begins; the last one holds 1 as well.
    pub to: f64,
    /// How many probabilities fell into it: one for each outcome of each forecast.
    pub count: u64,
    /// Their mean; null without any.
    pub mean_probability: Option<f64>,
    /// The share of them that came true; null without any.
    pub share_happened: Option<f64>,
}

impl Calibration {
    /// Counts every probability of a forecast, given the place of what happened.
    pub fn add(&mut self, forecast: &Distribution, happened: usize) {
        for (place, probability) in forecast.as_slice().iter().enumerate() {
            // Truncation picks the tenth; probabilities are neither negative nor above 1 but for rounding.
            let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
            let sums = &mut self.bins[bin];
            sums.count += 1;
            sums.probability += probability;
            sums.happened += u64::from(place == happened);
        }
    }

    /// Returns the bins from 0 to 1, empty ones included.
    #[must_use]
    pub fn bins(&self) -> Vec<Bin> {
        let bins = self.bins.iter().enumerate();
        bins.map(|(place, sums)| {
            let mean = |sum: f64| (sums.count > 0).then(|| sum / sums.count as f64);
            Bin {
                from: place as f64 / BINS as f64,
                to: (place + 1) as f64 / BINS as f64,
                count: sums.count,
                mean_probability: mean(sums.probability),
                share_happened: mean(sums.happened as f64),
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k16_every_probability_is_counted_in_its_tenth() {
        let mut calibration = Calibration::default();
        for (probabilities, happened) in [([0.7, 0.3], 0), ([0.75, 0.25], 1), ([1.0, 0.0], 0)] {
            calibration.add(&Distribution::new(probabilities.to_vec()).unwrap(), happened);
        }
        let bins = calibration.bins();
        let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [1, 0, 1, 1, 0, 0, 0, 2, 0, 1]);
        assert_eq!((bins[7].mean_probability, bins[7].share_happened), (Some(0.725), Some(0.5)));
        assert_eq!((bins[9].from, bins[9].to, bins[9].share_happened), (0.9, 1.0, Some(1.0)));
        assert_eq!((bins[1].mean_probability, bins[1].share_happened), (None, None));
    }
}
