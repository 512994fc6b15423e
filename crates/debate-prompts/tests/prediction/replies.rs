//! What is read of a reply: as kindly as its meaning allows, never more than stands there.

use debate_core::call::{CallKey, Want};
use debate_core::formats::prediction::answer::{Answer, Argument, OutcomeRef, Scores, Synthesis};
use debate_core::formats::prediction::config::Phase;
use debate_core::formats::prediction::fact::ArgumentProse;
use debate_core::formats::prediction::point::PointId;
use debate_core::formats::prediction::visible::{
    ArgueView, Point, ScoreView, Subject, SynthesisView, Visible, Words,
};
use debate_core::id::{Role, Timestamp};
use debate_core::measures::distribution::Distribution;
use debate_core::prose::Prose;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{ParseError, Prompts as _, Reading, RenderError};
use debate_prompts::tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::debate::{accepted, canned, hold, request};

fn subject() -> Subject {
    let mut request = request("Will it rain?", &["wet", "dry"]);
    request["prediction_context"]["outcomes"][0]["label"] = json!("Yes, at least 1 mm");
    let request = accepted(&request);
    Subject::of(&request.config, Prose::new(request.brief), Timestamp::default())
}

fn words(argument: &str) -> Words {
    let (argument, evidence_cited, precedents) = (argument.to_owned(), Vec::new(), Vec::new());
    Words::of(&Prose::new(ArgumentProse { argument, evidence_cited, precedents, ..ArgumentProse::default() }))
}

fn point(round: u32, role: &str, argument: Option<&str>) -> Point {
    Point {
        id: PointId::new(round, &Role::from(role)),
        words: argument.map_or_else(Words::default, words),
        supports: 0,
        probabilities: Distribution::new(vec![0.6, 0.4]).unwrap(),
    }
}

fn argue() -> Visible {
    Visible::Argue(Box::new(ArgueView {
        subject: subject(),
        role: Role::from("pessimist"),
        round: 2,
        rounds: 3,
        phase: Phase::Rebuttal,
        max_argument_length: 500,
        opponents: vec![Role::from("optimist")],
        points: vec![point(1, "optimist", Some("It always rains in Bergen."))],
        rejection: Prose::default(),
    }))
}

fn score() -> Visible {
    let criteria = accepted(&request("Will it rain?", &["wet", "dry"])).config.criteria;
    Visible::Score(Box::new(ScoreView {
        subject: subject(),
        phase: Phase::Opening,
        criteria,
        words: words("It always rains in Bergen."),
        supports: 0,
        precedents: 0,
    }))
}

fn synthesise() -> Visible {
    let roles = ["optimist", "pessimist", "Ada"].map(Role::from).to_vec();
    Visible::Synthesise(Box::new(SynthesisView { subject: subject(), roles, rounds: 2, points: Vec::new() }))
}

fn want() -> Want {
    Want { call: CallKey::new("argue", 2, Role::from("pessimist")), revision: 0 }
}

fn read(visible: &Visible, reply: &str) -> Result<(Answer, Vec<String>), ParseError> {
    match PredictionPrompts.parse(visible, &want(), debate_prompts::prompts::Received::whole(reply))? {
        Reading::Answer { answer, repairs } => Ok((answer, repairs)),
        Reading::Tools(tools) => panic!("{tools:?}"),
    }
}

fn argument(reply: &Value) -> (Argument, Vec<String>) {
    match read(&argue(), &reply.to_string()).unwrap() {
        (Answer::Argue(argument), repairs) => (argument, repairs),
        other => panic!("{other:?}"),
    }
}

fn scores(reply: &Value) -> (Scores, Vec<String>) {
    match read(&score(), &reply.to_string()).unwrap() {
        (Answer::Score(scores), repairs) => (scores, repairs),
        other => panic!("{other:?}"),
    }
}

fn synthesis(reply: &Value) -> (Synthesis, Vec<String>) {
    match read(&synthesise(), &reply.to_string()).unwrap() {
        (Answer::Synthesise(synthesis), repairs) => (synthesis, repairs),
        other => panic!("{other:?}"),
    }
}

