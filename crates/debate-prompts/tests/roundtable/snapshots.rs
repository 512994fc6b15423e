//! Every prompt of a short debate in every mode, as it was when somebody last looked at it.

use debate_core::call::Want;
use serde_json::{Value, json};

use crate::played::play;

fn reply(want: &Want) -> Value {
    let (position, confidence) = match want.call.role.as_str() {
        "ada" => ("The office moves in spring.", 0.8),
        "bob" => ("The office stays.", 0.6),
        _ => ("A trial of three months settles it.", 0.7),
    };
    let stance = match want.call.role.as_str() {
        "ada" => "YES",
        "bob" => "NO",
        _ => "NEUTRAL",
    };
    json!({ "stance": stance, "position": position, "reasoning": "It costs what it costs.", "confidence": confidence })
}

/// Returns all prompts of a debate, in the order of asking.
fn prompts(mode: &str) -> String {
    let all = play(mode, &json!({}), reply);
    let shown = all.iter().map(|asked| {
        let [system, user] = asked.texts();
        let of_first = asked.want.call.round == 1;
        let system = if of_first { format!("--- system\n{system}\n") } else { String::new() };
        format!("=== {}\n{system}--- user\n{user}\n", asked.want.call)
    });
    for asked in &all {
        let same = all.iter().filter(|other| other.want.call.role == asked.want.call.role);
        assert!(
            same.into_iter().all(|other| other.texts()[0] == asked.texts()[0]),
            "the system message stays"
        );
    }
    shown.collect()
}

#[test]
fn t3_prompts_of_every_mode_round_and_position() {
    for mode in [
        "collaborative",
        "adversarial",
        "socratic",
        "expert-panel",
        "devils-advocate",
        "delphi",
        "red-team-blue-team",
    ] {
        insta::assert_snapshot!(mode, prompts(mode));
    }
}
