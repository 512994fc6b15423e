//! Who sees what (rules V3, V4). A reviewer sees what was said before in its own pair, the judge all four
//! speeches of one pair. Neither sees other pairs.

use super::Review;
use super::call::{self, Call};
use super::config::{Pair, Side, Speech};
use super::fact::SpeechMade;
use super::visible::{Heard, Task, Visible};
use crate::call::{InputRef, Want};
use crate::debate::Debate;
use crate::id::Digest;
use crate::prose::Prose;

/// Returns the answers that a call is shown, in the order shown.
pub(super) fn inputs(debate: &Debate<Review>, want: &Want) -> Vec<InputRef> {
    let shown = Call::of(&want.call).map(|call| heard(debate, &call)).unwrap_or_default();
    let visibility = shown.into_iter().map(|made| InputRef {
        call: call::speak(made.pair, made.speech, &made.role),
        revision: made.revision,
    });
    visibility.collect()
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Review>, want: &Want) -> Visible {
    let fallback = || Pair { role_a: want.call.role.clone(), role_b: want.call.role.clone() };
    let number = want.call.round;
    let pair = debate.config().pair(number).cloned().unwrap_or_else(fallback);
    let call = Call::of(&want.call);
    let heard = call.as_ref().map(|call| heard(debate, call)).unwrap_or_default();
    let task = match call {
        Some(Call::Speak { speech, role, .. }) => {
            let rejection = debate.call(&want.call).map(|call| call.rejection.clone());
            Task::Speak { speech, side: side_of(&pair, &role), rejection: rejection.unwrap_or_default() }
        }
        Some(Call::Judge { pair, pass }) => Task::Judge { first: first_shown(debate, pair, pass) },
        None => Task::Speak { speech: Speech::Argue, side: Side::A, rejection: Prose::default() },
    };
    let heard = heard.into_iter().map(|made| Heard {
        side: made.side,
        speech: made.speech,
        prose: made.prose.clone(),
    });
    let as_of = debate.as_of();
    let language = debate.config().models.language.clone();
    Visible { brief: debate.brief().clone(), number, pair, heard: heard.collect(), task, as_of, language }
}

/// Returns on which side of a pair a reviewer is.
pub(super) fn side_of(pair: &Pair, role: &crate::id::Role) -> Side {
    if *role == pair.role_a { Side::A } else { Side::B }
}

/// Returns the side that the judge is shown first: drawn from the debate's seed, the other one in the second pass
/// (rule V4).
pub(super) fn first_shown(debate: &Debate<Review>, pair: u32, pass: u32) -> Side {
    let config = debate.config();
    let parts = [b"judge_order".as_slice(), &config.seed.to_le_bytes(), &pair.to_le_bytes()];
    let drawn = if Digest::of_parts(parts).as_seed().is_multiple_of(2) { Side::A } else { Side::B };
    if config.judge_reversed == (pass == 2) { drawn } else { drawn.other() }
}

/// Returns the speeches that a call is shown, in the order shown.
fn heard<'a>(debate: &'a Debate<Review>, call: &Call) -> Vec<&'a SpeechMade> {
    let state = debate.state();
    match call {
        Call::Speak { pair, speech, role } => {
            let Some(reviewers) = debate.config().pair(*pair) else { return Vec::new() };
            let place = (*speech, side_of(reviewers, role));
            let before = Speech::ORDER.into_iter().take_while(|said| *said != place);
            before.filter_map(|(speech, side)| state.speech(*pair, speech, side)).collect()
        }
        Call::Judge { pair, pass } => {
            let first = first_shown(debate, *pair, *pass);
            let rounds = [Speech::Argue, Speech::Rebut].into_iter();
            let shown = rounds.flat_map(|speech| [(speech, first), (speech, first.other())]);
            shown.filter_map(|(speech, side)| state.speech(*pair, speech, side)).collect()
        }
    }
}
