//! What a debate came to, in the few lines that a newcomer looks for first.

use debate_core::format::Format as _;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use serde::Serialize;
use serde_json::Value;

use crate::wording::{asked, percent, score};

/// What a debate came to, or where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What was decided, one line each; empty where there is nothing yet.
    pub decided: Vec<String>,
    /// How sure that is, in the format's own numbers; null where it has none.
    pub sure: Option<String>,
    /// What these numbers mean; null where there are none.
    pub sure_means: Option<&'static str>,
    /// Who stands for something else, or what was objected where only that is known; null where there is nothing to
    /// stand against.
    pub dissenters: Option<Vec<String>>,
    /// Who stands furthest apart where the numbers of a disagreement tell it.
    pub apart: Option<String>,
    /// What is left open or speaks against relying on it, one line each.
    pub open: Vec<String>,
}

impl Decision {
    /// Reads it from a format's result, and the rules and the brief that give outcomes their names.
    pub(crate) fn of(format: &str, result: &Value, rules: &Value, brief: Option<&Value>) -> Self {
        match format {
            Prediction::NAME => prediction(result, &|id| outcome_name(rules, brief, id)),
            Deliberation::NAME => deliberation(result),
            Roundtable::NAME => roundtable(result),
            Review::NAME => review(result),
            Investigation::NAME => investigation(result),
            _ => Self::default(),
        }
    }
}

/// Returns what people call an outcome of a prediction: its label, or its id where it has none.
pub(crate) fn outcome_name(rules: &Value, brief: Option<&Value>, id: &Value) -> String {
    let place = list(&rules["outcomes"]).iter().position(|known| known == id);
    let label = brief.zip(place).and_then(|(brief, place)| brief["outcomes"][place]["label"].as_str());
    let label = label.map(str::trim).filter(|label| !label.is_empty());
    label.or(id.as_str()).unwrap_or_default().to_owned()
}

fn prediction(result: &Value, name: &dyn Fn(&Value) -> String) -> Decision {
    let given = |outcome: &Value| outcome["probability"].as_f64().unwrap_or_default();
    // Of equals the first is named.
    let outcomes = list(&result["probability_distribution"]).iter().rev();
    let Some(best) = outcomes.max_by(|a, b| given(a).total_cmp(&given(b))) else {
        return Decision::default();
    };
    let mut dissenters = Vec::new();
    for (role, supported) in last_supported(result) {
        if supported != &best["outcome_id"] {
            dissenters.push(format!("{role} (for {})", name(supported)));
        }
    }
    let is_open = |disagreement: &&Value| disagreement["resolved"] == false;
    let open: Vec<&Value> = list(&result["disagreement_map"]).iter().filter(is_open).collect();
    let outcomes = list(&result["probability_distribution"]);
    Decision {
        decided: vec![format!("{} at {}", name(&best["outcome_id"]), percent(given(best)))],
        sure: Some(format!(
            "confidence {}, agreement {}",
            score(&result["extra"]["confidence"]),
            score(&result["consensus_score"])
        )),
        sure_means: Some(
            "Both from 0 to 1. Confidence: how sure the closing synthesis is of its answer, less where arguments, scores \
             or the synthesis are missing. Agreement: how close the roles’ probabilities lie to each other.",
        ),
        dissenters: Some(dissenters),
        apart: open.first().and_then(|_| furthest_apart(outcomes, name)),
        open: open
            .into_iter()
            .filter(|disagreement| !is_measured(disagreement))
            .filter_map(|disagreement| text(&disagreement["topic"]))
            .chain(texts(&result["extra"]["notes"]))
            .chain(repaired(result))
            .collect(),
    }
}

/// Names the answers that count although something in them was repaired (rules K18, P29).
fn repaired(result: &Value) -> Option<String> {
    let entries = list(&result["extra"]["repairs"]).iter().map(|entry| {
        let call = asked(entry["call"].as_str().unwrap_or_default(), Prediction::NAME);
        format!("{call} ({})", texts(&entry["repairs"]).join(", "))
    });
    let entries: Vec<String> = entries.collect();
    (!entries.is_empty()).then(|| format!("Repaired answers: {}", entries.join("; ")))
}

/// Returns each role with the outcome that its last argument speaks for, in the order in which they first spoke.
fn last_supported(result: &Value) -> Vec<(&str, &Value)> {
    let mut supported: Vec<(&str, &Value)> = Vec::new();
    for argument in list(&result["debate_log"]["rounds"]).iter().flat_map(|round| list(&round["arguments"])) {
        let (role, outcome) = (argument["role"].as_str().unwrap_or_default(), &argument["outcome_supported"]);
        match supported.iter_mut().find(|(known, _)| *known == role) {
            Some((_, last)) => *last = outcome,
            None => supported.push((role, outcome)),
        }
    }
    supported
}

/// Returns whether a disagreement is about the roles' numbers; others the judge put in words (rule P13).
fn is_measured(disagreement: &Value) -> bool {
    disagreement["topic"].as_str().is_some_and(|topic| topic.starts_with("probability of "))
}

