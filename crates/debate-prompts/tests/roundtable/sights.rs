//! What every participant could see, asserted on the prompts (T2, T4, T6).

use std::collections::BTreeSet;

use debate_core::call::Want;
use serde_json::{Value, json};

use crate::played::{Asked, play};

const AGENTS: [&str; 3] = ["ada", "bob", "cyd"];

/// A word that only this call's answer has.
fn mark(kind: &str, round: u32, agent: &str) -> String {
    format!("{kind}mark{round}{agent}mark")
}

fn marked(want: &Want) -> Value {
    let call = &want.call;
    let stance =
        ["YES", "NO", "NEUTRAL"][AGENTS.iter().position(|agent| *agent == call.role.as_str()).unwrap()];
    json!({
        "stance": stance,
        "position": format!("I hold {} for good.", mark(&call.kind, call.round, call.role.as_str())),
        "reasoning": format!("I am {} and I say so.", call.role),
        "confidence": 0.9,
    })
}

/// Returns whose answers a prompt shows.
fn seen(asked: &Asked) -> BTreeSet<String> {
    let text = asked.whole();
    let all = ["respond", "repoll"].into_iter().flat_map(|kind| {
        (1..=2).flat_map(move |round| {
            AGENTS.map(|agent| (mark(kind, round, agent), format!("{kind}/{round}/{agent}")))
        })
    });
    all.filter(|(mark, _)| text.contains(mark)).map(|(_, call)| call).collect()
}

/// Returns whose answers an agent may see: all of rounds before, and of its own round those of agents that it hears.
fn expected(want: &Want, hears: impl Fn(usize) -> usize) -> BTreeSet<String> {
    let place = AGENTS.iter().position(|agent| *agent == want.call.role.as_str()).unwrap();
    let before =
        (1..want.call.round).flat_map(|round| AGENTS.map(|agent| format!("respond/{round}/{agent}")));
    let own = AGENTS[..hears(place)].iter().map(|agent| format!("respond/{}/{agent}", want.call.round));
    before.chain(own).collect()
}

fn check(mode: &str, flags: &Value, hears: impl Fn(usize) -> usize) -> Vec<Asked> {
    let all = play(mode, flags, marked);
    assert_eq!(all.len(), 6, "{mode}");
    for asked in &all {
        assert_eq!(seen(asked), expected(&asked.want, &hears), "{mode}: {}", asked.want.call);
    }
    all
}

#[test]
fn t4_parallel_agents_see_no_answer_of_their_own_round() {
    for mode in ["collaborative", "expert-panel", "red-team-blue-team", "delphi"] {
        check(mode, &json!({}), |_| 0);
    }
    let full = json!({ "sequential_parallelization": { "enabled": true, "level": "full" } });
    for mode in ["adversarial", "socratic", "devils-advocate"] {
        check(mode, &full, |_| 0);
    }
}

#[test]
fn t4_one_after_another_everybody_sees_those_before() {
    for mode in ["adversarial", "socratic", "devils-advocate"] {
        check(mode, &json!({}), |place| place);
    }
}

#[test]
fn t4_last_only_shows_the_round_only_to_its_last_agent() {
    let last_only = json!({ "sequential_parallelization": { "enabled": true, "level": "last-only" } });
    for mode in ["adversarial", "socratic", "devils-advocate"] {
        check(mode, &last_only, |place| if place == 2 { 2 } else { 0 });
    }
}

#[test]
fn t2_in_delphi_names_are_hidden_and_stay_the_same_through_the_rounds() {
    let all = check("delphi", &json!({}), |_| 0);
    let labels: Vec<String> = AGENTS
        .iter()
        .map(|agent| {
            let own = all.iter().find(|asked| asked.want.call.role.as_str() == *agent).unwrap();
            let [system, _] = own.texts();
            system.split_once("You are ").unwrap().1.split_once('.').unwrap().0.to_owned()
        })
        .collect();
    assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), 3, "{labels:?}");
    for asked in &all {
        let text = asked.whole();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let named = AGENTS.iter().find(|name| words.contains(name));
        assert_eq!(named, None, "{}: {text}", asked.want.call);
        for (agent, label) in AGENTS.iter().zip(&labels).filter(|_| asked.want.call.round == 2) {
            let shown =
                text.split("<response ").find(|block| block.contains(&mark("respond", 1, agent))).unwrap();
            assert!(
                shown.contains(&format!("agent=\"{label}\"")),
                "{agent} is {label} for everybody: {shown}"
            );
        }
    }
}

#[test]
fn t2_only_delphi_shows_statistics_and_only_of_the_round_before() {
    let flags = json!({});
    for mode in
        ["collaborative", "adversarial", "socratic", "expert-panel", "devils-advocate", "red-team-blue-team"]
    {
        assert!(
            play(mode, &flags, marked).iter().all(|asked| !asked.whole().contains("Round Statistics")),
            "{mode}"
        );
    }
    for asked in play("delphi", &flags, marked) {
        let (text, is_second) = (asked.whole(), asked.want.call.round == 2);
        let statistics = "Round Statistics:\nRound: 1\nResponses: 3\nConfidence: mean 0.90, standard deviation 0.00, from 0.90 \
                    to 0.90\n";
        assert_eq!(text.contains(statistics), is_second, "{text}");
        assert_eq!(text.contains("Stances: YES 1, NO 1, NEUTRAL 1"), is_second);
    }
}

#[test]
fn t6_agents_polled_again_see_no_answers() {
    let flags = json!({ "groupthink_detection": { "action": "repoll" } });
    let agree = |want: &Want| {
        let call = &want.call;
        let word = mark(&call.kind, call.round, call.role.as_str());
        json!({ "stance": "YES", "position": "The office moves.", "reasoning": word, "confidence": 0.9 })
    };
    let all = play("collaborative", &flags, agree);
    let again: Vec<&Asked> = all.iter().filter(|asked| asked.want.call.kind == "repoll").collect();
    assert_eq!(again.len(), 6, "in both rounds");
    for asked in again {
        assert_eq!(seen(asked), BTreeSet::new(), "{}", asked.want.call);
    }
    let second = all.iter().find(|asked| asked.want.call.to_string() == "respond/2/ada").unwrap();
    assert_eq!(seen(second).len(), 6, "later rounds see both answers");
    assert!(second.whole().contains("asked_again=\"yes\" yours=\"yes\""));
}

#[test]
fn t3_prompts_show_parts_and_teams_by_role() {
    let roles = |mode: &str| {
        let all = play(mode, &json!({}), marked);
        let last = all.last().unwrap().whole();
        AGENTS.map(|agent| {
            let (_, frame) = last.split_once(&format!("agent=\"{agent}\" ")).unwrap();
            frame.split('"').nth(1).unwrap().to_owned()
        })
    };
    assert_eq!(roles("devils-advocate"), ["primary", "opposition", "evaluator"]);
    assert_eq!(roles("red-team-blue-team"), ["red_team", "blue_team", "red_team"]);
    assert_eq!(roles("expert-panel"), ["technical", "economic", "ethical"]);
}
