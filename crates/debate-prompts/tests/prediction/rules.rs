//! Tests of what each role sees, rule by rule, in whole debates.

use std::collections::BTreeMap;

use debate_core::formats::prediction::visible::Visible;
use debate_prompts::prompts::PublicPart;
use serde_json::{Value, json};

use super::debate::{accepted, canned, hold, request};
use super::grammar::{Parsed, parse};

/// Holds a debate of three rounds and returns its prompts by call.
fn prompts(mut reply: impl FnMut(&Visible) -> String) -> BTreeMap<String, Parsed> {
    let mut prompts = BTreeMap::new();
    let request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    hold(accepted(&request), |want, visible, prompt| {
        prompts.insert(format!("{}#{}", want.call, want.revision), parse(prompt));
        reply(visible)
    });
    prompts
}

fn whole_debate() -> BTreeMap<String, Parsed> {
    let prompts = prompts(|visible| canned(visible, 3));
    assert_eq!(prompts.len(), 31);
    prompts
}

fn arguing(prompts: &BTreeMap<String, Parsed>, round: u32) -> impl Iterator<Item = (&str, &Parsed)> {
    let prefix = format!("argue/{round}/");
    prompts
        .iter()
        .filter_map(move |(call, prompt)| Some((call.strip_prefix(&prefix)?.split('#').next()?, prompt)))
}

#[test]
fn p2_the_task_names_role_phase_and_round() {
    let prompts = whole_debate();
    for (round, phase) in [(1, "opening"), (2, "rebuttal"), (3, "closing")] {
        for (role, prompt) in arguing(&prompts, round) {
            let begins = format!("Role: {role}. Phase: {phase}, round {round} of 3.\n");
            assert!(prompt.task.starts_with(&begins), "{}", prompt.task);
        }
        assert!(prompts[&format!("score/{round}/judge#0")].task.starts_with(&format!("Phase: {phase}. ")));
    }
    assert!(prompts["synthesise/3/judge#0"].task.starts_with("All 3 rounds are over."));
}

#[test]
fn k19_arguments_and_the_synthesis_say_what_day_it_is_and_what_is_left() {
    let tasks = |options: Value| {
        let mut request = request("Will it rain?", &["yes", "no"]);
        request["options"] = options;
        let mut tasks = Vec::new();
        hold(accepted(&request), |want, visible, prompt| {
            if want.call.kind != "score" {
                tasks.push(parse(prompt).task);
            }
            canned(visible, 3)
        });
        assert_eq!(tasks.len(), 16);
        tasks
    };
    for task in tasks(json!({})) {
        assert!(task.contains("Today is 2027-01-15.\n"), "{task}");
    }
    let dates =
        json!({"as_of": "2026-11-28T09:00:00Z", "closes_at": "2026-12-31", "resolves_at": "2027-01-02"});
    let line = "The question closes on 2026-12-31, in 33 days. It resolves on 2027-01-02, in 35 days. Today is 2026-11-28.\n";
    for task in tasks(dates) {
        assert!(task.contains(line), "{task}");
    }
}

#[test]
fn p25_outcomes_whose_labels_are_letters_get_others() {
    let mut request = request("Which type leads?", &["flu-b", "flu-a"]);
    request["prediction_context"]["outcomes"][0]["label"] = json!("B");
    request["prediction_context"]["outcomes"][1]["label"] = json!("A");
    let mut tasks = Vec::new();
    hold(accepted(&request), |want, visible, prompt| {
        let text: String = prompt.messages.iter().map(|message| &*message.text).collect();
        if want.call.kind == "argue" {
            assert!(text.contains("C | B") && text.contains("D | A"), "{text}");
            assert!(text.contains("for C alone; D has the rest"), "{text}");
            tasks.push(parse(prompt).task);
        }
        canned(visible, 3)
    });
    assert!(tasks.len() >= 15);
}

#[test]
fn p4_the_opening_shows_no_other_argument() {
    for (role, prompt) in arguing(&whole_debate(), 1) {
        assert_eq!(prompt.points(), [], "{role}");
        assert!(!prompt.task.contains("rebut what"), "{role}");
    }
}

