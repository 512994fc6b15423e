//! The token budgets of prompts (P15): kept, or the request is refused before anything is recorded.

use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::visible::Visible;
use debate_core::prose::Texts;
use debate_prompts::prediction::{PredictionPrompts, check_fits};
use debate_prompts::prompts::{Prompts as _, RenderError};
use debate_prompts::tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::debate::{accepted, canned, hold, request};
use super::grammar::parse;

/// Returns a request with as many outcomes, whose labels are the words and two letters.
fn many_outcomes(outcomes: usize, words: &str) -> Value {
    let ids: Vec<String> = (0..outcomes).map(|place| format!("o{place}")).collect();
    let mut request = request("Who will win the race?", &ids.iter().map(String::as_str).collect::<Vec<_>>());
    let mut letters = ('A'..='Z').flat_map(|one| ('A'..='Z').map(move |other| format!("{one}{other}")));
    for outcome in request["prediction_context"]["outcomes"].as_array_mut().unwrap() {
        outcome["label"] = json!(words.to_owned() + &letters.next().unwrap());
    }
    request
}

#[test]
fn p15_a_default_debate_stays_within_the_contracts_tokens() {
    let request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    let (mut input, mut output, mut calls) = (0, 0, 0);
    hold(accepted(&request), |_, visible, prompt| {
        let budget = match visible {
            Visible::Argue(_) => 600,
            Visible::Score(_) => 650,
            Visible::Synthesise(_) => 6_000,
        };
        let counted: u32 = prompt.messages.iter().map(|message| tokens::count(&message.text)).sum();
        assert_eq!(prompt.tokens, counted);
        assert!(counted <= budget, "{counted} of {budget}");
        input += counted;
        output += prompt.output_tokens_max;
        calls += 1;
        // As long as an argument may be: 300 tokens.
        canned(visible, 13)
    });
    assert_eq!(calls, 31);
    assert!(input < 25_000, "{input}");
    assert!(output < 20_000, "{output}");
}

#[test]
fn p15_a_prompt_uses_its_budget() {
    let request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    hold(accepted(&request), |want, visible, prompt| {
        if want.call.to_string().starts_with("argue/3") {
            assert!(prompt.tokens > 520, "{}: {} of 600", want.call, prompt.tokens);
        }
        canned(visible, 13)
    });
}

#[test]
fn p15_what_was_left_out_is_said() {
    let mut request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    request["prediction_context"]["simulation_summary"]["key_findings"] =
        json!(["Rates have been high for two years. ".repeat(100)]);
    let mut omitted = Vec::new();
    hold(accepted(&request), |want, visible, prompt| {
        let parsed = parse(prompt);
        let cut = |lines: &[String]| lines.last().is_some_and(|line| line.ends_with('…'));
        assert_eq!(
            cut(parsed.lines("findings")),
            prompt.omitted.iter().any(|line| line.starts_with("findings: cut"))
        );
        for point in parsed.points() {
            let name = format!("point {}: ", point.attribute("id").unwrap());
            let is_cut = point.lines[0].is_empty() || cut(&point.lines);
            assert_eq!(is_cut, prompt.omitted.iter().any(|line| line.starts_with(&name)), "{name}");
        }
        omitted.push((want.call.to_string(), prompt.omitted.clone()));
        canned(visible, 8)
    });
    let of = |call: &str| &omitted.iter().find(|(asked, _)| asked == call).unwrap().1;
    let [opening] = &of("argue/1/optimist")[..] else { panic!("{omitted:?}") };
    assert!(opening.starts_with("findings: cut to ") && opening.ends_with(" of 801 tokens"), "{opening}");
    assert!(of("argue/3/optimist").iter().any(|line| line.starts_with("point r1.pessimist: left out, ")));
}

#[test]
fn k20_a_result_says_what_prompts_did_not_show() {
    let notes = |preset: &str| {
        let mut request = request("Will the bank cut its rate in June?", &["yes", "no"]);
        request["options"]["preset"] = json!(preset);
        let debate = hold(accepted(&request), |_, visible, _| canned(visible, 13));
        let notes = Prediction::outcome(&debate, Texts::Shown).extra.notes;
        notes.into_iter().filter(|note| note.starts_with("of ")).collect::<Vec<_>>()
    };
    assert_eq!(notes("contract"), ["of 31 prompts, not all showed the whole of: earlier arguments in 10"]);
    assert_eq!(notes("standard"), [""; 0]);
}

#[test]
fn p15_points_of_the_latest_round_are_shortened_evenly() {
    let request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    hold(accepted(&request), |want, visible, prompt| {
        if want.call.to_string() == "argue/2/optimist" {
            let parsed = parse(prompt);
            let others = parsed.points().iter().filter(|point| point.attribute("id") != Some("r1.optimist"));
            let lengths: Vec<u32> = others.map(|point| tokens::count(&point.lines[0])).collect();
            let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
            assert_eq!(lengths.len(), 4);
            assert!(*least >= 24 && most - least <= 12, "{lengths:?}");
        }
        canned(visible, 10)
    });
}

