//! Requests over gRPC and as JSON are the same requests.

use debate_core::formats::accept::{AcceptedRequest, accept};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::json;

use super::*;

/// Reads the contract's JSON as a client with nothing but the descriptors would.
fn over_the_wire(json: &Value) -> v1::StartDebateRequest {
    let mut request = json.clone();
    let format = request.as_object_mut().unwrap().remove("format").unwrap_or_else(|| json!("prediction"));
    let start = json!({ format.as_str().unwrap(): request });
    let pool = DescriptorPool::decode(v1::FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("debate.v1.StartDebateRequest").unwrap();
    let message = DynamicMessage::deserialize(descriptor, start).unwrap();
    v1::StartDebateRequest::decode(message.encode_to_vec().as_slice()).unwrap()
}

fn check_same(json: &Value) {
    let direct = accept(&json.to_string()).unwrap();
    let wired = accept(&request_json(over_the_wire(json)).unwrap()).unwrap();
    assert_eq!(direct.digest(), wired.digest());
    match (direct, wired) {
        (AcceptedRequest::Prediction(mut direct), AcceptedRequest::Prediction(wired)) => {
            let task = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(task(&direct.brief.task), task(&wired.brief.task));
            direct.brief.task.clone_from(&wired.brief.task);
            assert_eq!(direct, wired);
        }
        (direct, wired) => assert_eq!(direct, wired),
    }
}

#[test]
fn k11_every_example_is_the_same_request_over_both_wires() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        check_same(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
    }
}

#[test]
fn every_field_of_a_prediction_request_reaches_the_core() {
    check_same(&json!({
        "task_id": "t",
        "prediction_context": {
            "task": {"question": "Q?", "nested": [1, -2.5, true, null, {"a": "b"}]},
            "outcomes": [{"id": "a", "label": "A", "description": "aa"}, {"id": "b"}],
            "key_variables": [
                {"name": "n", "category": "c", "importance": 0.7, "current_value": 12},
                {"name": "m", "importance": "high", "current_value": "x"},
            ],
            "simulation_summary": {
                "final_distribution": [{"outcome_id": "a", "probability": 0}],
                "key_findings": ["k"],
            },
            "data_summary": {
                "region": "r", "timeframe": {"start": "s", "end": "e"}, "economic_highlights": ["1"],
                "sentiment_highlights": ["2"], "data_gaps": ["3"],
            },
        },
        "config": {"rounds": 2, "roles": ["optimist", "engineer"], "max_argument_length": 400,
            "scoring_criteria": ["novelty", "relevance"], "judge_weight": 0},
        "options": {
            "personas": {"engineer": {"system_prompt": "p", "bias_direction": "b", "evidence_preference": "e"}},
            "weights": {"relevance": 0.5, "novelty": 1},
            "rubrics": {"relevance": {"bands": {"0.0-1.0": "any"}}},
            "seed": u64::MAX, "pooling": "trimmed", "extremising_factor": 2.5, "trimmed_share": 0.25,
            "judge_passes": 2,
            "models": {"default": ["a:1", "a:2"], "argue": ["b:1"], "score": ["c:1"], "synthesise": ["d:1"],
                "roles": {"engineer": ["e:1", "e:2"]}},
            "schedule": "strict",
            "as_of": "2026-11-21", "closes_at": "2026-11-30T12:00:00Z", "resolves_at": "2026-12-01",
            "preset": "deep", "input_tokens": {"argue": 5000, "synthesise": 20000}, "language": "pt-BR",
            "limits": {"deadline_ms": 1000, "calls_max": 50, "input_tokens_max": 70000, "output_tokens_max": 80000,
                "attempts_max": 2, "starts_max": 3, "cost_micros_max": 90000, "thinking_tokens_max": 60000,
                "thinking_tokens_each": 0},
            "effort": {"default": "low", "argue": "high", "score": "none", "synthesise": "medium",
                "roles": {"engineer": "none"}},
            "output_tokens": {"argue": 600, "score": 100, "synthesise": 2000},
        },
    }));
}

#[test]
fn every_field_of_a_deliberation_reaches_the_core() {
    check_same(&json!({
        "format": "deliberation",
        "topic": "t",
        "mode": "weak",
        "participants": [{"name": "a", "skills": ["s"]}, {"name": "b"}],
        "orchestrator": {"name": "c"},
        "max_rounds": 3,
        "timeout": 60_000,
        "tool_phases": ["initial"],
        "native_web_search": true,
        "concurrency": "parallel",
        "skills": {"global": ["g"]},
        "options": {
            "limits": {"calls_max": 12, "cost_micros_max": 5},
            "effort": "medium",
            "output_tokens": {"initial": 600, "rebuttal": 601, "revised": 602, "consensus": 603}, "language": "de",
            "as_of": "2026-11-21",
            "models": {"default": ["a:1"], "initial": ["b:1"], "rebuttal": ["c:1"], "revised": ["d:1"],
                "consensus": ["e:1", "a:1"], "roles": {"a": ["f:1"], "c": ["g:1"]}},
        },
    }));
}

