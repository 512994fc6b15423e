//! Real questions, in prompts of every kind.

use debate_core::formats::prediction::config::Preset;
use debate_core::formats::prediction::visible::Visible;
use debate_prompts::prediction;
use debate_prompts::tokens;
use serde_json::{Value, json};

use super::debate::{accepted, canned, hold};
use super::grammar::parse;

/// Returns real questions as requests of the contract, or says that they are not here.
pub(crate) fn requests() -> Vec<Value> {
    let path = format!("{}/../../../shared/data/questions/questions.jsonl", env!("CARGO_MANIFEST_DIR"));
    let Ok(lines) = std::fs::read_to_string(path) else {
        eprintln!("skipped: ../shared/data/questions is not here");
        return Vec::new();
    };
    let questions =
        lines.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap());
    questions.map(|question: Value| request(&question)).collect()
}

fn request(question: &Value) -> Value {
    let stated = question["outcomes"].as_array().filter(|outcomes| !outcomes.is_empty()).cloned();
    let labels = stated.unwrap_or_else(|| vec![json!("Above the median"), json!("Below the median")]);
    let label = |(place, label): (usize, &Value)| json!({"id": format!("o{place}"), "label": label.as_str().unwrap()});
    let crowd = question["crowd"]["value"].as_f64().filter(|_| labels.len() == 2);
    let distribution = crowd.map(|yes| {
        json!([{"outcome_id": "o0", "probability": yes}, {"outcome_id": "o1", "probability": 1.0 - yes}])
    });
    let finding = question["background"].as_str().unwrap_or_default();
    json!({
        "task_id": question["id"],
        "prediction_context": {
            "task": {
                "question": question["question"],
                "background": question["background"],
                "resolution_criteria": question["resolution_criteria"],
            },
            "outcomes": labels.iter().enumerate().map(label).collect::<Vec<_>>(),
            "simulation_summary": {
                "final_distribution": distribution.unwrap_or_else(|| json!([])),
                "key_findings": finding.split(". ").take(12).filter(|text| text.chars().count() < 4_000).collect::<Vec<_>>(),
            },
            "data_summary": {"timeframe": {"start": question["open_date"], "end": question["close_date"]}},
        },
    })
}

#[test]
fn p15_prompts_on_real_questions_keep_their_budgets_and_their_form() {
    let requests = requests();
    let (mut whole, mut larger) = (0, Vec::new());
    for (place, request) in requests.iter().enumerate() {
        let mut request = request.clone();
        let is_default = place % 47 == 0;
        if !is_default {
            request["config"] = json!({"roles": ["historian", "pessimist"], "rounds": 1 + place % 2});
        }
        let mut accepted = accepted(&request);
        let id = &accepted.config.task_id.clone();
        prediction::admit(&mut accepted).unwrap_or_else(|error| panic!("{id}: {error}"));
        larger.extend(accepted.config.preset);
        let budgets = accepted.config.input_tokens();
        let mut calls = 0;
        hold(accepted.clone(), |want, visible, prompt| {
            calls += 1;
            let budget = match visible {
                Visible::Argue(_) => budgets.argue,
                Visible::Score(_) => budgets.score,
                Visible::Synthesise(_) => budgets.synthesise,
            };
            let is_cut = |name: &&str| prompt.omitted.iter().any(|line| line.starts_with(*name));
            assert_eq!(
                ["question", "criteria", "outcomes"].iter().find(|name| is_cut(name)),
                None,
                "{id} {}",
                want.call
            );
            let counted: u32 = prompt.messages.iter().map(|message| tokens::count(&message.text)).sum();
            assert_eq!(prompt.tokens, counted, "{id} {}", want.call);
            assert!(counted <= budget, "{id} {}: {counted}", want.call);
            if accepted.config.preset.is_some() {
                return canned(visible, 1 + place % 12);
            }
            let parsed = parse(prompt);
            assert!(parsed.block("outcomes").is_some());
            whole += usize::from(is_shown_as_it_is(&parsed.lines("question")[0], &accepted.brief.question));
            canned(visible, 1 + place % 12)
        });
        assert_eq!(calls, if is_default { 31 } else { 5 + 4 * (place % 2) }, "{id}");
    }
    assert!(requests.is_empty() || requests.len() == 188);
    assert!(larger.len() <= 2 && larger.iter().all(|preset| *preset == Preset::Standard), "{larger:?}");
    assert!(whole >= requests.len() * 7, "{whole} questions are shown whole");
}

/// Tells whether a question is shown whole, and checks that what is shown of it stands in it.
fn is_shown_as_it_is(shown: &str, question: &str) -> bool {
    let unescaped = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    // A byte order mark inside a question is shown as what it is not: a character.
    let question = question.replace('\u{feff}', "\u{fffd}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, question) = (words(&unescaped), words(&question));
    if shown == question {
        return true;
    }
    let beginning = shown.trim_end_matches('…').trim_end();
    assert!(shown.ends_with('…') && question.starts_with(beginning), "{shown}");
    false
}