#[test]
fn p15_fifty_outcomes_with_short_labels_fit() {
    let request = accepted(&many_outcomes(50, ""));
    check_fits(&request.config, &request.brief).unwrap();
    let mut calls = 0;
    hold(request, |want, visible, prompt| {
        calls += 1;
        if !want.call.to_string().starts_with("score") {
            let parsed = parse(prompt);
            assert_eq!(parsed.lines("outcomes").len(), 50);
            assert!(parsed.lines("outcomes")[49].contains(" | BX"));
            let required = &prompt.shape.as_ref().unwrap().schema["properties"]["probabilities"]["required"];
            assert_eq!(required.as_array().unwrap().len(), 50);
        }
        canned(visible, 5)
    });
    assert_eq!(calls, 31);
}

#[test]
fn p15_priors_are_given_up_before_a_request_is_refused() {
    let few = accepted(&many_outcomes(4, "Yes"));
    let many = accepted(&many_outcomes(45, "Yes"));
    for (request, has_priors) in [(few, true), (many, false)] {
        let mut first = None;
        hold(request, |_, visible, prompt| {
            first.get_or_insert_with(|| (parse(prompt), prompt.omitted.clone()));
            canned(visible, 1)
        });
        let (parsed, omitted) = first.unwrap();
        assert_eq!(parsed.lines("outcomes")[0].contains("| prior 0.60"), has_priors);
        assert_eq!(omitted.contains(&"priors: left out".to_owned()), !has_priors);
    }
}

#[test]
fn p15_a_request_that_cannot_fit_is_refused_with_the_count() {
    let request = accepted(&many_outcomes(50, "A candidate with a name of no less than a dozen words or so"));
    let error = check_fits(&request.config, &request.brief).unwrap_err();
    let RenderError::OverBudget { version, tokens, budget } = error else { panic!("{error}") };
    assert_eq!((version, budget), ("prediction/argue@5", 600));
    assert!((900..1_300).contains(&tokens), "{tokens}");
    assert_eq!(
        error.to_string(),
        format!("prediction/argue@5 takes at least {tokens} tokens; 600 are allowed")
    );
}

#[test]
fn p15_a_rubric_that_cannot_fit_is_refused_with_the_count() {
    let mut request = request("Will it rain?", &["yes", "no"]);
    let bands: serde_json::Map<String, Value> = (0..10)
        .map(|band| {
            (
                format!("0.{band}-0.{}", band + 1),
                json!("Words that say what a score in this band means. ".repeat(5)),
            )
        })
        .collect();
    request["config"] = json!({"scoring_criteria": ["clarity"]});
    request["options"] = json!({"rubrics": {"clarity": {"bands": bands}}, "weights": {"clarity": 0.2}});
    let request = accepted(&request);
    let error = check_fits(&request.config, &request.brief).unwrap_err();
    let RenderError::OverBudget { version, tokens, .. } = error else { panic!("{error}") };
    assert_eq!(version, "prediction/score@2");
    assert!(tokens > 650, "{tokens}");
}

#[test]
fn p15_a_persona_of_the_greatest_length_fits() {
    let words = "You grow roses and look at the sky each morning. ".repeat(24);
    let mut request = request("Will it rain?", &["yes", "no"]);
    request["config"] = json!({"roles": ["gardener", "judge", "pessimist"]});
    request["options"] = json!({"personas": {"gardener": {"system_prompt": words.trim()}}});
    let request = accepted(&request);
    check_fits(&request.config, &request.brief).unwrap();
    hold(request, |want, visible, prompt| {
        if want.call.role.as_str() == "gardener" && matches!(visible, Visible::Argue(_)) {
            assert!(prompt.messages[0].text.starts_with(words.trim()));
        }
        canned(visible, 10)
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What passes the check at the edge is never refused later, whatever is said; its prompts keep their form.
    #[test]
    fn p15_a_request_that_fits_is_never_refused_later(
        question in "[A-Za-z0-9 ,.?&<>é中\\n]{1,400}",
        label in "[A-Za-z |&<中]{0,40}",
        outcomes in 1_usize..30,
        said in "[A-Za-z0-9 ,.\"!<>&/…\u{301}\\n]{1,900}",
        finding in "[ -~]{0,300}",
        reason in "[ -~]{1,500}",
        rounds in 1_u32..4,
    ) {
        let mut request = many_outcomes(outcomes, &format!("o{label}"));
        request["prediction_context"]["task"] = json!({"question": format!("q{question}"), "background": said});
        request["prediction_context"]["simulation_summary"]["key_findings"] = json!([finding]);
        request["config"] = json!({"rounds": rounds});
        let request = accepted(&request);
        prop_assume!(check_fits(&request.config, &request.brief).is_ok());
        let mut poor = 0;
        hold(request, |want, visible, prompt| {
            parse(prompt);
            let again = PredictionPrompts.render(visible, want, &[]).unwrap();
            assert_eq!(again, *prompt);
            let mut reply: Value = serde_json::from_str(&canned(visible, 1)).unwrap();
            match visible {
                Visible::Argue(_) => reply["argument"] = json!(format!("a{said}")),
                Visible::Score(_) => {
                    poor += 1;
                    reply["reason"] = json!(reason);
                    if poor % 3 == 0 {
                        reply["scores"] = json!({"logical_strength": 0.0, "evidence_quality": 0.1, "novelty": 0.0});
                    }
                }
                Visible::Synthesise(_) => {}
            }
            reply.to_string()
        });
    }
}
