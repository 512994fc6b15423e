//! The result of a roundtable as a Markdown document (rule T10). What agents said stands in block quotes, so that no
//! line of theirs can pass for one of the document's own.

use std::fmt::Write as _;

use super::call::Kind;
use super::outcome::{
    Decision, Evidence, JudgementEntry, Metadata, ResponseEntry, RoundEntry, RoundtableResult, ToolRunEntry,
    WebSourceEntry,
};
use crate::id::Role;
use crate::markdown::shown;

/// Returns the document.
#[must_use]
pub fn document(result: &RoundtableResult) -> String {
    let mut page = Page::default();
    page.line(&format!("# Roundtable: {}", shown(&result.topic)));
    page.line("");
    page.line(&format!("{} · {} · {}", result.mode.as_str(), result.completeness.as_str(), result.debate_id));
    if result.simulated {
        page.paragraph("**Simulated:** a program made up every reply.");
    }
    decision(&mut page, &result.decision);
    page.heading("Agent responses");
    for agent in &result.agent_responses {
        let role = agent.role.map(|role| format!(", {role}")).unwrap_or_default();
        let alias =
            agent.shown_as.as_ref().map(|alias| format!(", shown as {}", shown(alias))).unwrap_or_default();
        page.title(&format!("{}{role}{alias} (round {})", name(&agent.agent), agent.round));
        page.response(&agent.response);
    }
    evidence(&mut page, &result.evidence);
    metadata(&mut page, result);
    page.0
}

fn decision(page: &mut Page, decision: &Decision) {
    page.heading("Decision");
    page.item("Consensus", &format!("{} ({:.2})", decision.consensus.as_str(), decision.agreement_level));
    page.item("Action", decision.action.as_str());
    page.item("Confidence", &format!("{:.2}", decision.confidence));
    page.names("Held by", &decision.supporters);
    page.names("Not held by", &decision.dissenters);
    page.names("Silent in the last round", &decision.missing);
    decision.cautions.iter().for_each(|caution| page.item("Caution", &shown(caution)));
    if let Some(position) = &decision.position {
        page.quote(position);
    }
}

fn evidence(page: &mut Page, evidence: &Evidence) {
    page.heading("Evidence");
    if let Some(found) = evidence.groupthink.as_ref().filter(|found| found.detected) {
        page.paragraph(&format!("**Groupthink warning.** {}.", found.recommendation));
        found.indicators.iter().for_each(|indicator| page.line(&format!("- {indicator}")));
        match found.after_repoll {
            Some(true) => page.line("- The signs were still there when all were asked once more, blind."),
            Some(false) => page.line("- The signs were gone when all were asked once more, blind."),
            None => {}
        }
        page.line("");
    }
    let interaction = evidence.interaction;
    page.item("Responses that refer to others", &interaction.cross_references.to_string());
    page.item("Rebuttal depth", &interaction.rebuttal_depth.to_string());
    page.item("Questions taken up", &interaction.question_response_pairs.to_string());
    if let Some(round) = evidence.convergence_round {
        page.item("No agent moved after round", &round.to_string());
    }
    evidence.rounds.iter().for_each(|entry| round(page, entry));
    if !evidence.tool_runs.is_empty() {
        tool_runs(page, &evidence.tool_runs);
    }
    if !evidence.web_sources.is_empty() {
        web_sources(page, &evidence.web_sources);
    }
    if !evidence.citations.is_empty() {
        page.title("Sources");
        for cited in &evidence.citations {
            page.line(&format!("- {} ({}, round {})", shown(&cited.source), name(&cited.agent), cited.round));
        }
    }
}

fn tool_runs(page: &mut Page, runs: &[ToolRunEntry]) {
    page.title("Tools");
    for run in runs {
        let how = match (&run.reused_from, &run.error) {
            (Some(from), _) => format!("answered as for {} in round {}", name(&from.agent), from.round),
            (None, Some(error)) => format!("failed: {}", shown(error)),
            (None, None) => format!("answered in {} ms", run.latency_ms),
        };
        let said = format!("{} {}, {how}", shown(&run.tool), shown(&run.arguments));
        page.line(&format!("- {said} ({}, round {})", name(&run.agent), run.round));
    }
}

