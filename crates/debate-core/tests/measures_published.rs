//! The measures against figures that others published for real ensembles of language models.
//!
//! Reads `../shared/data/forecasts/forecasts.jsonl`; says so and does nothing where that folder is absent. Percentages
//! there are our probabilities times 100; "disagreement" is the range; Brier is (p − o)² of one of two outcomes, which
//! equals our half sum over both; the log score is −ln p in nats, ours times ln 2.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::path::PathBuf;

use debate_core::measures::consensus::{Consensus, Direction, direction};
use debate_core::measures::distribution::Distribution;
use debate_core::measures::panel::Panel;
use debate_core::measures::pooling::{PoolSettings, Pooling, Pools, linear, pool};
use debate_core::measures::proper_scores::ProperScores;
use debate_core::measures::summary::{mean, median, range};
use serde_json::Value;

/// What rounding in the last bits may add to a figure's own precision.
const BITS: f64 = 1e-12;

#[test]
fn means_medians_and_ranges_agree_with_the_published_ones() {
    let Some(records) = records("llm_roles_with_published_aggregate") else { return };
    let mut checked = 0;
    for record in &records {
        let published = &record["published"];
        if published["mean_pct"].is_null() {
            continue;
        }
        let probabilities = probabilities(record, None);
        let members = binary(&probabilities);
        let panel = Panel::new(&members).unwrap();
        let middle = PoolSettings::new(1.0, 0.34).unwrap();
        let at = |what: &str| format!("{what} of {}", record["id"]);
        agrees(mean(&probabilities).unwrap() * 100.0, &published["mean_pct"], 1, &at("mean"));
        agrees(linear(&panel).as_slice()[0] * 100.0, &published["mean_pct"], 1, &at("linear pool"));
        agrees(median(&probabilities).unwrap() * 100.0, &published["median_pct"], 12, &at("median"));
        let trimmed = pool(Pooling::Trimmed, &panel, middle);
        agrees(trimmed.as_slice()[0] * 100.0, &published["median_pct"], 12, &at("middle of three"));
        agrees(range(&probabilities).unwrap() * 100.0, &published["disagreement_pct"], 12, &at("range"));
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} records hold a mean, median and range");
}

#[test]
fn finals_agree_with_the_method_that_the_publisher_names() {
    let Some(records) = records("llm_roles_with_published_aggregate") else { return };
    let (mut means, mut medians) = (0, 0);
    for record in &records {
        let published = &record["published"];
        let probabilities = probabilities(record, None);
        let method = published["method"].as_str().unwrap();
        let at = format!("final of {}", record["id"]);
        if method.starts_with("mean_of_") {
            agrees(mean(&probabilities).unwrap() * 100.0, &published["final_probability_pct"], 1, &at);
            means += 1;
        } else if method.starts_with("median_of_") {
            agrees(median(&probabilities).unwrap() * 100.0, &published["final_probability_pct"], 12, &at);
            medians += 1;
        }
    }
    assert!(means >= 8 && medians >= 12, "only {means} means and {medians} medians");
}

#[test]
fn finals_of_samples_are_their_published_medians() {
    let Some(records) = records("llm_samples_with_published_final") else { return };
    let mut largest = 0;
    for record in &records {
        let probabilities = probabilities(record, None);
        let ours = median(&probabilities).unwrap();
        agrees(ours, &record["published"]["final_probability"], 12, &format!("final of {}", record["id"]));
        largest = largest.max(probabilities.len());
    }
    assert!(records.len() >= 4 && largest >= 10, "{} records, at most {largest} samples", records.len());
}

