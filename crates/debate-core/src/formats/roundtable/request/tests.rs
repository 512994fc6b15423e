use serde_json::json;

use super::*;
use crate::formats::roundtable::agent::Stance;
use crate::formats::roundtable::mode::{Parallelization, Pattern};

fn config(request: &Value) -> Config {
    super::accept(request, Complaints::default()).unwrap().0
}

fn request(mode: &str) -> Value {
    json!({ "format": "roundtable", "topic": "Should we move?", "mode": mode, "agents": ["ada", "bo", "cy", "di", "ed"] })
}

fn refused(request: &Value) -> Vec<String> {
    super::accept(request, Complaints::default()).unwrap_err().0.iter().map(ToString::to_string).collect()
}

fn parts(config: &Config) -> Vec<&'static str> {
    config.agents.iter().map(|agent| agent.part.map_or("-", Part::as_str)).collect()
}

#[test]
fn k12_a_roundtable_needs_a_topic_and_two_agents() {
    let found = refused(&json!({
        "format": "roundtable",
        "topic": " ",
        "mode": "dialectic",
        "agents": ["ada"],
        "rounds": 0,
        "flags": { "groupthink_detection": { "threshold": 1.01 } },
        "sequential": { "max_tokens": 1 },
        "options": { "similarity": "vibes", "models": { "roles": { "eve": "a:1" } } },
        "colour": "blue",
    }));
    assert_eq!(
        found,
        [
            "colour: is not a field of this request",
            "topic: must not be empty",
            "mode: must be one of collaborative, adversarial, socratic, expert-panel, devils-advocate, delphi, \
             red-team-blue-team",
            "agents: must name at least 2 agents",
            "rounds: must be a whole number from 1 to 10",
            "flags.groupthink_detection.threshold: must be from 0 to 1",
            "sequential.max_tokens: must be a whole number from 256 to 8192",
            "options.similarity: must be one of word-overlap, trigram-overlap",
            "options.models.roles.eve: \"eve\" is not one of the agents",
        ]
    );
    let mut twice = request("delphi");
    twice["agents"] = json!(["ada", "Ada", { "name": "b o", "colour": 1 }, 3, "ADA"]);
    assert_eq!(
        refused(&twice),
        [
            "agents[1]: \"Ada\" is given more than once",
            "agents[2].colour: is not a field of this request",
            "agents[2].name: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
            "agents[3]: must be an object",
            "agents[4]: \"ADA\" is given more than once",
        ]
    );
    let mut light = request("adversarial");
    light["sequential"] = json!({ "use_light_model": true });
    light["options"] = json!({ "models": { "light": 7 } });
    assert_eq!(refused(&light), ["options.models.light: must be a text"], "with its name mended it is named");
}

#[test]
fn t1_parts_follow_from_the_mode() {
    let devils = config(&request("devils-advocate"));
    assert_eq!(parts(&devils), ["primary", "opposition", "evaluator", "evaluator", "evaluator"]);
    let stances: Vec<_> = devils.agents.iter().map(|agent| agent.part.and_then(Part::stance)).collect();
    assert_eq!(stances[..3], [Some(Stance::Yes), Some(Stance::No), Some(Stance::Neutral)]);
    let teams = config(&request("red-team-blue-team"));
    assert_eq!(parts(&teams), ["red_team", "blue_team", "red_team", "blue_team", "red_team"]);
    for mode in ["collaborative", "adversarial", "socratic", "delphi"] {
        assert_eq!(parts(&config(&request(mode))), ["-"; 5], "{mode}");
    }
}

#[test]
fn t7_perspectives_are_assigned_in_order_by_lot_or_by_name() {
    let mut panel = request("expert-panel");
    assert_eq!(parts(&config(&panel)), ["technical", "economic", "ethical", "social", "technical"]);
    panel["perspectiveConfig"] = json!({ "perspectives": ["ethical", "social"] });
    assert_eq!(parts(&config(&panel)), ["ethical", "social", "ethical", "social", "ethical"]);
    panel["perspectiveConfig"] = json!({ "assignmentStrategy": "random" });
    panel["options"] = json!({ "seed": 1 });
    // The order that the seed 1 gives for five, which never changes: 1, 0, 3, 4, 2.
    assert_eq!(parts(&config(&panel)), ["economic", "technical", "social", "technical", "ethical"]);
    panel["perspectiveConfig"] = json!({ "assignmentStrategy": "explicit" });
    panel["agents"] =
        json!([{ "name": "ada", "perspective": "social" }, { "name": "bo", "perspective": "social" }]);
    assert_eq!(parts(&config(&panel)), ["social", "social"]);
}

