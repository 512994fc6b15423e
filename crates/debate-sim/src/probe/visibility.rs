//! Who sees what: each call the answers that it is built on.

use debate_core::call::{InputRef, Want};
use debate_core::debate::Debate;
use debate_core::prose::Prose;

use super::Probe;
use super::call::{self, Call};
use super::fact::{Noted, Said, Tallied};
use super::visible::{Seen, Visible};

/// Returns the answers that a call is shown, in the order shown.
pub(super) fn inputs(debate: &Debate<Probe>, want: &Want) -> Vec<InputRef> {
    match Call::of(&want.call) {
        None => Vec::new(),
        Some(Call::Weigh { round, role }) => {
            vec![InputRef { call: call::say(round, &role), revision: want.revision }]
        }
        Some(call) => shown(debate, &call).into_iter().map(|(sight, _)| sight).collect(),
    }
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Probe>, want: &Want) -> Visible {
    let call = Call::of(&want.call);
    let seen = match &call {
        None => Vec::new(),
        Some(Call::Weigh { round, role }) => said(debate, *round, role).into_iter().collect(),
        Some(call) => shown(debate, call),
    };
    Visible {
        brief: debate.brief().clone(),
        call: want.call.clone(),
        seen: seen.into_iter().map(|(_, seen)| seen).collect(),
        rejection: debate.call(&want.call).map_or_else(Prose::default, |call| call.rejection.clone()),
        has_tools: call.is_some_and(|call| call.has_tools()),
    }
}

type Shown = (InputRef, Seen);

fn shown(debate: &Debate<Probe>, call: &Call) -> Vec<Shown> {
    match call {
        Call::Say { round: 1, .. } | Call::Weigh { .. } => Vec::new(),
        Call::Say { round, .. } => {
            let before = round.saturating_sub(1);
            let mut shown = sayings(debate, before);
            shown.extend(debate.state().tallied(before).map(tally_shown));
            shown.extend(debate.state().noted(before).map(note_shown));
            shown
        }
        Call::Tally { round } => sayings(debate, *round),
        Call::Note { round } => debate.state().tallied(*round).map(tally_shown).into_iter().collect(),
        Call::Close { round } => (1..=*round)
            .flat_map(|round| {
                let tally = debate.state().tallied(round).map(tally_shown);
                sayings(debate, round).into_iter().chain(tally)
            })
            .collect(),
    }
}

fn sayings(debate: &Debate<Probe>, round: u32) -> Vec<Shown> {
    debate.config().seats.iter().filter_map(|role| said(debate, round, role)).collect()
}

fn said(debate: &Debate<Probe>, round: u32, role: &debate_core::id::Role) -> Option<Shown> {
    let Said { revision, value, prose, .. } = debate.state().said(round, role)?;
    let call = call::say(round, role);
    let seen = Seen { call: call.clone(), value: *value, text: prose.shown().cloned() };
    Some((InputRef { call, revision: *revision }, seen))
}

fn tally_shown(tallied: &Tallied) -> Shown {
    let call = Call::Tally { round: tallied.round }.key();
    let text = tallied.prose.shown().cloned();
    (InputRef { call: call.clone(), revision: tallied.revision }, Seen { call, value: tallied.value, text })
}

fn note_shown(noted: &Noted) -> Shown {
    let call = Call::Note { round: noted.round }.key();
    let text = noted.prose.shown().cloned();
    (InputRef { call: call.clone(), revision: noted.revision }, Seen { call, value: noted.value, text })
}
