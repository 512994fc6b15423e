//! Properties that every measure keeps for whatever it is given, on inputs drawn from a fixed seed.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use debate_core::measures::consensus::{Consensus, Direction, direction, sd_max};
use debate_core::measures::disagreements::disagreements;
use debate_core::measures::distribution::{Distribution, REPAIRED_MAX, Repair, total_variation};
use debate_core::measures::log_odds::{counts_as_conformity, expit, logit, moves};
use debate_core::measures::panel::Panel;
use debate_core::measures::pooling::{PoolSettings, Pooling, Pools, blend, pool};
use debate_core::measures::position_change::{PHRASES, phrases_of_change, tells_change};
use debate_core::measures::proper_scores::ProperScores;
use debate_core::measures::scoring::{composite, good_share};
use debate_core::measures::shuffle::permutation;
use debate_core::measures::similarity::{jaccard, words};
use debate_core::measures::summary::{mean, median, population_sd, range};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const CLOSE: f64 = 1e-9;

fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(18), failure_persistence: None, ..ProptestConfig::default() }
}

fn distribution(outcomes: usize) -> impl Strategy<Value = Distribution> {
    let masses = vec(prop_oneof![4 => 0.001..1.0, 1 => Just(0.0)], outcomes);
    masses.prop_filter_map("no mass", |masses| normalized(&masses))
}

fn normalized(masses: &[f64]) -> Option<Distribution> {
    let sum: f64 = masses.iter().sum();
    Distribution::new(masses.iter().map(|mass| mass / sum).collect()).ok()
}

/// A distribution without an outcome so improbable that clipping could touch it.
fn inner_distribution(outcomes: usize) -> impl Strategy<Value = Distribution> {
    vec(0.01..1.0, outcomes).prop_map(|masses| normalized(&masses).unwrap())
}

fn panel() -> impl Strategy<Value = Vec<Distribution>> {
    (1..=9_usize, 1..=12_usize).prop_flat_map(|(members, outcomes)| vec(distribution(outcomes), members))
}

fn pair() -> impl Strategy<Value = (Distribution, Distribution)> {
    (2..=6_usize).prop_flat_map(|outcomes| (inner_distribution(outcomes), inner_distribution(outcomes)))
}

fn stated() -> impl Strategy<Value = Vec<Option<f64>>> {
    let number = prop_oneof![
        6 => 0.0..1.0,
        1 => -1.0..0.0,
        1 => 0.0..100.0,
        1 => proptest::num::f64::ANY,
    ];
    let any = vec(proptest::option::weighted(0.8, number), 0..12);
    // A slip of a few hundredths, in the sum or below 0.
    let near = (1..12_usize).prop_flat_map(distribution).prop_flat_map(|near| {
        let slips = vec(proptest::option::weighted(0.9, -0.02..0.02), near.len());
        slips.prop_map(move |slips| {
            let stated = near.as_slice().iter().zip(slips);
            stated.map(|(probability, slip)| slip.map(|slip| probability + slip)).collect()
        })
    });
    prop_oneof![any, near]
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < CLOSE)
}