#[test]
fn t7_unknown_or_unneeded_perspectives_are_refused() {
    let mut panel = request("expert-panel");
    panel["perspective_config"] = json!({ "assignment_strategy": "lottery" });
    let [found] = &refused(&panel)[..] else { panic!("{:?}", refused(&panel)) };
    assert!(found.starts_with("perspective_config.assignment_strategy: must be one of "), "{found}");
    let mut panel = request("expert-panel");
    panel["agents"] = json!([{ "name": "ada", "perspective": "legal" }, "bo"]);
    panel["perspective_config"] = json!({ "assignment_strategy": "explicit", "perspectives": ["legal"] });
    assert_eq!(
        refused(&panel),
        [
            "agents[0].perspective: must be one of technical, economic, ethical, social",
            "perspective_config.perspectives[0]: must be one of technical, economic, ethical, social",
            "agents[1]: needs a perspective, since perspectives are assigned explicitly",
        ]
    );
    let mut delphi = request("delphi");
    delphi["agents"] = json!([{ "name": "ada", "perspective": "social" }, "bo"]);
    delphi["perspective_config"] = json!({});
    assert_eq!(
        refused(&delphi),
        [
            "perspective_config: is for the mode expert-panel alone",
            "agents[0]: has a perspective, which is for the mode expert-panel alone",
        ]
    );
}

#[test]
fn t7_of_an_agent_whose_name_is_refused_the_perspective_is_looked_at_too() {
    let seated = |mode: &str, assignment: Option<&str>, more: Value| {
        let mut asked = request(mode);
        asked["agents"] = json!(["ada", "bo"]);
        asked["agents"].as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
        if let Some(assignment) = assignment {
            asked["perspective_config"] = json!({ "assignment_strategy": assignment });
        }
        refused(&asked)
    };
    let [social, legal] = ["social", "legal"].map(
        |perspective| json!([{ "name": "c d", "perspective": perspective }, { "name": "Ada", "perspective": perspective }]),
    );
    let name = "agents[2].name: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops";
    let twice = "agents[3]: \"Ada\" is given more than once";
    let both = |reason: &str| [2, 3].map(|place| format!("agents[{place}]: {reason}"));
    let [third, fourth] = both("has a perspective, which is for the mode expert-panel alone");
    assert_eq!(seated("delphi", None, social.clone()), [name, twice, &third, &fourth]);
    let unknown = [2, 3].map(|place| {
        format!("agents[{place}].perspective: must be one of technical, economic, ethical, social")
    });
    assert_eq!(
        seated("delphi", None, legal.clone()),
        [&unknown[0], name, &unknown[1], twice, &third, &fourth],
        "whatever it is called"
    );
    let [third, fourth] = both("has a perspective, which only assignment_strategy explicit gives");
    for assignment in [None, Some("round-robin"), Some("random")] {
        assert_eq!(seated("expert-panel", assignment, social.clone()), [name, twice, &third, &fourth]);
    }
    let needs = |place: usize| {
        format!("agents[{place}]: needs a perspective, since perspectives are assigned explicitly")
    };
    let explicit = |more: Value| seated("expert-panel", Some("explicit"), more);
    assert_eq!(explicit(social), [name, twice, &needs(0), &needs(1)]);
    assert_eq!(
        explicit(json!([{ "name": "c d" }, "Ada", "e f", {}])),
        [
            name,
            twice,
            "agents[4]: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
            "agents[5].name: is required",
            &needs(0),
            &needs(1),
            &needs(2),
            &needs(3),
            &needs(4),
            &needs(5),
        ]
    );
}

#[test]
fn t7_where_mode_or_assignment_is_refused_no_perspective_is_that_may_be_right() {
    let modes = "mode: must be one of collaborative, adversarial, socratic, expert-panel, devils-advocate, delphi, \
                 red-team-blue-team";
    let ways = "perspective_config.assignment_strategy: must be one of round-robin, random, explicit";
    let mut asked = request("expert_panel");
    asked["agents"] = json!([{ "name": "ada", "perspective": "social" }, "bo"]);
    assert_eq!(
        refused(&asked),
        [modes, "agents[0]: has a perspective, which only assignment_strategy explicit gives"]
    );
    asked["perspective_config"] =
        json!({ "assignment_strategy": "explicit", "perspectives": ["social", "social"] });
    let twice = "perspective_config.perspectives[1]: \"social\" is given more than once";
    assert_eq!(refused(&asked), [modes, twice]);
    asked["mode"] = json!("expert-panel");
    asked["perspective_config"] = json!({ "assignment_strategy": "by-name" });
    assert_eq!(refused(&asked), [ways]);
    asked["perspective_config"] = json!("explicit");
    assert_eq!(refused(&asked), ["perspective_config: must be an object"]);
}

