//! What was said in a prediction debate, and how its probabilities moved.

use serde_json::Value;

use super::{entries, line, list, plain, words};
use crate::debate_page::DebatePage;
use crate::decision;
use crate::wording::{percent, score};

/// Adds the probabilities, the rounds and what came of them.
pub(super) fn show(text: &mut String, page: &DebatePage) {
    let result = &page.result;
    let name = |id: &Value| plain(&decision::outcome_name(&page.rules, page.brief.as_ref(), id));
    probabilities(text, result, &name);
    for round in list(&result["debate_log"]["rounds"]) {
        line(text, &format!("\n## Round {}: {}", round["round_number"], words(&round["phase"])));
        list(&round["arguments"]).iter().for_each(|argument| said(text, argument, &name));
        summary(text, &round["round_summary"], &name);
    }
    entries(text, "Where they disagree", &result["disagreement_map"], |entry| {
        let settled = if entry["resolved"] == true { "settled" } else { "open" };
        let stances = list(&entry["positions"]).iter().map(|position| {
            let (role, stance) = (words(&position["role"]), words(&position["stance"]));
            format!("{role} ({}): {stance}", score(&position["strength"]))
        });
        format!("{} ({settled}): {}", words(&entry["topic"]), stances.collect::<Vec<_>>().join("; "))
    });
    entries(text, "Insights", &result["key_insights"], |entry| {
        let (insight, role) = (words(&entry["insight"]), words(&entry["source_role"]));
        let affected: String =
            list(&entry["affected_outcomes"]).iter().map(|id| format!(", {}", name(id))).collect();
        format!("{insight} ({} impact, round {}, {role}{affected})", words(&entry["impact"]), entry["round"])
    });
    entries(text, "Precedents", &result["historical_precedents"], |entry| {
        let (date, event, ended) = (words(&entry["date"]), words(&entry["event"]), words(&entry["outcome"]));
        let (similar, why) = (score(&entry["similarity_score"]), words(&entry["relevance"]));
        format!("{date}: {event}. Ended: {ended}. Similarity {similar}: {why}")
    });
    if let Some(reasoning) = result["extra"]["judge_reasoning"].as_str().filter(|text| !text.is_empty()) {
        line(text, "\n## The judge's reasoning\n");
        let passes = &result["extra"]["judge_passes"];
        if !passes.is_null() {
            let flipped = if passes["flipped"] == true {
                "; they hold different outcomes for the likeliest"
            } else {
                ""
            };
            let (held, apart) = (&passes["held"], score(&passes["total_variation"]));
            line(text, &format!("{held} passes in reversed orders, {apart} apart{flipped}.\n"));
        }
        line(text, &plain(reasoning));
    }
}

fn probabilities(text: &mut String, result: &Value, name: &dyn Fn(&Value) -> String) {
    let share = |value: &Value| value.as_f64().map_or_else(|| "–".to_owned(), percent);
    line(text, "## Probabilities\n\n| outcome | final | judge | consensus |\n|---|---:|---:|---:|");
    for entry in list(&result["probability_distribution"]) {
        let [last, judge, consensus] =
            ["probability", "judge_probability", "consensus_probability"].map(|field| share(&entry[field]));
        line(text, &format!("| {} | {last} | {judge} | {consensus} |", name(&entry["outcome_id"])));
    }
    line(text, "\n## How they moved\n\n| round | role | probabilities, in the order above |\n|---:|---|---|");
    for entry in list(&result["extra"]["ledger"]) {
        let shares: Vec<String> = list(&entry["probabilities"]).iter().map(share).collect();
        line(text, &format!("| {} | {} | {} |", entry["round"], words(&entry["role"]), shares.join(", ")));
    }
}

fn said(text: &mut String, argument: &Value, name: &dyn Fn(&Value) -> String) {
    let texts = |field: &str| list(&argument[field]).iter().map(words).collect::<Vec<_>>();
    let rebuts = match texts("rebuts") {
        rebuts if rebuts.is_empty() => String::new(),
        rebuts => format!(", rebuts {}", rebuts.join(", ")),
    };
    let breaks: String = texts("flags").iter().map(|rule| format!(", breaks {rule}")).collect();
    let (role, held) = (words(&argument["role"]), name(&argument["outcome_supported"]));
    let scored = score(&argument["scores"]["composite"]);
    line(text, &format!("\n**{role}** for {held}{rebuts}, score {scored}{breaks}\n"));
    line(text, &words(&argument["argument"]));
    let evidence = texts("evidence_cited");
    if !evidence.is_empty() {
        line(text, "\nEvidence:\n");
        evidence.iter().for_each(|one| line(text, &format!("- {one}")));
    }
    let cites = texts("cites");
    if !cites.is_empty() {
        line(text, &format!("\nCites {}", cites.join(", ")));
    }
}

fn summary(text: &mut String, summary: &Value, name: &dyn Fn(&Value) -> String) {
    let strongest = summary["dominant_argument"].as_str().filter(|role| !role.is_empty());
    let strongest = strongest.map(|role| format!("Strongest argument: {}", plain(role)));
    let contended = list(&summary["key_disagreements"]).iter().map(words);
    let emerging = list(&summary["emerging_consensus"]).iter().map(|entry| {
        let way = if entry["direction"] == "toward" { "towards each other" } else { "apart" };
        format!("{}: the roles move {way}", name(&entry["outcome_id"]))
    });
    let lines: Vec<String> = strongest.into_iter().chain(contended).chain(emerging).collect();
    if !lines.is_empty() {
        line(text, "\n### What came of the round\n");
        lines.iter().for_each(|one| line(text, &format!("- {one}")));
    }
}
