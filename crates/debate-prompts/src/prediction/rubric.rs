//! How arguments are scored: the contract's rubric word for word, others as the request brings them (P5).

use debate_core::formats::prediction::config::{Brief, Criterion};

use crate::escape;

/// The bands of the contract's criteria.
const BANDS: [&str; 4] = ["0.0-0.3", "0.3-0.6", "0.6-0.8", "0.8-1.0"];

/// The contract's criteria with what a score in each of [`BANDS`] means.
const CONTRACT: [(&str, [&str; 4]); 3] = [
    (
        "logical_strength",
        [
            "Weak logic, contains fallacies or unsupported leaps",
            "Moderate logic, mostly sound but with some gaps",
            "Strong logic, well-structured with minor issues",
            "Exceptional logic, airtight reasoning chain",
        ],
    ),
    (
        "evidence_quality",
        [
            "Anecdotal or no evidence cited",
            "Some evidence but incomplete or outdated",
            "Solid evidence from credible sources",
            "Comprehensive evidence with multiple corroborating sources",
        ],
    ),
    (
        "novelty",
        [
            "Repeats commonly known points",
            "Adds some new perspective or connection",
            "Introduces a meaningfully new angle",
            "Reveals a genuinely surprising and valid insight",
        ],
    ),
];

/// Writes the rubric, one criterion a line; ranges that all the contract's criteria share stand once, before them.
pub(super) fn lines(brief: &Brief, criteria: &[Criterion]) -> String {
    let mut lines = Vec::new();
    let known = |criterion: &Criterion| {
        let own = brief.rubrics.iter().any(|rubric| rubric.criterion == criterion.name);
        CONTRACT.iter().find(|(name, _)| *name == criterion.name).filter(|_| !own)
    };
    if criteria.iter().any(|criterion| known(criterion).is_some()) {
        lines.push(format!("bands: {}", BANDS.join(" / ")));
    }
    for criterion in criteria {
        let meanings = match known(criterion) {
            Some((_, meanings)) => meanings.join(" / "),
            None => stated(brief, &criterion.name),
        };
        lines.push(format!("{}: {meanings}", escape::xml_line(&criterion.name)));
    }
    lines.join("\n")
}

/// Returns the request's own rubric of a criterion, each band with its range.
fn stated(brief: &Brief, criterion: &str) -> String {
    let rubric = brief.rubrics.iter().find(|rubric| rubric.criterion == criterion);
    let bands = rubric.into_iter().flat_map(|rubric| &rubric.bands);
    let bands: Vec<String> = bands
        .map(|band| format!("{} {}", escape::xml_line(&band.range), escape::xml_line(&band.meaning)))
        .collect();
    bands.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::super::seed_tests;
    use super::*;
    use serde_json::{Map, Value};

    #[test]
    fn p5_the_rubric_stands_in_the_contract_word_for_word() {
        let Some(contract) = seed_tests::contract() else { return };
        let schema: Value = seed_tests::json_after(&contract, "### Argument Scoring Schema");
        let stated: Map<String, Value> = schema["scoring_rubric"].as_object().unwrap().clone();
        assert_eq!(stated.len(), CONTRACT.len());
        for (name, meanings) in CONTRACT {
            for (band, meaning) in BANDS.into_iter().zip(meanings) {
                assert_eq!(stated[name][band], meaning, "{name} {band}");
            }
        }
    }
}