fn whole() -> Value {
    json!({
        "thinking": "private",
        "argument": "Bergen was dry in April.",
        "supports": "B",
        "probabilities": {"A": 0.3, "B": 0.7},
        "confidence": 0.6,
        "evidence_cited": ["April"],
        "rebuts": ["optimist"],
        "cites": [{"point": "r1.optimist", "quote": "always rains"}],
        "precedents": [{"event": "2018", "date": "2018-05", "outcome": "Dry", "relevance": "Same high", "similarity_score": 0.5}],
    })
}

const A: OutcomeRef = OutcomeRef::Known(0);
const B: OutcomeRef = OutcomeRef::Known(1);

#[test]
fn a_reply_in_shape_is_read_as_it_stands() {
    let (argument, repairs) = argument(&whole());
    assert_eq!(repairs, [""; 0]);
    assert_eq!(argument.argument, "Bergen was dry in April.");
    assert_eq!((argument.supports, argument.confidence), (B, 0.6));
    assert_eq!(argument.probabilities, [(A, 0.3), (B, 0.7)]);
    assert_eq!(
        (argument.evidence_cited, argument.rebuts),
        (vec!["April".to_owned()], vec!["optimist".to_owned()])
    );
    assert_eq!(
        (argument.cites[0].point.as_str(), argument.cites[0].quote.as_str()),
        ("r1.optimist", "always rains")
    );
    assert_eq!(
        (argument.precedents[0].event.as_str(), argument.precedents[0].similarity_score),
        ("2018", 0.5)
    );
}

#[test]
fn k3_a_reply_in_prose_and_a_fence_is_read_and_says_what_was_mended() {
    let text = format!("<think>hm</think>Here it is:\n```json\n{}\n```\nGood luck!", whole());
    let (answer, repairs) = read(&argue(), &text).unwrap();
    assert_eq!(answer, Answer::Argue(argument(&whole()).0));
    assert!(
        repairs.contains(&"thinking_removed".to_owned()) && repairs.contains(&"fence_removed".to_owned()),
        "{repairs:?}"
    );
    assert!(repairs.iter().all(|repair| !repair.contains(' ')), "one word each: {repairs:?}");
}

