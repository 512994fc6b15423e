//! The schemas of replies, with their bounds and with the names that a call may use (rule P28).

use debate_core::formats::prediction::config::Phase;
use debate_core::formats::prediction::visible::{ArgueView, SynthesisView};
use debate_core::id::Role;
use serde_json::{Value, json};

use super::outcomes::Letters;
use super::standard;
use crate::prompts::ReplyShape;
use crate::schema::{list, named, number, object, one_of, prose, shape, text};

/// The most facts that an argument rests on, points that it quotes, and past events that it brings.
const LISTED_MAX: usize = 3;

/// Characters that a word has at most, on average, with the space behind it.
const WORD_CHARS_MAX: u32 = 8;

/// Returns the shape of an argument of at most so many words; `shown` are the ids of the points in its prompt.
pub(super) fn argument(view: &ArgueView, words_max: u32, precedents: bool, shown: &[String]) -> ReplyShape {
    let letters = Letters::of_subject(&view.subject);
    let letters = letters.as_slice();
    let opponents: Vec<&str> = view.opponents.iter().map(Role::as_str).collect();
    let phase = view.phase.as_str();
    let has_claim = standard::is_of(&view.subject);
    let key = format!(
        "{}\n{words_max}\n{phase}\n{precedents}\n{has_claim}\n{}\n{}",
        letters.join("\t"),
        opponents.join("\t"),
        shown.join("\t")
    );
    shape("argument", key, || {
        let is_opening = view.phase == Phase::Opening;
        let is_closing = view.phase == Phase::Closing;
        let rebutted = if is_opening { &[][..] } else { &opponents };
        let citable = if is_opening { &[][..] } else { shown };
        let cite = object([("point", named(citable)), ("quote", text(240))]);
        let precedent = object([
            ("event", text(200)),
            ("date", text(40)),
            ("outcome", text(200)),
            ("relevance", text(200)),
            ("similarity_score", number(1)),
        ]);
        let (precedents_min, precedents_max) = if precedents { (2, LISTED_MAX) } else { (0, 0) };
        let thinking = if has_claim { 40 } else { 30 };
        let claim = has_claim.then(|| ("claim", prose(30 * WORD_CHARS_MAX)));
        let fields = [
            ("argument", prose(words_max.saturating_mul(WORD_CHARS_MAX))),
            ("supports", one_of(letters)),
            ("probabilities", probabilities(letters)),
            ("confidence", number(1)),
            ("evidence_cited", list(text(200), 0, LISTED_MAX)),
            ("rebuts", list(named(rebutted), usize::from(!rebutted.is_empty()), rebutted.len())),
            (
                "cites",
                list(cite, usize::from(is_closing && !citable.is_empty()), citable.len().min(LISTED_MAX)),
            ),
            ("precedents", list(precedent, precedents_min, precedents_max)),
        ];
        object([("thinking", text(thinking * WORD_CHARS_MAX))].into_iter().chain(claim).chain(fields))
    })
}

/// Returns the shape of the reply with scores on some criteria.
pub(super) fn scores(criteria: &[String]) -> ReplyShape {
    shape("scores", criteria.join("\n"), || {
        let scores = object(criteria.iter().map(|criterion| (criterion, number(1))));
        object([("reason", text(40 * WORD_CHARS_MAX)), ("scores", scores)])
    })
}

/// Returns the shape of the synthesis.
pub(super) fn synthesis(view: &SynthesisView) -> ReplyShape {
    let letters = Letters::of_subject(&view.subject);
    let letters = letters.as_slice();
    let roles: Vec<&str> = view.roles.iter().map(Role::as_str).collect();
    let key = format!("{}\n{}\n{}", letters.join("\t"), view.rounds, roles.join("\t"));
    shape("synthesis", key, || {
        let position = object([("role", named(&roles)), ("stance", text(200)), ("strength", number(1))]);
        let disagreement = object([
            ("topic", text(200)),
            ("positions", list(position, 0, roles.len())),
            ("resolved", json!({ "type": "boolean" })),
        ]);
        let insight = object([
            ("insight", text(300)),
            ("source_role", named(&roles)),
            ("round", json!({ "type": "integer", "minimum": 1, "maximum": view.rounds })),
            ("impact", one_of(&["high", "medium", "low"])),
            ("affected_outcomes", list(one_of(letters), 0, letters.len())),
        ]);
        object([
            ("reasoning", prose(300 * WORD_CHARS_MAX)),
            ("probabilities", probabilities(letters)),
            ("confidence", number(1)),
            ("disagreements", list(disagreement, 0, 4)),
            ("insights", list(insight, 0, 5)),
        ])
    })
}

/// Returns the shape of probabilities: one number for each letter; of two outcomes the first alone, as the other has the
/// rest.
fn probabilities(letters: &[String]) -> Value {
    let asked = if letters.len() == 2 { &letters[..1] } else { letters };
    object(asked.iter().map(|letter| (letter, number(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::formats::prediction::config::Preset;
    use debate_core::formats::prediction::visible::Subject;
    use debate_core::id::OutcomeId;
    use debate_core::prose::Prose;

    fn shape(phase: Phase, outcomes: usize, opponents: &[&str], shown: &[&str]) -> Value {
        let outcomes = (0..outcomes).map(|place| OutcomeId::new(place.to_string())).collect();
        let view = ArgueView {
            subject: Subject {
                brief: Prose::default(),
                outcomes,
                as_of: Default::default(),
                dates: Default::default(),
                preset: Preset::Contract,
                input_tokens: Preset::Contract.input_tokens(&Default::default()),
                language: None,
            },
            role: Role::from("judge"),
            round: 2,
            rounds: 3,
            phase,
            max_argument_length: 500,
            opponents: opponents.iter().map(|role| Role::from(*role)).collect(),
            points: Vec::new(),
            rejection: Prose::default(),
        };
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        (*argument(&view, 220, false, &shown).schema)["properties"].clone()
    }

    #[test]
    fn p28_who_is_rebutted_and_what_is_cited_are_closed_lists() {
        let closing = shape(Phase::Closing, 3, &["optimist"], &["r1.optimist", "r2.judge"]);
        assert_eq!(
            closing["rebuts"],
            json!({"type": "array", "items": {"type": "string", "enum": ["optimist"]},
            "maxItems": 1, "minItems": 1})
        );
        assert_eq!(
            closing["cites"]["items"]["properties"]["point"]["enum"],
            json!(["r1.optimist", "r2.judge"])
        );
        assert_eq!((&closing["cites"]["minItems"], &closing["cites"]["maxItems"]), (&json!(1), &json!(2)));
        let opening = shape(Phase::Opening, 3, &["optimist"], &["r1.optimist"]);
        for list in ["rebuts", "cites", "precedents"] {
            assert_eq!(opening[list]["maxItems"], 0, "{list}");
        }
        assert_eq!(opening["argument"]["maxLength"], 1_760);
    }

    #[test]
    fn of_two_outcomes_the_first_alone_is_asked_for() {
        for (outcomes, letters) in [(2, json!(["A"])), (3, json!(["A", "B", "C"]))] {
            let shape = shape(Phase::Opening, outcomes, &[], &[]);
            assert_eq!(shape["probabilities"]["required"], letters);
        }
    }

    #[test]
    fn a_list_of_very_many_names_is_open() {
        let ids: Vec<String> = (0..=100).map(|place| format!("r1.role{place}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let shape = shape(Phase::Rebuttal, 2, &[], &ids);
        assert!(shape["cites"]["items"]["properties"]["point"].get("enum").is_none());
    }
}
