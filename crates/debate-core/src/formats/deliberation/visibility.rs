//! Who sees what (rule D4): nothing in the initial phase; the others' contributions in a rebuttal; everything after
//! that. Participants who speak one after another also see those before them in the same phase.

use super::Deliberation;
use super::call::{self, Call};
use super::config::{Concurrency, Config, Phase, Speaker};
use super::fact::ContributionMade;
use super::visible::{Remark, Visible};
use crate::call::{InputRef, Want};
use crate::debate::Debate;

/// Returns the answers that a call is shown, in the order shown.
pub(super) fn inputs(debate: &Debate<Deliberation>, want: &Want) -> Vec<InputRef> {
    let shown = Call::of(&want.call).map(|call| history(debate, &call)).unwrap_or_default();
    let visibility = shown.into_iter().map(|made| InputRef {
        call: call::key(made.phase, made.round, &made.participant),
        revision: made.revision,
    });
    visibility.collect()
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Deliberation>, want: &Want) -> Visible {
    let config = debate.config();
    let call = Call::of(&want.call);
    let phase = call.as_ref().map_or(Phase::Consensus, |call| call.phase);
    let speaker = speaker(config, phase, &want.call.role);
    let history = call.map(|call| history(debate, &call)).unwrap_or_default();
    Visible {
        brief: debate.brief().clone(),
        phase,
        speaker: want.call.role.clone(),
        skills: speaker.map(|speaker| speaker.skills.clone()).unwrap_or_default(),
        searches_web: config.searches_web(phase),
        history: history.into_iter().map(remark).collect(),
        as_of: debate.as_of(),
        language: debate.config().models.language.clone(),
    }
}

fn speaker<'a>(config: &'a Config, phase: Phase, name: &crate::id::Role) -> Option<&'a Speaker> {
    match phase {
        Phase::Initial | Phase::Rebuttal | Phase::Revised => {
            config.participants.iter().find(|speaker| speaker.name == *name)
        }
        Phase::Consensus => config.orchestrator.as_ref(),
    }
}

fn remark(made: &ContributionMade) -> Remark {
    Remark {
        phase: made.phase,
        participant: made.participant.clone(),
        content: made.prose.shown().map(|prose| prose.content.clone()),
    }
}

/// Returns the contributions that a call is shown, oldest first.
///
/// Of the call's own phase only those who speak earlier are shown, so that what a call sees never depends on how far
/// the phase has come since.
fn history<'a>(debate: &'a Debate<Deliberation>, call: &Call) -> Vec<&'a ContributionMade> {
    let config = debate.config();
    let place = config.place(&call.speaker);
    let speaks_before = |made: &ContributionMade| match config.concurrency {
        Concurrency::Sequential => config.place(&made.participant) < place,
        Concurrency::Parallel => false,
    };
    let is_earlier = |made: &ContributionMade| {
        made.round < call.number || made.round == call.number && speaks_before(made)
    };
    let is_shown = |made: &ContributionMade| match call.phase {
        Phase::Initial => false,
        Phase::Rebuttal => made.participant != call.speaker && is_earlier(made),
        Phase::Revised => is_earlier(made),
        Phase::Consensus => true,
    };
    debate.state().contributions(config).filter(|made| is_shown(made)).collect()
}
