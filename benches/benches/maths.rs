//! Scores, consensus and pools of five roles over 2 to 50 outcomes, compared with the same sums over flat arrays.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use debate_core::measures::consensus::Consensus;
use debate_core::measures::distribution::Distribution;
use debate_core::measures::panel::Panel;
use debate_core::measures::pooling::{PoolSettings, Pooling, pool};
use debate_core::measures::scoring;
use std::hint::black_box;

const ROLES: usize = 5;
const OUTCOMES: [usize; 3] = [2, 10, 50];

/// Distributions that differ from role to role, none of them round.
fn panel_of(outcomes: usize) -> Vec<Distribution> {
    let weight = |role: usize, place: usize| 1.0 + ((role * 7 + place * 13) % 11) as f64 / 3.0;
    (0..ROLES)
        .map(|role| {
            let masses: Vec<f64> = (0..outcomes).map(|place| weight(role, place)).collect();
            let sum: f64 = masses.iter().sum();
            Distribution::new(masses.iter().map(|mass| mass / sum).collect()).expect("they sum to 1")
        })
        .collect()
}

/// Mean, standard deviation and score of each outcome over a flat array: what cannot be left out.
fn flat_consensus(rows: &[f64], outcomes: usize, out: &mut Vec<f64>) -> f64 {
    out.clear();
    let roles = (rows.len() / outcomes) as f64;
    let sd_max = (6.0_f64).sqrt() / 5.0;
    let (mut total, mut weights) = (0.0, 0.0);
    for place in 0..outcomes {
        let column = || rows.iter().skip(place).step_by(outcomes);
        let mean = column().sum::<f64>() / roles;
        let variance = column().map(|value| (value - mean) * (value - mean)).sum::<f64>() / roles;
        let score = 1.0 - variance.sqrt() / sd_max;
        out.extend([mean, score]);
        total += score * mean;
        weights += mean;
    }
    total / weights
}

fn flat_linear(rows: &[f64], outcomes: usize, out: &mut Vec<f64>) {
    out.clear();
    let roles = (rows.len() / outcomes) as f64;
    for place in 0..outcomes {
        out.push(rows.iter().skip(place).step_by(outcomes).sum::<f64>() / roles);
    }
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|value| *value /= sum);
}

fn flat_log_odds(rows: &[f64], outcomes: usize, out: &mut Vec<f64>) {
    flat_times_log_odds(rows, outcomes, 1.0, out);
}

fn flat_extremised(rows: &[f64], outcomes: usize, out: &mut Vec<f64>) {
    flat_times_log_odds(rows, outcomes, PoolSettings::default().extremising_factor(), out);
}

fn flat_times_log_odds(rows: &[f64], outcomes: usize, factor: f64, out: &mut Vec<f64>) {
    out.clear();
    let roles = (rows.len() / outcomes) as f64;
    for place in 0..outcomes {
        let column = rows.iter().skip(place).step_by(outcomes);
        let odds = column.map(|value| libm::log(value / (1.0 - value))).sum::<f64>() / roles;
        out.push(1.0 / (1.0 + libm::exp(-factor * odds)));
    }
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|value| *value /= sum);
}

fn flat_trimmed(rows: &[f64], outcomes: usize, out: &mut Vec<f64>) {
    out.clear();
    let mut column = [0.0; ROLES];
    for place in 0..outcomes {
        for (role, value) in column.iter_mut().enumerate() {
            *value = rows[role * outcomes + place];
        }
        column.sort_unstable_by(f64::total_cmp);
        out.push(column[1..ROLES - 1].iter().sum::<f64>() / (ROLES - 2) as f64);
    }
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|value| *value /= sum);
}

fn consensus(c: &mut Criterion) {
    let mut group = c.benchmark_group("consensus");
    for outcomes in OUTCOMES {
        let members = panel_of(outcomes);
        let rows: Vec<f64> = members.iter().flat_map(|member| member.as_slice().to_vec()).collect();
        group.bench_function(BenchmarkId::new("floor", outcomes), |b| {
            b.iter(|| {
                let mut out = Vec::with_capacity(outcomes * 2);
                black_box(flat_consensus(black_box(&rows), outcomes, &mut out));
                out
            });
        });
        group.bench_function(BenchmarkId::new("consensus", outcomes), |b| {
            b.iter(|| Consensus::of(&Panel::new(black_box(&members)).expect("equal lengths")));
        });
    }
    group.finish();
}

type FlatPool = fn(&[f64], usize, &mut Vec<f64>);

fn pools(c: &mut Criterion) {
    let methods: [(&str, Pooling, FlatPool); 4] = [
        ("pool_linear", Pooling::Linear, flat_linear),
        ("pool_log_odds", Pooling::LogOdds, flat_log_odds),
        ("pool_extremised", Pooling::Extremised, flat_extremised),
        ("pool_trimmed", Pooling::Trimmed, flat_trimmed),
    ];
    for (name, method, flat) in methods {
        let mut group = c.benchmark_group(name);
        for outcomes in OUTCOMES {
            let members = panel_of(outcomes);
            let rows: Vec<f64> = members.iter().flat_map(|member| member.as_slice().to_vec()).collect();
            group.bench_function(BenchmarkId::new("floor", outcomes), |b| {
                b.iter(|| {
                    let mut out = Vec::with_capacity(outcomes);
                    flat(black_box(&rows), outcomes, &mut out);
                    out
                });
            });
            group.bench_function(BenchmarkId::new("pool", outcomes), |b| {
                b.iter(|| {
                    let panel = Panel::new(black_box(&members)).expect("equal lengths");
                    pool(method, &panel, PoolSettings::default())
                });
            });
        }
        group.finish();
    }
}

fn composite(c: &mut Criterion) {
    let scores = [Some(0.7), Some(0.4), None];
    let weights = scoring::DEFAULT_CRITERIA.map(|(_, weight)| weight);
    let mut group = c.benchmark_group("composite");
    group.bench_function("floor", |b| {
        b.iter(|| {
            let scores = black_box(&scores);
            let (mut total, mut sum) = (0.0, 0.0);
            for (weight, score) in weights.iter().zip(scores) {
                if let Some(score) = score {
                    total += weight * score;
                    sum += weight;
                }
            }
            if sum > 0.0 { Some(total / sum) } else { None }
        });
    });
    group.bench_function("composite", |b| {
        b.iter(|| scoring::composite(weights.into_iter().zip(black_box(scores))));
    });
    group.finish();
}

criterion_group!(benches, composite, consensus, pools);
criterion_main!(benches);
