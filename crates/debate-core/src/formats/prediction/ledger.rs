//! How each role's probabilities moved, and what was cited for it (rule P17).

use serde::Serialize;

use super::config::Config;
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
    /// Whether a move of 0.1 log-odds or more came without a new cited point.
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
        entries.push(LedgerEntry {
            role: made.role.clone(),
            round: made.round,
            probabilities: made.probabilities.clone(),
            confidence: made.confidence,
            conformity: log_odds::counts_as_conformity(&moves, !cited_for_it.is_empty()),
            moves,
            cited_for_it,
        });
    }
    entries
}
