//! Whole prediction debates of the requests in `examples/`.

use std::collections::{BTreeMap, BTreeSet};

use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::tokens;
use serde_json::{Value, json};

use crate::stage::{self, Ended, Exchange};

pub(crate) const EXAMPLES: [&str; 5] = ["ice", "moon", "rates", "taper", "trade"];

/// Reads one of the requests in `examples/`.
pub(crate) fn example(name: &str) -> Accepted<Prediction> {
    let path = format!("{}/../../examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
    accepted(&std::fs::read_to_string(path).unwrap())
}

pub(crate) fn accepted(json: &str) -> Accepted<Prediction> {
    let AcceptedRequest::Prediction(accepted) = accept(json).unwrap() else {
        panic!("not a prediction request")
    };
    *accepted
}

pub(crate) fn run(accepted: &Accepted<Prediction>, settings: &str) -> Ended<Prediction> {
    stage::run(&PredictionPrompts, accepted, &stage::model(settings))
}

pub(crate) fn result(ended: &Ended<Prediction>) -> DebateResult {
    Prediction::outcome(&ended.debate, Texts::Shown)
}

/// Checks what every debate without faults promises.
pub(crate) fn check_flawless(ended: &Ended<Prediction>, name: &str) -> DebateResult {
    for exchange in &ended.exchanges {
        assert_eq!(exchange.repairs, Ok(Vec::new()), "{name} {:?}: {:?}", exchange.want.call, exchange.reply);
        check_length(exchange, name);
    }
    assert_eq!(ended.rejections, Vec::<Vec<String>>::new(), "{name}");
    let result = result(ended);
    assert_eq!(result.extra.completeness, Completeness::Full, "{name}");
    assert!(result.extra.simulated && result.extra.usage_complete, "{name}");
    result
}

/// Checks P15: the whole reply, and the public argument.
fn check_length(exchange: &Exchange, name: &str) {
    let reply = exchange.reply.as_ref().unwrap();
    let count = tokens::count(reply);
    assert!(count <= exchange.tokens_max, "{name} {:?}: {count} tokens: {reply}", exchange.want.call);
    let reply: Value = serde_json::from_str(reply).unwrap();
    if let Some(argument) = reply.get("argument").and_then(Value::as_str) {
        let count = tokens::count(argument);
        assert!(count <= exchange.tokens_max * 3 / 5, "{name}: {count} tokens: {argument}");
        assert!(argument.starts_with("[simulated] "), "{name}: {argument}");
    }
}

/// Returns the replies to arguments, by key such as `argue/1/optimist`.
fn arguments(ended: &Ended<Prediction>) -> impl Iterator<Item = (String, Value)> {
    let argued = ended.exchanges.iter().filter(|exchange| exchange.want.call.kind == "argue");
    argued.map(|exchange| {
        let reply = serde_json::from_str(exchange.reply.as_ref().unwrap()).unwrap();
        (exchange.want.call.to_string(), reply)
    })
}

fn texts(ended: &Ended<Prediction>) -> Vec<&String> {
    ended.exchanges.iter().map(|exchange| exchange.reply.as_ref().unwrap()).collect()
}

#[test]
fn p3_every_reply_to_every_prompt_is_read_as_it_is_and_breaks_no_rule() {
    for name in EXAMPLES {
        for seed in 0..2 {
            let ended = run(&example(name), &format!("simulated:{seed}"));
            assert_eq!(ended.exchanges.len(), 31, "{name}");
            let result = check_flawless(&ended, name);
            let flags = result.debate_log.rounds.iter().flat_map(|round| &round.arguments);
            assert!(flags.into_iter().all(|argument| argument.flags.is_empty()), "{name}");
        }
    }
}

#[test]
fn k2_the_same_seed_says_the_same_and_another_seed_something_else() {
    let request = example("ice");
    let (one, same, other) =
        (run(&request, "simulated:7"), run(&request, "simulated:7"), run(&request, "simulated:8"));
    assert_eq!(texts(&one), texts(&same));
    assert!(texts(&one).iter().zip(texts(&other)).all(|(one, other)| *one != other));
}

#[test]
fn p1_roles_lean_in_the_direction_of_their_bias() {
    for (name, seed) in EXAMPLES.into_iter().flat_map(|name| (0..2).map(move |seed| (name, seed))) {
        let request = example(name);
        let result = result(&run(&request, &format!("simulated:{seed}")));
        let opening: BTreeMap<&str, &[f64]> = result
            .extra
            .ledger
            .iter()
            .filter(|entry| entry.round == 1)
            .map(|entry| (entry.role.as_str(), entry.probabilities.as_slice()))
            .collect();
        if request.config.outcomes.len() == 2 {
            // The first of two outcomes is the one that reads better in these requests.
            let yes = |role: &str| opening[role][0];
            assert!(yes("optimist") > yes("pessimist") + 0.05, "{name}: {opening:?}");
            assert!((yes("pessimist")..=yes("optimist")).contains(&yes("judge")), "{name}: {opening:?}");
        }
        let priors = &request.brief.simulation_summary.final_distribution;
        let Some(favourite) = priors.iter().max_by(|a, b| a.probability.total_cmp(&b.probability)) else {
            continue;
        };
        let place = request.config.outcomes.iter().position(|id| *id == favourite.outcome_id).unwrap();
        assert!(opening["contrarian"][place] < favourite.probability, "{name}: {opening:?}");
    }
}

#[test]
fn p17_positions_move_and_every_move_cites_its_reason() {
    let mut moved = 0;
    for name in EXAMPLES {
        let result = result(&run(&example(name), "simulated:3"));
        moved +=
            result.extra.ledger.iter().filter(|entry| entry.moves.iter().any(|by| by.abs() > 0.05)).count();
        assert_eq!(result.extra.evolution_share, Some(1.0), "{name}");
        assert!(result.extra.conformity_moves <= 2, "{name}: {}", result.extra.conformity_moves);
        let spread = |round: u32| {
            let of_round = result.extra.ledger.iter().filter(|entry| entry.round == round);
            let said: Vec<&[f64]> = of_round.map(|entry| entry.probabilities.as_slice()).collect();
            let mean =
                |place: usize| said.iter().map(|shares| shares[place]).sum::<f64>() / said.len() as f64;
            let away = |shares: &&[f64]| -> f64 {
                shares.iter().enumerate().map(|(place, share)| (share - mean(place)).abs()).sum()
            };
            said.iter().map(away).sum::<f64>()
        };
        assert!(spread(3) < spread(1), "{name}: the roles come closer");
    }
    assert!(moved >= 20, "{moved}");
}

#[test]
fn p11_quotes_stand_in_the_points_they_cite_and_name_earlier_rounds() {
    for name in EXAMPLES {
        let ended = run(&example(name), "simulated:5");
        let said: BTreeMap<String, String> = arguments(&ended)
            .map(|(key, reply)| {
                let mut parts = key.split('/').skip(1);
                let id = format!("r{}.{}", parts.next().unwrap(), parts.next().unwrap());
                (id, reply["argument"].as_str().unwrap().to_owned())
            })
            .collect();
        for (key, reply) in arguments(&ended) {
            let cites = reply["cites"].as_array().unwrap();
            let round: u32 = key.split('/').nth(1).unwrap().parse().unwrap();
            assert_eq!(cites.is_empty(), round == 1, "{key}");
            for cite in cites {
                let (point, quote) = (cite["point"].as_str().unwrap(), cite["quote"].as_str().unwrap());
                assert!(said[point].contains(quote), "{key} quotes {point}: {quote}");
                assert!(point[1..2].parse::<u32>().unwrap() < round, "{key} cites {point}");
            }
        }
    }
}

#[test]
fn an_argument_takes_up_facts_of_the_brief_and_varies_its_words() {
    let mut first_words = BTreeSet::new();
    for name in EXAMPLES {
        let ended = run(&example(name), "simulated:1");
        for (key, reply) in arguments(&ended) {
            let argument = reply["argument"].as_str().unwrap();
            first_words.insert(argument.split(' ').skip(1).take(3).collect::<Vec<_>>().join(" "));
            assert!(argument.split(' ').count() > 15, "{name} {key}: {argument}");
            let evidence = reply["evidence_cited"].as_array().unwrap();
            assert!(!key.contains("/1/") || !evidence.is_empty(), "{name} {key}");
            let prompt = &ended.exchanges.iter().find(|one| one.want.call.to_string() == key).unwrap().prompt;
            for fact in evidence {
                let fact = fact.as_str().unwrap().trim_end_matches('…');
                let of_a_point =
                    fact.split_once(": ").filter(|(id, _)| prompt.contains(&format!("id=\"{id}\"")));
                let fact = of_a_point.map_or(fact, |(_, words)| words);
                assert!(prompt.contains(fact), "{name} {key}: {fact} is made up");
            }
        }
    }
    assert!(first_words.len() >= 20, "{first_words:?}");
}

#[test]
fn p12_precedents_are_marked_as_simulated() {
    for name in EXAMPLES {
        let result = result(&run(&example(name), "simulated:2"));
        assert!(result.historical_precedents.len() >= 2, "{name}");
        for precedent in &result.historical_precedents {
            assert!(precedent.event.starts_with("Simulated precedent "), "{precedent:?}");
            assert!(precedent.date.ends_with("(simulated)"), "{precedent:?}");
        }
    }
}

#[test]
fn p5_scores_differ_and_lie_where_ordinary_arguments_do() {
    let mut composites = Vec::new();
    for name in EXAMPLES {
        let result = result(&run(&example(name), "simulated:4"));
        let entries = result.debate_log.rounds.iter().flat_map(|round| &round.arguments);
        composites.extend(entries.map(|entry| entry.scores.composite.unwrap()));
    }
    let usual = composites.iter().filter(|composite| (0.45..=0.85).contains(*composite)).count();
    assert!(usual * 10 >= composites.len() * 9, "{composites:?}");
    composites.sort_by(f64::total_cmp);
    composites.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    assert!(composites.len() > 30, "{composites:?}");
}

#[test]
fn p13_p14_the_synthesis_names_disagreements_and_insights_of_the_debate() {
    for name in EXAMPLES {
        let result = result(&run(&example(name), "simulated:7"));
        assert!(result.extra.judge_reasoning.contains("r3."), "{}", result.extra.judge_reasoning);
        assert!(!result.disagreement_map.is_empty() && !result.key_insights.is_empty(), "{name}");
        assert!(result.key_insights.iter().all(|insight| !insight.affected_outcomes.is_empty()), "{name}");
    }
}

#[test]
fn p15_a_tight_reply_is_still_whole() {
    for (tokens, outcomes) in [(120, 2), (200, 5), (500, 50), (4_000, 50)] {
        let listed: Vec<Value> = (0..outcomes)
            .map(|place| json!({"id": format!("o{place}"), "label": format!("Candidate {place}")}))
            .collect();
        let request = json!({
            "task_id": "t",
            "prediction_context": {"task": {"question": "Who will win the election?"}, "outcomes": listed},
            "config": {"rounds": 3, "max_argument_length": tokens, "roles": ["optimist", "pessimist", "judge"]},
        });
        let ended = run(&accepted(&request.to_string()), "simulated:2");
        check_flawless(&ended, &format!("{tokens} tokens, {outcomes} outcomes"));
    }
}

#[test]
fn p1_a_role_of_the_requests_own_leans_as_its_persona_says() {
    let request = |leaning: &str| {
        let request = json!({
            "task_id": "t",
            "prediction_context": {
                "task": {"question": "Will the bridge open in time?"},
                "outcomes": [{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}],
            },
            "config": {"rounds": 1, "roles": ["engineer", "judge", "optimist"]},
            "options": {"personas": {"engineer": {
                "system_prompt": "You are the engineer who built it.", "bias_direction": leaning,
            }}},
        });
        let result = result(&run(&accepted(&request.to_string()), "simulated:1"));
        let entry = result.extra.ledger.iter().find(|entry| entry.role.as_str() == "engineer").unwrap();
        entry.probabilities.as_slice()[0]
    };
    let (wary, hopeful) = (request("risks and worst cases"), request("positive outcomes"));
    assert!(wary < 0.5 && hopeful > 0.5, "{wary} {hopeful}");
}