fn is_distribution(distribution: &Distribution) -> bool {
    Distribution::new(distribution.as_slice().to_vec()).is_ok()
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn p7_a_repaired_distribution_is_one_and_its_flags_tell_the_truth(stated in stated()) {
        let Ok((repaired, repairs)) = Distribution::repair(&stated) else { return Ok(()) };
        prop_assert!(is_distribution(&repaired), "{repaired:?}");
        prop_assert_eq!(repaired.len(), stated.len());
        let has = |repair| repairs.contains(&repair);
        prop_assert_eq!(has(Repair::NegativeClipped), stated.iter().flatten().any(|p| *p < 0.0));
        prop_assert_eq!(has(Repair::MissingFilled), stated.contains(&None));
        if repairs.is_empty() {
            let unchanged: Vec<f64> = stated.iter().map(|p| p.unwrap()).collect();
            prop_assert_eq!(repaired.as_slice(), unchanged.as_slice());
        }
        let again: Vec<Option<f64>> = repaired.as_slice().iter().copied().map(Some).collect();
        prop_assert_eq!(Distribution::repair(&again).unwrap(), (repaired, vec![]));
    }

    #[test]
    fn p29_only_slips_of_a_twentieth_are_repaired(stated in stated()) {
        let given: Vec<f64> = stated.iter().flatten().copied().collect();
        let sum: f64 = given.iter().map(|p| p.max(0.0)).sum();
        let negative: f64 = given.iter().map(|p| p.min(0.0)).sum();
        let all_finite = given.iter().all(|p| p.is_finite()) && sum.is_finite();
        let fills = given.len() < stated.len();
        let near = sum <= 1.0 + REPAIRED_MAX && (fills || sum >= 1.0 - REPAIRED_MAX) && negative >= -REPAIRED_MAX;
        let usable = !given.is_empty() && all_finite && near;
        prop_assert_eq!(Distribution::repair(&stated).is_ok(), usable);
    }

    #[test]
    fn distributions_are_read_back_bit_for_bit(one in (1..20_usize).prop_flat_map(distribution)) {
        let text = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), one);
    }

    #[test]
    fn total_variation_is_a_distance(a in distribution(4), b in distribution(4), c in distribution(4)) {
        let apart = total_variation(&a, &b);
        prop_assert!((0.0..=1.0).contains(&apart));
        prop_assert_eq!(apart, total_variation(&b, &a));
        prop_assert_eq!(total_variation(&a, &a), 0.0);
        prop_assert!(apart <= total_variation(&a, &c) + total_variation(&c, &b) + CLOSE);
    }

    #[test]
    fn p5_a_composite_lies_between_its_scores_and_ignores_the_scale_of_weights(
        weighted in vec((0.01..1.0, proptest::option::of(0.0..=1.0_f64)), 0..6),
        scale in 0.1..10.0,
    ) {
        let Some(whole) = composite(weighted.iter().copied()) else {
            prop_assert!(weighted.iter().all(|(_, score)| score.is_none()));
            return Ok(());
        };
        let scores: Vec<f64> = weighted.iter().filter_map(|(_, score)| *score).collect();
        let lowest = scores.iter().copied().fold(1.0, f64::min);
        prop_assert!(whole >= lowest - CLOSE && whole <= lowest + range(&scores).unwrap() + CLOSE);
        prop_assert!((0.0..=1.0).contains(&whole));
        let scaled = composite(weighted.iter().map(|(weight, score)| (weight * scale, *score))).unwrap();
        prop_assert!((whole - scaled).abs() < CLOSE);
        let present = weighted.iter().copied().filter(|(_, score)| score.is_some());
        prop_assert_eq!(composite(present), Some(whole));
    }

    #[test]
    fn p6_shares_of_good_and_other_arguments_complete_each_other(composites in vec(0.0..=1.0_f64, 1..40)) {
        let share = good_share(&composites).unwrap();
        let others = composites.iter().filter(|composite| **composite <= 0.4 + CLOSE).count();
        prop_assert!((share - (1.0 - others as f64 / composites.len() as f64)).abs() < CLOSE);
    }

    #[test]
    fn p8_consensus_is_a_share_of_the_largest_spread_in_any_role_order(members in panel()) {
        let measured = Consensus::of(&Panel::new(&members).unwrap());
        let outcomes = members[0].len();
        for outcome in 0..outcomes {
            let column: Vec<f64> = members.iter().map(|member| member.as_slice()[outcome]).collect();
            let sd = population_sd(&column).unwrap();
            prop_assert!((measured.sd[outcome] - sd).abs() < CLOSE);
            prop_assert!(members.len() == 1 || sd <= sd_max(members.len()) + CLOSE);
            prop_assert!((measured.probability.as_slice()[outcome] - mean(&column).unwrap()).abs() < CLOSE);
            prop_assert!((0.0..=1.0).contains(&measured.scores[outcome]));
        }
        let lowest = measured.scores.iter().copied().fold(1.0, f64::min);
        prop_assert!(measured.overall >= lowest - CLOSE && measured.overall <= 1.0 + CLOSE);
        let reversed: Vec<&Distribution> = members.iter().rev().collect();
        let backwards = Consensus::of(&Panel::new(&reversed).unwrap());
        prop_assert!(close(&backwards.scores, &measured.scores));
        prop_assert!((backwards.overall - measured.overall).abs() < CLOSE);
    }

    #[test]
    fn p8_roles_of_one_mind_give_consensus_one(one in (1..12_usize).prop_flat_map(distribution), members in 1..9_usize) {
        let minds = vec![one; members];
        prop_assert!((Consensus::of(&Panel::new(&minds).unwrap()).overall - 1.0).abs() < CLOSE);
    }

    #[test]
    fn p9_the_way_back_has_the_other_direction(before in 0.0..0.5, now in 0.0..0.5) {
        let back = direction(now, before);
        match direction(before, now) {
            Some(Direction::Toward) => prop_assert_eq!(back, Some(Direction::Away)),
            Some(Direction::Away) => prop_assert_eq!(back, Some(Direction::Toward)),
            None => prop_assert_eq!(back, None),
        }
        prop_assert_eq!(direction(before, before), None);
    }

    #[test]
    fn p18_every_pool_is_a_distribution_in_any_role_order(
        members in panel(), factor in 0.1..=10.0, share in 0.0..0.5,
    ) {
        let settings = PoolSettings::new(factor, share).unwrap();
        let pools = Pools::of(&Panel::new(&members).unwrap(), settings);
        let reversed: Vec<&Distribution> = members.iter().rev().collect();
        for method in [Pooling::Linear, Pooling::LogOdds, Pooling::Extremised, Pooling::Trimmed] {
            prop_assert!(is_distribution(pools.by(method)), "{method:?}: {pools:?}");
            let backwards = pool(method, &Panel::new(&reversed).unwrap(), settings);
            prop_assert!(close(backwards.as_slice(), pools.by(method).as_slice()), "{method:?}");
        }
    }

    #[test]
    fn p18_roles_of_one_mind_are_pooled_to_that_mind(
        one in (2..12_usize).prop_flat_map(inner_distribution), members in 1..9_usize,
    ) {
        let minds = vec![one.clone(); members];
        let pools = Pools::of(&Panel::new(&minds).unwrap(), PoolSettings::new(1.0, 0.2).unwrap());
        for pooled in [&pools.linear, &pools.log_odds, &pools.extremised, &pools.trimmed] {
            prop_assert!(close(pooled.as_slice(), one.as_slice()), "{pools:?}");
        }
    }

    #[test]
    fn p18_of_two_outcomes_the_odds_are_pooled_as_the_textbook_says(
        yes in vec(0.001..0.999, 1..9), factor in 1.0..5.0,
    ) {
        let members: Vec<Distribution> =
            yes.iter().map(|p| Distribution::new(vec![*p, 1.0 - *p]).unwrap()).collect();
        let pools = Pools::of(&Panel::new(&members).unwrap(), PoolSettings::new(factor, 0.2).unwrap());
        let product: f64 = yes.iter().map(|p| p / (1.0 - p)).product();
        let odds = libm::pow(product, 1.0 / yes.len() as f64);
        let pooled = pools.log_odds.as_slice()[0];
        prop_assert!((pooled - odds / (1.0 + odds)).abs() < CLOSE);
        let extremised = pools.extremised.as_slice()[0];
        prop_assert!((extremised - 0.5) * (pooled - 0.5) >= 0.0);
        prop_assert!((extremised - 0.5).abs() >= (pooled - 0.5).abs() - CLOSE);
    }

    #[test]
    fn p18_of_two_outcomes_a_full_trim_is_the_median(yes in vec(0.0..=1.0, 1..12)) {
        let members: Vec<Distribution> =
            yes.iter().map(|p| Distribution::new(vec![*p, 1.0 - *p]).unwrap()).collect();
        let settings = PoolSettings::new(1.0, 0.499_999).unwrap();
        let trimmed = pool(Pooling::Trimmed, &Panel::new(&members).unwrap(), settings);
        prop_assert!((trimmed.as_slice()[0] - median(&yes).unwrap()).abs() < CLOSE);
    }

    #[test]
    fn p7_the_final_lies_between_judge_and_consensus((judge, consensus) in pair(), weight in 0.0..=1.0) {
        let blended = blend(&judge, &consensus, weight).unwrap();
        prop_assert!(is_distribution(&blended));
        let apart = total_variation(&judge, &consensus);
        prop_assert!((total_variation(&blended, &consensus) - weight * apart).abs() < CLOSE);
        prop_assert!((total_variation(&blended, &judge) - (1.0 - weight) * apart).abs() < CLOSE);
    }

    #[test]
    fn k16_the_honest_forecast_has_the_best_expected_score((thought, said) in pair()) {
        let expected = |forecast: &Distribution| {
            let (mut brier, mut bits) = (0.0, 0.0);
            for (outcome, probability) in thought.as_slice().iter().enumerate() {
                let scores = ProperScores::of(forecast, outcome).unwrap();
                brier += probability * scores.brier;
                bits += probability * scores.log_bits;
            }
            (brier, bits)
        };
        let (honest, other) = (expected(&thought), expected(&said));
        prop_assert!(honest.0 <= other.0 + CLOSE && honest.1 <= other.1 + CLOSE);
    }

    #[test]
    fn k16_losses_stay_in_their_range(one in (1..40_usize).prop_flat_map(distribution)) {
        for outcome in 0..one.len() {
            let scores = ProperScores::of(&one, outcome).unwrap();
            prop_assert!((0.0..=1.0 + CLOSE).contains(&scores.brier), "{scores:?}");
            prop_assert!((0.0..20.0).contains(&scores.log_bits), "{scores:?}");
            let reference = -libm::log2(one.clipped().as_slice()[outcome]);
            prop_assert!((scores.log_bits - reference).abs() < CLOSE);
        }
        prop_assert!(ProperScores::of(&one, one.len()).is_err());
    }

    #[test]
    fn log_odds_turn_back_into_probabilities(probability in 1e-6..=(1.0 - 1e-6), more in 0.0..1.0) {
        prop_assert!((expit(logit(probability)) - probability).abs() < 1e-12);
        prop_assert!((logit(probability) + logit(1.0 - probability)).abs() < CLOSE);
        prop_assert!(logit(probability + more * (1.0 - probability)) >= logit(probability));
    }

    #[test]
    fn p17_moves_of_two_rounds_add_up_and_a_cited_point_always_excuses(
        a in inner_distribution(3), b in inner_distribution(3), c in inner_distribution(3),
    ) {
        let sums: Vec<f64> = moves(&a, &b).iter().zip(moves(&b, &c)).map(|(first, then)| first + then).collect();
        prop_assert!(close(&sums, &moves(&a, &c)));
        prop_assert!(!counts_as_conformity(&sums, true));
        prop_assert!(!counts_as_conformity(&moves(&a, &a), false));
    }

    #[test]
    fn summaries_bound_each_other(values in vec(-1e3..1e3, 1..30)) {
        let (middle, mean) = (median(&values).unwrap(), mean(&values).unwrap());
        let (sd, range) = (population_sd(&values).unwrap(), range(&values).unwrap());
        let below = values.iter().filter(|value| **value < middle).count();
        let above = values.iter().filter(|value| **value > middle).count();
        prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        prop_assert!(sd <= range / 2.0 + 1e-6);
        prop_assert!((mean - middle).abs() <= sd + 1e-6);
    }

    #[test]
    fn similarity_is_symmetric_and_one_with_itself(a in "\\PC{0,60}", b in "\\PC{0,60}") {
        let (left, right) = (words(&a, 1), words(&b, 1));
        let share = jaccard(&left, &right);
        prop_assert!((0.0..=1.0).contains(&share));
        prop_assert_eq!(share, jaccard(&right, &left));
        prop_assert_eq!(jaccard(&left, &left), 1.0);
        prop_assert!(words(&a, 4).is_subset(&left));
    }

    #[test]
    fn p19_a_permutation_holds_every_place_once_and_follows_its_seed(seed: u64, n in 0..40_usize) {
        let mut order = permutation(seed, n);
        prop_assert_eq!(&order, &permutation(seed, n));
        order.sort_unstable();
        prop_assert_eq!(order, (0..n).collect::<Vec<_>>());
    }

    #[test]
    fn d6_a_phrase_is_found_wherever_it_stands(
        before in "\\PC{0,40}", which in 0..7_usize, upper in vec(any::<bool>(), 30), after in "\\PC{0,40}",
    ) {
        let spoken: String = PHRASES[which]
            .chars()
            .zip(upper)
            .map(|(c, upper)| if upper { c.to_ascii_uppercase() } else { c })
            .collect();
        let text = format!("{before}{spoken}{after}");
        prop_assert!(tells_change(&text) && phrases_of_change(&text).contains(&PHRASES[which]), "{text}");
    }

    #[test]
    fn d7_what_is_found_stands_behind_a_dash(text in "((unresolved|disagreement|caution|recommendation|- |-|\\PC{0,5})\\n?){0,40}") {
        let bullets: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix('-')).map(str::trim).collect();
        let found = disagreements(&text);
        let mut rest = bullets.iter();
        prop_assert!(found.iter().all(|one| !one.is_empty() && rest.any(|bullet| bullet == one)), "{found:?}");
    }

    #[test]
    fn d7_the_standard_form_gives_back_its_bullets(bullets in vec("[A-Za-z:,.é ]{0,30}[a-z]", 0..8)) {
        let section: String = bullets.iter().map(|bullet| format!("- {bullet}\n")).collect();
        let text = format!(
            "1. Points of agreement\n- Backups\n2. Unresolved disagreements\n{section}\
             3. Final recommendation (considering disagreements)\n- Go\n4. Cautions\n- Budget\n"
        );
        let expected: Vec<&str> = bullets.iter().map(|bullet| bullet.trim()).collect();
        prop_assert_eq!(disagreements(&text), expected);
    }
}