#[test]
fn p3_no_argument_prompt_depends_on_scores() {
    let scored = |score: f64, reason: &str| {
        let reply = json!({"reason": reason, "scores": {"logical_strength": score, "evidence_quality": score, "novelty": score}});
        prompts(|visible| match visible {
            Visible::Score(_) => reply.to_string(),
            Visible::Argue(_) | Visible::Synthesise(_) => canned(visible, 3),
        })
    };
    let (high, low) = (scored(0.9, "Strong."), scored(0.3, "Nothing new."));
    for round in 1..=3 {
        assert_eq!(arguing(&high, round).collect::<Vec<_>>(), arguing(&low, round).collect::<Vec<_>>());
    }
    assert_ne!(high["synthesise/3/judge#0"], low["synthesise/3/judge#0"]);
}

#[test]
fn p3_scorer_prompt_hides_the_speaker() {
    let nameless = |visible: &Visible| match visible {
        Visible::Argue(view) => {
            let mut reply: Value = serde_json::from_str(&canned(visible, 2)).unwrap();
            reply["argument"] = json!("Rates are too high for growth.");
            reply["precedents"] = json!([]);
            if view.role.as_str() == "historian" && view.round == 1 {
                reply["precedents"] =
                    serde_json::from_str::<Value>(&canned(visible, 1)).unwrap()["precedents"].take();
            }
            reply.to_string()
        }
        Visible::Score(_) | Visible::Synthesise(_) => canned(visible, 2),
    };
    let prompts = prompts(nameless);
    for round in 2..=3 {
        let prefix = format!("score/{round}/");
        let scores: Vec<&Parsed> =
            prompts.iter().filter(|(call, _)| call.starts_with(&prefix)).map(|(_, prompt)| prompt).collect();
        assert_eq!(scores.len(), 5);
        assert!(scores.iter().all(|prompt| *prompt == scores[0]));
        for role in ["optimist", "pessimist", "contrarian", "historian", "judge"] {
            assert!(!format!("{:?}", scores[0].blocks).to_lowercase().contains(role));
            assert!(!scores[0].system.contains(role));
        }
    }
}

#[test]
fn p5_the_scorer_is_given_the_rubric_and_asked_for_every_criterion() {
    let mut request = request("Will it rain?", &["yes", "no"]);
    request["config"] = json!({"scoring_criteria": ["novelty", "clarity"]});
    let rubric = json!({"0.0-0.5": "Hard to follow", "0.5-1.0": "Plain"});
    request["options"] = json!({"rubrics": {"clarity": {"bands": rubric}}, "weights": {"clarity": 0.2}});
    let mut seen = None;
    hold(accepted(&request), |_, visible, prompt| {
        if matches!(visible, Visible::Score(_)) {
            seen.get_or_insert((parse(prompt), prompt.clone()));
        }
        canned(visible, 1)
    });
    let (parsed, prompt) = seen.unwrap();
    assert!(parsed.head.contains("\nnovelty: Repeats commonly known points / Adds some new perspective"));
    assert!(parsed.head.contains("\nclarity: 0.0-0.5 Hard to follow / 0.5-1.0 Plain\n"));
    assert!(parsed.head.contains("a number from 0 to 1 for each criterion: novelty, clarity."));
    assert_eq!(
        prompt.shape.unwrap().schema["properties"]["scores"]["required"],
        json!(["novelty", "clarity"])
    );
}

#[test]
fn p6_prompt_after_a_rejection_states_the_reason() {
    let mut rejected = false;
    let prompts = prompts(|visible| match visible {
        Visible::Score(_) if !rejected => {
            rejected = true;
            json!({"reason": "It cites <no> source.", "scores": {"logical_strength": 0.1, "evidence_quality": 0.0, "novelty": 0.1}}).to_string()
        }
        Visible::Argue(_) | Visible::Score(_) | Visible::Synthesise(_) => canned(visible, 3),
    });
    let again: Vec<&Parsed> = prompts
        .iter()
        .filter(|(call, prompt)| call.starts_with("argue") && !prompt.lines("rejection").is_empty())
        .map(|(_, prompt)| prompt)
        .collect();
    assert_eq!(again.len(), 1);
    let [reason] = again[0].lines("rejection") else { panic!("{again:?}") };
    assert!(reason.contains("It cites &lt;no&gt; source."), "{reason}");
    assert!(again[0].task.contains("Your answer before was rejected"));
    assert!(whole_debate().values().all(|prompt| !prompt.task.contains("rejected")));
}

