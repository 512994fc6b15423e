//! Permutations drawn from a seed, the same on every machine and for ever (P19).

/// Returns 0, 1, … n − 1 in an order drawn from the seed (SplitMix64, Fisher–Yates).
///
/// Every order is equally likely over all seeds, up to n / 2⁶⁴. What the function returns must never change: recorded
/// debates are computed from it.
#[must_use]
pub fn permutation(seed: u64, n: usize) -> Vec<usize> {
    let mut generator = SplitMix64::new(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, generator.below(last + 1));
    }
    order
}

/// Sebastiano Vigna's generator: one addition and a mix.
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    /// Returns a generator that draws the same numbers for the same seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws from 0 to bound − 1, without the bias towards small numbers that a remainder has.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_its_published_numbers() {
        let mut generator = SplitMix64(1_234_567);
        let drawn: Vec<u64> = (0..5).map(|_| generator.next()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn p19_orders_of_recorded_debates_never_change() {
        assert_eq!(permutation(1, 5), [1, 0, 3, 4, 2]);
        assert_eq!(permutation(42, 5), [1, 2, 4, 0, 3]);
        assert_eq!((permutation(7, 0), permutation(7, 1)), (vec![], vec![0]));
    }

    #[test]
    fn p19_every_order_comes_up_equally_often() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..60_000 {
            *counts.entry(permutation(seed, 4)).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 2,500 expected; six standard deviations are 294.
        assert!(counts.values().all(|count| (2_206..=2_794).contains(count)), "{counts:?}");
    }
}
