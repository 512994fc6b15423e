//! Names that requests choose: what is none is refused wherever one is given, for names stand in prompts, comments and paths.

use debate_core::formats::accept::accept;
use serde_json::{Value, json};

/// Where the name stands in a request.
const NAME: &str = "NAME";

/// Every place of a request at which a name of one's own choice is given.
fn doors() -> Vec<Value> {
    let table = |agent: Value| json!({"format": "roundtable", "topic": "x", "agents": [agent, "bo"]});
    let talk = |field: &str, value: Value| {
        let mut request = json!({"format": "deliberation", "topic": "x", "participants": ["ada", "bo"]});
        request[field] = value;
        request
    };
    let review = |path: &str| {
        let example = include_str!("../../../../examples/review.json");
        let mut request: Value = serde_json::from_str(example).unwrap();
        *request.pointer_mut(path).unwrap() = json!(NAME);
        request
    };
    let prediction = |config: Value, options: Value| {
        let example = include_str!("../../../../examples/ice.json");
        let mut request: Value = serde_json::from_str(example).unwrap();
        request["config"] = config;
        request["options"] = options;
        request
    };
    let sides = ["style", "testing"].map(|role| json!({"reviewer_role": role, "op": "AddX", "target": "t"}));
    let conflict = json!({"type": NAME, "target": "t", "ops": sides});
    let side = |role: &str, op: &str| {
        let ops = json!([{"reviewer_role": "style", "op": "AddX", "target": "t"}, {"reviewer_role": role, "op": op, "target": "t"}]);
        json!({"format": "review", "critiques": [], "conflicts": [{"type": "x", "target": "t", "ops": ops}]})
    };
    let bands = json!({"bands": {"0.0-1.0": "all"}});
    vec![
        prediction(
            json!({"roles": ["optimist", NAME]}),
            json!({"personas": {NAME: {"system_prompt": "You build."}}}),
        ),
        prediction(
            json!({"scoring_criteria": ["novelty", NAME]}),
            json!({"weights": {NAME: 0.5}, "rubrics": {NAME: bands}}),
        ),
        review("/critiques/0/role"),
        review("/critiques/0/operations/0/op"),
        json!({"format": "review", "critiques": [], "conflicts": [conflict]}),
        side(NAME, "AddX"),
        side("testing", NAME),
        table(json!(NAME)),
        table(json!({"name": NAME})),
        json!({"format": "investigation", "problem": "x", "investigators": [NAME, "bo"]}),
        talk("participants", json!([NAME, "bo"])),
        talk("participants", json!([{"name": NAME}, "bo"])),
        talk("orchestrator", json!(NAME)),
        talk("orchestrator", json!({"name": NAME})),
        talk("skills", json!([NAME])),
        talk("skills", json!({"global": [NAME]})),
        talk("skills", json!({"participants": {"ada": [NAME]}})),
        talk("participants", json!([{"name": "ada", "skills": [NAME]}, "bo"])),
    ]
}

#[test]
fn k13_a_name_is_letters_digits_and_three_signs_wherever_it_is_given() {
    let long = "x".repeat(65);
    let [door, ..] = &doors()[..] else { panic!("there is no door") };
    for c in '\0'..='\u{ff}' {
        let name = json!(format!("a{c}b")).to_string();
        let is_taken = accept(&door.to_string().replace(&json!(NAME).to_string(), &name)).is_ok();
        assert_eq!(is_taken, c.is_ascii_alphanumeric() || "-_.".contains(c), "{name}");
    }
    for door in doors() {
        let with = |name: &str| door.to_string().replace(NAME, json!(name).to_string().trim_matches('"'));
        if let Err(refused) = accept(&with("ada-1_x.y")) {
            panic!("{door}: {refused}");
        }
        for name in ["", "a b", "a\"b", "<x>", "../x", "x\\y", "a\nb", "\u{e9}", "\u{202e}x", &long] {
            let refused = accept(&with(name)).expect_err(&format!("{name:?} is taken: {door}"));
            let why = "must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops";
            assert!(refused.0.iter().any(|violation| violation.reason == why), "{door} {name:?}: {refused}");
        }
    }
}