#[test]
fn p7_what_is_missing_is_named_and_never_made_up() {
    for (field, value, why) in [
        ("argument", Value::Null, "the reply has no usable argument"),
        ("argument", json!("  "), "the reply has no usable argument"),
        ("probabilities", Value::Null, "the reply has no usable probabilities"),
        ("probabilities", json!({"A": "high"}), "the reply has no usable probabilities"),
        ("probabilities", json!({}), "the reply has no usable probabilities"),
    ] {
        let mut reply = whole();
        reply[field] = value;
        assert_eq!(read(&argue(), &reply.to_string()).unwrap_err().why, why);
    }
    assert_eq!(read(&argue(), "{}").unwrap_err().why, "the reply has no usable argument, no probabilities");
    assert_eq!(read(&argue(), "I would rather not.").unwrap_err().why, "reply has no JSON object");
    assert_eq!(read(&score(), r#"{"reason": "x"}"#).unwrap_err().why, "the reply has no usable scores");
    assert_eq!(
        read(&synthesise(), r#"{"reasoning": "x"}"#).unwrap_err().why,
        "the reply has no usable probabilities"
    );
    let cut = r#"{"thinking": "t", "argument": "It rains because the wind"#;
    let error = read(&argue(), cut).unwrap_err();
    assert_eq!(error.why, "the reply ends before `argument`; write a shorter one");
}

#[test]
fn what_is_optional_has_a_default_that_is_said() {
    let (argument, repairs) = argument(&json!({"argument": "x y z", "probabilities": {"A": 0.3, "B": 0.7}}));
    assert_eq!((argument.supports, argument.confidence), (B, 0.5));
    assert!(argument.cites.is_empty() && argument.precedents.is_empty() && argument.rebuts.is_empty());
    assert_eq!(repairs, ["supports_missing", "confidence_missing"]);
}

#[test]
fn a_confidence_that_is_no_share_is_none() {
    for (stated, read) in [
        (json!(0.9), Some(0.9)),
        (json!(30), Some(0.3)),
        (json!("65%"), Some(0.65)),
        (json!(-17.3), None),
        (json!(1.5), None),
    ] {
        let mut reply = whole();
        reply["confidence"] = stated;
        let (argument, repairs) = argument(&reply);
        assert_eq!(argument.confidence, read.unwrap_or(0.5));
        assert_eq!(repairs.contains(&"confidence_missing".to_owned()), read.is_none());
    }
}

#[test]
fn p7_percentages_are_read_as_such_only_where_they_can_be_nothing_else() {
    let read = |probabilities: Value| {
        let mut reply = whole();
        reply["probabilities"] = probabilities;
        let (argument, repairs) = argument(&reply);
        let numbers: Vec<f64> = argument.probabilities.iter().map(|(_, number)| *number).collect();
        (numbers, repairs)
    };
    let percent = vec!["percentages".to_owned()];
    assert_eq!(read(json!({"A": 65, "B": 35})), (vec![0.65, 0.35], percent.clone()));
    assert_eq!(read(json!({"A": 60, "B": 35})), (vec![0.6, 0.35], percent.clone()));
    assert_eq!(read(json!({"A": 60, "B": 34})), (vec![60.0, 34.0], Vec::new()));
    assert_eq!(read(json!({"A": "65%", "B": "35 %"})), (vec![0.65, 0.35], percent.clone()));
    assert_eq!(read(json!({"A": "65%", "B": 0.3})), (vec![0.65, 0.3], percent.clone()));
    assert_eq!(read(json!({"A": "30%", "B": "30%"})), (vec![0.3, 0.3], percent));
    assert_eq!(read(json!({"A": "0.65", "B": 0.35})), (vec![0.65, 0.35], Vec::new()));
    assert_eq!(read(json!({"A": 65, "B": 0.35})), (vec![65.0, 0.35], Vec::new()));
    assert_eq!(read(json!({"A": 1.0, "B": 0})), (vec![1.0, 0.0], Vec::new()));
    assert_eq!(read(json!({"A": -20, "B": 120})), (vec![-20.0, 120.0], Vec::new()));
    // Of two outcomes the first alone is asked for.
    assert_eq!(read(json!({"A": 0.25})), (vec![0.25, 0.75], Vec::new()));
    assert_eq!(read(json!({"A": 25})), (vec![25.0], Vec::new()));
}

#[test]
fn outcomes_are_known_by_letter_label_or_id_and_others_are_kept_as_written() {
    let mut reply = whole();
    reply["probabilities"] = json!({"a": 0.1, "Yes, at least 1 mm": 0.2, "dry": 0.3, "Snow": 0.4});
    reply["supports"] = json!("C");
    let (argument, _) = argument(&reply);
    let snow = OutcomeRef::Unknown("Snow".to_owned());
    assert_eq!(argument.probabilities, [(A, 0.1), (A, 0.2), (B, 0.3), (snow, 0.4)]);
    assert_eq!(argument.supports, OutcomeRef::Unknown("C".to_owned()));
}

#[test]
fn a_list_of_probabilities_is_read_and_said() {
    let mut reply = whole();
    reply["probabilities"] = json!([{"outcome": "A", "probability": 0.2}, {"id": "B", "p": "0.8"}]);
    let (argument, repairs) = argument(&reply);
    assert_eq!(argument.probabilities, [(A, 0.2), (B, 0.8)]);
    assert_eq!(repairs, ["probabilities_as_list"]);
}

#[test]
fn p10_roles_and_points_are_known_however_they_are_spelled() {
    let mut reply = whole();
    reply["rebuts"] = json!("r1.optimist");
    reply["cites"] = json!({"point": "<R1.Optimist>", "quote": "always rains"});
    let (argument, _) = argument(&reply);
    assert_eq!(argument.rebuts, ["optimist"]);
    assert_eq!(argument.cites[0].point, "r1.optimist");
    reply["rebuts"] = json!(["the optimist", "Judge", 7, ""]);
    assert_eq!(self::argument(&reply).0.rebuts, ["optimist", "Judge", "7"]);
}

#[test]
fn p15_the_public_argument_is_cut_at_three_hundred_tokens() {
    let mut reply = whole();
    reply["argument"] = json!("The river rose again last night. ".repeat(60));
    let (argument, repairs) = argument(&reply);
    assert!((250..=300).contains(&tokens::count(&argument.argument)));
    assert!(argument.argument.ends_with("last night.…"));
    assert_eq!(repairs, ["argument_cut"]);
}

#[test]
fn p5_scores_are_read_by_criterion_and_left_as_stated() {
    let (read, repairs) = scores(&json!({
        "reason": "No source.",
        "scores": {"Logical Strength": "0.5", "evidence_quality": 7, "novelty": "60%", "charm": 1.0},
    }));
    let named: Vec<(&str, f64)> = read.scores.iter().map(|(name, score)| (name.as_str(), *score)).collect();
    assert_eq!(named, [("logical_strength", 0.5), ("evidence_quality", 7.0), ("novelty", 0.6)]);
    assert_eq!((read.reason.as_str(), repairs), ("No source.", vec!["percentages".to_owned()]));
    let (read, repairs) = scores(&json!({"logical_strength": 0.4, "novelty": {"score": 0.2}}));
    assert_eq!(read.scores, [("logical_strength".to_owned(), 0.4), ("novelty".to_owned(), 0.2)]);
    assert_eq!(repairs, ["scores_flat"]);
}

#[test]
fn p13_p14_a_synthesis_is_read_with_its_disagreements_and_insights() {
    let (read, _) = synthesis(&json!({
        "reasoning": "Wind decides.",
        "probabilities": {"A": 0.5, "B": 0.5},
        "confidence": "80%",
        "disagreements": [
            {"topic": "Wind", "positions": [{"role": "Optimist", "stance": "West", "strength": "0.9"}, {"role": "the ada", "stance": "East"}], "resolved": "yes"},
            "not a disagreement",
        ],
        "insights": [{"insight": "Wind", "source_role": "ADA", "round": "2", "impact": "high", "affected_outcomes": "dry"}],
    }));
    assert_eq!((read.reasoning.as_str(), read.confidence), ("Wind decides.", 0.8));
    let [disagreement] = &read.disagreements[..] else { panic!("{read:?}") };
    let west = ("optimist".to_owned(), "West".to_owned(), 0.9);
    let east = ("Ada".to_owned(), "East".to_owned(), 0.5);
    assert_eq!(disagreement.positions, [west, east]);
    assert!(disagreement.resolved);
    let [insight] = &read.insights[..] else { panic!("{read:?}") };
    assert_eq!((insight.source_role.as_str(), insight.round, insight.impact.as_str()), ("Ada", 2, "high"));
    assert_eq!(insight.affected_outcomes, [B]);
}

#[test]
fn k15_what_was_redacted_is_said_or_refused() {
    let Visible::Argue(mut view) = argue() else { panic!() };
    view.points[0].words = Words::default();
    let prompt = PredictionPrompts.render(&Visible::Argue(view.clone()), &want(), &[]).unwrap();
    assert!(prompt.messages.last().unwrap().text.contains(">[redacted]</point>"));
    view.subject.brief = Prose::default();
    let error = PredictionPrompts.render(&Visible::Argue(view), &want(), &[]).unwrap_err();
    assert_eq!(error, RenderError::Redacted { version: "prediction/argue@5" });
    let Visible::Score(mut view) = score() else { panic!() };
    view.words = Words::default();
    let error = PredictionPrompts.render(&Visible::Score(view), &want(), &[]).unwrap_err();
    assert_eq!(error, RenderError::Redacted { version: "prediction/score@2" });
}

#[test]
fn schemas_stay_in_the_subset_that_providers_share() {
    for (visible, name) in [(argue(), "argument"), (score(), "scores"), (synthesise(), "synthesis")] {
        let shape = PredictionPrompts.render(&visible, &want(), &[]).unwrap().shape.unwrap();
        assert_eq!(shape.name, name);
        assert_in_subset(&shape.schema);
        let again = PredictionPrompts.render(&visible, &want(), &[]).unwrap().shape.unwrap();
        assert!(std::sync::Arc::ptr_eq(&shape.schema, &again.schema), "made once");
    }
}

fn assert_in_subset(schema: &Value) {
    let map = schema.as_object().unwrap();
    let bounds = ["minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"];
    let known = ["type", "properties", "required", "additionalProperties", "items", "enum"];
    assert!(map.keys().all(|key| known.contains(&key.as_str()) || bounds.contains(&key.as_str())));
    match schema["type"].as_str().unwrap() {
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            assert_eq!(schema["required"], json!(properties.keys().collect::<Vec<_>>()));
            assert_eq!(schema["additionalProperties"], json!(false));
            properties.values().for_each(assert_in_subset);
        }
        "array" => assert_in_subset(&schema["items"]),
        leaf => assert!(["string", "number", "integer", "boolean"].contains(&leaf), "{schema}"),
    }
}

/// Checks a value against a schema of the subset.
fn assert_fits(schema: &Value, value: &Value) {
    match schema["type"].as_str().unwrap() {
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            let value = value.as_object().unwrap();
            assert_eq!(
                properties.keys().collect::<Vec<_>>(),
                value.keys().collect::<Vec<_>>(),
                "in the same order"
            );
            properties.iter().for_each(|(key, schema)| assert_fits(schema, &value[key]));
        }
        "array" => value.as_array().unwrap().iter().for_each(|item| assert_fits(&schema["items"], item)),
        "string" => assert!(value.is_string(), "{value}"),
        "boolean" => assert!(value.is_boolean(), "{value}"),
        _ => assert!(value.is_number(), "{value}"),
    }
    if let Some(allowed) = schema.get("enum") {
        assert!(allowed.as_array().unwrap().contains(value), "{value}");
    }
}

#[test]
fn replies_that_keep_to_their_schema_are_read_without_repair() {
    hold(accepted(&request("Will it rain?", &["wet", "dry", "snow"])), |want, visible, prompt| {
        let mut reply: Value = serde_json::from_str(&canned(visible, 2)).unwrap();
        let schema = &prompt.shape.as_ref().unwrap().schema;
        // Only points that the prompt shows can be cited.
        if let (Some(ids), Some(cite)) = (
            schema.pointer("/properties/cites/items/properties/point/enum"),
            reply.pointer_mut("/cites/0/point"),
        ) {
            *cite = ids[0].clone();
        }
        assert_fits(schema, &reply);
        let text = reply.to_string();
        match PredictionPrompts.parse(visible, want, debate_prompts::prompts::Received::whole(&text)).unwrap()
        {
            Reading::Answer { repairs, .. } => assert_eq!(repairs, [""; 0]),
            Reading::Tools(tools) => panic!("{tools:?}"),
        }
        text
    });
}

proptest! {
    #[test]
    fn any_reply_is_read_or_refused_without_a_panic(
        text in "(\\{|\\}|\"argument\"|\"probabilities\"|\"scores\"|\"A\"|:|,|\\[|\\]|0\\.[0-9]|[0-9]{1,3}%?|null|\"[a-z ]{0,9}\"){0,40}",
    ) {
        for visible in [argue(), score(), synthesise()] {
            if let Ok((Answer::Argue(argument), _)) = read(&visible, &text) {
                prop_assert!(!argument.argument.is_empty() && !argument.probabilities.is_empty());
            }
        }
    }
}
