//! How the hypotheses stand after a round, and whether that is enough to stop (rules I5, I7, I9).

use std::collections::BTreeSet;

use super::Investigation;
use super::call::Call;
use super::config::{Config, LEAD_MIN, REFUSAL_COST, STRONG_MIN};
use super::fact::{RoundSummarised, Standing, Violation};
use super::state::State;
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::stop::StopRule;

impl State {
    /// Returns how every hypothesis stands after a round, by number.
    #[must_use]
    pub fn standings(&self, config: &Config, round: u32) -> Vec<Standing> {
        let closed = self.closed(round);
        let standings = self.seats(config).map(|seat| {
            let last = self.messages(&seat.investigator, round).next_back();
            let open = self.challenges_to(seat.hypothesis, round).map(|raised| raised.id);
            let refusals = self.refusals(seat.hypothesis, round);
            let confidence = last.map_or(0.0, |message| message.confidence);
            Standing {
                hypothesis: seat.hypothesis,
                investigator: seat.investigator.clone(),
                status: last.map(|message| message.status).unwrap_or_default(),
                confidence: (confidence - REFUSAL_COST * f64::from(refusals)).max(0.0),
                refusals,
                open_challenges: open.filter(|id| !closed.contains(id)).collect(),
                trusted: self.is_trusted(seat.hypothesis, round),
            }
        });
        standings.collect()
    }

    /// Returns the hypothesis that stands strongest: trusted ones first, then by confidence, then by number.
    #[must_use]
    pub fn strongest(&self, config: &Config, round: u32) -> Option<u32> {
        let standings = self.standings(config, round);
        let best = standings.iter().reduce(|best, standing| {
            let key = |standing: &Standing| (standing.trusted, standing.confidence);
            if key(standing) > key(best) { standing } else { best }
        });
        best.map(|standing| standing.hypothesis)
    }

    /// Returns in how many rounds a valid challenge to a hypothesis was refused: each costs it once (rule I9).
    fn refusals(&self, hypothesis: u32, up_to: u32) -> u32 {
        let refused = self.violations().filter(|found| {
            found.violation == Violation::ChallengeRefused && found.hypothesis == Some(hypothesis)
        });
        let rounds: BTreeSet<u32> = refused.map(|found| found.shown_by.call.round).collect();
        u32::try_from(rounds.range(..=up_to).count()).unwrap_or(u32::MAX)
    }
}

/// Returns what a round came to.
pub(super) fn summary(debate: &Debate<Investigation>, round: u32) -> RoundSummarised {
    let standings = debate.state().standings(debate.config(), round);
    let mut trusted: Vec<&Standing> = standings.iter().filter(|standing| standing.trusted).collect();
    trusted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let confidence = |place: usize| trusted.get(place).map_or(0.0, |standing| standing.confidence);
    let (leading, lead) = (trusted.first().map(|first| first.hypothesis), confidence(0) - confidence(1));
    RoundSummarised { round, standings, leading, lead }
}

/// Returns the rule that ends the debate after a round, if one does (rule I7).
///
/// A strong hypothesis ends it only after a round in which the devil's advocate had its say. A clear lead is confirmed
/// by the round after the one in which it first shows, whatever that round brings; in the last round it ends the debate
/// unconfirmed.
pub(super) fn convergence(debate: &Debate<Investigation>, round: u32) -> Option<StopRuleFired> {
    let (config, state) = (debate.config(), debate.state());
    let summary = state.summary(round)?;
    let challenge = Call::Challenge { round }.key();
    let was_challenged = debate.is_answered(&challenge, debate.revision(&challenge));
    let strong = summary.standings.iter().filter(|standing| {
        was_challenged
            && standing.trusted
            && standing.open_challenges.is_empty()
            && standing.confidence >= STRONG_MIN
    });
    if let Some(confidence) = strong.map(|standing| standing.confidence).reduce(f64::max) {
        return Some(stop(StopRule::Confidence, confidence, STRONG_MIN));
    }
    let is_last = round >= config.rounds;
    let mut leads = state.summaries().filter(|summary| summary.round < round || is_last);
    if let Some(clear) = leads.find(|summary| summary.lead >= LEAD_MIN) {
        return Some(stop(StopRule::Convergence, clear.lead, LEAD_MIN));
    }
    is_last.then(|| stop(StopRule::MaxRounds, f64::from(round), f64::from(config.rounds)))
}

fn stop(rule: StopRule, statistic: f64, threshold: f64) -> StopRuleFired {
    StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing: true }
}