#[test]
fn k16_brier_and_log_scores_agree_with_the_published_ones() {
    let Some(records) = records("llm_roles_with_published_aggregate") else { return };
    let mut checked = 0;
    for record in &records {
        let published = &record["published"];
        let outcome = if record["resolution_value"].as_f64() == Some(1.0) { 0 } else { 1 };
        for (forecast, brier, log) in
            [("final_probability_pct", "brier", "log"), ("baseline_pct", "baseline_brier", "baseline_log")]
        {
            let yes = published[forecast].as_f64().unwrap() / 100.0;
            let scores = ProperScores::of(&binary(&[yes])[0], outcome).unwrap();
            let at = format!("{brier} of {}", record["id"]);
            agrees(scores.brier, &published[brier], 12, &at);
            let nats = scores.log_bits * std::f64::consts::LN_2;
            agrees(nats, &published[log], 12, &at);
            checked += 2;
        }
    }
    assert!(checked >= 120, "only {checked} scores");
}

#[test]
fn p9_real_groups_mostly_come_together_and_every_pool_stays_among_them() {
    let Some(records) = records("llm_groups_over_rounds") else { return };
    let (mut toward, mut away) = (0, 0);
    for record in &records {
        let [before, now] = [1, 2].map(|round| probabilities(record, Some(round)));
        let [spread_before, spread_now] = [&before, &now].map(|round| {
            let members = binary(round);
            let panel = Panel::new(&members).unwrap();
            let (least, most) = round.iter().fold((1.0_f64, 0.0_f64), |(l, m), p| (l.min(*p), m.max(*p)));
            let pools = Pools::of(&panel, PoolSettings::new(1.0, 0.2).unwrap());
            for method in [Pooling::Linear, Pooling::LogOdds, Pooling::Extremised, Pooling::Trimmed] {
                let pooled = pools.by(method).as_slice()[0];
                assert!(pooled > least - BITS && pooled < most + BITS, "{method:?} of {}", record["id"]);
            }
            let consensus = Consensus::of(&panel);
            // The other formula of the variance, E[p²] − E[p]².
            let squares: Vec<f64> = round.iter().map(|p| p * p).collect();
            let variance = mean(&squares).unwrap() - mean(round).unwrap() * mean(round).unwrap();
            assert!((consensus.sd[0] * consensus.sd[0] - variance).abs() < BITS, "{}", record["id"]);
            assert!((consensus.scores[0] - consensus.overall).abs() < BITS, "two outcomes differ alike");
            consensus.sd[0]
        });
        match direction(spread_before, spread_now) {
            Some(Direction::Toward) => toward += 1,
            Some(Direction::Away) => away += 1,
            None => {}
        }
    }
    assert!(records.len() >= 40 && toward > 10 * away.max(1), "{toward} toward, {away} away");
}

fn records(kind: &str) -> Option<Vec<Value>> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/forecasts/forecasts.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is absent", path.display());
        return None;
    };
    let all = text.split('\n').filter(|line| !line.is_empty());
    let all = all.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records: Vec<Value> = all.filter(|record| record["kind"] == kind).collect();
    assert!(!records.is_empty(), "no record of kind {kind}");
    Some(records)
}

fn probabilities(record: &Value, round: Option<u64>) -> Vec<f64> {
    let forecasts = record["forecasts"].as_array().unwrap().iter();
    let wanted = forecasts.filter(|forecast| round.is_none() || forecast["round"].as_u64() == round);
    wanted.map(|forecast| forecast["prob"].as_f64().unwrap()).collect()
}

fn binary(yes: &[f64]) -> Vec<Distribution> {
    yes.iter().map(|yes| Distribution::new(vec![*yes, 1.0 - *yes]).unwrap()).collect()
}

/// Compares at the precision of the published figure: as many decimals as it has, and at least so many, since a
/// publisher drops the zeros at the end.
fn agrees(ours: f64, published: &Value, decimals_min: i32, what: &str) {
    let decimals = published.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let precision = 0.5 * libm::pow(10.0, -f64::from(decimals.max(decimals_min))) + BITS;
    let figure = published.as_f64().unwrap_or_else(|| panic!("{what} is {published}"));
    assert!((ours - figure).abs() <= precision, "{what}: ours is {ours}, published is {figure}");
}
