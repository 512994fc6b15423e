//! The result of a roundtable: the decision, where everybody stands, what it rests on, how it was reached.

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::outcome::{
    Decision, Evidence, ResponseEntry, RoundtableResult, ToolRunEntry,
};
use debate_core::id::Role;
use debate_core::prose::Texts;

use crate::page::{Page, span};
use crate::plain::one_line;

/// Lines of a text unless whole texts are asked for.
const LINES_SHOWN: usize = 4;

/// Shows the result as it stands.
pub(super) fn show(page: &mut Page, debate: &Debate<Roundtable>, full: bool) {
    let result = Roundtable::outcome(debate, Texts::Shown);
    let lines = if full { usize::MAX } else { LINES_SHOWN };
    decision(page, &result.decision, lines);
    page.heading(&format!("Agents ({})", result.mode.as_str()));
    for agent in &result.agent_responses {
        let role = agent.role.map(|role| format!(", {role}")).unwrap_or_default();
        let shown = agent.shown_as.as_ref().map(|name| format!(", shown as {name}")).unwrap_or_default();
        page.line(&format!("  {}{role}{shown}: {}", agent.agent, claims(&agent.response)));
        page.excerpt(6, &agent.response.position, lines);
    }
    evidence(page, &result.evidence, lines);
    tools(page, &result.evidence.tool_runs);
    metadata(page, &result);
}

fn decision(page: &mut Page, decision: &Decision, lines: usize) {
    page.heading("Decision");
    let (consensus, level) = (decision.consensus.as_str(), decision.agreement_level);
    let action = decision.action.as_str().replace('_', " ");
    page.line(&format!(
        "  consensus {consensus} ({level:.2}), {action}; mean confidence {:.2}",
        decision.confidence
    ));
    if let Some(position) = &decision.position {
        page.line(&format!("  held by {}:", names(&decision.supporters)));
        page.excerpt(6, position, lines);
    }
    if !decision.dissenters.is_empty() {
        page.line(&format!("  not held by {}", names(&decision.dissenters)));
    }
    if !decision.missing.is_empty() {
        page.line(&format!("  silent in the last round: {}", names(&decision.missing)));
    }
    decision.cautions.iter().for_each(|caution| page.hanging(2, "! ", &one_line(caution)));
}

fn evidence(page: &mut Page, evidence: &Evidence, lines: usize) {
    if let Some(found) = evidence.groupthink.as_ref().filter(|found| found.detected) {
        page.heading("Groupthink warning");
        found.indicators.iter().for_each(|indicator| page.hanging(2, "- ", indicator));
        page.line(&format!("  {}", found.recommendation));
    }
    for round in &evidence.rounds {
        page.heading(&format!("Round {}", round.round));
        for judged in &round.judgements {
            let again = if judged.kind == Kind::Repoll { "asked again: " } else { "" };
            let camps: Vec<String> = judged.camps.iter().map(|camp| names(camp)).collect();
            page.line(&format!(
                "  {again}agreement {:.2}; camps: {}",
                judged.agreement_level,
                camps.join(" | ")
            ));
        }
        for spoken in &round.responses {
            let again = if spoken.response.kind == Kind::Repoll { " (asked again)" } else { "" };
            page.line(&format!("  {}{again}: {}", spoken.agent, claims(&spoken.response)));
            page.excerpt(6, &spoken.response.position, lines);
            page.excerpt(6, &spoken.response.reasoning, lines);
        }
    }
}

fn tools(page: &mut Page, runs: &[ToolRunEntry]) {
    if runs.is_empty() {
        return;
    }
    page.heading("Tools");
    for run in runs {
        let how = match (&run.reused_from, &run.error) {
            (Some(from), _) => format!("answered as for {} in round {}", from.agent, from.round),
            (None, Some(error)) => format!("failed: {error}"),
            (None, None) => format!("answered in {}", span(run.latency_ms)),
        };
        let (tool, asked) = (&run.tool, &run.arguments);
        let line = format!("{}, round {}: {tool} {asked}, {how}", run.agent, run.round);
        page.hanging(2, "- ", &one_line(&line));
    }
}

fn metadata(page: &mut Page, result: &RoundtableResult) {
    let interaction = result.evidence.interaction;
    page.heading("How it went");
    page.line(&format!(
        "  {} of {} rounds; side by side: {}",
        result.metadata.rounds_held,
        result.metadata.rounds_max,
        result.metadata.parallelization.as_str()
    ));
    page.line(&format!(
        "  {} responses refer to others, {} rounds in a row; {} questions were taken up",
        interaction.cross_references, interaction.rebuttal_depth, interaction.question_response_pairs
    ));
    result.metadata.exit.iter().for_each(|exit| page.line(&format!("  {}: {}", exit.reason, exit.details)));
    let shadows = &result.metadata.shadow_exits;
    shadows.iter().for_each(|exit| page.line(&format!("  in shadow, {}: {}", exit.reason, exit.details)));
}

/// Returns stance and confidence in words.
fn claims(response: &ResponseEntry) -> String {
    let stance = response.stance.map(|stance| {
        let forced = if response.stance_forced { " (forced)" } else { "" };
        format!("{}{forced}, ", stance.as_str())
    });
    format!("{}confidence {:.2}", stance.unwrap_or_default(), response.confidence)
}

fn names(of: &[Role]) -> String {
    of.iter().map(Role::as_str).collect::<Vec<_>>().join(", ")
}
