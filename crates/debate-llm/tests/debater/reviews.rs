//! Whole review debates with the simulated model.

use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::review::Review;
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::outcome::ReviewResult;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_prompts::review::ReviewPrompts;
use serde_json::{Value, json};

use crate::stage::{self, Ended};

fn example() -> Accepted<Review> {
    let path = format!("{}/../../examples/review.json", env!("CARGO_MANIFEST_DIR"));
    let read = accept(&std::fs::read_to_string(path).unwrap()).unwrap();
    let AcceptedRequest::Review(accepted) = read else { panic!("not a review") };
    *accepted
}

fn run(settings: &str) -> (Ended<Review>, ReviewResult) {
    let ended = stage::run(&ReviewPrompts, &example(), &stage::model(settings));
    let result = Review::outcome(&ended.debate, Texts::Shown);
    (ended, result)
}

#[test]
fn v3_pairs_debate_are_judged_and_everything_is_simulated() {
    let (mut winners, mut rejected) = (Vec::new(), 0);
    for seed in 0..20 {
        let (ended, result) = run(&format!("simulated:{seed}"));
        assert_eq!(result.completeness, Completeness::Full, "{seed}");
        assert!(result.simulated && result.usage_complete);
        assert_eq!((result.debates.len(), result.failed_pairs.len()), (2, 0));
        rejected += ended.rejections.len();
        for debated in &result.debates {
            let said = [&debated.role_a_argument, &debated.role_b_rebuttal];
            assert!(said.iter().all(|text| text.as_ref().unwrap().starts_with("(simulated) ")));
            let judgement = debated.judgement.as_ref().unwrap();
            winners.push(judgement.winner);
            for feedback in &judgement.feedback {
                assert!((0.0..=10.0).contains(&feedback.logged.argument_quality_score));
                assert!((2..=4).contains(&feedback.logged.argument_labels.len()), "two of each pass");
                assert!(feedback.logged.policy_signal.starts_with("[simulated]"));
            }
        }
    }
    for winner in [Winner::RoleA, Winner::RoleB, Winner::Tie] {
        assert!(winners.contains(&winner), "{} is among {winners:?}", winner.as_str());
    }
    assert!(rejected > 0, "now and then somebody says too little and is asked again");
}

/// Returns what was shown when a call was asked the last time, without escapes.
fn shown(ended: &Ended<Review>, call: &str) -> String {
    let asked = ended.exchanges.iter().rfind(|one| one.want.call.to_string() == call);
    let prompt = &asked.unwrap_or_else(|| panic!("{call} was asked")).prompt;
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    marks.iter().fold(prompt.clone(), |text, (escaped, mark)| text.replace(escaped, mark))
}

#[test]
fn v3_v4_each_prompt_shows_both_operations_and_what_was_said_before_and_nothing_else() {
    for seed in 0..5 {
        let (ended, result) = run(&format!("simulated:{seed}"));
        let brief = example().brief;
        for (debated, dispute) in result.debates.iter().zip(&brief.disputes) {
            let (pair, a, b) = (debated.pair, &debated.role_a, &debated.role_b);
            let speeches = [
                &debated.role_a_argument,
                &debated.role_b_argument,
                &debated.role_a_rebuttal,
                &debated.role_b_rebuttal,
            ];
            let speeches = speeches.map(|speech| speech.as_deref().unwrap());
            let calls = [
                (format!("argue/{pair}/{a}"), 0, Some(a)),
                (format!("argue/{pair}/{b}"), 1, Some(b)),
                (format!("rebut/{pair}/{a}"), 2, Some(a)),
                (format!("rebut/{pair}/{b}"), 3, Some(b)),
                (format!("judge/{pair}/judge"), 4, None),
                (format!("judge/{pair}/judge/2"), 4, None),
            ];
            for (call, said, speaker) in calls {
                let prompt = shown(&ended, &call);
                for operation in [&dispute.op_a, &dispute.op_b] {
                    let words = operation.value_text();
                    assert!(!words.is_empty() && prompt.contains(&words), "{call}: {words}");
                }
                for (place, speech) in speeches.iter().enumerate() {
                    assert_eq!(prompt.contains(speech), place < said, "{call}, speech {place}: {prompt}");
                }
                for critique in &brief.critiques {
                    for finding in &critique.findings {
                        let is_own = speaker == Some(&critique.role);
                        assert_eq!(prompt.contains(finding), is_own, "{call}: {finding}");
                    }
                }
                assert!(prompt.contains(&brief.original_prompt) && prompt.contains(&brief.context), "{call}");
            }
        }
    }
}