#[test]
fn t4_levels_are_the_modes_own_until_a_flag_says_otherwise() {
    let level = |mode: &str, flags: Value| {
        let mut request = request(mode);
        request["flags"] = json!({ "sequential_parallelization": flags });
        config(&request).parallelization()
    };
    let all = ["collaborative", "expert-panel", "delphi", "red-team-blue-team"];
    for mode in all {
        assert_eq!(level(mode, json!({})), Parallelization::Full, "{mode}");
        assert_eq!(level(mode, json!({ "enabled": true, "level": "none" })), Parallelization::Full, "{mode}");
    }
    for (mode, own) in [
        ("adversarial", Parallelization::None),
        ("socratic", Parallelization::None),
        ("devils-advocate", Parallelization::LastOnly),
    ] {
        assert_eq!(level(mode, json!({ "level": "full" })), Parallelization::None, "{mode}: not enabled");
        assert_eq!(level(mode, json!({ "enabled": true })), own, "{mode}");
        assert_eq!(level(mode, json!({ "enabled": true, "level": "full" })), Parallelization::Full, "{mode}");
        let other = json!({ "enabled": true, "level": "full", "modes": ["delphi"] });
        assert_eq!(level(mode, other), Parallelization::None, "{mode}: not meant");
    }
    let named = json!({ "enabled": true, "level": "last-only", "modes": ["delphi"] });
    assert_eq!(level("delphi", named), Parallelization::LastOnly);
}

#[test]
fn t8_sequential_modes_are_shorter_and_may_ask_a_lighter_model() {
    let mut adversarial = request("adversarial");
    let calls = |config: &Config| {
        config.models(&crate::formats::roundtable::call::key(Kind::Respond, 1, &"ada".into())).to_vec()
    };
    let plain = config(&adversarial);
    assert_eq!((plain.pattern(), plain.output_tokens()), (Pattern::Sequential, 2_048));
    assert_eq!(config(&request("delphi")).output_tokens(), 4_096);
    adversarial["sequential"] = json!({ "useLightModel": true, "maxTokens": 1_000 });
    assert_eq!(
        refused(&adversarial),
        ["options.models: must name a model under light, since sequential.use_light_model asks for it"]
    );
    adversarial["options"] =
        json!({ "models": { "default": "a:big", "light": "a:small", "roles": { "bo": "b:own" } } });
    let light = config(&adversarial);
    assert_eq!((light.output_tokens(), calls(&light)), (1_000, vec!["a:small".to_owned()]));
    assert_eq!(light.models(&"respond/1/bo".parse().unwrap()), ["b:own"]);
}

#[test]
fn t2_numbers_are_drawn_from_what_is_asked() {
    let numbers =
        |request: &Value| config(request).agents.iter().map(|agent| agent.number).collect::<Vec<_>>();
    let mut delphi = request("delphi");
    let drawn = numbers(&delphi);
    let mut sorted = drawn.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [1, 2, 3, 4, 5]);
    delphi["rounds"] = json!(7);
    delphi["flags"] = json!({ "exit_criteria": { "enabled": true } });
    assert_eq!(numbers(&delphi), drawn, "how a debate is run does not change what is drawn for it");
    delphi["options"] = json!({ "seed": 1 });
    assert_eq!(numbers(&delphi), [2, 1, 4, 5, 3]);
}

#[test]
fn t9_calls_that_contradict_each_other_are_refused_at_their_path() {
    let mut asked = request("delphi");
    asked["flags"] = json!({ "toolEnforcement": { "minCalls": 5, "maxCalls": 4 } });
    assert_eq!(
        refused(&asked),
        ["flags.tool_enforcement.min_calls: is 5 (session), above max_calls, which is 4 (session) in delphi"]
    );
}

#[test]
fn t12_the_schema_has_every_field_of_a_request_but_its_format() {
    let schema = schema();
    for name in KNOWN.into_iter().filter(|name| *name != "format") {
        let snake = name.chars().fold(String::new(), |name, c| match c {
            'A'..='Z' => format!("{name}_{}", c.to_ascii_lowercase()),
            _ => format!("{name}{c}"),
        });
        assert!(schema[&snake]["type"].is_string(), "{name}: {schema}");
    }
    assert_eq!(schema["rounds"]["maximum"], json!(10));
    let options = &schema["options"]["properties"];
    let effort = &options["effort"]["anyOf"];
    assert_eq!(effort[0]["enum"], json!(["none", "low", "medium", "high"]));
    for kind in [Kind::Respond, Kind::Repoll].map(Kind::as_str) {
        assert_eq!(effort[1]["properties"][kind], effort[0]);
        assert_eq!(options["output_tokens"]["properties"][kind]["maximum"], json!(32_000));
    }
}
