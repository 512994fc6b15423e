//! Requests as clients write them, good and bad.

use serde_json::{Value, json};

use super::super::config::{Brief, Config};
use crate::formats::accept::{Accepted, AcceptedRequest, accept, accept_bytes};
use crate::formats::prediction::Prediction;
use crate::id::Role;
use crate::limits::Limits;
use crate::measures::pooling::{PoolSettings, Pooling};
use crate::request::Violations;

fn request() -> Value {
    json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": {"question": "Will it rain?"},
            "outcomes": [{"id": "yes", "label": "Yes", "description": "It rains"}, {"id": "no", "label": "No"}],
        },
    })
}

/// Sets the field at a path such as `config.rounds`, making objects on the way.
fn with(path: &str, value: Value) -> Value {
    let mut request = request();
    let mut place = &mut request;
    for name in path.split('.') {
        place = match place {
            Value::Array(items) => &mut items[name.parse::<usize>().unwrap()],
            other => &mut other[name],
        };
    }
    *place = value;
    request
}

fn prediction(json: &str) -> Accepted<Prediction> {
    let read = accept(json).unwrap_or_else(|refused| panic!("{refused}"));
    let AcceptedRequest::Prediction(accepted) = read else { panic!("it became a {}", read.format()) };
    *accepted
}

fn accepted(request: &Value) -> (Config, Brief, Limits) {
    let Accepted { config, brief, limits, .. } = prediction(&request.to_string());
    (config, brief, limits)
}

fn violations(json: &str) -> Vec<String> {
    accept(json).unwrap_err().0.iter().map(ToString::to_string).collect()
}

fn check_refused(path: &str, value: Value, expected: &[&str]) {
    assert_eq!(violations(&with(path, value).to_string()), expected);
}

#[test]
fn defaults_are_those_of_the_contract() {
    let (config, brief, limits) = accepted(&request());
    let roles: Vec<&str> = config.roles.iter().map(Role::as_str).collect();
    assert_eq!(roles, ["optimist", "pessimist", "contrarian", "historian", "judge"]);
    let criteria: Vec<_> = config.criteria.iter().map(|it| (it.name.as_str(), it.weight)).collect();
    assert_eq!(criteria, [("logical_strength", 0.4), ("evidence_quality", 0.4), ("novelty", 0.2)]);
    assert_eq!((config.rounds, config.max_argument_length, config.judge_weight), (3, 500, 0.6));
    assert_eq!((config.pooling, config.pool_settings), (Pooling::Linear, PoolSettings::default()));
    assert_eq!(brief.question, "Will it rain?");
    assert_eq!((limits.deadline_ms, limits.calls_max, limits.attempts_max), (110_000, 124, 3));
}

#[test]
fn p15_budgets_are_four_times_what_an_undisturbed_debate_needs() {
    let (_, _, limits) = accepted(&request());
    assert_eq!(limits.tokens_max.input, 4 * (15 * 600 + 15 * 650 + 6_000));
    assert_eq!(limits.tokens_max.output, 4 * (15 * 500 + 15 * 200 + 2_000));
    assert_eq!((limits.closing_tokens.input, limits.closing_tokens.output), (6_000, 2_000));
    assert_eq!(limits.closing_ms, 20_000);
}

#[test]
fn the_task_is_kept_as_it_stands() {
    let json = r#"{"task_id":"t","prediction_context":{"outcomes":[{"id":"a"}],
        "task" : {"title":  "Häh?",  "big": 12345678901234567890.5, "t\u0061g": [1 , 2]} } }"#;
    let accepted = prediction(json);
    assert_eq!(
        accepted.brief.task,
        r#"{"title":  "Häh?",  "big": 12345678901234567890.5, "t\u0061g": [1 , 2]}"#
    );
    assert_eq!(accepted.brief.question, "Häh?");
    assert_eq!(accepted.brief.outcomes[0].label, "a", "an outcome without a label is called by its id");
}

