//! Who sees what (rule I4): an investigator its own hypothesis, its own words and the challenges to them; the devil's
//! advocate, the synthesizer and the lead everything that was said before them.

use super::Investigation;
use super::answer::HypothesisText;
use super::call::Call;
use super::config::{Seat, TOOL_TURNS_MAX};
use super::evidence::CHECK_TOOL;
use super::fact::{Stage, Standing};
use super::visible::{ChallengeView, ConveyView, Dossier, InvestigateView, Looks, Subject, Task, Visible};
use crate::call::{InputRef, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::id::Role;

/// Returns the answers that a call is shown, in the order shown.
///
/// Whether a challenge is still open follows from what the synthesizer found answered, so that counts as seen.
pub(super) fn inputs(debate: &Debate<Investigation>, want: &Want) -> Vec<InputRef> {
    let seats: Vec<&Seat> = debate.state().seats(debate.config()).collect();
    let own = |who: &Role| seats.iter().copied().filter(|seat| seat.investigator == *who).collect::<Vec<_>>();
    let calls = match Call::of(&want.call) {
        None | Some(Call::Propose) => Vec::new(),
        Some(Call::Report { round, investigator }) => {
            let before = round.saturating_sub(1);
            said(&own(&investigator), (before, before), (before, before))
        }
        Some(Call::Respond { round, investigator }) => {
            let before = round.saturating_sub(1);
            said(&own(&investigator), (round, before), (round, before))
        }
        Some(Call::Challenge { round }) => {
            let before = round.saturating_sub(1);
            said(&seats, (round, before), (before, before))
        }
        Some(Call::Status { round }) => said(&seats, (round, round), (round, round.saturating_sub(1))),
        Some(Call::Verdict { round }) => said(&seats, (round, round), (round, round)),
        Some(Call::Convey { round }) => {
            let mut calls = said(&seats, (round, round), (round, round));
            calls.push(Call::Verdict { round });
            calls
        }
    };
    let proposed = (debate.config().hypotheses.is_none() && !calls.is_empty()).then_some(Call::Propose);
    proposed.into_iter().chain(calls).filter_map(|call| sight(debate, &call)).collect()
}

/// Returns what was said, round by round: by these seats up to a round of reports and one of responses, by the devil's
/// advocate and the synthesizer up to a round each.
fn said(seats: &[&Seat], (reports, responses): (u32, u32), (challenges, statuses): (u32, u32)) -> Vec<Call> {
    let mut calls = Vec::new();
    for round in 1..=reports.max(challenges) {
        let who = || seats.iter().map(|seat| seat.investigator.clone());
        if round <= reports {
            calls.extend(who().map(|investigator| Call::Report { round, investigator }));
        }
        if round <= challenges {
            calls.push(Call::Challenge { round });
        }
        if round <= responses {
            calls.extend(who().map(|investigator| Call::Respond { round, investigator }));
        }
        if round <= statuses {
            calls.push(Call::Status { round });
        }
    }
    calls
}

fn sight(debate: &Debate<Investigation>, call: &Call) -> Option<InputRef> {
    let call = call.key();
    let revision = debate.revision(&call);
    debate.is_answered(&call, revision).then_some(InputRef { call, revision })
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Investigation>, want: &Want) -> Visible {
    let (config, state) = (debate.config(), debate.state());
    let round = want.call.round;
    let task = match Call::of(&want.call) {
        Some(Call::Report { round, investigator }) => {
            let before = round.saturating_sub(1);
            Task::Investigate(Box::new(investigate(
                debate,
                want,
                Stage::Report,
                &investigator,
                (before, before),
            )))
        }
        Some(Call::Respond { round, investigator }) => Task::Investigate(Box::new(investigate(
            debate,
            want,
            Stage::Respond,
            &investigator,
            (round, round),
        ))),
        Some(Call::Challenge { round }) => {
            Task::Challenge { dossiers: dossiers(debate, round), looks: looks(debate, want) }
        }
        Some(Call::Status { round }) => Task::Status(dossiers(debate, round)),
        Some(Call::Verdict { round }) => Task::Verdict(dossiers(debate, round)),
        Some(Call::Convey { round }) => Task::Convey(Box::new(ConveyView {
            dossiers: dossiers(debate, round),
            verdict: state.verdict().cloned(),
            strongest: state.strongest(config, round),
            violations: state.violations().cloned().collect(),
            stop: debate.stop().map(StopRuleFired::name).unwrap_or_default(),
        })),
        Some(Call::Propose) | None => Task::Propose { hypotheses_max: config.seats.len() },
    };
    let problem = debate.brief().shown();
    let corrections = state.violations_by(&want.call.role, round).cloned();
    Visible {
        language: config.language,
        problem: problem
            .map(|brief| Subject { problem: brief.problem.clone(), context: brief.context.clone() }),
        round,
        rounds: config.rounds,
        corrections: corrections.collect(),
        task,
        as_of: debate.as_of(),
    }
}

/// Returns the words of a hypothesis, unless they were redacted or there are none.
pub(super) fn hypothesis(debate: &Debate<Investigation>, number: u32) -> Option<HypothesisText> {
    let place = (number as usize).checked_sub(1)?;
    if debate.config().hypotheses.is_some() {
        return debate.brief().shown()?.hypotheses.get(place).cloned();
    }
    debate.state().proposed()?.prose.shown()?.hypotheses.get(place).cloned()
}

fn investigate(
    debate: &Debate<Investigation>,
    want: &Want,
    stage: Stage,
    investigator: &Role,
    (said, challenged): (u32, u32),
) -> InvestigateView {
    let (config, state) = (debate.config(), debate.state());
    let number = config.seat(investigator).map_or(0, |seat| seat.hypothesis);
    // What this very call brings is no part of what it is shown, once it has been answered.
    let earlier = |message: &&_| is_before(message, want);
    InvestigateView {
        stage,
        investigator: investigator.clone(),
        hypothesis: number,
        text: hypothesis(debate, number),
        messages: state.messages(investigator, said).filter(earlier).cloned().collect(),
        challenges: challenges(debate, number, challenged, want.call.round.saturating_sub(1)),
        looks: looks(debate, want),
    }
}

/// Returns what a call may still look up.
fn looks(debate: &Debate<Investigation>, want: &Want) -> Looks {
    if !debate.config().workspace {
        return Looks::default();
    }
    let turns = debate.call(&want.call).filter(|call| call.revision == want.revision);
    let turns = turns.map_or(&[][..], |call| &call.turns);
    let checked = turns.iter().flat_map(|turn| {
        let asked = turn.prose.shown().map_or(&[][..], |prose| &prose.arguments);
        turn.tools.iter().zip(asked).filter(|(tool, _)| tool.tool == CHECK_TOOL)
    });
    let used = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    Looks {
        turns_left: TOOL_TURNS_MAX.saturating_sub(used),
        checked: checked.map(|(_, asked)| asked.clone()).collect(),
    }
}

fn is_before(message: &super::fact::EvidenceReported, want: &Want) -> bool {
    let stage = if want.call.kind == "report" { Stage::Report } else { Stage::Respond };
    (message.round, message.stage) < (want.call.round, stage)
}

/// Returns the challenges to a hypothesis up to a round, and whether each was open after a round.
fn challenges(
    debate: &Debate<Investigation>,
    hypothesis: u32,
    up_to: u32,
    closed_by: u32,
) -> Vec<ChallengeView> {
    let closed = debate.state().closed(closed_by);
    let raised = debate.state().challenges_to(hypothesis, up_to);
    raised
        .map(|raised| ChallengeView { raised: raised.clone(), is_open: !closed.contains(&raised.id) })
        .collect()
}

fn dossiers(debate: &Debate<Investigation>, round: u32) -> Vec<Dossier> {
    let (config, state) = (debate.config(), debate.state());
    let dossier = |standing: Standing| Dossier {
        text: hypothesis(debate, standing.hypothesis),
        messages: state.messages(&standing.investigator, round).cloned().collect(),
        challenges: challenges(debate, standing.hypothesis, round, round),
        standing,
    };
    state.standings(config, round).into_iter().map(dossier).collect()
}
