//! How long a call takes: a function of seed, debate and call, so that every peer waits equally long.

use std::f64::consts::TAU;
use std::time::Duration;

/// Settings of the latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Latency {
    /// The median, in milliseconds.
    pub(crate) median_ms: f64,
    /// The standard deviation of the logarithm; 0 is a fixed latency.
    pub(crate) sigma: f64,
    /// What all draws start from.
    pub(crate) seed: u64,
}

impl Latency {
    /// Returns the latency of a call, in milliseconds.
    pub(crate) fn of(&self, debate: u32, place: usize) -> f64 {
        if self.sigma == 0.0 {
            return self.median_ms;
        }
        let mut state = mixed(self.seed ^ mixed((u64::from(debate) << 8) | place as u64));
        let mut unit = || {
            state = mixed(state);
            // In (0, 1], so that its logarithm exists.
            ((state >> 11) + 1) as f64 / (1_u64 << 53) as f64
        };
        let normal = (-2.0 * unit().ln()).sqrt() * (TAU * unit()).cos();
        self.median_ms * (self.sigma * normal).exp()
    }

    /// Returns the latency of a call to wait for.
    pub(crate) fn duration(&self, debate: u32, place: usize) -> Duration {
        Duration::from_secs_f64(self.of(debate, place) / 1e3)
    }
}

/// One step of splitmix64.
fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_debate_and_call_alone() {
        let latency = Latency { median_ms: 100.0, sigma: 0.5, seed: 1 };
        assert_eq!(latency.of(3, 7), latency.of(3, 7));
        assert_ne!(latency.of(3, 7), latency.of(3, 8));
        assert_ne!(latency.of(3, 7), latency.of(4, 7));
        assert_ne!(latency.of(3, 7), Latency { seed: 2, ..latency }.of(3, 7));
        assert_eq!(Latency { sigma: 0.0, ..latency }.of(3, 7), 100.0);
    }

    #[test]
    fn draws_are_log_normal() {
        let latency = Latency { median_ms: 100.0, sigma: 0.5, seed: 1 };
        let mut draws: Vec<f64> = (0..2_000)
            .flat_map(|debate| (0..31).map(move |place| (debate, place)))
            .map(|(d, p)| latency.of(d, p))
            .collect();
        draws.sort_by(f64::total_cmp);
        let at = |share: f64| draws[(draws.len() as f64 * share) as usize];
        for (share, want) in [(0.5, 100.0), (0.95, 227.6), (0.99, 320.0)] {
            assert!((at(share) / want - 1.0).abs() < 0.03, "{share}: {}", at(share));
        }
    }
}
