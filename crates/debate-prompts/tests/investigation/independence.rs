//! Investigators never see each other's findings (rule I4): shown on every prompt of every round.

use debate_core::formats::investigation::fact::Violation;

use crate::played::{Asked, INVESTIGATORS, REASONS_EACH, play, secret};

/// Whatever of an investigator must not reach another one.
fn secrets(name: &str) -> Vec<String> {
    let kinds = ["cause", "test", "finding", "pointer", "quote", "claim", "adverse", "answer", "tool"];
    kinds.into_iter().map(|kind| secret(name, kind)).chain([name.to_owned()]).collect()
}

fn check(language: &str, lead_proposes: bool) {
    let (debate, asked) = play(language, lead_proposes);
    let (mut prompts, mut rounds) = (0, 0);
    for Asked { want, messages } in asked {
        let shown = messages.join("\n");
        let who = want.call.role.as_str();
        if !INVESTIGATORS.contains(&who) {
            continue;
        }
        (prompts, rounds) = (prompts + 1, rounds.max(want.call.round));
        assert!(shown.contains(&secret(who, "cause")), "{}: {shown}", want.call);
        if want.call.round > 1 || want.call.kind == "respond" {
            assert!(shown.contains(&secret(who, "finding")) && shown.contains("correlation"), "{shown}");
        }
        for other in INVESTIGATORS.iter().filter(|other| **other != who) {
            for secret in secrets(other) {
                assert!(!shown.contains(&secret), "{} is shown {secret}:\n{shown}", want.call);
            }
        }
    }
    let (concluded, _) = debate.conclusion().unwrap();
    assert_eq!(concluded.rule.as_str(), "max_rounds");
    assert_eq!((prompts, rounds), (27, 3), "two turns for each report, one for each answer");
    assert!(debate.state().violations().all(|found| found.act.is_none()));
    let refused =
        debate.state().violations().filter(|found| found.violation == Violation::IndependenceBroken);
    let attempts = (REASONS_EACH - 1) * INVESTIGATORS.len() * 3;
    assert_eq!(refused.count(), attempts, "every attempt to tell is refused, and nothing else");
}

#[test]
fn i4_no_prompt_of_any_round_shows_an_investigator_what_another_one_has() {
    check("en", false);
    check("zh", true);
}
