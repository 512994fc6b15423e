//! A report as Markdown: plain enough for any reader, and text of people and models never markup.

mod prediction;

use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::markdown::inline as plain;
use debate_core::prose::REDACTED;
use debate_core::stop::Completeness;
use serde_json::Value;

use super::Report;
use crate::debate_page::{DebatePage, ResolvedShown};
use crate::decision::{Decision, outcome_name};
use crate::proof::VerificationShown;
use crate::said::Said;
use crate::wording::percent;

/// Returns the report.
pub(super) fn report(report: &Report) -> String {
    let page = &report.page;
    let mut text = format!("# {}\n\n", plain(page.title.as_deref().unwrap_or(REDACTED)));
    if page.simulated {
        text.push_str("**Simulated: a program made up the replies. This says nothing about the world.**\n\n");
    }
    glance(&mut text, page, &report.verification);
    if page.format == Prediction::NAME {
        prediction::show(&mut text, page);
    } else {
        conversation(&mut text, page);
    }
    let Report { verification, made_at, .. } = report;
    let of = format!("event {} of debate {}, hash {}", page.seq, page.debate_id, page.hash);
    let checked = format!("event {}, hash {}", verification.head_seq, verification.head_hash);
    line(&mut text, &format!("\n---\n\nReport made {made_at} of {of}. The log was checked to {checked}."));
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
        Completeness::Partial { why, .. } => {
            format!("PARTIAL, missing {}: {}", plain(&page.missing.join("; ")), plain(&why.join("; ")))
        }
        Completeness::Void { why } => format!("VOID: {}", plain(&why.join("; "))),
    };
    let is_over = page.state == "concluded";
    if page.seq < page.head_seq {
        let (seq, head, since) = (page.seq, page.head_seq, page.head_state);
        line(text, &format!("- As it was at event {seq} of {head}; at event {head} it is {since}"));
    }
    line(text, &format!("- Completeness: {whole}{}", if is_over { "" } else { " (were it to end now)" }));
    line(text, &format!("- State: {}", page.state));
    decided(text, &page.decision, is_over);
    let stop = page.stop.as_ref().map_or("It has not stopped.", |stop| stop.words.as_str());
    line(text, &format!("- Why it stopped: {}", plain(stop)));
    if let Some(why) = &page.cancelled_because {
        line(text, &format!("- What was said as it was ended: {}", plain(why)));
    }
    if let Some(resolved) = &page.resolved {
        happened(text, page, resolved);
    }
    if let Some(origin) = &page.forked_from {
        let (parent, at) = (&origin.debate_id, origin.at);
        line(text, &format!("- A fork of event {at} of {parent} with {}", plain(&origin.change)));
    }
    let log = match (&verification.fault, verification.fault_seq) {
        (None, _) => {
            format!("intact, {} events, checked to event {}", verification.events, verification.head_seq)
        }
        (Some(fault), seq) => format!("NOT INTACT at event {}: {}", seq.unwrap_or(0), plain(fault)),
    };
    line(text, &format!("- Log: {log}"));
    let (calls, planned) = (page.spend.calls, page.calls_expected);
    line(text, &format!("- Spent: {calls} calls of {planned} planned, {}", plain(&page.spent)));
    if !page.unpriced_models.is_empty() {
        line(text, &format!("- Without a price: {}", plain(&page.unpriced_models.join(", "))));
    }
    if !page.cut.is_empty() {
        line(text, &format!("- Answers from replies cut by their limit: {}", plain(&page.cut.join("; "))));
    }
    line(text, &format!("- Models: {}\n", plain(&page.models.join(", "))));
}

fn decided(text: &mut String, decision: &Decision, is_over: bool) {
    let Decision { decided, sure, sure_means, dissenters, apart, open } = decision;
    let nothing = [String::from("nothing yet")];
    let heading = if is_over { "What was decided" } else { "Where it stands" };
    for what in if decided.is_empty() { &nothing[..] } else { decided } {
        line(text, &format!("- {heading}: {}", plain(what)));
    }
    if let Some(sure) = sure {
        let means = sure_means.map_or_else(String::new, |means| format!(". {means}"));
        line(text, &format!("- How sure: {}{}", plain(sure), plain(&means)));
    }
    if let Some(who) = dissenters {
        let who = if who.is_empty() { "no one".to_owned() } else { plain(&who.join(", ")) };
        line(text, &format!("- Who disagreed: {who}"));
    }
    if let Some(apart) = apart {
        line(text, &format!("- {}", plain(apart)));
    }
    for what in open {
        line(text, &format!("- Left open: {}", plain(what)));
    }
}

fn happened(text: &mut String, page: &DebatePage, resolved: &ResolvedShown) {
    let ResolvedShown { outcome, happened_at, recorded_at, market } = resolved;
    let name = outcome_name(&page.rules, page.brief.as_ref(), &Value::from(outcome.as_str()));
    let at = happened_at.as_ref().map_or_else(String::new, |at| format!(", on {at}"));
    let place = list(&page.rules["outcomes"]).iter().position(|id| *id == outcome.as_str());
    let market = market.as_ref().zip(place).and_then(|(market, place)| market.as_slice().get(place).copied());
    let market =
        market.map_or_else(String::new, |share| format!("; a market had given it {}", percent(share)));
    line(text, &format!("- What happened: {}{at}, recorded {recorded_at}{market}", plain(&name)));
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), plain)
}
