//! Debates of the real questions in `../shared/data`; skipped, visibly, where the folder is absent.

use serde_json::{Value, json};

use crate::predictions::{accepted, check_flawless, run};

fn questions() -> Vec<Value> {
    let path = format!("{}/../../../shared/data/questions/questions.jsonl", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: ../shared/data/questions is not here");
        return Vec::new();
    };
    let questions: Vec<Value> = text
        .split('\n')
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(questions.len(), 188);
    questions
}

/// Makes a request of a question; one that asks for a number is asked against what is expected.
fn request(question: &Value, rounds: u32) -> Value {
    let labels: Vec<&str> = match question["outcomes"].as_array() {
        Some(labels) if !labels.is_empty() => labels.iter().filter_map(Value::as_str).collect(),
        _ => vec!["Lower than expected", "As expected", "Higher than expected"],
    };
    let outcomes: Vec<Value> = labels
        .iter()
        .enumerate()
        .map(|(place, label)| json!({"id": format!("o{place}"), "label": label}))
        .collect();
    let crowd = question["crowd"]["value"].as_f64().filter(|_| labels.len() == 2);
    let prior = crowd.map_or_else(Vec::new, |yes| {
        vec![
            json!({"outcome_id": "o0", "probability": yes}),
            json!({"outcome_id": "o1", "probability": 1.0 - yes}),
        ]
    });
    json!({
        "task_id": question["id"],
        "prediction_context": {
            "task": {
                "question": question["question"],
                "background": question["background"],
                "resolution_criteria": question["resolution_criteria"],
            },
            "outcomes": outcomes,
            "simulation_summary": {"final_distribution": prior, "key_findings": []},
        },
        "config": {"rounds": rounds},
    })
}

fn check(is_binary: bool, rounds: u32) {
    let of_kind = |question: &&Value| (question["type"] == "binary") == is_binary;
    for (seed, question) in questions().iter().filter(of_kind).enumerate() {
        let request = accepted(&request(question, rounds).to_string());
        let ended = run(&request, &format!("simulated:{seed}"));
        let result = check_flawless(&ended, question["id"].as_str().unwrap());
        let sum: f64 = result.probability_distribution.iter().map(|outcome| outcome.probability).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", question["id"]);
    }
}

#[test]
fn p3_real_questions_of_two_outcomes_are_debated_without_a_fault() {
    check(true, 2);
}

#[test]
fn p3_real_questions_of_more_outcomes_are_debated_without_a_fault() {
    check(false, 3);
}