#[test]
fn v3_an_absent_reviewer_fails_its_pairs_alone() {
    let (_, result) = run("absent_role=testing");
    let failed: Vec<u32> = result.failed_pairs.iter().map(|pair| pair.pair).collect();
    assert_eq!(failed, [1], "the second pair is without that reviewer");
    assert_eq!(result.debate_log.unwrap().pairs.len(), 1);
}

/// Returns the real pull requests in `../shared/data`, each with the findings of its review tools as critiques.
fn pull_requests() -> Vec<(String, Value)> {
    let path = format!("{}/../../../shared/data/reviews/code_reviews.jsonl", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: ../shared/data/reviews is not here");
        return Vec::new();
    };
    let rows = text.split('\n').filter(|line| !line.trim().is_empty());
    let rows = rows.map(|line| serde_json::from_str::<Value>(line).unwrap()).map(|row| {
        let tools = row["reviewers"].as_object().unwrap().iter();
        let critiques: Vec<Value> =
            tools.map(|(tool, findings)| json!({ "role": tool, "findings": findings })).collect();
        let request = json!({
            "format": "review",
            "original_prompt": row["pr_title"],
            "context": format!("A pull request of {} in {}.", row["project"], row["language"]),
            "critiques": critiques,
            "debate": { "enabled": true },
        });
        (row["id"].as_str().unwrap().to_owned(), request)
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 27);
    rows
}

#[test]
fn v2_v5_v6_every_real_pull_request_is_debated_where_its_reviewers_conflict_and_null_elsewhere() {
    let (mut ran, mut pairs) = (0, 0);
    for (id, request) in pull_requests() {
        let json = request.to_string();
        let AcceptedRequest::Review(accepted) = accept(&json).unwrap() else { panic!("{id} is a review") };
        let ended = stage::run(&ReviewPrompts, &accepted, &stage::model("simulated:3"));
        let result = Review::outcome(&ended.debate, Texts::Shown);
        assert_eq!(
            result.critiques.as_str(),
            request["critiques"].to_string(),
            "{id}: the input is untouched"
        );
        assert_eq!(result.completeness, Completeness::Full, "{id}");
        let found = &result.conflicts_found;
        assert_eq!(result.debate_log.is_some(), !found.is_empty(), "{id}");
        let Some(log) = &result.debate_log else {
            assert!(ended.exchanges.is_empty() && result.not_run.is_some(), "{id}");
            continue;
        };
        assert_eq!(log.pairs.len(), found.len().min(2), "{id}");
        for (pair, conflict) in log.pairs.iter().zip(found) {
            assert_eq!(pair.conflict, format!("Add vs Remove on '{}'", conflict.target), "{id}");
            assert_ne!(pair.role_a, pair.role_b, "{id}");
            assert!(pair.winner.is_some() && pair.judge_scores.len() == 2, "{id}");
        }
        let prompts = || ended.exchanges.iter().filter(|one| one.want.call.kind == "argue");
        assert!(prompts().all(|one| one.prompt.contains("<conflict_about>")), "{id}");
        ran += 1;
        pairs += log.pairs.len();
    }
    // What the rule of docs/formats/review.md makes of these 27.
    if !pull_requests().is_empty() {
        assert_eq!((ran, pairs), (5, 6));
    }
}
