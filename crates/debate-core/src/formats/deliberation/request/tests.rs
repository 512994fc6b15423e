//! Requests as clients write them, good and bad.

use serde_json::{Value, json};

use super::super::Deliberation;
use super::super::config::{Brief, Concurrency, Config, Mode, Phase};
use crate::call::Tokens;
use crate::format::Format as _;
use crate::formats::accept::{AcceptedRequest, accept};
use crate::limits::Limits;

fn request() -> Value {
    json!({"format": "deliberation", "topic": "Move?", "participants": ["ada", {"name": "bo"}]})
}

fn with(name: &str, value: Value) -> Value {
    let mut request = request();
    request[name] = value;
    request
}

fn accepted(request: &Value) -> (Config, Brief, Limits) {
    let read = accept(&request.to_string()).unwrap_or_else(|refused| panic!("{refused}"));
    let AcceptedRequest::Deliberation(accepted) = read else { panic!("it became a {}", read.format()) };
    (accepted.config, accepted.brief, accepted.limits)
}

fn check_refused(request: &Value, expected: &[&str]) {
    let found: Vec<String> =
        accept(&request.to_string()).unwrap_err().0.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

fn names(config: &Config) -> Vec<&str> {
    config.participants.iter().map(|speaker| speaker.name.as_str()).collect()
}

#[test]
fn d1_defaults_are_those_of_the_legacy_rules() {
    let (config, brief, limits) = accepted(&request());
    assert_eq!((config.mode, config.max_rounds, limits.deadline_ms), (Mode::Strong, 10, 300_000));
    assert_eq!(
        (config.tool_phases.as_slice(), config.native_web_search),
        ([Phase::Rebuttal].as_slice(), false)
    );
    assert_eq!(config.concurrency, Concurrency::Sequential);
    assert_eq!(
        (names(&config), &config.orchestrator, brief.topic),
        (vec!["ada", "bo"], &None, "Move?".to_owned())
    );
}

#[test]
fn d1_legacy_names_and_those_in_snake_case_say_the_same() {
    let rules = json!({"mode": "weak", "timeout": 5_000, "concurrency": "parallel", "orchestrator": "mo"});
    let both = |names: [&str; 3]| {
        let mut request = request();
        for (name, value) in rules.as_object().unwrap() {
            request[name] = value.clone();
        }
        for (name, value) in names.into_iter().zip([json!(3), json!(["revised", "initial"]), json!(true)]) {
            request[name] = value;
        }
        accepted(&request)
    };
    let legacy = both(["maxRounds", "toolPhases", "useNativeWebSearch"]);
    assert_eq!(legacy, both(["max_rounds", "tool_phases", "native_web_search"]));
    let (config, _, limits) = legacy;
    assert_eq!((config.mode, config.max_rounds), (Mode::Weak, 3));
    assert_eq!(config.tool_phases, [Phase::Revised, Phase::Initial]);
    assert!(config.searches_web(Phase::Revised) && !config.searches_web(Phase::Rebuttal));
    assert_eq!((config.concurrency, limits.deadline_ms), (Concurrency::Parallel, 5_000));
    assert_eq!(config.orchestrator.unwrap().name.as_str(), "mo");
    let mut twice = with("maxRounds", json!(3));
    twice["max_rounds"] = json!(3);
    check_refused(&twice, &["maxRounds: is the same as max_rounds; give one of them"]);
}

#[test]
fn d2_the_example_is_accepted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/deliberation.json");
    let (config, _, _) = accepted(&serde_json::from_str(&std::fs::read_to_string(folder).unwrap()).unwrap());
    assert_eq!(names(&config), ["architect", "security", "operations"]);
    assert_eq!(config.phases(), Phase::ALL);
    assert_eq!(config.calls_expected(), 10);
}

#[test]
fn k8_the_consensus_is_kept_back_for_where_there_is_one() {
    let (_, _, limits) = accepted(&with("orchestrator", json!("ada")));
    assert_eq!(limits.closing_tokens, Tokens { input: 60_000, output: 4_000 });
    assert_eq!((limits.closing_ms, limits.calls_max), (20_000, 4 * 7));
    let (_, _, limits) = accepted(&request());
    assert_eq!((limits.closing_tokens, limits.closing_ms), (Tokens::default(), 0));
    let asked = json!({"limits": {"deadline_ms": 9_000, "calls_max": 8, "attempts_max": 1}});
    let (_, _, limits) = accepted(&with("options", asked));
    assert_eq!((limits.deadline_ms, limits.calls_max, limits.attempts_max), (9_000, 8, 1));
}

#[test]
fn d8_skills_are_ones_own_else_those_by_name_else_everybodys() {
    let mut request = with("orchestrator", json!({"name": "mo", "skills": []}));
    request["participants"] = json!([{"name": "ada", "skills": ["own"]}, "bo", "cy"]);
    request["skills"] = json!({"global": ["all", "more"], "participants": {"ada": ["x"], "bo": ["by_name"]}});
    let (config, brief, _) = accepted(&request);
    let skills: Vec<_> = config.participants.iter().map(|speaker| speaker.skills.join(" ")).collect();
    assert_eq!(skills, ["own", "by_name", "all more"]);
    assert_eq!(config.orchestrator.as_ref().unwrap().skills, ["all", "more"]);
    assert_eq!(config.skills_wanted(), ["own", "by_name", "all", "more"]);
    assert_eq!(config.skills_missing, ["own", "by_name", "all", "more"], "nothing is loaded yet");
    assert_eq!(brief.skills, []);
    let (config, _, _) = accepted(&with("skills", json!(["all"])));
    assert_eq!(config.participants[1].skills, ["all"]);
}

