//! What the decision of a roundtable rests on (rules T6, T10, T11), computed from facts.

use super::call::{self, Call, Kind};
use super::config::Config;
use super::fact::{Groupthink, ResponseGiven, RoundJudged, Sign};
use super::flags::Action;
use super::outcome::{
    CitationEntry, Evidence, GroupthinkWarning, Interaction, JudgementEntry, Reused, RoundEntry, SpokenEntry,
    ToolRunEntry, WebSourceEntry,
};
use super::state::State;
use super::{Roundtable, conclude, exit};
use crate::call::Want;
use crate::debate::Debate;
use crate::measures::cross_reference::rebuttal_depth;
use crate::prose::{REDACTED, Texts};
use crate::tools::ToolRun;

/// What to do where agents agreed too easily.
const RECOMMENDATION: &str = "Consider additional rounds with devil's advocate role or manual review";

/// Characters of a tool's error that results show.
const ERROR_CHARS: usize = 200;

/// Returns the evidence as it stands.
pub(super) fn of(debate: &Debate<Roundtable>, texts: Texts) -> Evidence {
    let (config, state) = (debate.config(), debate.state());
    let rounds = 1..=state.rounds_spoken();
    let citations = state.responses(config).map(|given| given.citations);
    Evidence {
        rounds: rounds.filter_map(|number| round(debate, number, texts)).collect(),
        groupthink: groupthink(debate),
        interaction: interaction(config, state),
        convergence_round: convergence_round(debate),
        citations: sources(config, state, texts),
        citation_count: citations.fold(0, u32::saturating_add),
        citations_found: state
            .responses(config)
            .map(|given| given.citations_found)
            .fold(0, u32::saturating_add),
        tool_runs: tool_runs(debate, texts),
        web_sources: web_sources(debate, texts),
    }
}

/// Returns the pages that providers searched for, by response, each once a response.
fn web_sources(debate: &Debate<Roundtable>, texts: Texts) -> Vec<WebSourceEntry> {
    let mut sources: Vec<WebSourceEntry> = Vec::new();
    if texts == Texts::Withheld {
        return sources;
    }
    for given in debate.state().responses(debate.config()) {
        let (agent, round, kind) = (&given.agent, given.round, given.kind);
        let want = Want { call: call::key(kind, round, agent), revision: given.revision };
        let first = sources.len();
        for page in debate.web_sources(&want) {
            if sources[first..].iter().all(|known| known.page.url != page.url) {
                sources.push(WebSourceEntry { agent: agent.clone(), round, kind, page: page.clone() });
            }
        }
    }
    sources
}

/// Returns what tools were asked, by round, then by kind of question, then in the table's order.
fn tool_runs(debate: &Debate<Roundtable>, texts: Texts) -> Vec<ToolRunEntry> {
    let config = debate.config();
    let entry = |run: ToolRun<'_>| {
        let shown = |text: Option<&str>| match texts {
            Texts::Shown => text.unwrap_or(REDACTED).to_owned(),
            Texts::Withheld => REDACTED.to_owned(),
        };
        let reused = run.tool.reused.as_ref();
        Some(ToolRunEntry {
            agent: run.call.role.clone(),
            round: run.call.round,
            kind: Call::of(run.call)?.kind,
            tool: run.tool.tool.clone(),
            arguments: shown(run.arguments),
            ok: run.tool.answered?,
            latency_ms: run.tool.latency_ms,
            reused_from: reused.map(|from| Reused { agent: from.call.role.clone(), round: from.call.round }),
            error: (run.tool.answered == Some(false)).then(|| {
                shown(run.tool.result.shown().map(String::as_str)).chars().take(ERROR_CHARS).collect()
            }),
        })
    };
    let mut runs: Vec<ToolRunEntry> = debate.tool_runs().filter_map(entry).collect();
    runs.sort_by_key(|run| (run.round, run.kind, config.place(&run.agent)));
    runs
}

