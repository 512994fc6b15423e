//! Replies of every format, cut anywhere: an answer has the values of the whole reply, or there is none.

use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::formats::investigation::answer::{Answer as Said, Said as Message};
use debate_core::formats::prediction::answer::Answer as Prediction;
use debate_core::formats::review::answer::Answer as Review;
use debate_core::formats::roundtable::answer::Answer as Response;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{CUT, ParseError, Prompts, Reading, Received};
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use proptest::prelude::*;
use serde_json::json;

use super::debates;
use super::reader::first_bytes;

type AnswerOf<P> = <<P as Prompts>::Format as Format>::Answer;
type Read<P> = Result<(AnswerOf<P>, Vec<String>), ParseError>;

fn read<P: Prompts>(
    prompts: &P,
    visible: &<P::Format as Format>::Visible,
    call: &str,
    reply: Received<'_>,
) -> Read<P> {
    match prompts.parse(visible, &debates::want(call), reply)? {
        Reading::Answer { answer, repairs } => Ok((answer, repairs)),
        Reading::Tools(tools) => panic!("{tools:?}"),
    }
}

/// Cuts a reply everywhere and compares each answer with that of the whole reply; returns how often there was one.
fn cut_anywhere<P: Prompts>(
    prompts: &P,
    visible: &<P::Format as Format>::Visible,
    call: &str,
    text: &str,
    is_part: impl Fn(&AnswerOf<P>, &AnswerOf<P>) -> bool,
) -> usize {
    let (whole, _) = read(prompts, visible, call, Received::whole(text)).unwrap();
    let mut answers = 0;
    for bytes in 0..=text.len() {
        let cut = first_bytes(text, bytes);
        match read(prompts, visible, call, Received::cut(&cut)) {
            Ok((answer, repairs)) => {
                assert!(is_part(&answer, &whole), "{bytes} of {text}: {answer:?}, not {whole:?}");
                assert!(repairs.iter().any(|repair| repair == CUT), "{repairs:?}");
                answers += 1;
            }
            Err(error) => assert!(error.why.contains("reached its limit"), "{bytes} of {text}: {error}"),
        }
    }
    answers
}

fn is_part_of_prediction(cut: &Prediction, whole: &Prediction) -> bool {
    match (cut, whole) {
        (Prediction::Argue(cut), Prediction::Argue(whole)) => {
            (&cut.argument, &cut.supports, &cut.probabilities, cut.confidence)
                == (&whole.argument, &whole.supports, &whole.probabilities, whole.confidence)
                && whole.evidence_cited.starts_with(&cut.evidence_cited)
                && whole.rebuts.starts_with(&cut.rebuts)
                && whole.cites.starts_with(&cut.cites)
                && whole.precedents.starts_with(&cut.precedents)
        }
        (Prediction::Score(cut), Prediction::Score(whole)) => cut == whole,
        (Prediction::Synthesise(cut), Prediction::Synthesise(whole)) => {
            (&cut.reasoning, &cut.probabilities, cut.confidence)
                == (&whole.reasoning, &whole.probabilities, whole.confidence)
                && whole.disagreements.starts_with(&cut.disagreements)
                && whole.insights.starts_with(&cut.insights)
        }
        _ => false,
    }
}

fn is_part_of_response(cut: &Response, whole: &Response) -> bool {
    (&cut.stance, &cut.position, &cut.reasoning, cut.confidence)
        == (&whole.stance, &whole.position, &whole.reasoning, whole.confidence)
        && whole.citations.starts_with(&cut.citations)
}