#[test]
fn k12_all_violations_are_reported_at_once() {
    let request = json!({
        "format": "deliberation",
        "topic": " ",
        "mode": "mild",
        "maxRounds": 0,
        "timeout": 99,
        "toolPhases": ["rebuttal", "rebuttal", "lunch"],
        "useNativeWebSearch": "yes",
        "concurrency": "lots",
        "participants": [{"name": "ada", "model": "x"}, "ADA", {}, "[bo]"],
        "orchestrator": {"nom": "mo"},
        "skills": {"global": ["a", "a"], "participants": {"eve": ["b"]}},
        "options": {"limits": {"calls_max": 0}, "seed": 1},
        "tools": [],
    });
    check_refused(
        &request,
        &[
            "tools: is not a field of this request",
            "topic: must not be empty",
            "mode: must be one of strong, weak",
            "skills.global[1]: \"a\" is given more than once",
            "participants[0].model: is not a field of this request",
            "participants[1]: \"ADA\" is given more than once",
            "participants[2].name: is required",
            "participants[3]: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
            "orchestrator.nom: is not a field of this request",
            "orchestrator.name: is required",
            "skills.participants.eve: is neither a participant nor the orchestrator",
            "maxRounds: must be a whole number from 1 to 100",
            "toolPhases[1]: \"rebuttal\" is given more than once",
            "toolPhases[2]: must be one of initial, rebuttal, revised, consensus",
            "useNativeWebSearch: must be true or false",
            "concurrency: must be one of sequential, parallel",
            "options.seed: is not a field of this request",
            "options.limits.calls_max: must be a whole number from 1 to 10000",
            "timeout: must be a whole number from 100 to 3600000",
        ],
    );
}

#[test]
fn models_are_named_by_phase_and_by_speaker_with_those_that_stand_in() {
    let models = json!({
        "default": "openai:a",
        "consensus": ["anthropic:c", "openai:a"],
        "roles": {"bo": "gemini:b"},
    });
    let mut request = with("options", json!({"models": models}));
    request["orchestrator"] = json!("mo");
    let (config, ..) = accepted(&request);
    let of = |call: &str| Deliberation::models(&config, &call.parse().unwrap()).join(" ");
    assert_eq!([of("initial/1/ada"), of("initial/1/bo")], ["openai:a", "gemini:b"]);
    assert_eq!(of("consensus/4/mo"), "anthropic:c openai:a");
    let named: Vec<_> = Deliberation::models_named(&config).into_iter().map(|(path, _)| path).collect();
    let default = "options.models.default";
    let consensus = "options.models.consensus";
    assert_eq!(named, [default, consensus, consensus, "options.models.roles.bo"]);
    let calls: Vec<String> = Deliberation::calls(&config).iter().map(ToString::to_string).collect();
    assert_eq!(calls.len() as u64, config.calls_expected());
    assert_eq!((calls[0].as_str(), calls[6].as_str()), ("initial/1/ada", "consensus/4/mo"));
    check_refused(
        &with("options", json!({"models": {"argue": "x", "roles": {"eve": "openai:a"}}})),
        &[
            "options.models.argue: is not a field of this request",
            "options.models.roles.eve: \"eve\" is not one of the participants, nor the orchestrator",
        ],
    );
}

#[test]
fn d2_a_debate_has_at_least_two_participants() {
    check_refused(
        &with("participants", json!(["ada"])),
        &["participants: must name at least 2 participants"],
    );
    check_refused(&with("participants", json!([])), &["participants: must name at least 2 participants"]);
    check_refused(&with("participants", Value::Null), &["participants: is required"]);
    check_refused(&json!({"format": "deliberation"}), &["topic: is required", "participants: is required"]);
}

#[test]
fn d1_a_deadline_is_given_once() {
    let mut request = with("timeout", json!(1_000));
    request["options"] = json!({"limits": {"deadline_ms": 1_000}});
    check_refused(&request, &["timeout: is the same as options.limits.deadline_ms; give one of them"]);
    request["timeout"] = json!("soon");
    request["options"] = json!({"limits": {"deadline_ms": 1}});
    check_refused(
        &request,
        &[
            "options.limits.deadline_ms: must be a whole number from 100 to 3600000",
            "timeout: must be a whole number",
            "timeout: is the same as options.limits.deadline_ms; give one of them",
        ],
    );
}

#[test]
fn k12_limits_reserve_tokens_for_the_consensus() {
    let mut request = with("orchestrator", json!({"nom": "mo"}));
    request["options"] = json!({"limits": {"input_tokens_max": 59_999, "output_tokens_max": 3_999}});
    let too_little = [
        "options.limits.input_tokens_max: must be a whole number from 60000 to 100000000",
        "options.limits.output_tokens_max: must be a whole number from 4000 to 100000000",
    ];
    let unnamed = ["orchestrator.nom: is not a field of this request", "orchestrator.name: is required"];
    check_refused(&request, &[unnamed, too_little].concat());
    request["orchestrator"] = json!("m o");
    let refused = "orchestrator: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops";
    check_refused(&request, &[refused, too_little[0], too_little[1]]);
    request["maxRounds"] = json!(3);
    check_refused(&request, &[refused]);
}
