use super::*;
use crate::formats::accept::{AcceptedRequest, accept as accept_any};
use crate::formats::review::config::{Dispute, Skip};
use serde_json::json;

fn accepted(json: &str) -> (Config, Brief, Limits) {
    let AcceptedRequest::Review(accepted) = accept_any(json).unwrap() else { panic!("{json}") };
    (accepted.config, accepted.brief, accepted.limits)
}

fn violations(request: &Value) -> Vec<String> {
    let Violations(found) = accept_any(&request.to_string()).unwrap_err();
    found.into_iter().map(|violation| violation.to_string()).collect()
}

#[test]
fn v1_the_defaults_are_the_predecessors() {
    let (config, _, limits) = accepted(r#"{"format": "review", "critiques": []}"#);
    assert!(!config.enabled);
    assert_eq!((config.max_pairs, config.min_conflicts_to_trigger, config.judge_passes), (2, 1, 1));
    assert_eq!(config.skip(), Some(Skip::Disabled));
    assert_eq!((config.calls_expected(), limits.deadline_ms), (0, 110_000));
}

#[test]
fn v1_the_default_models_are_asked_where_they_are_offered() {
    let request = r#"{"format": "review", "critiques": [], "debate": {"judge_model": "a:1"}}"#;
    let (mut config, ..) = accepted(request);
    config.prefer_default_models(|_| false);
    assert_eq!(models_named(&config.models), [("debate.judge_model".to_owned(), "a:1".to_owned())]);
    config.prefer_default_models(|_| true);
    let paths: Vec<String> =
        models_named(&config.models).iter().map(|(path, model)| format!("{path}={model}")).collect();
    assert_eq!(paths, ["debate.model=anthropic:claude-haiku-4-5", "debate.judge_model=a:1"]);
}

#[test]
fn v1_models_are_named_as_the_predecessor_names_them() {
    let settings = |model: &str, judge: &str| {
        let debate = json!({"enabled": false, "max_pairs": 2, "model": model, "judge_model": judge, "min_conflicts_to_trigger": 1});
        accepted(&json!({"format": "review", "critiques": [], "debate": debate}).to_string()).0
    };
    let (left_out, ..) = accepted(r#"{"format": "review", "critiques": []}"#);
    assert_eq!(settings("claude-haiku-4-5", "claude-sonnet-4-6"), left_out, "a default written out");
    let named: Vec<String> =
        models_named(&settings("claude-opus-4", "a:1").models).into_iter().map(|(_, model)| model).collect();
    assert_eq!(named, ["anthropic:claude-opus-4", "a:1"]);
}

#[test]
fn v7_a_name_that_no_proposal_could_have_is_refused_at_the_door() {
    let names = ["..", ".", "-x", ".env", "a..b", "a.", "_x"];
    for name in names.into_iter().chain(["a/b", "a\\b", "s\u{0435}c", ""]) {
        let found = violations(&json!({"format": "review", "critiques": [{"role": name}]}));
        assert!(found.len() == 1 && found[0].starts_with("critiques[0].role: "), "{found:?}");
    }
    let conflict =
        json!({"type": "x", "target": "t", "ops": [{"reviewer_role": "..", "op": "AddX", "target": "t"}]});
    let found = violations(&json!({"format": "review", "critiques": [], "conflicts": [conflict]}));
    assert!(
        found[0].starts_with("conflicts[0].ops[0].reviewer_role: \"..\" is no reviewer's name"),
        "{found:?}"
    );
}

#[test]
fn v4_reviewers_whose_names_differ_only_in_case_are_refused_wherever_they_are_named() {
    let op = |role: &str| json!({"reviewer_role": role, "op": "AddX", "target": "t"});
    let conflict = |roles: &[&str]| {
        let ops: Value = roles.iter().map(|role| op(role)).collect();
        json!({"type": "x", "target": "t", "ops": ops})
    };
    let found = violations(&json!({
        "format": "review",
        "critiques": [{"role": "security"}, {"role": "Security"}, {"role": "testing"}],
        "conflicts": [conflict(&["security", "TESTING", "style"]), conflict(&["testing", "Style"])],
    }));
    assert_eq!(
        found,
        [
            "critiques[1].role: \"Security\" differs only in case from \"security\"",
            "conflicts[0].ops[1].reviewer_role: \"TESTING\" differs only in case from \"testing\"",
            "conflicts[1].ops[1].reviewer_role: \"Style\" differs only in case from \"style\"",
        ]
    );
    let halves = json!([{"ops": [{"reviewer_role": "style"}, op("Style")]}]);
    let found = violations(&json!({"format": "review", "critiques": [], "conflicts": halves}));
    assert_eq!(
        found,
        [
            "conflicts[0].ops[0].op: is required",
            "conflicts[0].ops[0].target: is required",
            "conflicts[0].ops[1].reviewer_role: \"Style\" differs only in case from \"style\"",
            "conflicts[0].type: is required",
            "conflicts[0].target: is required",
        ],
        "also from one whose operation is refused"
    );
}

#[test]
fn v6_the_callers_texts_are_kept_byte_for_byte() {
    let critiques = "[ {\"role\":\"a\",\n\t\"operations\": [{\"op\":\"AddX\", \"target\":\"t\\u0041\", \"value\": 1.50e1}]} ]";
    let conflicts = r#"[{"target": "t",  "type": "other", "extra": [1.0,{"x" :null}],
        "ops": [{"op": "AddX", "target": "t", "reviewer_role": "a", "line":7}]}]"#;
    let json = format!(r#"{{"critiques": {critiques}, "format": "review", "conflicts": {conflicts}}}"#);
    let (config, brief, _) = accepted(&json);
    assert_eq!(brief.critiques_json, critiques);
    assert_eq!(brief.conflicts_json.as_deref(), Some(conflicts));
    assert!(config.conflicts_given);
    assert_eq!(brief.critiques[0].operations[0].value_text(), "15.0");
}

#[test]
fn v2_conflicts_are_found_in_operations_and_in_findings() {
    let request = json!({
        "format": "review",
        "debate": {"enabled": true},
        "critiques": [
            {"role": "security", "operations": [{"op": "AddGuardrail", "target": "env access", "value": "deny"}],
             "findings": ["Missing tests for `retryCount`"]},
            {"role": "testing", "operations": [{"op": "RemoveConstraint", "target": "Env access"}],
             "findings": [{"text": "`retrycount` is redundant", "path": "a.rs", "line": 3, "severity": "low"}]},
        ],
    });
    let (config, brief, limits) = accepted(&request.to_string());
    let lines: Vec<String> = brief.disputes.iter().map(Dispute::audit_line).collect();
    assert_eq!(lines, ["Add vs Remove on 'env access'", "Add vs Remove on 'retryCount'"]);
    assert_eq!((config.conflicts, config.pairs.len(), config.calls_expected()), (2, 2, 10));
    assert!(limits.calls_max >= 40 && limits.closing_tokens.output == 2_000);
}

#[test]
fn v2_given_conflicts_stand_in_the_place_of_found_ones() {
    let ops = json!([
        {"reviewer_role": "x", "op": "RemoveStep", "target": "t"},
        {"reviewer_role": "y", "op": "AddStep", "target": "t"},
    ]);
    let request = |conflicts: Value| json!({"format": "review", "debate": {"enabled": true}, "critiques": [], "conflicts": conflicts});
    let given = json!([{"type": "add_remove_conflict", "target": "t", "ops": ops, "resolution": null}]);
    let (config, ..) = accepted(&request(given).to_string());
    assert_eq!((config.pairs[0].role_a.as_str(), config.pairs[0].role_b.as_str()), ("y", "x"));
    let (config, ..) = accepted(&request(json!([{"type": "order", "target": "t"}])).to_string());
    assert_eq!(config.skip(), Some(Skip::NoPair));
    let (config, ..) = accepted(&request(json!([])).to_string());
    assert_eq!(config.skip(), Some(Skip::TooFewConflicts));
}

#[test]
fn k13_no_reviewer_is_called_by_a_word_of_the_judges_wherever_and_however_it_is_written() {
    let ops = |role: &str| json!([{"reviewer_role": role, "op": "AddX", "target": "t"}]);
    for word in ["tie", "neither", "role_a", "role_b", "first", "second", "judge"] {
        for word in
            [word.to_owned(), word.to_uppercase(), format!("{}{}", word[..1].to_uppercase(), &word[1..])]
        {
            let reason = format!("{word:?} is reserved for the judge; choose another name");
            let found = violations(&json!({"format": "review", "critiques": [{"role": word}]}));
            assert_eq!(found, [format!("critiques[0].role: {reason}")]);
            let conflict = json!({"type": "x", "target": "t", "ops": ops(&word)});
            let found = violations(&json!({"format": "review", "critiques": [], "conflicts": [conflict]}));
            assert_eq!(found[0], format!("conflicts[0].ops[0].reviewer_role: {reason}"));
        }
    }
}

#[test]
fn k12_everything_that_is_wrong_is_named() {
    let request = json!({
        "format": "review",
        "merge": true,
        "critiques": [
            {"role": "a/b", "findings": [""], "operations": [{"op": "AddX", "reviewer_role": "y"}]},
            {"role": "Tie", "system_prompt": 1},
            {"role": "x", "operations": [{"target": "t"}, {"op": "AddX", "target": " ", "reviewer_role": "y"}]},
            {"role": "x", "findings": ["", 3], "operations": [{"op": "AddX", "target": "t", "reviewer_role": "y"}]},
            {"role": "z", "findings": ["", {"path": "p"}]},
        ],
        "conflicts": [{}, {"type": "c", "ops": [{"op": "AddX", "target": "t"}]}],
        "debate": {"enabled": "yes", "max_pairs": 11, "min_conflicts_to_trigger": 0},
        "options": {"judge_passes": 3, "models": {"default": "a:1", "judge": "b:1", "roles": {"w": "c:1"}}},
    });
    assert_eq!(
        violations(&request),
        [
            "merge: is not a field of this request",
            "critiques[0].role: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
            "critiques[0].findings[0]: must not be empty",
            "critiques[0].operations[0].target: is required",
            "critiques[1].role: \"Tie\" is reserved for the judge; choose another name",
            "critiques[1].system_prompt: must be a text",
            "critiques[2].operations[0].op: is required",
            "critiques[2].operations[1].reviewer_role: must be \"x\", whose critique this is",
            "critiques[2].operations[1].target: must not be empty",
            "critiques[3].role: \"x\" is given more than once",
            "critiques[3].findings[0]: must not be empty",
            "critiques[3].findings[1]: must be a text",
            "critiques[4].findings[0]: must not be empty",
            "critiques[4].findings[1].text: is required",
            "conflicts[0].type: is required",
            "conflicts[0].target: is required",
            "conflicts[1].ops[0].reviewer_role: is required",
            "conflicts[1].target: is required",
            "debate.enabled: must be true or false",
            "debate.max_pairs: must be a whole number from 1 to 10",
            "debate.min_conflicts_to_trigger: must be a whole number from 1 to 100",
            "options.judge_passes: must be a whole number from 1 to 2",
            "options.models.judge: is not a field of this request",
            "options.models.roles.w: \"w\" is not one of the reviewers",
            "options.models: has its default in debate.model; name it there",
        ]
    );
}

#[test]
fn k12_what_is_kept_back_for_judges_is_so_for_reviewers_whose_names_are_refused() {
    let asked = json!({
        "format": "review",
        "debate": {"enabled": true},
        "critiques": [
            {"role": "a", "operations": [{"op": "AddX", "target": "t"}]},
            {"role": "b c", "operations": [{"op": "RemoveX", "target": "t"}]},
            {"role": "a", "findings": ["`retryCount` is redundant"]},
            {"findings": ["Missing tests for `retryCount`"]},
        ],
        "options": {
            "limits": {"input_tokens_max": 15_999},
            "models": {"default": 1, "roles": {"critiques[1]": "c:1"}},
        },
    });
    let refused = |request: &Value| violations(request).split_off(3);
    let models = [
        "options.models.default: must be a text",
        "options.models.roles.critiques[1]: \"critiques[1]\" is not one of the reviewers",
        "options.models: has its default in debate.model; name it there",
    ];
    let least = |tokens: u32| {
        format!("options.limits.input_tokens_max: must be a whole number from {tokens} to 100000000")
    };
    assert_eq!(
        violations(&asked)[..3],
        [
            "critiques[1].role: must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops",
            "critiques[2].role: \"a\" is given more than once",
            "critiques[3].role: is required",
        ]
    );
    assert_eq!(refused(&asked), [&models[..], &[&least(16_000)]].concat());
    let mut given = asked;
    given["conflicts"] = json!([{"target": "t"}, {"type": "x", "target": "t", "ops": [{"op": 3}]}]);
    given["options"]["limits"]["input_tokens_max"] = json!(7_999);
    assert_eq!(refused(&given)[..1], ["conflicts[0].type: is required"]);
    assert_eq!(refused(&given).last(), Some(&least(8_000)), "the pair of the second conflict is unknown");
}

#[test]
fn k11_the_digest_is_of_what_is_meant() {
    let digest = |json: &str| accept_any(json).unwrap().digest();
    let one = digest(r#"{"format":"review","critiques":[{"role":"a","findings":["x"]}]}"#);
    let spelled = r#"{"critiques": [ {"findings": ["x"], "role": "a"} ], "format": "review", "debate": {"max_pairs": 2}}"#;
    assert_eq!(digest(spelled), one);
    assert_ne!(digest(r#"{"format":"review","critiques":[{"role":"a","findings":["y"]}]}"#), one);
    assert_ne!(
        digest(r#"{"format":"review","critiques":[{"role":"a","findings":["x"]}],"conflicts":[]}"#),
        one
    );
}