#[test]
fn the_question_is_found_in_the_task() {
    let question = |task: Value| accepted(&with("prediction_context.task", task)).1.question;
    assert_eq!(question(json!("Will it snow?")), "Will it snow?");
    assert_eq!(question(json!({"text": "c", "title": "b", "question": " a "})), "a");
    assert_eq!(
        question(json!({"text": "c", "title": "b", "question": ""})),
        "{\"text\":\"c\",\"title\":\"b\",\"question\":\"\"}"
    );
    assert_eq!(question(json!({"text": "c", "question": 5})), "c");
    assert_eq!(question(json!({"id": 5})), r#"{"id":5}"#);
    let long = question(json!("é".repeat(3_000)));
    assert_eq!((long.chars().count(), long.ends_with("é…")), (2_000, true));
}

#[test]
fn k12_a_task_in_which_nothing_stands_is_refused() {
    for task in [json!(""), json!(" \n"), json!({}), json!([]), json!({"question": "", "title": [null, " "]})]
    {
        check_refused("prediction_context.task", task, &["prediction_context.task: asks nothing"]);
    }
}

#[test]
fn p19_the_seed_follows_from_the_request_unless_given() {
    let seed = |request: &Value| accepted(request).0.seed;
    assert_eq!(seed(&request()), seed(&request()));
    assert_ne!(seed(&request()), seed(&with("task_id", json!("t-2"))));
    assert_eq!(seed(&with("options.seed", json!(u64::MAX))), u64::MAX);
}

#[test]
fn k11_two_spellings_of_one_request_have_one_digest() {
    let spelled = r#"{"config": {"judge_weight": 0.60, "rounds": 3.0, "roles": null},
        "prediction_context": {"outcomes": [{"label": "Yes", "id": "yes", "description": "It rains"},
        {"id": "no", "label": "No", "description": ""}], "key_variables": [], "task": {"question" : "Will it rain?"}},
        "format": "prediction", "task_id": "t-1"}"#;
    assert_eq!(prediction(spelled).digest, prediction(&request().to_string()).digest);
    for other in [
        with("options.seed", json!(0)),
        with("options.limits.deadline_ms", json!(109_999)),
        with("prediction_context.task.question", json!("Will it snow?")),
        with("prediction_context.task.source", json!("")),
        with("config.rounds", json!(2)),
    ] {
        assert_ne!(
            prediction(&other.to_string()).digest,
            prediction(&request().to_string()).digest,
            "{other}"
        );
    }
}

