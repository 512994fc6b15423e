//! The wire's result is the contract's, field for field.

use debate_core::call::Tokens;
use debate_core::formats::prediction::config::Phase;
use debate_core::formats::prediction::fact::{Emerging, Impact, Position};
use debate_core::formats::prediction::judged::JudgePasses;
use debate_core::formats::prediction::outcome::{DebateLog, RoleAssessment};
use debate_core::formats::prediction::point::PointId;
use debate_core::id::{DebateId, OutcomeId, Role};
use debate_core::measures::panel::Panel;
use debate_core::measures::pooling::{PoolSettings, Pools};
use debate_core::spend::Cost;
use debate_core::stop::Completeness;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Map, json};

use super::*;

fn distribution() -> Distribution {
    Distribution::new(vec![0.25, 0.75]).unwrap()
}

fn outcome() -> OutcomeId {
    OutcomeId::from("yes")
}

fn role() -> Role {
    Role::from("optimist")
}

/// A result in which every field says something.
fn full() -> DebateResult {
    DebateResult {
        debate_id: DebateId("7f7f9a3c-52a7-4c0b-8c4e-0f2f8f1f9a11".parse().unwrap()),
        task_id: "t".to_owned(),
        completed_at: "2026-11-21T23:17:00.000Z".to_owned(),
        debate_log: DebateLog { rounds: vec![full_round()] },
        consensus_score: Some(0.875),
        disagreement_map: vec![Disagreement {
            topic: "how".to_owned(),
            positions: vec![Position { role: role(), stance: "so".to_owned(), strength: 0.5 }],
            resolved: true,
        }],
        probability_distribution: vec![OutcomeProbability {
            outcome_id: outcome(),
            probability: 0.3,
            role_assessments: vec![RoleAssessment { role: role(), probability: 0.4, confidence: 0.6 }],
            judge_probability: Some(0.2),
            consensus_probability: 0.45,
        }],
        key_insights: vec![KeyInsight {
            insight: "new".to_owned(),
            source_role: role(),
            round: 2,
            impact: Impact::Medium,
            affected_outcomes: vec![outcome()],
        }],
        historical_precedents: vec![Precedent {
            event: "then".to_owned(),
            date: "1990".to_owned(),
            similarity_score: 0.5,
            outcome: "well".to_owned(),
            relevance: "much".to_owned(),
        }],
        metadata: Metadata {
            total_arguments: 15,
            sonnet_tokens_used: Tokens { input: 20_000, output: 9_000 },
            sonnet_calls: 31,
            wall_clock_time_ms: 1_234,
            model: "simulated".to_owned(),
        },
        extra: full_extra(),
    }
}

fn full_round() -> Round {
    let criteria = json!({"logical_strength": 0.5, "evidence_quality": null, "novelty": 0.25, "wit": 0.75});
    Round {
        round_number: 1,
        phase: Phase::Opening,
        arguments: vec![ArgumentEntry {
            role: role(),
            argument: "words".to_owned(),
            outcome_supported: outcome(),
            evidence_cited: vec!["a source".to_owned()],
            scores: ScoreEntry { criteria: criteria.as_object().cloned().unwrap(), composite: Some(0.5) },
            rebuts: vec!["judge".into()],
            point: "r1.optimist".to_owned(),
            cites: vec!["r1.judge".to_owned()],
            flags: vec!["P12".to_owned()],
        }],
        round_summary: RoundSummary {
            dominant_argument: "optimist".to_owned(),
            key_disagreements: vec!["one".to_owned()],
            emerging_consensus: vec![
                Emerging { outcome_id: outcome(), direction: Direction::Toward },
                Emerging { outcome_id: outcome(), direction: Direction::Away },
            ],
        },
    }
}

fn full_extra() -> Extra {
    let members = [distribution(), distribution()];
    Extra {
        completeness: Completeness::Partial {
            missing: vec!["judge".to_owned()],
            why: vec!["gone".to_owned()],
        },
        confidence: 0.5,
        simulated: true,
        stop_reason: "max_rounds".to_owned(),
        usage_complete: true,
        thinking_tokens: 1_200,
        cost: Some(Cost { cost_micros: 23_000, cost_micros_bound: 24_150, complete: true }),
        unpriced_models: vec!["openai:x".to_owned()],
        repairs: vec![RepairEntry { call: "argue/1/judge".to_owned(), repairs: vec!["cut".to_owned()] }],
        notes: vec!["all 2 roles gave the same distribution in the blind opening".to_owned()],
        consensus_per_outcome: vec![OutcomeConsensus {
            outcome_id: outcome(),
            consensus_score: 0.9,
            standard_deviation: 0.05,
        }],
        blind_baseline: Some(distribution()),
        pools: Some(Pools::of(&Panel::new(&members).unwrap(), PoolSettings::default())),
        ledger: vec![ledger::LedgerEntry {
            role: role(),
            round: 2,
            probabilities: distribution(),
            confidence: 0.5,
            moves: vec![0.1, -0.1],
            cited_for_it: vec![PointId::new(1, &role())],
            conformity: true,
        }],
        conformity_moves: 1,
        argument_quality: ArgumentQuality { good_share: Some(0.5), flagged: true, rejected: 2 },
        evolution_share: Some(1.0),
        judge_order: vec!["r1.optimist".to_owned()],
        judge_reasoning: "because".to_owned(),
        judge_passes: Some(JudgePasses { held: 2, total_variation: 0.25, flipped: true }),
        redacted: true,
    }
}

/// Returns the message as JSON, as a client with nothing but the descriptors would write it.
fn wire_json(message: &v1::DebateResult) -> Value {
    let pool = DescriptorPool::decode(v1::FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("debate.v1.DebateResult").unwrap();
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message).unwrap();
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .skip_default_fields(false)
        .stringify_64_bit_integers(false);
    dynamic.serialize_with_options(serde_json::value::Serializer, &options).unwrap()
}

/// Leaves out what one side writes as null or empty and the other not at all.
fn plain(value: Value) -> Value {
    let is_there = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({});
    match value {
        Value::Object(map) => {
            let entries = map.into_iter().map(|(name, value)| (name, plain(value)));
            Value::Object(entries.filter(|(_, value)| is_there(value)).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[test]
fn the_result_is_the_contracts_field_for_field() {
    let mut contract = plain(serde_json::to_value(full()).unwrap());
    let scores = &mut contract["debate_log"]["rounds"][0]["arguments"][0]["scores"];
    let wit = scores.as_object_mut().unwrap().remove("wit").unwrap();
    scores["other"] = json!({ "wit": wit });
    let wire = plain(wire_json(&prediction_result(full())));
    // One side prints 1 where the other prints 1.0.
    assert_eq!(numbers_as_doubles(wire), numbers_as_doubles(contract));
}

fn numbers_as_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(name, value)| (name, numbers_as_doubles(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(numbers_as_doubles).collect()),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

#[test]
fn p5_a_score_that_could_not_be_had_is_absent_not_zero() {
    let sent = prediction_result(full());
    let scores = sent.debate_log.unwrap().rounds[0].arguments[0].scores.clone().unwrap();
    assert_eq!((scores.logical_strength, scores.evidence_quality), (Some(0.5), None));
    assert_eq!(scores.other.get("wit"), Some(&0.75));
}
