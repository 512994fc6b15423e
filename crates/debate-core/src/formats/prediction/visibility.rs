//! Who sees what (rules P3, P4, P19): the order of arguments as a call is shown them, and what it is shown of each.

use super::Prediction;
use super::call::{self, Call, JUDGE};
use super::config::Phase;
use super::point::PointId;
use super::state::Turn;
use super::visible::{ArgueView, Point, ScoreView, ScoredPoint, Subject, SynthesisView, Visible, Words};
use crate::call::{InputRef, Want};
use crate::debate::Debate;
use crate::id::{Digest, Role};
use crate::measures::shuffle;
use crate::prose::Prose;

/// Returns the answers that a call is shown, in the order shown.
pub(super) fn inputs(debate: &Debate<Prediction>, want: &Want) -> Vec<InputRef> {
    match Call::of(&want.call) {
        None => Vec::new(),
        Some(Call::Score { round, role }) => {
            vec![InputRef { call: call::argue(round, &role), revision: want.revision }]
        }
        Some(Call::Argue { round, role }) => turns_shown(debate, round, &role).map(sight).collect(),
        Some(Call::Synthesise { round, pass }) => {
            synthesis_order(debate, round, pass).into_iter().map(sight).collect()
        }
    }
}

fn sight(turn: &Turn) -> InputRef {
    InputRef { call: call::argue(turn.made.round, &turn.made.role), revision: turn.made.revision }
}

/// Returns the arguments that a role may see when it argues, the latest round first.
///
/// Nothing in the opening, which is blind (P4). The judge sees the round itself in the last one (P3), and sees
/// every round in an order of its own.
fn turns_shown<'a>(
    debate: &'a Debate<Prediction>,
    round: u32,
    role: &Role,
) -> impl Iterator<Item = &'a Turn> + use<'a> {
    let config = debate.config();
    let is_judge = role.as_str() == JUDGE;
    let latest = match round {
        0 | 1 => 0,
        _ if is_judge && config.phase(round) == Phase::Closing => round,
        _ => round - 1,
    };
    let speaker = role.clone();
    (1..=latest).rev().flat_map(move |shown| {
        // What a role says in this very round is no part of what it is shown, once it has said it.
        let others = |turn: &&Turn| shown < round || turn.made.role != speaker;
        let turns = debate.state().round_turns(config, shown).filter(others);
        if is_judge { judge_order(debate, turns) } else { turns.collect() }
    })
}

/// Returns the arguments in the order in which the judge sees them, drawn from the debate's seed (rule P19).
fn judge_order<'a>(debate: &Debate<Prediction>, turns: impl Iterator<Item = &'a Turn>) -> Vec<&'a Turn> {
    let turns: Vec<&Turn> = turns.collect();
    let seed = Digest::of_parts([b"judge_order".as_slice(), &debate.config().seed.to_le_bytes()]);
    let drawn = shuffle::permutation(seed.as_seed(), turns.len()).into_iter().map(|place| turns[place]);
    if debate.config().judge_reversed { drawn.rev().collect() } else { drawn.collect() }
}

/// Returns all standing arguments up to a round in the order in which a pass of the synthesis sees them; the second sees
/// them reversed.
fn synthesis_order(debate: &Debate<Prediction>, round: u32, pass: u32) -> Vec<&Turn> {
    let turns = debate.state().turns(debate.config()).filter(|turn| turn.made.round <= round);
    let mut turns = judge_order(debate, turns);
    if pass > 1 {
        turns.reverse();
    }
    turns
}

/// Returns the names of the arguments in the order in which the synthesis saw them.
pub(super) fn order_seen(debate: &Debate<Prediction>) -> Vec<String> {
    let key = Call::Synthesise { round: debate.state().last_round(), pass: 1 }.key();
    let seen = debate.seen(&key).iter();
    seen.map(|sight| PointId::new(sight.call.round, &sight.call.role).to_string()).collect()
}

/// Returns what a call may see.
pub(super) fn visible(debate: &Debate<Prediction>, want: &Want) -> Visible {
    match Call::of(&want.call) {
        Some(Call::Argue { round, role }) => Visible::Argue(Box::new(argue_view(debate, want, round, role))),
        Some(Call::Score { round, role }) => {
            Visible::Score(Box::new(score_view(debate, want.revision, round, &role)))
        }
        Some(Call::Synthesise { round, pass }) => {
            Visible::Synthesise(Box::new(synthesis_view(debate, round, pass)))
        }
        None => Visible::Synthesise(Box::new(synthesis_view(debate, debate.state().last_round(), 1))),
    }
}

fn subject(debate: &Debate<Prediction>) -> Subject {
    Subject::of(debate.config(), debate.brief().clone(), debate.as_of())
}

fn argue_view(debate: &Debate<Prediction>, want: &Want, round: u32, role: Role) -> ArgueView {
    let config = debate.config();
    let rejection = debate.call(&want.call).map_or_else(Prose::default, |call| call.rejection.clone());
    ArgueView {
        subject: subject(debate),
        round,
        rounds: config.rounds,
        phase: config.phase(round),
        max_argument_length: config.max_argument_length,
        opponents: opponents(debate, round, &role),
        points: turns_shown(debate, round, &role).map(|turn| point(debate, turn)).collect(),
        rejection,
        role,
    }
}

/// Returns the roles that may be rebutted: those that have spoken in what this role sees, never itself (rule P10).
pub(super) fn opponents(debate: &Debate<Prediction>, round: u32, role: &Role) -> Vec<Role> {
    let spoke: Vec<&Role> = turns_shown(debate, round, role).map(|turn| &turn.made.role).collect();
    let others = debate.config().roles.iter();
    others.filter(|other| *other != role && spoke.contains(other)).cloned().collect()
}

fn point(debate: &Debate<Prediction>, turn: &Turn) -> Point {
    let made = &turn.made;
    Point {
        id: PointId::new(made.round, &made.role),
        words: Words::of(&made.prose),
        supports: debate.config().outcome_index(&made.outcome_supported).unwrap_or(0),
        probabilities: made.probabilities.clone(),
    }
}

fn score_view(debate: &Debate<Prediction>, revision: u32, round: u32, role: &Role) -> ScoreView {
    let made = debate.state().slot(round, role).and_then(|slot| slot.turn(revision)).map(|turn| &turn.made);
    let supports = made.and_then(|made| debate.config().outcome_index(&made.outcome_supported));
    ScoreView {
        subject: subject(debate),
        phase: debate.config().phase(round),
        criteria: debate.config().criteria.clone(),
        words: made.map_or_else(Words::default, |made| Words::of(&made.prose)),
        supports: supports.unwrap_or(0),
        precedents: made.map_or(0, |made| made.precedents),
    }
}

fn synthesis_view(debate: &Debate<Prediction>, round: u32, pass: u32) -> SynthesisView {
    let turns = synthesis_order(debate, round, pass);
    let scored =
        turns.into_iter().map(|turn| ScoredPoint { point: point(debate, turn), composite: turn.composite() });
    SynthesisView {
        subject: subject(debate),
        roles: debate.config().roles.clone(),
        rounds: round,
        points: scored.collect(),
    }
}