#[test]
fn k12_all_violations_are_reported_together_with_their_paths() {
    let json = json!({
        "task_id": 7,
        "prediction_context": {
            "task": null,
            "outcomes": [{"id": "yes", "label": "Yes"}, {"id": "yes", "label": []}, {"label": "?"}],
            "key_variables": [{"category": "x"}, "y"],
            "simulation_summary": {"final_distribution": [
                {"outcome_id": "maybe", "probability": 0.5},
                {"outcome_id": "yes", "probability": 1.5},
                {"outcome_id": "yes", "probability": 0.5},
            ]},
            "data_summary": {"region": "x", "weather": "fine"},
        },
        "config": {"rounds": 11, "roles": ["optimist", "optimist", "jester", "a/b"], "judge_weight": -0.1},
        "options": {"limits": {"deadline_ms": "soon"}, "seed": 1.5, "judge_passes": 3},
        "extra": {},
    });
    let expected = [
        "extra: is not a field of this request",
        "task_id: must be a text",
        "prediction_context.task: is required",
        "prediction_context.outcomes[1].id: \"yes\" is given more than once",
        "prediction_context.outcomes[1].label: must be a text",
        "prediction_context.outcomes[2].id: is required",
        "prediction_context.key_variables[0].name: is required",
        "prediction_context.key_variables[1]: must be an object",
        "prediction_context.simulation_summary.final_distribution[0].outcome_id: \"maybe\" is not one of the outcomes",
        "prediction_context.simulation_summary.final_distribution[1].probability: must be from 0 to 1",
        "prediction_context.simulation_summary.final_distribution[2].outcome_id: \"yes\" is given more than once",
        "prediction_context.data_summary.weather: is not a field of this request",
        "config.rounds: must be a whole number from 1 to 10",
        "config.judge_weight: must be from 0 to 1",
        "options.judge_passes: must be a whole number from 1 to 2",
        "options.seed: must be a whole number from 0 to 18446744073709551615",
        "options.limits.deadline_ms: must be a whole number",
        "config.roles[1]: \"optimist\" is given more than once",
        "config.roles[2]: \"jester\" is none of optimist, pessimist, contrarian, historian, judge; another role needs \
         its persona in options.personas",
        "config.roles[3]: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
    ];
    let mut found = violations(&json.to_string());
    let mut expected = expected.map(str::to_owned).to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn p1_a_debate_needs_two_roles_that_are_not_the_judge() {
    let least = "config.roles: must name at least 2 roles that are not the judge";
    check_refused("config.roles", json!([]), &[least]);
    check_refused("config.roles", json!(["optimist", "judge"]), &[least]);
    let name = "must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops";
    let refused = format!("config.roles[1]: {name}");
    check_refused("config.roles", json!(["judge", "a/b"]), &[&refused, least]);
    check_refused("config.roles", json!(["optimist", "a/b"]), &[&refused]);
    let twice = "config.roles[1]: \"optimist\" is given more than once";
    check_refused("config.roles", json!(["optimist", "optimist"]), &[twice]);
    check_refused("config.roles", json!("optimist"), &["config.roles: must be a list"]);
    assert_eq!(accepted(&with("config.roles", json!(["pessimist", "optimist"]))).0.roles.len(), 2);
}

#[test]
fn p1_a_custom_role_brings_its_persona() {
    let mut request = with("config.roles", json!(["optimist", "engineer"]));
    request["options"] = json!({"personas": {"engineer": {"system_prompt": "You build."}}});
    let (config, brief, _) = accepted(&request);
    assert_eq!(config.roles[1].as_str(), "engineer");
    assert_eq!(brief.personas[0].system_prompt, "You build.");
    request["options"]["personas"]["clown"] = json!({"system_prompt": " "});
    assert_eq!(
        violations(&request.to_string()),
        [
            "options.personas.clown.system_prompt: must not be empty",
            "options.personas.clown: \"clown\" is not one of the roles"
        ]
    );
}

#[test]
fn p2_rounds_are_one_to_ten() {
    let outside = "config.rounds: must be a whole number from 1 to 10";
    for rounds in [json!(0), json!(11), json!(2.5), json!(-1), json!(1e300)] {
        check_refused("config.rounds", rounds, &[outside]);
    }
    assert_eq!(accepted(&with("config.rounds", json!(10.0))).0.rounds, 10);
    check_refused("config.rounds", json!("3"), &["config.rounds: must be a whole number"]);
}

#[test]
fn p5_a_new_criterion_brings_its_rubric_and_its_weight() {
    let mut request = with("config.scoring_criteria", json!(["novelty", "relevance"]));
    let refused = "config.scoring_criteria[1]: \"relevance\" is new and needs its rubric in options.rubrics and its \
                   weight in options.weights";
    assert_eq!(violations(&request.to_string()), [refused]);
    request["options"] = json!({
        "weights": {"relevance": 0.5},
        "rubrics": {"relevance": {"bands": {"0.5-1.0": "to the point", "0.0-0.5": "off the point"}}},
    });
    let (config, brief, _) = accepted(&request);
    assert_eq!((config.criteria[0].weight, config.criteria[1].weight), (0.2, 0.5));
    assert_eq!(brief.rubrics[0].bands[0].range, "0.0-0.5", "bands are in the order of their ranges");
    request["options"]["weights"] = json!({"relevance": 0, "novelty": -1, "wit": 1});
    request["options"]["rubrics"]["brevity"] = json!({"bands": {"0.5-1.0": "short", "0.0-0.5": "long"}});
    assert_eq!(
        violations(&request.to_string()),
        [
            "options.weights.relevance: must be above 0 to 1000",
            "options.weights.novelty: must be above 0 to 1000",
            refused,
            "options.weights.wit: \"wit\" is not one of the scoring criteria",
            "options.rubrics.brevity: \"brevity\" is not one of the scoring criteria",
        ]
    );
    check_refused(
        "config.scoring_criteria",
        json!([]),
        &["config.scoring_criteria: must name at least one criterion"],
    );
    check_refused(
        "config.scoring_criteria",
        json!(["composite"]),
        &["config.scoring_criteria[0]: composite is the name of the weighted mean"],
    );
}

#[test]
fn p18_pools_have_their_settings() {
    let mut request = with("options.pooling", json!("extremised"));
    request["options"]["extremising_factor"] = json!(2);
    request["options"]["trimmed_share"] = json!(0);
    let (config, ..) = accepted(&request);
    assert_eq!(config.pooling, Pooling::Extremised);
    assert_eq!(config.pool_settings, PoolSettings::new(2.0, 0.0).unwrap());
    check_refused(
        "options.trimmed_share",
        json!(0.5),
        &["options.trimmed_share: must be from 0 to below 0.5"],
    );
    check_refused(
        "options.pooling",
        json!("median"),
        &["options.pooling: must be one of linear, log_odds, extremised, trimmed"],
    );
}

#[test]
fn k8_limits_can_be_set_but_never_below_what_closing_needs() {
    let asked = json!({"deadline_ms": 5000, "calls_max": 40, "input_tokens_max": 7000, "output_tokens_max": 6000,
        "attempts_max": 2, "starts_max": 5, "cost_micros_max": 250_000});
    let (_, _, limits) = accepted(&with("options.limits", asked));
    assert_eq!((limits.deadline_ms, limits.closing_ms, limits.calls_max), (5_000, 1_000, 40));
    assert_eq!((limits.tokens_max.input, limits.tokens_max.output), (7_000, 6_000));
    assert_eq!((limits.attempts_max, limits.starts_max), (2, 5));
    assert_eq!(
        (limits.cost_micros_max, limits.closing_cost_micros),
        (Some(250_000), 0),
        "prices are not known yet"
    );
    check_refused(
        "options.limits",
        json!({"input_tokens_max": 5999, "starts_max": 21, "cost_micros_max": 0.5}),
        &[
            "options.limits.input_tokens_max: must be a whole number from 6000 to 100000000",
            "options.limits.cost_micros_max: must be a whole number from 1 to 1000000000000",
            "options.limits.starts_max: must be a whole number from 1 to 20",
        ],
    );
}

#[test]
fn k12_outcomes_are_one_to_fifty_with_ids_that_can_be_read() {
    let outcomes = "prediction_context.outcomes";
    check_refused(outcomes, json!([]), &["prediction_context.outcomes: must name at least one outcome"]);
    check_refused(outcomes, Value::Null, &["prediction_context.outcomes: is required"]);
    check_refused(outcomes, json!({"a": 1}), &["prediction_context.outcomes: must be a list"]);
    let many: Vec<Value> = (0..51).map(|n| json!({"id": format!("o{n}")})).collect();
    check_refused(outcomes, json!(many), &["prediction_context.outcomes: has 51 entries; 50 are allowed"]);
    let id = |id: &str, reason: &str| {
        let field = "prediction_context.outcomes[0].id";
        check_refused(outcomes, json!([{"id": id}]), &[&format!("{field}: {reason}")]);
    };
    id("", "must not be empty");
    id("a\u{7}", "must not hold control characters");
    id(" a", "must not begin or end with white space");
    id(&"x".repeat(129), "has 129 characters; 128 are allowed");
    assert_eq!(accepted(&with(outcomes, json!([{"id": "Ärger <b>"}]))).0.outcomes[0].as_str(), "Ärger <b>");
}

#[test]
fn k12_too_long_lists_and_maps_report_only_their_length() {
    let map = |many: usize| (0..many).map(|n| (format!("no name {n}"), json!("no value"))).collect::<Value>();
    for (path, max) in [
        ("options.personas", 20),
        ("options.weights", 10),
        ("options.rubrics", 10),
        ("options.models.roles", 21),
    ] {
        let reason = format!("{path}: has {} entries; {max} are allowed", max + 1);
        check_refused(path, map(max + 1), &[&reason]);
        assert!(
            violations(&with(path, map(max)).to_string()).len() >= max,
            "{path}: of one that is not each is"
        );
    }
    let list = |many: usize| vec![json!({"id": " no id", "label": 7}); many];
    let path = "prediction_context.outcomes";
    check_refused(path, json!(list(51)), &["prediction_context.outcomes: has 51 entries; 50 are allowed"]);
    assert!(violations(&with(path, json!(list(50))).to_string()).len() > 50);
}

#[test]
fn k12_what_is_no_request_at_all_is_one_clear_violation() {
    let starts = |json: &str, expected: &str| {
        let found = violations(json);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    };
    starts("", "request: is not JSON: EOF");
    starts("{", "request: is not JSON: EOF");
    starts("{} {}", "request: is not JSON: trailing characters");
    starts(&"[".repeat(100), "request: is not JSON: nested deeper than 64");
    starts(&" ".repeat(1024 * 1024 + 1), "request: has 1048577 bytes");
    starts("[]", "request: must be an object");
    starts(r#"{"format":"karaoke"}"#, "format: \"karaoke\" is not a format");
    starts(r#"{"format":3}"#, "format: 3 is not a format");
    let refused = accept_bytes(b"{\"task_id\":\"\xff\"}").unwrap_err();
    assert_eq!(refused.0[0].to_string(), "request: is not UTF-8 from byte 12 on");
}

#[test]
fn k12_a_repeated_key_is_refused_wherever_it_stands() {
    let json = r#"{"task_id":"a","prediction_context":{"task":{"x":1,"x":2},"outcomes":[{"id":"a","id":"b"}]},"task_id":"b","config":{"rounds":0}}"#;
    let found = violations(json);
    assert_eq!(
        found[..3],
        [
            "prediction_context.task.x: is given more than once",
            "prediction_context.outcomes[0].id: is given more than once",
            "task_id: is given more than once",
        ]
    );
    assert!(found[3].starts_with("config.rounds: "), "other violations are reported with them: {found:?}");
}

#[test]
fn k12_a_flood_of_violations_is_counted_not_listed() {
    let unknown = (0..150).map(|n| (format!("f{n}"), json!(1))).collect::<serde_json::Map<_, _>>();
    let found = violations(&with("config", Value::Object(unknown)).to_string());
    assert_eq!((found.len(), found[100].as_str()), (101, "request: breaks 50 more rules"));
    let repeated: String = (0..150).map(|n| format!(r#""f{n}":1,"f{n}":1,"#)).collect();
    let found = violations(&format!(r#"{{{repeated}"config":{{}}}}"#));
    let more = "request: breaks 202 more rules";
    assert_eq!(
        (found.len(), found[100].as_str()),
        (101, more),
        "repeated, unknown and missing ones are one list"
    );
}

#[test]
fn k12_however_long_its_words_are_a_violation_says_no_more_of_them_than_their_beginning() {
    let long = "\u{7f}".repeat(10_000);
    for (json, at_most) in [
        (json!({ "format": long }), 2_020),
        (json!({ "format": [long] }), 2_020),
        (with("options", json!({ long.as_str(): 1 })), 540),
    ] {
        let found = violations(&json.to_string());
        let longest = found.iter().map(String::len).max().unwrap();
        assert!((at_most - 40..=at_most).contains(&longest), "{longest} bytes of {found:?}");
    }
}

#[test]
fn k12_however_long_names_are_the_paths_of_what_stands_below_them_are_short() {
    let long = "é".repeat(100_000);
    for json in [
        format!(r#"{{"{long}":{{"x":1,"x":1}}}}"#),
        format!(r#"{{"{long}":[{{"{long}":{{"x":1,"x":1}}}}]}}"#),
        with("options.personas", json!({long.as_str(): {"x": 1}})).to_string(),
        with("options", json!({long.as_str(): 1})).to_string(),
    ] {
        let Violations(found) = accept(&json).unwrap_err();
        let longest = found.iter().map(|violation| violation.field.len()).max().unwrap();
        assert!((490..=510).contains(&longest), "{longest} bytes");
    }
}

#[test]
fn the_examples_are_accepted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let json = std::fs::read_to_string(&path).unwrap();
        // Those of other formats name their format, and are only accepted.
        let AcceptedRequest::Prediction(accepted) = accept(&json).unwrap() else { continue };
        let task: Value = serde_json::from_str(&accepted.brief.task).unwrap();
        assert_eq!(task["question"], accepted.brief.question.as_str());
        read += 1;
    }
    assert!(read >= 4, "{read} examples");
}

#[test]
fn models_are_named_one_by_one_or_with_those_that_stand_in() {
    let models = json!({
        "default": "openai:a",
        "score": ["gemini:b", "openai:a"],
        "roles": {"judge": "anthropic:c"}
    });
    let (config, ..) = accepted(&with("options", json!({"models": models})));
    assert_eq!(config.models.of("argue", Some(&"judge".into())), ["anthropic:c"]);
    assert_eq!(config.models.of("score", None), ["gemini:b", "openai:a"]);
    assert_eq!(config.models.of("synthesise", None), ["openai:a"]);
    check_refused(
        "options",
        json!({"models": {"default": 7, "talk": "x", "roles": {"jester": "openai:a"}}}),
        &[
            "options.models.talk: is not a field of this request",
            "options.models.default: must be a text",
            "options.models.roles.jester: \"jester\" is not one of the roles",
        ],
    );
}

#[test]
fn p21_how_a_debate_is_run_does_not_change_its_seed() {
    let seed = |options| accepted(&with("options", options)).0.seed;
    let plain = seed(json!({}));
    assert_eq!(plain, seed(json!({"schedule": "strict"})));
    check_refused(
        "options.schedule",
        json!("loose"),
        &["options.schedule: must be one of pipelined, strict"],
    );
    assert_eq!(plain, seed(json!({"judge_passes": 2, "models": {"default": "openai:a"}})));
    assert_ne!(plain, seed(json!({"pooling": "log_odds"})));
}
