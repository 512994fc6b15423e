//! The investigation: adversarial debugging. Investigators look into one hypothesis each, a devil's advocate challenges
//! them, a synthesizer weighs and rules, a lead sets up and conveys (rules I1–I10).

pub mod answer;
pub mod call;
mod changed;
mod checks;
mod conclude;
pub mod config;
pub mod evidence;
pub mod fact;
mod hypothesis;
mod independence;
pub mod outcome;
mod plan;
pub mod request;
mod standing;
pub mod state;
mod visibility;
pub mod visible;

use crate::call::{CallKey, InputRef, Want};
use crate::debate::Debate;
use crate::fork::Change;
use crate::format::{Format, Step};
use crate::id::{OutcomeId, Timestamp};
use crate::models::Asking;
use crate::prose::{Prose, Texts};
use crate::stop::Completeness;
use answer::Answer;
use call::Call;
use config::{Brief, Config};
use fact::Fact;
use outcome::InvestigationResult;
use state::State;
use visible::Visible;

/// The investigation as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Investigation;

impl Format for Investigation {
    const NAME: &'static str = "investigation";

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = InvestigationResult;

    fn open(config: &Config) -> State {
        State::open(config)
    }

    fn apply(state: &mut State, fact: &Fact) {
        state.apply(fact);
    }

    fn void(state: &mut State, want: &Want) {
        state.void(want);
    }

    fn wanted(debate: &Debate<Self>) -> Vec<Want> {
        plan::wanted(debate)
    }

    fn inputs(debate: &Debate<Self>, want: &Want) -> Vec<InputRef> {
        visibility::inputs(debate, want)
    }

    fn visible(debate: &Debate<Self>, want: &Want) -> Visible {
        visibility::visible(debate, want)
    }

    fn facts(debate: &Debate<Self>, want: &Want, answer: &Answer) -> Result<Vec<Fact>, String> {
        checks::facts(debate, want, answer)
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(call: &CallKey) -> bool {
        matches!(Call::of(call), Some(Call::Verdict { .. } | Call::Convey { .. }))
    }

    fn models<'a>(config: &'a Config, call: &CallKey) -> &'a [String] {
        config.models.of(&call.kind, Some(&call.role))
    }

    fn asking(config: &Config, call: &CallKey) -> Asking {
        config.models.asking(&call.kind, Some(&call.role))
    }

    fn as_of(config: &Config) -> Option<Timestamp> {
        config.models.as_of
    }

    fn models_named(config: &Config) -> Vec<(String, String)> {
        config.models.named_in_options()
    }

    fn calls_expected(config: &Config) -> u64 {
        config.calls_expected()
    }

    fn calls(config: &Config) -> Vec<CallKey> {
        let mut calls: Vec<Call> = config.hypotheses.is_none().then_some(Call::Propose).into_iter().collect();
        for round in 1..=config.rounds {
            let investigators = || config.seats.iter().map(|seat| seat.investigator.clone());
            calls.extend(investigators().map(|investigator| Call::Report { round, investigator }));
            calls.push(Call::Challenge { round });
            calls.extend(investigators().map(|investigator| Call::Respond { round, investigator }));
            calls.push(Call::Status { round });
        }
        let round = config.rounds;
        calls.extend([Call::Verdict { round }, Call::Convey { round }]);
        calls.iter().map(Call::key).collect()
    }

    fn is_critical(_debate: &Debate<Self>, _call: &CallKey) -> bool {
        true
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        conclude::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> InvestigationResult {
        conclude::outcome(debate, texts)
    }

    fn outcomes(_config: &Config) -> &[OutcomeId] {
        &[]
    }

    fn continued(_config: &Config, _rounds: u32) -> Option<Config> {
        None
    }

    fn reopen(_state: &mut State, _config: &Config, _focus: Option<&Prose<String>>) {}

    fn changed(config: &Config, change: &Change) -> Result<Config, String> {
        config.changed(change)
    }

    fn forked(state: &mut State) {
        state.forget_summaries();
    }

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| brief.problem.clone())
    }
}