#[test]
fn every_field_of_a_roundtable_reaches_the_core() {
    check_same(&json!({
        "format": "roundtable",
        "topic": "t",
        "mode": "expert-panel",
        "agents": [{"name": "a", "perspective": "social"}, {"name": "b", "perspective": "ethical"}],
        "rounds": 2,
        "perspective_config": {"perspectives": ["social", "ethical"], "assignment_strategy": "explicit"},
        "flags": {
            "sequential_parallelization": {"enabled": true, "level": "last-only", "modes": ["socratic"]},
            "tool_enforcement": {"enabled": false, "level": "strict", "min_calls": 0, "max_calls": 3},
            "groupthink_detection":
                {"enabled": true, "threshold": 0.8, "action": "repoll", "closeness": "overlap"},
            "exit_criteria": {"enabled": true, "shadow": true, "consensus_threshold": 1,
                "convergence_rounds": 3, "confidence_threshold": 0.5},
        },
        "sequential": {"use_light_model": true, "max_tokens": 512, "cache_tool_results": false},
        "native_web_search": true,
        "tools": ["fact_check", "search_web"],
        "options": {
            "seed": 7,
            "similarity": "trigram-overlap",
            "limits": {"deadline_ms": 60_000, "calls_max": 12},
            "effort": {"respond": "low", "repoll": "none", "roles": {"a": "high"}},
            "output_tokens": {"respond": 600, "repoll": 601}, "language": "de", "as_of": "2026-11-21",
            "models": {"default": ["a:1"], "respond": ["b:1"], "repoll": ["c:1"], "light": ["d:1", "e:1"],
                "roles": {"a": ["f:1"]}},
        },
    }));
}

#[test]
fn every_field_of_an_investigation_reaches_the_core() {
    let hypothesis = |statement: &str| json!({"statement": statement, "prediction": "If so, it should show"});
    check_same(&json!({
        "format": "investigation",
        "problem": "p",
        "context": "c",
        "language": "zh",
        "hypotheses": [hypothesis("a"), hypothesis("b")],
        "investigators": ["ann", "bo"],
        "rounds": 2,
        "options": {
            "limits": {"calls_max": 90, "cost_micros_max": 5},
            "effort": {"verdict": "high", "roles": {"lead": "medium"}},
            "output_tokens": {"propose": 600, "convey": 601}, "as_of": "2026-11-21",
            "models": {"default": ["a:1"], "propose": ["b:1"], "report": ["c:1"], "challenge": ["d:1"],
                "respond": ["e:1"], "status": ["f:1"], "verdict": ["g:1"], "convey": ["h:1", "a:1"],
                "roles": {"ann": ["i:1"], "lead": ["j:1"]}},
        },
    }));
}

#[test]
fn every_option_of_a_review_reaches_the_core() {
    let critique = |role: &str, op: &str| json!({"role": role, "operations": [{"op": op, "target": "H3"}]});
    check_same(&json!({
        "format": "review",
        "original_prompt": "p",
        "critiques": [critique("ann", "REMOVE"), critique("ben", "STRENGTHEN")],
        "debate": {"enabled": true, "max_pairs": 2, "model": ["a:1"], "judge_model": ["b:1"],
            "min_conflicts_to_trigger": 1},
        "options": {
            "judge_passes": 2,
            "seed": 7,
            "limits": {"calls_max": 60, "thinking_tokens_max": 5},
            "effort": {"default": "low", "judge": "high", "roles": {"ann": "none"}},
            "output_tokens": {"argue": 600, "rebut": 601, "judge": 602}, "language": "de",
            "as_of": "2026-11-21",
            "models": {"argue": ["c:1"], "rebut": ["d:1"], "roles": {"ann": ["e:1"]}},
        },
    }));
}

#[test]
fn k12_violations_have_the_same_paths_over_grpc() {
    let request = v1::StartDebateRequest {
        format: Some(v1::start_debate_request::Format::Prediction(v1::DebateRequest {
            prediction_context: Some(v1::PredictionContext {
                outcomes: vec![v1::Outcome { id: "a".to_owned(), ..v1::Outcome::default() }; 2],
                simulation_summary: Some(v1::SimulationSummary {
                    final_distribution: vec![v1::OutcomePrior {
                        outcome_id: "a".to_owned(),
                        probability: f64::NAN,
                    }],
                    ..v1::SimulationSummary::default()
                }),
                ..v1::PredictionContext::default()
            }),
            config: Some(v1::DebateConfig { rounds: Some(0), ..v1::DebateConfig::default() }),
            options: Some(v1::DebateOptions {
                effort: Some(prost_types::Value { kind: Some(Kind::StringValue("max".to_owned())) }),
                output_tokens: [("argue".to_owned(), 7)].into(),
                ..v1::DebateOptions::default()
            }),
            ..v1::DebateRequest::default()
        })),
        ..v1::StartDebateRequest::default()
    };
    let refused = accept(&request_json(request).unwrap()).unwrap_err();
    let lines: Vec<String> = refused.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "task_id: is required",
            "prediction_context.task: is required",
            "prediction_context.outcomes[1].id: \"a\" is given more than once",
            "prediction_context.simulation_summary.final_distribution[0].probability: must be a number",
            "config.rounds: must be a whole number from 1 to 10",
            "options.effort: must be one of none, low, medium, high",
            "options.output_tokens.argue: must be a whole number from 50 to 32000",
        ]
    );
    let refused = request_json(v1::StartDebateRequest::default()).unwrap_err();
    assert_eq!(refused.0[0].to_string(), format!("format: is required: one of {}", FORMATS.join(", ")));
}