/// Names the two roles between which the probabilities of an outcome lie furthest apart, of all outcomes.
fn furthest_apart(outcomes: &[Value], name: &dyn Fn(&Value) -> String) -> Option<String> {
    let share = |position: &Value| position["probability"].as_f64().unwrap_or_default();
    let spans = outcomes.iter().rev().filter_map(|outcome| {
        let positions = || list(&outcome["role_assessments"]).iter();
        let most = positions().rev().max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let least = positions().min_by(|a, b| share(a).total_cmp(&share(b)))?;
        Some((&outcome["outcome_id"], most, least))
    });
    let width = |(_, most, least): &(&Value, &Value, &Value)| share(most) - share(least);
    let (outcome, most, least) = spans.max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let of = |position: &Value| {
        format!("{} gives {}", position["role"].as_str().unwrap_or_default(), percent(share(position)))
    };
    Some(format!("Furthest apart on {}: {}, {}", name(outcome), of(most), of(least)))
}

fn deliberation(result: &Value) -> Decision {
    let decided: Vec<String> = text(&result["consensus"]).into_iter().collect();
    Decision {
        // A consensus says in prose who holds out.
        dissenters: (!decided.is_empty()).then(|| texts(&result["disagreements"])),
        decided,
        ..Decision::default()
    }
}

fn roundtable(result: &Value) -> Decision {
    let decision = &result["decision"];
    let decided: Vec<String> = text(&decision["position"]).into_iter().collect();
    let is_there = !decided.is_empty();
    let cautions = texts(&decision["cautions"]);
    let silent = texts(&decision["missing"]);
    let silent: Vec<String> =
        silent.iter().map(|agent| format!("{agent} was silent in the last round")).collect();
    let sure = format!(
        "{} consensus, agreement {}, confidence {}; next: {}",
        word(&decision["consensus"]),
        number(&decision["agreement_level"]),
        number(&decision["confidence"]),
        word(&decision["action"]),
    );
    Decision {
        sure: is_there.then_some(sure),
        sure_means: is_there.then_some(
            "Both from 0 to 1. Agreement: how close the agents’ positions are to each other. Confidence: how sure they \
             say they are.",
        ),
        dissenters: is_there.then(|| texts(&decision["dissenters"])),
        apart: None,
        open: if is_there { [silent, cautions].concat() } else { cautions },
        decided,
    }
}

fn review(result: &Value) -> Decision {
    let judged: Vec<&Value> =
        list(&result["debates"]).iter().filter(|pair| !pair["judgement"].is_null()).collect();
    let mut decision = Decision {
        open: list(&result["failed_pairs"])
            .iter()
            .map(|pair| format!("pair {}: {}", pair["pair"], word(&pair["why"])))
            .collect(),
        ..Decision::default()
    };
    let mut losers = Vec::new();
    for pair in &judged {
        let (a, b) = (word(&pair["role_a"]), word(&pair["role_b"]));
        let found = match pair["judgement"]["winner"].as_str() {
            Some("role_a") => Some((&a, &b)),
            Some("role_b") => Some((&b, &a)),
            Some(_) | None => None,
        };
        let prevails = found.map_or_else(|| "neither".to_owned(), |(winner, _)| winner.clone());
        losers.extend(found.map(|(winner, loser)| format!("{loser} (against {winner})")));
        let summary = text(&pair["judgement"]["summary"]).unwrap_or_default();
        decision.decided.push(format!("{a} against {b}: {prevails} prevails. {summary}"));
    }
    decision.decided.extend(text(&result["not_run"]["reason"]));
    decision.dissenters = (!judged.is_empty()).then_some(losers);
    decision
}

