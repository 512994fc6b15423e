//! Who sees what (rules T2, T4): all rounds before; of its own round, an agent hears those before it only where rounds
//! are run so; an agent that is asked again sees nothing (rule T6).

use super::Roundtable;
use super::call::{self, Call, Kind};
use super::fact::ResponseGiven;
use super::judge;
use super::visible::{Context, Shown, Visible, Words};
use crate::call::{InputRef, Want};
use crate::debate::Debate;
use crate::id::Role;

/// Returns the answers that a call is shown, in the order shown.
pub(super) fn inputs(debate: &Debate<Roundtable>, want: &Want) -> Vec<InputRef> {
    let shown = Call::of(&want.call).map(|call| history(debate, &call)).unwrap_or_default();
    let visibility = shown.into_iter().map(|given| InputRef {
        call: call::key(given.kind, given.round, &given.agent),
        revision: given.revision,
    });
    visibility.collect()
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Roundtable>, want: &Want) -> Visible {
    let config = debate.config();
    let call = Call::of(&want.call);
    let kind = call.as_ref().map_or(Kind::Respond, |call| call.kind);
    let (round, agent) = (want.call.round, &want.call.role);
    let history = call.map(|call| history(debate, &call)).unwrap_or_default();
    let context = Context {
        name: agent.to_string(),
        responses: history.into_iter().map(|given| shown(debate, given, agent)).collect(),
        statistics: None,
    };
    let before = round.checked_sub(1).filter(|_| kind == Kind::Respond);
    let statistics = before.and_then(|before| judge::statistics(debate, before));
    let rejection = debate.call(&want.call).map(|call| call.rejection.clone());
    let policy = config.tool_policy();
    let tool_calls_left = config.tool_calls_max().saturating_sub(tool_calls(debate, want));
    Visible {
        brief: debate.brief().clone(),
        focus: debate.state().focus(round).cloned(),
        mode: config.mode,
        pattern: config.pattern(),
        kind,
        round,
        rounds_max: debate.state().rounds_max(),
        part: config.agent(agent).and_then(|agent| agent.part),
        policy,
        tools: policy.map(|_| config.tools.clone()).unwrap_or_default(),
        tool_calls_left,
        native_web_search: config.native_web_search && policy.is_some(),
        output_tokens: config.output_tokens(),
        context: config.mode.strategy().transform_context(config, statistics.as_ref(), context),
        rejection: rejection.unwrap_or_default(),
        as_of: debate.as_of(),
        language: config.models.language.clone(),
    }
}

/// Returns how often a response has asked for tools so far.
fn tool_calls(debate: &Debate<Roundtable>, want: &Want) -> u32 {
    let call = debate.call(&want.call).filter(|call| call.revision == want.revision);
    let asked = call.map_or(0, |call| call.turns.iter().map(|turn| turn.tools.len()).sum());
    u32::try_from(asked).unwrap_or(u32::MAX)
}

fn shown(debate: &Debate<Roundtable>, given: &ResponseGiven, viewer: &Role) -> Shown {
    let words = given
        .prose
        .shown()
        .map(|prose| Words { position: prose.position.clone(), reasoning: prose.reasoning.clone() });
    Shown {
        round: given.round,
        kind: given.kind,
        name: given.agent.to_string(),
        is_own: given.agent == *viewer,
        part: debate.config().agent(&given.agent).and_then(|agent| agent.part),
        stance: given.stance,
        confidence: given.confidence,
        words,
    }
}

/// Returns the responses that a call is shown, oldest first.
///
/// Of the call's own round only those who speak earlier are shown, so that what a call sees never depends on how far the
/// round has come since.
fn history<'a>(debate: &'a Debate<Roundtable>, call: &Call) -> Vec<&'a ResponseGiven> {
    if call.kind == Kind::Repoll {
        return Vec::new();
    }
    let config = debate.config();
    let hears_its_round = config.hears_its_round(&call.agent);
    let place = config.place(&call.agent);
    let is_shown = |given: &ResponseGiven| {
        given.round < call.round
            || hears_its_round
                && given.round == call.round
                && given.kind == Kind::Respond
                && config.place(&given.agent) < place
    };
    debate.state().responses(config).filter(|given| is_shown(given)).collect()
}