#[test]
fn p10_who_rebuts_is_shown_somebody_else_to_rebut() {
    let prompts = whole_debate();
    for round in 2..=3 {
        for (role, prompt) in arguing(&prompts, round) {
            let own = format!(".{role}");
            let others =
                prompt.points().iter().filter(|point| !point.attribute("id").unwrap().ends_with(&own));
            assert!(others.filter(|point| point.lines[0].len() > 20).count() >= 4, "{role}");
            assert!(prompt.task.contains("Name in rebuts the roles you rebut."));
        }
    }
}

#[test]
fn p11_who_closes_is_shown_earlier_words_that_can_be_cited() {
    let prompts = whole_debate();
    for (role, prompt) in arguing(&prompts, 3) {
        let earlier =
            prompt.points().iter().filter(|point| !point.attribute("id").unwrap().starts_with("r3."));
        let words: Vec<&str> = earlier.map(|point| point.lines[0].trim_end_matches('…')).collect();
        assert!(words.iter().any(|words| words.len() > 20), "{role}: {words:?}");
        assert!(
            prompt.task.contains("Cite at least one point of an earlier round, quoting its exact words.")
        );
    }
    let judge = &prompts["argue/3/judge#0"];
    let same_round = judge.points().iter().filter(|point| point.attribute("id").unwrap().starts_with("r3."));
    assert_eq!(same_round.count(), 4, "the judge closes last and sees the others close");
}

#[test]
fn p12_only_the_historian_is_asked_for_two_precedents() {
    for (call, prompt) in whole_debate() {
        let asked = prompt.task.contains(
            "Give in precedents two or three past events, each with event, date, outcome, relevance,",
        );
        assert_eq!(asked, call == "argue/1/historian#0", "{call}");
    }
}

#[test]
fn p17_a_role_is_shown_its_own_last_forecast() {
    for (role, prompt) in arguing(&whole_debate(), 2) {
        let own = prompt.points().iter().find(|point| point.attribute("id") == Some(&format!("r1.{role}")));
        assert_eq!(own.unwrap().attribute("p"), Some("A 0.50, B 0.50"));
    }
}

#[test]
fn p19_the_judge_sees_every_argument_with_its_score_in_the_order_drawn() {
    let mut order = Vec::new();
    let mut shown = Vec::new();
    let request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    hold(accepted(&request), |_, visible, prompt| {
        if let Visible::Synthesise(view) = visible {
            order = view.points.iter().map(|scored| scored.point.id.to_string()).collect();
            shown = parse(prompt).points().to_vec();
        }
        canned(visible, 2)
    });
    assert_eq!(shown.len(), 15);
    assert!(
        shown.iter().all(|point| point.attribute("score") == Some("0.70") && point.attribute("p").is_some())
    );
    let ids: Vec<&str> = shown.iter().map(|point| point.attribute("id").unwrap()).collect();
    assert_eq!(ids, order);
}

#[test]
fn k10_only_the_public_field_of_a_reply_is_shown_live() {
    let request = request("Will it rain?", &["yes", "no"]);
    hold(accepted(&request), |_, visible, prompt| {
        let (public, name) = match visible {
            Visible::Argue(_) => (PublicPart::Field("argument"), "argument"),
            Visible::Score(_) => (PublicPart::Nothing, "scores"),
            Visible::Synthesise(_) => (PublicPart::Field("reasoning"), "synthesis"),
        };
        assert_eq!(prompt.public, public);
        assert_eq!(prompt.shape.as_ref().unwrap().name, name);
        canned(visible, 1)
    });
}