fn investigation(result: &Value) -> Decision {
    let verdict = &result["verdict"];
    let decided: Vec<String> = text(&verdict["statement"]).into_iter().collect();
    let is_there = !decided.is_empty();
    let others = list(&result["hypotheses"]).iter().filter(|hypothesis| {
        hypothesis["hypothesis"] != verdict["hypothesis"] && hypothesis["status"] == "supported"
    });
    let confidence = if verdict["confidence"].is_null() {
        "confidence not said".to_owned()
    } else {
        format!("confidence {} of 10", number(&verdict["confidence"]))
    };
    let confirmed = if verdict["confirmed"] == true { "confirmed" } else { "not confirmed" };
    let sure = format!("{confirmed}, named by the {}, {confidence}", word(&verdict["named_by"]));
    let is_open = |challenge: &&Value| challenge["state"] == "open";
    let challenges = list(&result["challenges"]).iter().filter(is_open).map(|challenge| {
        format!("challenge {}: {}", word(&challenge["id"]), text(&challenge["challenge"]).unwrap_or_default())
    });
    Decision {
        sure: is_there.then_some(sure),
        sure_means: is_there.then_some("Confidence: how sure the synthesizer says it is of the verdict."),
        dissenters: is_there.then(|| others.map(|other| word(&other["investigator"])).collect()),
        apart: None,
        open: texts(&verdict["missing"]).into_iter().chain(challenges).collect(),
        decided,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(text).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('_', " ")
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "unknown".to_owned(), |number| format!("{number:.2}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn argument(role: &str, supports: &str) -> Value {
        json!({ "role": role, "outcome_supported": supports })
    }

    /// The optimist comes round in the second round; the contrarian gives "no" more and speaks for "yes".
    fn harbour() -> Value {
        let given = |role: &str, probability: f64| json!({ "role": role, "probability": probability });
        let outcome = |id: &str, probability: f64, [optimist, pessimist, contrarian]: [f64; 3]| {
            let roles =
                [given("optimist", optimist), given("pessimist", pessimist), given("contrarian", contrarian)];
            json!({ "outcome_id": id, "probability": probability, "role_assessments": roles })
        };
        json!({
            "probability_distribution": [
                outcome("yes", 0.375, [0.3, 0.2, 0.45]), outcome("no", 0.625, [0.7, 0.9, 0.55]),
            ],
            "consensus_score": 0.81,
            "extra": {
                "confidence": 0.4,
                "notes": ["equal to the prior that was shown: judge"],
                "repairs": [{ "call": "argue/1/optimist", "repairs": ["normalized", "cut"] }],
            },
            "debate_log": { "rounds": [
                { "arguments": [argument("optimist", "yes"), argument("pessimist", "no"), argument("contrarian", "no")] },
                { "arguments": [argument("optimist", "no"), argument("contrarian", "yes")] },
            ] },
            "disagreement_map": [
                { "topic": "Whether the pilots count", "resolved": false },
                { "topic": "What ice is", "resolved": true },
                { "topic": "probability of no", "resolved": false },
            ],
        })
    }

    #[test]
    fn p7_who_disagrees_is_who_last_spoke_for_another_outcome_than_the_decided_one() {
        let rules = json!({ "outcomes": ["yes", "no"] });
        let brief = json!({ "outcomes": [{ "label": "It freezes" }, { "label": " " }] });
        let found = Decision::of("prediction", &harbour(), &rules, Some(&brief));
        assert_eq!(found.decided, ["no at 62.5\u{a0}%"]);
        assert_eq!(found.sure.as_deref(), Some("confidence 0.40, agreement 0.81"));
        assert_eq!(found.dissenters, Some(vec!["contrarian (for It freezes)".to_owned()]));
        assert_eq!(
            found.apart.as_deref(),
            Some("Furthest apart on no: pessimist gives 90.0\u{a0}%, contrarian gives 55.0\u{a0}%")
        );
        let open = [
            "Whether the pilots count",
            "equal to the prior that was shown: judge",
            "Repaired answers: optimist, round 1, argue (normalized, cut)",
        ];
        assert_eq!(found.open, open);
        let void = json!({ "probability_distribution": [] });
        assert_eq!(Decision::of("prediction", &void, &rules, None), Decision::default());
    }

    #[test]
    fn d7_what_a_consensus_leaves_unresolved_is_who_disagreed_in_a_deliberation() {
        let result = json!({ "consensus": "Close it.", "disagreements": ["The mayor wants a ferry."] });
        let found = Decision::of("deliberation", &result, &Value::Null, None);
        assert_eq!(found.dissenters, Some(vec!["The mayor wants a ferry.".to_owned()]));
        let open = json!({ "consensus": null, "disagreements": [] });
        assert_eq!(Decision::of("deliberation", &open, &Value::Null, None).dissenters, None);
    }

    #[test]
    fn t10_who_was_silent_in_the_last_round_of_a_roundtable_is_left_open() {
        let result = |position: Value| json!({ "decision": { "position": position, "missing": ["ben"], "cautions": ["Two models are one."] } });
        let open = |result: Value| Decision::of("roundtable", &result, &Value::Null, None).open;
        let cautions = ["ben was silent in the last round", "Two models are one."];
        assert_eq!(open(result("Move.".into())), cautions);
        assert_eq!(open(result(Value::Null)), cautions[1..], "no role is missing before a decision");
    }

    #[test]
    fn v4_loser_of_a_pair_dissents_and_a_tie_has_no_dissenter() {
        let pair = |winner: &str| json!({ "role_a": "security", "role_b": "testing", "judgement": { "winner": winner, "summary": "So." } });
        let of = |debates: Value| Decision::of("review", &json!({ "debates": debates }), &Value::Null, None);
        let found = of(json!([pair("role_a"), pair("role_b"), pair("tie")]));
        let losers = ["testing (against security)", "security (against testing)"].map(str::to_owned);
        assert_eq!(found.dissenters, Some(losers.to_vec()));
        assert_eq!(found.decided[2], "security against testing: neither prevails. So.");
        assert_eq!(of(json!([])).dissenters, None);
    }
}
