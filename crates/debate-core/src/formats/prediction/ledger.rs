//! How each role's probabilities moved, and what was cited for it (rule P17).

use std::collections::BTreeMap;

use serde::Serialize;

use super::config::Config;
use super::fact::ArgumentMade;
use super::point::PointId;
use super::state::State;
use crate::id::Role;
use crate::measures::distribution::Distribution;
use crate::measures::log_odds;

/// One role's distribution after one round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerEntry {
    /// The role.
    pub role: Role,
    /// The round.
    pub round: u32,
    /// The distribution, in the order of the request's outcomes.
    pub probabilities: Distribution,
    /// How sure the role is, in [0, 1].
    pub confidence: f64,
    /// The move on each outcome since this role's argument before, in log-odds; empty for the first.
    pub moves: Vec<f64>,
    /// Points cited here that this role had not cited before.
    pub cited_for_it: Vec<PointId>,
    /// Whether a move of 0.1 log-odds or more, towards what the others said, came without a new cited point of another.
    pub conformity: bool,
}

/// Returns every role's path through the debate, by round and then in role order.
pub(super) fn of(config: &Config, state: &State) -> Vec<LedgerEntry> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    for turn in state.turns(config) {
        let made = &turn.made;
        let earlier = |entry: &&LedgerEntry| entry.role == made.role;
        let cited: Vec<&PointId> =
            entries.iter().filter(earlier).flat_map(|entry| &entry.cited_for_it).collect();
        let cited_for_it: Vec<PointId> =
            made.cites.iter().filter(|point| !cited.contains(point)).cloned().collect();
        let before = entries.iter().rev().find(earlier).map(|entry| &entry.probabilities);
        let moves = before.map(|before| log_odds::moves(before, &made.probabilities)).unwrap_or_default();
        let is_reason = |point: &PointId| !config.conforms_to_others() || point.role != made.role;
        let nears_others = || {
            let others = others(&entries, made);
            before.is_some_and(|before| log_odds::nears(before, &made.probabilities, &others))
        };
        let conformity = log_odds::counts_as_conformity(&moves, cited_for_it.iter().any(is_reason))
            && (!config.conforms_to_others() || nears_others());
        entries.push(LedgerEntry {
            role: made.role.clone(),
            round: made.round,
            probabilities: made.probabilities.clone(),
            confidence: made.confidence,
            conformity,
            moves,
            cited_for_it,
        });
    }
    entries
}

/// Returns what every other role had said last before the round of an argument.
fn others<'e>(entries: &'e [LedgerEntry], made: &ArgumentMade) -> Vec<&'e Distribution> {
    let before = entries.iter().filter(|entry| entry.role != made.role && entry.round < made.round);
    let last: BTreeMap<&Role, &Distribution> =
        before.map(|entry| (&entry.role, &entry.probabilities)).collect();
    last.into_values().collect()
}
