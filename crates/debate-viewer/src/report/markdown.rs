//! A report as Markdown: plain enough for any reader, and text of people and models never markup.

use std::fmt::Write as _;

use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::prose::REDACTED;
use debate_core::stop::Completeness;
use serde_json::Value;

use super::Report;
use crate::debate_page::DebatePage;
use crate::decision::Decision;
use crate::proof::VerificationShown;
use crate::said::Said;

/// Returns the report.
pub(super) fn report(report: &Report) -> String {
    let page = &report.page;
    let mut text = format!("# {}\n\n", plain(page.title.as_deref().unwrap_or(REDACTED)));
    if page.simulated {
        text.push_str("**Simulated: a program made up the replies. This says nothing about the world.**\n\n");
    }
    glance(&mut text, page, &report.verification);
    if page.format == Prediction::NAME {
        prediction(&mut text, page);
    } else {
        conversation(&mut text, page);
    }
    let (at, head) = (&report.made_at, &report.verification.head_hash);
    line(
        &mut text,
        &format!(
            "\n---\n\nReport made {at} of event {} of debate {}; head {head}.",
            page.seq, page.debate_id
        ),
    );
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Says what a newcomer wants to know first.
fn glance(text: &mut String, page: &DebatePage, verification: &VerificationShown) {
    let whole = match &page.completeness {
        Completeness::Full => "full, nothing is missing".to_owned(),
        Completeness::Partial { missing, why } => {
            format!("PARTIAL, missing {}: {}", plain(&missing.join(", ")), plain(&why.join("; ")))
        }
        Completeness::Void { why } => format!("VOID: {}", plain(&why.join("; "))),
    };
    if let Some(decision) = &page.decision {
        decided(text, decision);
    }
    let state = page.state;
    line(
        text,
        &format!(
            "- Completeness: {whole}{}",
            if state == "concluded" { "" } else { " (were it to end now)" }
        ),
    );
    line(text, &format!("- State: {state}, {} of {} planned calls", page.spend.calls, page.calls_expected));
    let stop = page.stop.as_ref().map_or_else(|| "it has not stopped".to_owned(), |stop| plain(&stop.name));
    line(text, &format!("- Why it stopped: {stop}"));
    if let Some(resolved) = &page.resolved {
        line(text, &format!("- What happened: {}", plain(&resolved.outcome)));
    }
    if let Some(origin) = &page.forked_from {
        let (parent, at) = (&origin.debate_id, origin.at);
        line(text, &format!("- A fork of event {at} of {parent} with {}", plain(&origin.change)));
    }
    let log = match (&verification.fault, verification.fault_seq) {
        (None, _) => format!("intact, {} events", verification.events),
        (Some(fault), seq) => format!("NOT INTACT at event {}: {}", seq.unwrap_or(0), plain(fault)),
    };
    line(text, &format!("- Log: {log}"));
    line(text, &format!("- Models: {}\n", plain(&page.models.join(", "))));
}

fn decided(text: &mut String, decision: &Decision) {
    let Decision { decided, sure, dissenters, open } = decision;
    let nothing = [String::from("nothing yet")];
    for what in if decided.is_empty() { &nothing[..] } else { decided } {
        line(text, &format!("- What was decided: {}", plain(what)));
    }
    if let Some(sure) = sure {
        line(text, &format!("- How sure: {}", plain(sure)));
    }
    if let Some(who) = dissenters {
        let who = if who.is_empty() { "nobody".to_owned() } else { plain(&who.join(", ")) };
        line(text, &format!("- Who disagreed: {who}"));
    }
    for what in open {
        line(text, &format!("- Left open: {}", plain(what)));
    }
}

fn prediction(text: &mut String, page: &DebatePage) {
    let (result, name) = (&page.result, |id: &Value| outcome_name(page, id));
    line(text, "## Probabilities\n\n| outcome | final | judge | consensus |\n|---|---:|---:|---:|");
    for entry in list(&result["probability_distribution"]) {
        let share = |field: &str| percent(&entry[field]);
        let (last, judge, consensus) =
            (share("probability"), share("judge_probability"), share("consensus_probability"));
        line(text, &format!("| {} | {last} | {judge} | {consensus} |", name(&entry["outcome_id"])));
    }
    line(text, "\n## How they moved\n\n| round | role | probabilities, in the order above |\n|---:|---|---|");
    for entry in list(&result["extra"]["ledger"]) {
        let shares: Vec<String> = list(&entry["probabilities"]).iter().map(percent).collect();
        line(text, &format!("| {} | {} | {} |", entry["round"], words(&entry["role"]), shares.join(", ")));
    }
    for round in list(&result["debate_log"]["rounds"]) {
        line(text, &format!("\n## Round {}: {}", round["round_number"], words(&round["phase"])));
        for argument in list(&round["arguments"]) {
            let rebuts: Vec<String> = list(&argument["rebuts"]).iter().map(words).collect();
            let rebuts =
                if rebuts.is_empty() { String::new() } else { format!(", rebuts {}", rebuts.join(", ")) };
            let score = argument["scores"]["composite"]
                .as_f64()
                .map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"));
            let (role, held) = (words(&argument["role"]), name(&argument["outcome_supported"]));
            line(
                text,
                &format!(
                    "\n**{role}** for {held}{rebuts}, score {score}\n\n{}",
                    words(&argument["argument"])
                ),
            );
        }
    }
    entries(text, "Where they disagree", &result["disagreement_map"], |entry| {
        let settled = if entry["resolved"] == true { "settled" } else { "open" };
        let stances = list(&entry["positions"]).iter().map(|position| {
            format!("{} ({}): {}", words(&position["role"]), position["strength"], words(&position["stance"]))
        });
        format!("{} ({settled}): {}", words(&entry["topic"]), stances.collect::<Vec<_>>().join("; "))
    });
    entries(text, "Insights", &result["key_insights"], |entry| {
        let (insight, role) = (words(&entry["insight"]), words(&entry["source_role"]));
        format!("{insight} ({role}, round {}, {} impact)", entry["round"], words(&entry["impact"]))
    });
    entries(text, "Precedents", &result["historical_precedents"], |entry| {
        let (date, event, ended) = (words(&entry["date"]), words(&entry["event"]), words(&entry["outcome"]));
        format!("{date}: {event}. Ended: {ended}")
    });
    if let Some(reasoning) = result["extra"]["judge_reasoning"].as_str().filter(|text| !text.is_empty()) {
        line(text, &format!("\n## The judge's reasoning\n\n{}", plain(reasoning)));
    }
}

fn entries(text: &mut String, heading: &str, of: &Value, shown: impl Fn(&Value) -> String) {
    if list(of).is_empty() {
        return;
    }
    line(text, &format!("\n## {heading}\n"));
    for entry in list(of) {
        line(text, &format!("- {}", shown(entry)));
    }
}

fn conversation(text: &mut String, page: &DebatePage) {
    line(text, "## Conversation");
    let unit = if page.format == Review::NAME { "pair" } else { "round" };
    for said in &page.said {
        let Said { role, round, kind, set_aside, .. } = said;
        let who = plain(role.as_deref().unwrap_or(kind));
        let round = round.map_or_else(String::new, |round| format!(", {unit} {round}"));
        let aside = set_aside.as_ref().map_or_else(String::new, |why| format!(", set aside: {}", plain(why)));
        line(text, &format!("\n**{who}** ({}{round}{aside})\n", kind.replace('_', " ")));
        match &said.words {
            Some(spoken) => tree(text, spoken, 0),
            None => line(text, if said.redacted { REDACTED } else { "" }),
        }
    }
    line(text, "\n## Outcome\n");
    tree(text, &page.result, 0);
}

/// Lays any JSON out as nested lists.
fn tree(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                branch(text, &format!("{indent}- {}:", plain(&name.replace('_', " "))), value, depth);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| branch(text, &format!("{indent}-"), item, depth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            line(text, &format!("{indent}{}", words(value)));
        }
    }
}

fn branch(text: &mut String, mark: &str, value: &Value, depth: usize) {
    match value {
        Value::Object(_) | Value::Array(_) => {
            line(text, mark);
            tree(text, value, depth + 1);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            line(text, &format!("{mark} {}", words(value)));
        }
    }
}

fn outcome_name(page: &DebatePage, id: &Value) -> String {
    let place = list(&page.rules["outcomes"]).iter().position(|known| known == id);
    let brief = page.brief.as_ref().zip(place);
    let label = brief.and_then(|(brief, place)| brief["outcomes"][place]["label"].as_str());
    label.filter(|label| !label.trim().is_empty()).map_or_else(|| words(id), plain)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn percent(share: &Value) -> String {
    share.as_f64().map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), plain)
}

/// Returns a text on one line in which nothing is markup of Markdown or HTML and nothing turns text around.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in text.trim().chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\{c}");
            }
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => shown.push(' '),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup_and_stays_on_its_line() {
        assert_eq!(plain("# a\n[b](c) <d> | \u{202e}e"), "\\# a \\[b\\](c) &lt;d&gt; \\| e");
    }
}