/// Returns the current state of a round, or `None` if no agent has spoken in it.
#[must_use]
pub fn round(debate: &Debate<Roundtable>, number: u32, texts: Texts) -> Option<RoundEntry> {
    let (config, state) = (debate.config(), debate.state());
    let spoken = Kind::ALL.into_iter().flat_map(|kind| state.round(config, number, kind));
    let responses: Vec<SpokenEntry> = spoken
        .map(|given| SpokenEntry { agent: given.agent.clone(), response: conclude::entry(given, texts) })
        .collect();
    let judged = Kind::ALL.into_iter().filter_map(|kind| state.judged(number, kind));
    (!responses.is_empty()).then(|| RoundEntry {
        round: number,
        focus: state.focus(number).map(|focus| texts.of(focus).map_or(REDACTED, String::as_str).to_owned()),
        responses,
        judgements: judged.map(judgement).collect(),
    })
}

fn judgement(judged: &RoundJudged) -> JudgementEntry {
    JudgementEntry {
        kind: judged.kind,
        agreement_level: judged.agreement,
        camps: judged.camps.clone(),
        overlap: judged.overlap,
        steady: judged.steady.clone(),
        groupthink_signs: judged.groupthink.as_ref().map(|found| found.signs.clone()),
    }
}

/// Returns whether agents agreed too easily in any round, as results say it; none if this was not checked, or
/// in shadow.
pub(super) fn groupthink(debate: &Debate<Roundtable>) -> Option<GroupthinkWarning> {
    let flags = &debate.config().flags;
    let action = flags.groupthink_action.value;
    if !flags.groupthink_enabled.value || action == Action::Shadow {
        return None;
    }
    let found = |kind: Kind| {
        let judged = debate.state().judgements().filter(move |judged| judged.kind == kind);
        judged.filter_map(|judged| Some((judged.round, judged.groupthink.as_ref()?))).collect::<Vec<_>>()
    };
    let detected: Vec<(u32, &Groupthink)> =
        found(Kind::Respond).into_iter().filter(|(_, found)| found.detected).collect();
    let shows = |sign: &Sign| detected.iter().any(|(_, found)| found.signs.contains(sign));
    let signs = [Sign::Confidence, Sign::Stance, Sign::Position].into_iter().filter(shows);
    Some(GroupthinkWarning {
        detected: !detected.is_empty(),
        rounds: detected.iter().map(|(round, _)| *round).collect(),
        indicators: signs.map(|sign| sign.as_str().to_owned()).collect(),
        recommendation: if detected.is_empty() { String::new() } else { RECOMMENDATION.to_owned() },
        action,
        after_repoll: found(Kind::Repoll).last().map(|(_, found)| found.detected),
    })
}

/// Returns how agents dealt with each other. Blind answers refer to no agent and are left out.
pub(super) fn interaction(config: &Config, state: &State) -> Interaction {
    let spoken = || state.responses(config).filter(|given| given.kind == Kind::Respond);
    let rounds: Vec<bool> = (1..=state.rounds_spoken())
        .map(|round| state.round(config, round, Kind::Respond).any(ResponseGiven::refers))
        .collect();
    Interaction {
        cross_references: count(spoken().filter(|given| given.refers()).count()),
        rebuttal_depth: count(rebuttal_depth(&rounds)),
        question_response_pairs: spoken().map(|given| given.questions_taken_up).fold(0, u32::saturating_add),
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Returns the first round after which no agent moved up to the last one.
fn convergence_round(debate: &Debate<Roundtable>) -> Option<u32> {
    let last = debate.state().rounds_judged();
    match exit::steady_rounds(debate, last, last) {
        0 => None,
        steady => Some(last - steady),
    }
}

fn sources(config: &Config, state: &State, texts: Texts) -> Vec<CitationEntry> {
    let mut sources: Vec<CitationEntry> = Vec::new();
    for given in state.responses(config) {
        let cited = texts.of(&given.prose).into_iter().flat_map(|words| &words.citations);
        for source in cited {
            if !sources.iter().any(|known| known.source == *source) {
                let (agent, round) = (given.agent.clone(), given.round);
                sources.push(CitationEntry { source: source.clone(), agent, round });
            }
        }
    }
    sources
}
