//! What a debate came to, in the few lines that a newcomer looks for first.

use debate_core::format::Format as _;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use serde::Serialize;
use serde_json::Value;

/// What a debate came to, or where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What was decided, one line each; empty where there is nothing yet.
    pub decided: Vec<String>,
    /// How sure that is, in the format's own numbers; null where it has none.
    pub sure: Option<String>,
    /// Who stands for something else; null where the format does not tell.
    pub dissenters: Option<Vec<String>>,
    /// What is left open or speaks against relying on it, one line each.
    pub open: Vec<String>,
}

impl Decision {
    /// Reads it from a format's result; none of a format whose result is laid out in a page of its own.
    pub(crate) fn of(format: &str, result: &Value) -> Option<Self> {
        match format {
            Deliberation::NAME => Some(deliberation(result)),
            Roundtable::NAME => Some(roundtable(result)),
            Review::NAME => Some(review(result)),
            Investigation::NAME => Some(investigation(result)),
            _ => None,
        }
    }
}

fn deliberation(result: &Value) -> Decision {
    Decision {
        decided: text(&result["consensus"]).into_iter().collect(),
        sure: None,
        dissenters: None,
        open: texts(&result["disagreements"]),
    }
}

fn roundtable(result: &Value) -> Decision {
    let decision = &result["decision"];
    let decided: Vec<String> = text(&decision["position"]).into_iter().collect();
    let sure = format!(
        "{} consensus, agreement {}, confidence {}, both from 0 to 1; next: {}",
        word(&decision["consensus"]),
        number(&decision["agreement_level"]),
        number(&decision["confidence"]),
        word(&decision["action"]),
    );
    Decision {
        sure: (!decided.is_empty()).then_some(sure),
        dissenters: (!decided.is_empty()).then(|| texts(&decision["dissenters"])),
        open: texts(&decision["cautions"]),
        decided,
    }
}

fn review(result: &Value) -> Decision {
    let judged = list(&result["debates"]).iter().filter(|pair| !pair["judgement"].is_null()).map(|pair| {
        let (a, b) = (word(&pair["role_a"]), word(&pair["role_b"]));
        let judgement = &pair["judgement"];
        let winner = match judgement["winner"].as_str() {
            Some("role_a") => format!("{a} prevails"),
            Some("role_b") => format!("{b} prevails"),
            Some(_) | None => "neither prevails".to_owned(),
        };
        format!("{a} against {b}: {winner}. {}", text(&judgement["summary"]).unwrap_or_default())
    });
    let failed = list(&result["failed_pairs"]).iter();
    Decision {
        decided: judged.chain(text(&result["not_run"]["reason"])).collect(),
        sure: None,
        dissenters: None,
        open: failed.map(|pair| format!("pair {}: {}", pair["pair"], word(&pair["why"]))).collect(),
    }
}

fn investigation(result: &Value) -> Decision {
    let verdict = &result["verdict"];
    let decided: Vec<String> = text(&verdict["statement"]).into_iter().collect();
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
    let dissenters = others.map(|other| word(&other["investigator"])).collect();
    Decision {
        sure: (!decided.is_empty()).then_some(sure),
        dissenters: (!decided.is_empty()).then_some(dissenters),
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