fn web_sources(page: &mut Page, sources: &[WebSourceEntry]) {
    page.title("Pages that providers searched for");
    for WebSourceEntry { agent, round, page: found, .. } in sources {
        let title = found.title.as_ref().map(|title| format!("{}: ", shown(title))).unwrap_or_default();
        page.line(&format!("- {title}{} ({}, round {round})", shown(&found.url), name(agent)));
        if let Some(cited) = &found.cited_text {
            page.quote(cited);
        }
    }
}

fn round(page: &mut Page, entry: &RoundEntry) {
    page.title(&format!("Round {}", entry.round));
    if let Some(focus) = &entry.focus {
        page.line("Focus:");
        page.quote(focus);
    }
    for spoken in &entry.responses {
        let again = if spoken.response.kind == Kind::Repoll { ", asked again" } else { "" };
        page.paragraph(&format!("**{}**{again}", name(&spoken.agent)));
        page.response(&spoken.response);
    }
    entry.judgements.iter().for_each(|judged| page.line(&judgement(judged)));
}

fn judgement(judged: &JudgementEntry) -> String {
    let camps: Vec<String> = judged.camps.iter().map(|camp| names(camp)).collect();
    let again = if judged.kind == Kind::Repoll { " when asked again" } else { "" };
    format!("- Agreement{again} {:.2}; camps: {}", judged.agreement_level, camps.join(" | "))
}

fn metadata(page: &mut Page, result: &RoundtableResult) {
    let Metadata { rounds_held, rounds_max, parallelization, similarity, exit, calls, .. } = &result.metadata;
    page.heading("Metadata");
    page.item("Rounds", &format!("{rounds_held} of {rounds_max}"));
    page.item("Side by side", parallelization.as_str());
    page.item("Similarity", similarity.as_str());
    if let Some(exit) = exit {
        page.item("Stopped by", &format!("{} ({})", exit.reason, exit.details));
    }
    for exit in &result.metadata.shadow_exits {
        page.item("Would have stopped by", &format!("{} ({})", exit.reason, exit.details));
    }
    page.item("Requests to models", &calls.to_string());
    page.line("");
    page.line("| flag | value | source |");
    page.line("|---|---|---|");
    for flag in &result.metadata.flags {
        page.line(&format!("| {} | {} | {} |", flag.flag, flag.value, flag.source.as_str()));
    }
}

/// A document in the making.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Writes a line of the document's own words, in which the words of others are shown as such.
    fn line(&mut self, text: &str) {
        let _infallible = writeln!(self.0, "{text}");
    }

    fn paragraph(&mut self, text: &str) {
        self.line("");
        self.line(text);
        self.line("");
    }

    fn heading(&mut self, text: &str) {
        self.paragraph(&format!("## {text}"));
    }

    fn title(&mut self, text: &str) {
        self.paragraph(&format!("### {text}"));
    }

    fn item(&mut self, name: &str, value: &str) {
        self.line(&format!("- {name}: {value}"));
    }

    fn names(&mut self, title: &str, of: &[Role]) {
        if !of.is_empty() {
            self.item(title, &names(of));
        }
    }

    fn quote(&mut self, words: &str) {
        self.line("");
        words.lines().for_each(|line| self.line(format!("> {}", shown(line)).trim_end()));
        self.line("");
    }

    fn response(&mut self, response: &ResponseEntry) {
        let stance = response.stance.map(|stance| {
            let forced = if response.stance_forced { ", forced" } else { "" };
            format!("{}{forced}; ", stance.as_str())
        });
        let stance = stance.unwrap_or_default();
        self.line(&format!("{stance}confidence {:.2}", response.confidence));
        self.quote(&response.position);
        self.quote(&response.reasoning);
    }
}

fn names(of: &[Role]) -> String {
    of.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn name(of: &Role) -> String {
    shown(of.as_str())
}
