use serde_json::json;

use super::*;

fn environment(variables: &[(&str, &str)]) -> Result<Flags, Violations> {
    Flags::of_environment(variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
}

fn session(flags: &Value) -> Result<Flags, Violations> {
    let complaints = Complaints::default();
    let document = json!({ "flags": flags });
    let field = Fields::of_request(&document, &["flags"], &complaints).field("flags");
    let read = Flags::of_session(&field);
    complaints.finish(read)
}

fn refused(result: Result<Flags, Violations>) -> Vec<String> {
    result.unwrap_err().0.iter().map(ToString::to_string).collect()
}

#[test]
fn t9_defaults_are_the_seeds() {
    let flags = Flags::default();
    assert!(!flags.parallel_enabled.value && flags.parallel_level.value == Parallelization::None);
    assert!(flags.tools_enabled.value && flags.tools_level.value == Enforcement::Normal);
    assert!(flags.groupthink_enabled.value && flags.groupthink_threshold.value == Share(0.9));
    assert!(!flags.exit_enabled.value && flags.exit_consensus.value == Share(0.9));
    assert_eq!(flags.exit_convergence_rounds.value, RoundCount(2));
    assert!(flags.entries().iter().all(|entry| entry.source == Source::Default));
    assert_eq!(flags.entries().len(), VARIABLES.len());
}

#[test]
fn t9_the_session_is_over_the_environment_and_that_over_the_default() {
    let environment = environment(&[
        ("ROUNDTABLE_EXIT_ENABLED", "true"),
        ("ROUNDTABLE_EXIT_CONSENSUS", "0.8"),
        ("ROUNDTABLE_PARALLEL_MODES", "socratic, adversarial"),
        ("HOME", "/root"),
    ]);
    let said = session(&json!({
        "exitCriteria": { "consensusThreshold": 0.95 },
        "tool_enforcement": { "level": "strict", "minCalls": 2 },
    }));
    let flags = said.unwrap().under(&environment.unwrap());
    let given: Vec<String> = flags
        .entries()
        .into_iter()
        .filter(|entry| entry.source != Source::Default)
        .map(|entry| format!("{}={} {}", entry.flag, entry.value, entry.source.as_str()))
        .collect();
    assert_eq!(
        given,
        [
            r#"sequential_parallelization.modes=["socratic","adversarial"] environment"#,
            r#"tool_enforcement.level="strict" session"#,
            "tool_enforcement.min_calls=2 session",
            "exit_criteria.enabled=true environment",
            "exit_criteria.consensus_threshold=0.95 session",
        ]
    );
}

#[test]
fn t9_a_bad_value_is_an_error_with_its_name_and_source() {
    let bad = environment(&[
        ("ROUNDTABLE_EXIT_ENABLED", "yes"),
        ("ROUNDTABLE_GROUPTHINK_THRESHOLD", "1.5"),
        ("ROUNDTABLE_PARALLEL_LEVEL", "half"),
        ("ROUNDTABLE_PARALLEL_MODES", "socratic,dialectic"),
        ("ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS", "two"),
        ("ROUNDTABLE_GROUPTHINK_TRESHOLD", "0.8"),
    ]);
    assert_eq!(
        refused(bad),
        [
            "ROUNDTABLE_GROUPTHINK_TRESHOLD: is in the environment and no flag; `debate flags` lists them",
            "ROUNDTABLE_PARALLEL_LEVEL: must be one of none, last-only, full (environment)",
            "ROUNDTABLE_PARALLEL_MODES: must be modes with commas between: collaborative, adversarial, socratic, \
             expert-panel, devils-advocate, delphi, red-team-blue-team (environment)",
            "ROUNDTABLE_GROUPTHINK_THRESHOLD: must be from 0 to 1 (environment)",
            "ROUNDTABLE_EXIT_ENABLED: must be true or false (environment)",
            "ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS: must be a whole number (environment)",
        ]
    );
    let bad = session(&json!({
        "groupthink_detection": { "threshold": -0.1, "action": "panic", "closeness": "near" },
        "tool_enforcement": { "level": "some" },
        "sequential_parallelization": { "modes": ["dialectic"] },
        "exit_criteria": { "convergence_rounds": 0, "convergenceRounds": 1, "strict": true },
        "speed": {},
    }));
    assert_eq!(
        refused(bad),
        [
            "flags.speed: is not a field of this request",
            "flags.exit_criteria.strict: is not a field of this request",
            "flags.sequential_parallelization.modes[0]: must be one of collaborative, adversarial, socratic, \
             expert-panel, devils-advocate, delphi, red-team-blue-team",
            "flags.tool_enforcement.level: must be one of strict, normal, relaxed",
            "flags.groupthink_detection.threshold: must be from 0 to 1",
            "flags.groupthink_detection.action: must be one of shadow, warn, repoll",
            "flags.groupthink_detection.closeness: must be one of agreement, overlap",
            "flags.exit_criteria.convergenceRounds: is the same as convergence_rounds; give one of them",
            "flags.exit_criteria.convergence_rounds: must be a whole number from 1 to 20",
        ]
    );
}

#[test]
fn t9_sources_that_contradict_each_other_are_named() {
    let environment = environment(&[("ROUNDTABLE_TOOL_MAX_CALLS", "1")]).unwrap();
    let flags = session(&json!({ "tool_enforcement": { "min_calls": 3 } })).unwrap();
    assert_eq!(flags.check_session(Mode::Delphi), Ok(()), "the environment may allow more");
    let refusal = |environment: &Flags, mode| flags.admitted(environment, mode).unwrap_err().to_string();
    assert_eq!(
        refusal(&environment, Mode::Delphi),
        "flags.tool_enforcement.min_calls: is 3 (session), above max_calls, which is 1 (environment) in delphi"
    );
    assert_eq!(
        refusal(&Flags::default(), Mode::Adversarial),
        "flags.tool_enforcement.min_calls: is 3 (session), above max_calls, which is 2 (default) in adversarial"
    );
    assert!(flags.admitted(&Flags::default(), Mode::Delphi).is_ok());
}

/// Returns the level, and the fewest and the most tool calls, as a mode's flags report them.
fn reported(flags: &Flags, mode: Mode) -> String {
    let entries = flags.admitted(&Flags::default(), mode).unwrap().entries();
    let value = |flag: &str| entries.iter().find(|entry| entry.flag == flag).unwrap().value.to_string();
    let paths =
        ["sequential_parallelization.level", "tool_enforcement.min_calls", "tool_enforcement.max_calls"];
    paths.map(value).join(" ").replace('"', "")
}

#[test]
fn t9_flags_are_reported_as_in_force_in_each_mode() {
    let on = json!({ "sequential_parallelization": { "enabled": true } });
    let none = json!({ "tool_enforcement": { "max_calls": 0 } });
    let [plain, on, none] = [&json!({}), &on, &none].map(|flags| session(flags).unwrap());
    for (mode, by_default, when_enabled) in [
        (Mode::Collaborative, "full 1 6", "full 1 6"),
        (Mode::Adversarial, "none 1 2", "none 1 2"),
        (Mode::Socratic, "none 1 2", "none 1 2"),
        (Mode::ExpertPanel, "full 1 6", "full 1 6"),
        (Mode::DevilsAdvocate, "none 1 2", "last-only 1 2"),
        (Mode::Delphi, "full 1 6", "full 1 6"),
        (Mode::RedTeamBlueTeam, "full 1 6", "full 1 6"),
    ] {
        assert_eq!(reported(&plain, mode), by_default, "{mode:?}");
        assert_eq!(reported(&on, mode), when_enabled, "{mode:?}");
        assert!(reported(&none, mode).ends_with(" 0 0"), "{mode:?}");
        // What was admitted once can be admitted again.
        let once = plain.admitted(&Flags::default(), mode).unwrap();
        assert_eq!(once.admitted(&Flags::default(), mode), Ok(once.clone()), "{mode:?}");
        assert!(once.entries().iter().all(|entry| entry.source == Source::Default), "{mode:?}");
    }
}

#[test]
fn t12_the_schema_knows_every_flag_with_its_bounds() {
    let schema = Flags::schema();
    for (group, name) in GROUPED {
        let flag = &schema["properties"][group]["properties"][name];
        assert!(flag["type"].is_string() && flag["description"].is_string(), "{group}.{name}: {flag}");
    }
    let of = |group: &str, name: &str| schema["properties"][group]["properties"][name].clone();
    let calls = of("tool_enforcement", "max_calls");
    assert_eq!((&calls["minimum"], &calls["maximum"]), (&json!(0), &json!(20)));
    assert_eq!(of("groupthink_detection", "action")["enum"], json!(["shadow", "warn", "repoll"]));
}
