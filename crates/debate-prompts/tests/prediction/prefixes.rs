//! What the prompts of one debate share with those before them, so that a provider can read it from its cache.

use std::sync::Arc;

use debate_core::formats::prediction::visible::Visible;
use debate_prompts::prompts::{Prompt, Speaker};
use debate_prompts::tokens;
use serde_json::{Value, json};

use super::debate::{accepted, canned, hold, request};
use super::grammar::parse;

/// Holds a default debate over a question with findings and data; arguments have so many sentences.
fn prompts(request: &Value, sentences: usize) -> Vec<(String, Prompt)> {
    let mut prompts = Vec::new();
    hold(accepted(request), |want, visible, prompt| {
        prompts.push((want.call.to_string(), prompt.clone()));
        canned(visible, sentences)
    });
    assert_eq!(prompts.len(), 31);
    prompts
}

fn rates() -> Value {
    let mut request = request("Will the bank cut its rate in June?", &["yes", "no"]);
    let context = &mut request["prediction_context"];
    context["simulation_summary"]["key_findings"] =
        json!(["Core inflation fell for the third month.", "Wages grow by 4% a year."]);
    context["data_summary"] = json!({"region": "Euro area", "data_gaps": ["No wage data for May"]});
    request
}

/// Returns a prompt as one text, as a provider reads it.
fn joined(prompt: &Prompt) -> String {
    prompt.messages.iter().map(|message| &*message.text).collect::<Vec<_>>().join("\n")
}

/// Returns the tokens of the longest beginning of `text` that begins one of `earlier` too.
fn shared_tokens(text: &str, earlier: &[String]) -> u32 {
    let alike = |other: &String| text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let longest = earlier.iter().map(alike).max().unwrap_or_default();
    tokens::count(&text[..text.floor_char_boundary(longest)])
}

/// Returns the share of the input tokens that is a beginning of an earlier prompt, of calls whose name begins so.
fn share(prompts: &[(String, Prompt)], kind: &str) -> f64 {
    let (mut shared, mut all, mut earlier) = (0, 0, Vec::new());
    for (call, prompt) in prompts {
        let text = joined(prompt);
        if call.starts_with(kind) {
            shared += shared_tokens(&text, &earlier);
            all += tokens::count(&text);
        }
        earlier.push(text);
    }
    f64::from(shared) / f64::from(all)
}

#[test]
fn a_good_part_of_a_debates_input_is_the_beginning_of_an_earlier_prompt() {
    for (sentences, least) in [(3, 0.39), (8, 0.32), (13, 0.26)] {
        let prompts = prompts(&rates(), sentences);
        let shares = ["", "argue", "score", "synthesise"].map(|kind| share(&prompts, kind));
        let [all, argue, score, synthesis] = shares.map(|share| share * 100.0);
        println!(
            "arguments of {sentences} sentences: {all:.1} % of all input begins an earlier prompt \
             (arguments {argue:.1} %, scores {score:.1} %, synthesis {synthesis:.1} %)"
        );
        assert!(shares[0] >= least, "{shares:?}");
    }
}

#[test]
fn prompts_of_one_kind_share_the_same_head() {
    let prompts = prompts(&rates(), 8);
    for kind in ["argue/", "score/"] {
        let of_kind: Vec<&Prompt> =
            prompts.iter().filter(|(call, _)| call.starts_with(kind)).map(|(_, prompt)| prompt).collect();
        assert_eq!(of_kind.len(), 15);
        let head = &of_kind[0].messages[1];
        for prompt in &of_kind {
            let speakers: Vec<Speaker> = prompt.messages.iter().map(|message| message.speaker).collect();
            assert_eq!(speakers, [Speaker::System, Speaker::User, Speaker::User]);
            assert!(Arc::ptr_eq(&prompt.messages[1].text, &head.text), "one text, not a copy for each");
        }
    }
    let by_name = |name: &str| &prompts.iter().find(|(call, _)| call == name).unwrap().1;
    let (closing, synthesis) = (by_name("argue/3/judge"), by_name("synthesise/3/judge"));
    assert_eq!(closing.messages[0], synthesis.messages[0]);
    assert!(Arc::ptr_eq(&closing.messages[1].text, &synthesis.messages[1].text));
    let head = parse(closing);
    assert_eq!(
        &*closing.messages[1].text,
        "<question>Will the bank cut its rate in June?</question>\n<outcomes>\nA | yes | prior 0.60\nB | no | \
         prior 0.40\n</outcomes>\n"
    );
    assert!(head.task.starts_with("Role: judge. "));
    let rubric = &*by_name("score/1/judge").messages[1].text;
    assert!(
        rubric.contains("</question>\n\nOne argument is scored") && rubric.contains(" for each criterion: "),
        "{rubric}"
    );
}

#[test]
fn p15_a_question_that_may_have_to_be_cut_is_shown_as_whole_as_each_prompt_allows() {
    let long = "Will the bank cut its rate in June, after it has held it in March and in April? ".repeat(6);
    let mut request = rates();
    request["prediction_context"]["task"]["question"] = json!(long.trim());
    let prompts = prompts(&request, 13);
    for (call, prompt) in &prompts {
        let parsed = parse(prompt);
        let question = &parsed.lines("question")[0];
        let users = prompt.messages.len() - 1;
        let is_score = call.starts_with("score/");
        assert_eq!(users, if is_score { 2 } else { 1 }, "{call}");
        if call.starts_with("argue/1/") || call.starts_with("synthesise/") {
            assert_eq!(question, long.trim(), "{call}");
        }
    }
    let cut = |(call, prompt): &(String, Prompt)| call.starts_with("argue/3/") && !prompt.omitted.is_empty();
    assert!(prompts.iter().any(cut));
}

#[test]
fn points_stand_in_the_order_in_which_they_were_made() {
    let request = rates();
    hold(accepted(&request), |_, visible, prompt| {
        if matches!(visible, Visible::Argue(_)) {
            let parsed = parse(prompt);
            let ids: Vec<&str> = parsed.points().iter().map(|point| point.attribute("id").unwrap()).collect();
            let rounds: Vec<&str> = ids.iter().map(|id| id.split_once('.').unwrap().0).collect();
            assert!(rounds.is_sorted(), "{ids:?}");
        }
        canned(visible, 1)
    });
}