fn is_part_of_report(cut: &Said, whole: &Said) -> bool {
    let (Message::Report(cut), Message::Report(whole)) = (&cut.said, &whole.said) else { return false };
    let is_part = |cut: Option<f64>, whole: Option<f64>| cut.is_none() || cut == whole;
    is_part(cut.confidence, whole.confidence)
        && is_part(cut.confidence_before, whole.confidence_before)
        && whole.key_finding.starts_with(&cut.key_finding)
        && whole.evidence_for.starts_with(&cut.evidence_for)
        && whole.evidence_against.starts_with(&cut.evidence_against)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k18_predictions_cut_anywhere_complete_no_value(
        text in "[a-zé\"{}, ]{10,40}",
        share in 0.0..1.0_f64,
        list in prop::collection::vec("[a-z ]{1,8}", 0..4),
    ) {
        prop_assume!(text.chars().any(char::is_alphanumeric));
        let debate = debates::prediction();
        let check = |call: &str, reply: &serde_json::Value| {
            let visible = debates::prediction_visible(&debate, call);
            cut_anywhere(&PredictionPrompts, &visible, call, &reply.to_string(), is_part_of_prediction)
        };
        let quotes: Vec<_> = list.iter().map(|quote| json!({"point": "r1.judge", "quote": quote})).collect();
        let argued = check("argue/2/optimist", &json!({
            "thinking": text, "argument": format!("Rates fall: {text}"), "supports": "B",
            "probabilities": {"A": share, "B": 1.0 - share}, "confidence": share,
            "evidence_cited": list, "rebuts": ["judge"], "cites": quotes, "precedents": [],
        }));
        prop_assert!(argued > 40, "{argued}: all that is needed comes before the lists");
        let scored = check("score/1/judge", &json!({
            "reason": text, "scores": {"logical_strength": share, "evidence_quality": 0.05, "novelty": 1},
        }));
        prop_assert_eq!(scored, 2, "the scores are the last field");
        let positions: Vec<_> = list.iter().map(|stance| json!({"role": "judge", "stance": stance})).collect();
        let synthesised = check("synthesise/3/judge", &json!({
            "reasoning": format!("Rates fall: {text}"), "probabilities": {"A": share, "B": 1.0 - share},
            "confidence": share, "disagreements": [{"topic": text, "positions": positions, "resolved": true}],
            "insights": [{"insight": text, "source_role": "judge", "round": 12, "impact": "low"}],
        }));
        prop_assert!(synthesised > 40, "{synthesised}");
    }

    #[test]
    fn k18_responses_cut_anywhere_complete_no_value(
        text in "[a-zé\"{}, ]{10,40}",
        share in 0.0..1.0_f64,
        list in prop::collection::vec("[a-z ]{1,8}", 0..4),
    ) {
        let (debate, call) = (debates::roundtable(), "respond/1/ada");
        let reply = json!({
            "stance": "NO", "position": format!("Stay: {text}"), "reasoning": text, "confidence": share,
            "citations": list,
        });
        let visible = debates::visible(&debate, call);
        let answers =
            cut_anywhere(&RoundtablePrompts, &visible, call, &reply.to_string(), is_part_of_response);
        prop_assert!(answers > 10, "{answers}");
    }

    #[test]
    fn k18_judgments_cut_anywhere_complete_no_value(
        text in "[a-zé\"{}, ]{10,40}",
        scores in [0.0..10.0_f64, 0.0..10.0],
    ) {
        let (debate, call) = (debates::review(), "judge/1/judge");
        let feedback = ["security", "testing"].into_iter().zip(scores).map(|(role, score)| json!({
            "role": role, "argument_quality_score": score, "argument_labels": ["precise"], "policy_signal": text,
        }));
        let reply = json!({ "summary": text, "feedback": feedback.collect::<Vec<_>>(), "winner": "testing" });
        let same = |cut: &Review, whole: &Review| cut == whole;
        let visible = debates::visible(&debate, call);
        let answers = cut_anywhere(&ReviewPrompts, &visible, call, &reply.to_string(), same);
        prop_assert_eq!(answers, 2, "the winner is the last field");
    }
}

/// Returns what comes of a reply that was cut, at first and at the last attempt.
fn attempts<P: Prompts>(prompts: &P, debate: &Debate<P::Format>, call: &str, text: &str) -> [Read<P>; 2] {
    let visible = debates::visible(debate, call);
    [Received::cut(text), Received::cut(text).last()].map(|reply| read(prompts, &visible, call, reply))
}

#[test]
fn k18_cut_free_text_is_used_at_the_last_attempt_only() {
    let why = "the reply reached its limit; write a shorter one";
    let [first, last] =
        attempts(&DeliberationPrompts, &debates::deliberation(), "initial/1/ada", "Move, bec");
    assert_eq!(first.unwrap_err().why, why);
    assert_eq!(last.unwrap().1, [CUT]);
    let [first, last] = attempts(&ReviewPrompts, &debates::review(), "argue/1/security", "It leaks, bec");
    assert_eq!(first.unwrap_err().why, why);
    assert_eq!(last.unwrap().1, [CUT]);
    let [first, last] =
        attempts(&DeliberationPrompts, &debates::deliberation(), "initial/1/ada", "<think>bec");
    assert!(first.is_err() && last.is_err(), "thinking alone is no answer");
}

#[test]
fn k18_reports_cut_anywhere_complete_no_value() {
    let (debate, call) = (debates::investigation(), "report/1/ann");
    let report = "[EVIDENCE REPORT]\nHypothesis: H1\nStatus: SUPPORTED\nConfidence: 10/10\nConfidence Before: 5/10\n\
                  Key Finding: memory grows\nSupporting Evidence:\n- [file_line] src/auth.rs:42 | \"leak()\" | grows\n\
                  - [test] login_expires | | fails\nCounter Evidence:\n- [data] rss 512 | | flat at night\n";
    let visible = debates::visible(&debate, call);
    let (whole, _) = read(&InvestigationPrompts, &visible, call, Received::whole(report)).unwrap();
    let mut answers = 0;
    for bytes in 0..=report.len() {
        let cut = first_bytes(report, bytes);
        let [first, last] = attempts(&InvestigationPrompts, &debate, call, &cut);
        assert!(first.is_err(), "{cut}");
        if let Ok((answer, repairs)) = last {
            assert!(is_part_of_report(&answer, &whole), "{cut}: {answer:?}");
            assert_eq!(repairs, [CUT]);
            answers += 1;
        }
    }
    assert!(answers > 200, "{answers}");
}
